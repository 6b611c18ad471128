// What follows what: the first three calls of a run as three columns, or every call and the one after it as two.

import { svg } from "./dom.js";
import { count, percent, plain, plural } from "./format.js";
import { chart, mark, short, text } from "./biasmarks.js";

const MOST = 6;
const OTHER = "others";
const BEGIN = "begin:";
const GAP = 6;
const NODE = 10;
const WORDS = { answered: "answer" };

/** The first three calls of the runs of one orchestrator; `kinds` gives the kind of an expert. */
export function flow({ steps, kinds, who, width, behind }) {
  const runs = steps.reduce((sum, one) => sum + one.runs, 0);
  const node = folding(steps.flatMap((one) => one.path.map((model) => [model, one.runs])));
  const folded = steps.map((one) => ({ times: one.runs, at: stations(one, node) }));
  const before = (at) => Array.from({ length: at }, () => "");
  return sankey({
    folded,
    kinds,
    width,
    behind,
    titles: ["call 1", "call 2", "call 3"],
    words: `Whom the first three calls of ${plural(runs, "run")} of ${plain(who)} reached`,
    told: (times) => `${plural(times, "run")} of ${count(runs)}`,
    leads: (at, name) => (isEnd(name) ? { who, upto: at, ended: name.slice(4) } : { who, path: [...before(at), name] }),
    joins: (at, from, to) => (isEnd(from) ? null : isEnd(to) ? { who, length: at + 1, ended: to.slice(4), path: [...before(at), from] } : { who, path: [...before(at), from, to] }),
  });
}

/** Every call of the runs of one orchestrator, and what came right after it. */
export function transitions({ found, kinds, who, width, behind }) {
  const moves = found.transitions;
  const times = moves.reduce((sum, one) => sum + one.times, 0);
  const node = folding(moves.filter((one) => one.next !== null).map((one) => [one.next, one.times]));
  const folded = moves.map((one) => ({ times: one.times, at: [one.came === null ? BEGIN : node(one.came), one.next === null ? `end:${one.ended}` : node(one.next)] }));
  return sankey({
    folded,
    kinds,
    width,
    behind,
    titles: ["after", "comes"],
    words: `What came after each call in ${plural(found.runs, "run")} of ${plain(who)}`,
    told: (some) => `${plural(some, "time")} of ${count(times)}`,
    leads: (at, name) => (name === BEGIN ? { who } : isEnd(name) ? { who, ended: name.slice(4) } : { who, model: [name] }),
    joins: (at, from, to) => (from === BEGIN ? (isEnd(to) ? { who, length: 0, ended: to.slice(4) } : { who, path: [to] }) : isEnd(to) ? { who, came: from, ended: to.slice(4) } : { who, came: from, next: to }),
  });
}

const isEnd = (name) => name.startsWith("end:");

/** What stands for an expert: itself, or one name for all but the most called. */
function folding(called) {
  const sums = new Map();
  for (const [model, times] of called) sums.set(model, (sums.get(model) ?? 0) + times);
  const kept = new Set([...sums].sort((a, b) => b[1] - a[1]).slice(0, MOST).map(([model]) => model));
  return (model) => (kept.has(model) ? model : OTHER);
}

/** Where a run is at its first three calls; once it has ended it stays there. */
function stations(one, node) {
  const end = `end:${one.ended ?? "answered"}`;
  return [0, 1, 2].map((at) => (at < one.path.length ? node(one.path[at]) : end));
}

