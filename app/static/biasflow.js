// What follows what: whom the first three calls of a run reached, as ribbons between three columns.

import { svg } from "./dom.js";
import { plain, plural } from "./format.js";
import { chart, mark, percent, short, text } from "./biasmarks.js";

const MOST = 6;
const OTHER = "others";
const GAP = 6;
const WORDS = { answered: "answer" };

/** The steps of one orchestrator; `kinds` gives the kind of an expert. */
export function flow({ steps, kinds, who, width, behind }) {
  const runs = steps.reduce((sum, one) => sum + one.runs, 0);
  const calls = new Map();
  for (const one of steps) for (const model of one.path) calls.set(model, (calls.get(model) ?? 0) + one.runs);
  const kept = new Set([...calls].sort((a, b) => b[1] - a[1]).slice(0, MOST).map(([model]) => model));
  const node = (model) => (kept.has(model) ? model : OTHER);
  const folded = steps.map((one) => ({ runs: one.runs, at: stations(one, node) }));
  const height = Math.max(216, 34 * (kept.size + 1));
  const columns = [0, 1, 2].map((at) => column(folded, at, height - 30, [...kept]));
  const left = Math.min(126, width * 0.27);
  const xs = [left, (left + width - left) / 2 - 5, width - left - 10];
  const parts = [];
  for (const at of [0, 1]) parts.push(ribbons(folded, at, columns, xs, kinds));
  columns.forEach((one, at) => {
    parts.push(text(xs[at] + 5, 12, `call ${at + 1}`, { class: "ink b", "text-anchor": "middle" }));
    for (const [name, place] of one) {
      const ended = name.startsWith("end:");
      const title = ended ? (WORDS[name.slice(4)] ?? name.slice(4).replaceAll("_", " ")) : short(name, Math.floor(left / 9));
      const words = `call ${at + 1}: ${plain(ended ? title : name)}, ${plural(place.runs, "run")} of ${runs}`;
      const path = Array.from({ length: at }, () => "");
      const query = ended ? { who, length: at } : name === OTHER ? { who } : { who, path: [...path, name] };
      const shape = svg("rect", { class: ended ? "bi-end" : `wb-f-${kinds.get(name) ?? "orch"}`, x: xs[at], y: place.y, width: 10, height: Math.max(1.5, place.tall), rx: 2 });
      parts.push(mark(words, () => behind(query, words), shape));
      if (at !== 1 && place.tall > 5) {
        const label = `${title} ${percent(place.runs / runs)} %`;
        parts.push(at === 0 ? text(xs[0] - 6, place.y + place.tall / 2 + 4, label, { class: "ink", "text-anchor": "end" }) : text(xs[2] + 16, place.y + place.tall / 2 + 4, label, { class: "ink" }));
      }
    }
  });
  return chart(width, height, `Whom the first three calls of ${plural(runs, "run")} of ${plain(who)} reached`, parts);
}

/** Where a run is at its first three calls; once it has ended it stays there. */
function stations(one, node) {
  const end = `end:${one.ended ?? "answered"}`;
  return [0, 1, 2].map((at) => (at < one.path.length ? node(one.path[at]) : at === one.path.length || at > one.path.length ? end : end));
}

function column(folded, at, tall, order) {
  const sums = new Map();
  for (const one of folded) sums.set(one.at[at], (sums.get(one.at[at]) ?? 0) + one.runs);
  const names = [...sums.keys()].sort((a, b) => rank(a, order) - rank(b, order) || (a < b ? -1 : 1));
  const whole = [...sums.values()].reduce((sum, runs) => sum + runs, 0) || 1;
  const room = tall - GAP * (names.length - 1);
  let y = 22;
  return new Map(
    names.map((name) => {
      const place = { y, tall: (sums.get(name) / whole) * room, runs: sums.get(name), out: 0, in: 0 };
      y += place.tall + GAP;
      return [name, place];
    }),
  );
}

const rank = (name, order) => (name.startsWith("end:") ? 100 : name === OTHER ? 99 : order.indexOf(name));

function ribbons(folded, at, columns, xs, kinds) {
  const flows = new Map();
  for (const one of folded) {
    const key = JSON.stringify([one.at[at], one.at[at + 1]]);
    flows.set(key, (flows.get(key) ?? 0) + one.runs);
  }
  const order = [[...columns[at].keys()], [...columns[at + 1].keys()]];
  const sorted = [...flows].map(([key, runs]) => [...JSON.parse(key), runs]).sort((a, b) => order[0].indexOf(a[0]) - order[0].indexOf(b[0]) || order[1].indexOf(a[1]) - order[1].indexOf(b[1]));
  const [x1, x2] = [xs[at] + 10, xs[at + 1]];
  const middle = (x1 + x2) / 2;
  return sorted.map(([from, to, runs]) => {
    const [a, b] = [columns[at].get(from), columns[at + 1].get(to)];
    const [tallA, tallB] = [(runs / a.runs) * a.tall, (runs / b.runs) * b.tall];
    const [ya, yb] = [a.y + a.out, b.y + b.in];
    a.out += tallA;
    b.in += tallB;
    const d = `M${x1} ${ya}C${middle} ${ya} ${middle} ${yb} ${x2} ${yb}V${yb + tallB}C${middle} ${yb + tallB} ${middle} ${ya + tallA} ${x1} ${ya + tallA}Z`;
    const kind = from.startsWith("end:") ? "bi-end" : `wb-f-${kinds.get(from) ?? "orch"}`;
    return svg("path", { class: `bi-ribbon ${kind}`, d });
  });
}