/** Columns of nodes with ribbons between them; `leads` and `joins` say what is behind a node and a ribbon. */
function sankey({ folded, kinds, width, behind, titles, words, told, leads, joins }) {
  const last = titles.length - 1;
  const order = [...new Set(folded.flatMap((one) => one.at))];
  const tallest = Math.max(...titles.map((_, at) => new Set(folded.map((one) => one.at[at])).size));
  const height = Math.max(216, 34 * (tallest + 1));
  const columns = titles.map((_, at) => column(folded, at, height - 30, order));
  const side = Math.min(132, width * 0.28);
  const xs = titles.map((_, at) => side + (at * (width - 2 * side - NODE)) / last);
  const letters = Math.floor(side / 8.4);
  const title = (name) => (name === BEGIN ? "the task" : isEnd(name) ? (WORDS[name.slice(4)] ?? name.slice(4).replaceAll("_", " ")) : short(name, letters));
  const spoken = (name) => (name === BEGIN || isEnd(name) ? title(name) : plain(name));
  const look = (name) => (name === BEGIN || isEnd(name) ? "bi-end" : `wb-f-${kinds.get(name) ?? "orch"}`);
  const whole = folded.reduce((sum, one) => sum + one.times, 0) || 1;
  const between = titles.slice(1).flatMap((_, at) =>
    ribbons(folded, at, columns, [xs[at] + NODE, xs[at + 1]]).map(({ from, to, times, d }) => {
      const shape = svg("path", { class: `bi-ribbon ${look(from)}`, d });
      const said = `${spoken(from)}, then ${spoken(to)}: ${told(times)}`;
      const query = [from, to].includes(OTHER) ? null : joins(at, from, to);
      return query ? mark(said, () => behind(query, said), shape) : shape;
    }),
  );
  const nodes = columns.flatMap((one, at) =>
    [...one].flatMap(([name, place]) => {
      const shape = svg("rect", { class: look(name), x: xs[at], y: place.y, width: NODE, height: Math.max(1.5, place.tall), rx: 2 });
      const said = `${titles[at]} ${spoken(name)}: ${told(place.times)}`;
      const label = `${title(name)} ${percent(place.times / whole)} %`;
      const y = place.y + place.tall / 2 + 4;
      const shown = place.tall > 5 && (at === 0 ? text(xs[0] - 6, y, label, { class: "ink", "text-anchor": "end" }) : at === last ? text(xs[last] + NODE + 6, y, label, { class: "ink" }) : null);
      return [name === OTHER ? shape : mark(said, () => behind(leads(at, name), said), shape), shown || null];
    }),
  );
  const heads = titles.map((words_, at) => text(xs[at] + NODE / 2, 12, words_, { class: "ink b", "text-anchor": at === 0 && last === 1 ? "end" : at === last && last === 1 ? "start" : "middle" }));
  return chart(width, height, words, between, heads, nodes);
}

function column(folded, at, tall, order) {
  const sums = new Map();
  for (const one of folded) sums.set(one.at[at], (sums.get(one.at[at]) ?? 0) + one.times);
  const names = [...sums.keys()].sort((a, b) => rank(a, order) - rank(b, order) || (a < b ? -1 : 1));
  const whole = [...sums.values()].reduce((sum, times) => sum + times, 0) || 1;
  const room = tall - GAP * (names.length - 1);
  let y = 22;
  return new Map(
    names.map((name) => {
      const place = { y, tall: (sums.get(name) / whole) * room, times: sums.get(name), out: 0, in: 0 };
      y += place.tall + GAP;
      return [name, place];
    }),
  );
}

const rank = (name, order) => (name === BEGIN ? -1 : isEnd(name) ? order.length + 1 : name === OTHER ? order.length : order.indexOf(name));

function ribbons(folded, at, columns, [x1, x2]) {
  const flows = new Map();
  for (const one of folded) {
    const key = JSON.stringify([one.at[at], one.at[at + 1]]);
    flows.set(key, (flows.get(key) ?? 0) + one.times);
  }
  const order = [[...columns[at].keys()], [...columns[at + 1].keys()]];
  const sorted = [...flows].map(([key, times]) => [...JSON.parse(key), times]).sort((a, b) => order[0].indexOf(a[0]) - order[0].indexOf(b[0]) || order[1].indexOf(a[1]) - order[1].indexOf(b[1]));
  const middle = (x1 + x2) / 2;
  return sorted.map(([from, to, times]) => {
    const [a, b] = [columns[at].get(from), columns[at + 1].get(to)];
    const [tallA, tallB] = [(times / a.times) * a.tall, (times / b.times) * b.tall];
    const [ya, yb] = [a.y + a.out, b.y + b.in];
    a.out += tallA;
    b.in += tallB;
    return { from, to, times, d: `M${x1} ${ya}C${middle} ${ya} ${middle} ${yb} ${x2} ${yb}V${yb + tallB}C${middle} ${yb + tallB} ${middle} ${ya + tallA} ${x1} ${ya + tallA}Z` };
  });
}
