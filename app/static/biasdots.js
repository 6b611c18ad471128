// Dots with intervals: the indices against the best choice, plain shares beside the paper's, and what a swap moved.

import { svg } from "./dom.js";
import { percent, plain, plural, points } from "./format.js";
import { between, chart, dot, line, mark, short, text } from "./biasmarks.js";

const SERIES = [
  ["strongest", "ink", false],
  ["own", "accent", true],
];

/** `plainly` shows shares on a scale from 0 with the paper's as dashed lines, else distances to the best choice. */
export function indices({ report, width, intervals, plainly, behind }) {
  const series = SERIES.filter(([what]) => what !== "own" || !silent(report, plainly));
  const row = 6 + 14 * series.length;
  const left = Math.min(150, width * 0.32);
  const right = width - 24;
  const low = plainly ? 0 : Math.min(-0.2, ...values(report, "_index").map((found) => found.low ?? found.value)) - 0.02;
  const x = (value) => left + ((value - low) / (1 - low)) * (right - left);
  const paper = plainly ? [...report.paper.pilot].sort((a, b) => b.share - a.share) : [];
  const top = plainly ? 30 + 14 * paper.length : 26;
  const published = plainly ? report.paper.table : [];
  const own = top + row * report.lines.length;
  const bottom = own + (published.length ? 24 + 18 * published.length : 0);
  const ticks = [-1, -0.8, -0.6, -0.4, -0.2, 0, 0.2, 0.4, 0.6, 0.8, 1].filter((at) => at >= low && (width > 420 || Math.round(at * 10) % 4 === 0));
  return chart(
    width,
    bottom + 26,
    plainly ? "Share of calls to the strongest and to the own family" : "Distance to the best choice, in points, by orchestrator",
    ticks.map((at) => line(x(at), top - 6, x(at), bottom, { class: "g" })),
    ticks.map((at) => text(x(at), bottom + 16, plainly ? `${percent(at)} %` : points(at), { "text-anchor": "middle" })),
    line(x(0), top - 8, x(0), bottom, { class: "bi-zero" }),
    plainly ? null : text(x(0), 12, "as good as the best choice", { class: "ink", "text-anchor": low > -0.3 ? "start" : "middle" }),
    paper.map((one, n) => [
      line(x(one.share), 18 + 14 * n, x(one.share), bottom, { class: "bi-ref" }),
      text(x(one.share) - 4, 12 + 14 * n, `paper: ${one.orchestrator} ${one.words}, ${percent(one.share)} %`, { class: "bi-halo", "text-anchor": "end" }),
    ]),
    report.lines.map((one, n) => {
      const y = top + row * n;
      return [
        text(left - 10, y + row / 2 + 1, short(one.orchestrator, Math.floor(left / 7)), { class: "ink", "text-anchor": "end" }),
        line(left, y + row - 4, right, y + row - 4, { class: "g" }),
        series.map(([what, look, square], at) => {
          const key = plainly ? what : `${what}_index`;
          const [found, at_y] = [one[key], y + 8 + 14 * at];
          if (found.value === null) return why(one.why[key] ?? "it is unknown", x(0) + 6, at_y + 4, right);
          const write = plainly ? percent : points;
          const words = `${plain(one.orchestrator)}, ${what === "own" ? "own family" : "strongest tool"}: ${write(found.value)} ${plainly ? "%" : "points"} ${between(found, write)}, ${plural(found.tasks, "task")}`;
          return mark(words, () => behind({ who: one.orchestrator }, words), dot(x(found.value), at_y, found, x, { look, square, hollow: square || (!plainly && !excludes(found)), intervals }));
        }),
      ];
    }),
    published.length ? text(0, own + 16, "as published, not measured here", { class: "b" }) : null,
    published.map((one, n) => {
      const y = own + 34 + 18 * n;
      const dots = SERIES.filter(([what]) => one[what] !== null).map(([what, , square]) => dot(x(one[what]), y, { low: null, high: null }, x, { look: "ref", square, hollow: square }));
      const told = [`${percent(one.strongest)} % to GPT-5`, one.own === null ? "" : `${percent(one.own)} % to its own family`].filter(Boolean).join(", ");
      return [text(left - 10, y + 4, short(one.orchestrator, Math.floor(left / 7)), { "text-anchor": "end" }), svg("g", {}, svg("title", { text: `paper, Table 15: ${one.orchestrator}, ${told}` }), dots)];
    }),
  );
}

/** Why a figure is unknown, as far as there is room; the whole of it is told on hover. */
function why(reason, x, y, right) {
  const brief = reason.split(":")[0];
  const room = Math.floor((right - x) / 5.6) - 2;
  return svg("g", {}, svg("title", { text: reason }), text(x, y, `— ${brief.length > room ? `${brief.slice(0, room - 1)}…` : brief}`));
}

/** Why nobody's own family can be told, where it is the same for all; such rows would say it over and over. */
export function silent(report, plainly) {
  const key = plainly ? "own" : "own_index";
  const reasons = new Set(report.lines.map((one) => (one[key].value === null ? (one.why[key] ?? "it is unknown") : "")));
  return reasons.size === 1 ? [...reasons][0] : "";
}

const values = (report, rest) => report.lines.flatMap((one) => SERIES.map(([what]) => one[what + rest])).filter((found) => found.value !== null);
const excludes = (found) => found.low !== null && (found.low > 0 || found.high < 0);

/** By how much a choice followed the name, the place, the price; filled where the interval excludes 0. */
export function swaps({ report, width, intervals, behind }) {
  const groups = new Map();
  for (const one of report.moves) groups.set(one.orchestrator, [...(groups.get(one.orchestrator) ?? []), one]);
  const left = Math.min(168, width * 0.46);
  const right = width - 44;
  const low = Math.min(-0.2, ...report.moves.map((one) => one.moved.low ?? one.moved.value ?? 0));
  const x = (value) => left + ((value - low) / (1 - low)) * (right - left);
  const step = 19;
  let y = 8;
  const parts = [];
  for (const [who, some] of groups) {
    parts.push(text(0, y + 12, short(who, Math.floor((left - 56) / 6.4)), { class: "ink b" }));
    for (const one of some) {
      parts.push(text(left - 8, y + 12, one.aspect, { class: "ink", "text-anchor": "end" }));
      if (one.moved.value === null) parts.push(text(x(0) + 6, y + 12, "— no pair with a control"));
      else {
        const sure = excludes(one.moved);
        const words = `${plain(who)} follows the ${one.aspect}: ${points(one.moved.value)} points ${between(one.moved, points)}, ${plural(one.moved.tasks, "task")}`;
        parts.push(mark(words, () => behind({ who, aspect: one.aspect }, words), dot(x(one.moved.value), y + 8, one.moved, x, { look: sure ? "ink" : "ref", hollow: !sure, intervals })));
        parts.push(text(right + 40, y + 12, points(one.moved.value), { class: sure ? "ink b" : "", "text-anchor": "end" }));
      }
      y += step;
    }
    parts.push(line(0, y + 2, width, y + 2, { class: "g" }));
    y += 8;
  }
  const ticks = [-0.5, 0, 0.5, 1].filter((at) => at >= low);
  return chart(
    width,
    y + 18,
    "Points by which a choice followed a swapped name, place or price",
    ticks.map((at) => [line(x(at), 0, x(at), y, { class: at ? "g" : "bi-zero" }), text(x(at), y + 14, points(at), { "text-anchor": "middle" })]),
    parts,
  );
}

/** By how much more of the first calls a model gets once its description is rewritten. */
export function rewrites({ report, width, intervals, behind }) {
  const left = 12;
  const right = width - 52;
  const low = Math.min(-0.2, ...report.effects.map((one) => one.shift.low ?? one.shift.value ?? 0));
  const x = (value) => left + ((value - low) / (1 - low)) * (right - left);
  const row = 44;
  const tall = row * report.effects.length;
  return chart(
    width,
    tall + 22,
    "Points by which first calls shifted with a description",
    [-0.5, 0, 0.5, 1].filter((at) => at >= low).map((at) => [line(x(at), 0, x(at), tall, { class: at ? "g" : "bi-zero" }), text(x(at), tall + 16, points(at), { "text-anchor": "middle" })]),
    report.effects.map((one, n) => {
      const y = row * n;
      const sure = excludes(one.shift);
      const words = `${plain(one.orchestrator)}, ${plain(one.model)} from ${plain(one.first)} to ${plain(one.other)}: ${percent(one.before.value)} to ${percent(one.after.value)} % of first calls, ${points(one.shift.value)} points ${between(one.shift, points)}, ${plural(one.shift.tasks, "task")}`;
      return [
        text(0, y + 12, short(one.orchestrator, 24), { class: "ink b" }),
        text(width, y + 12, `${short(one.model, 14)}: ${plain(one.first)} → ${plain(one.other)}`, { "text-anchor": "end" }),
        mark(words, () => behind({ who: one.orchestrator, rewritten: one.model }, words), dot(x(one.shift.value), y + 26, one.shift, x, { look: sure ? "ink" : "ref", hollow: !sure, intervals })),
        text(right + 48, y + 30, points(one.shift.value), { class: sure ? "ink b" : "", "text-anchor": "end" }),
      ];
    }),
  );
}

/** Accuracy against cost, the Pareto front as a line. */
export function front({ report, width, intervals, behind }) {
  const known = report.results.filter((one) => one.usd.value > 0 && one.accuracy.value !== null);
  const [height, left, right, top, bottom] = [230, 44, width - 14, 16, 184];
  const costs = known.flatMap((one) => [one.usd.low ?? one.usd.value, one.usd.high ?? one.usd.value]);
  const [least, most] = [Math.log10(Math.min(...costs)) - 0.15, Math.log10(Math.max(...costs)) + 0.15];
  const x = (usd) => left + ((Math.log10(usd) - least) / (most - least || 1)) * (right - left);
  const lowest = Math.max(0, Math.min(...known.map((one) => one.accuracy.low ?? one.accuracy.value)) - 0.02);
  const step = lowest > 0.45 ? 0.1 : 0.2;
  const from = Math.floor(lowest / step + 1e-9) * step;
  const y = (share) => bottom - ((share - from) / (1 - from || 1)) * (bottom - top);
  const decades = [];
  for (let at = Math.ceil(least); at <= most; at++) decades.push(10 ** at);
  if (decades.length < 2) decades.push(10 ** least * 1.1, 10 ** most / 1.1);
  const levels = Array.from({ length: Math.round((1 - from) / step) + 1 }, (_, n) => from + step * n);
  const edge = [...known].filter((one) => one.front).sort((a, b) => a.usd.value - b.usd.value);
  const path = edge.map((one, n) => (n ? `H${x(one.usd.value)}V${y(one.accuracy.value)}` : `M${x(one.usd.value)} ${y(one.accuracy.value)}`)).join("");
  const taken = known.map((one) => [x(one.usd.value) - 6, y(one.accuracy.value) - 6, 12, 12]);
  return chart(
    width,
    height,
    "Accuracy against the cost of a task, by orchestrator",
    levels.map((at) => [line(left, y(at), right, y(at), { class: "g" }), text(left - 6, y(at) + 4, `${percent(at)} %`, { "text-anchor": "end" })]),
    decades.map((usd) => text(x(usd), bottom + 16, cents(usd), { "text-anchor": "middle" })),
    text(left, bottom + 34, "cost of a task, US cents, logarithmic"),
    path ? svg("path", { class: "bi-front", d: path + `H${right}` }) : null,
    known.map((one) => {
      const [px, py] = [x(one.usd.value), y(one.accuracy.value)];
      const look = one.front ? "accent" : "ref";
      const words = `${plain(one.orchestrator)}: ${percent(one.accuracy.value)} % ${between(one.accuracy)} at ${cents(one.usd.value)} a task, ${plural(one.runs, "run")}${one.ungraded ? `, ${one.ungraded} ungraded` : ""}${one.front ? ", on the front" : ""}`;
      const up = intervals && one.accuracy.low !== null ? line(px, y(one.accuracy.low), px, y(one.accuracy.high), { class: `bi-bar ${look}` }) : null;
      return mark(words, () => behind({ who: one.orchestrator }, words), up, dot(px, py, one.usd, x, { look, hollow: !one.front, intervals }));
    }),
    known.map((one) => label(one, x(one.usd.value), y(one.accuracy.value), right, taken)),
  );
}

const APART = 4; // pixels between two names

/** A name beside its dot where none stands yet, on the side that has room; farther off where dots are many. */
function label(one, x, y, right, taken) {
  const name = short(one.orchestrator, 18);
  const wide = name.length * 6.2;
  const free = (box) => !taken.some((other) => box[0] < other[0] + other[2] + APART && other[0] < box[0] + wide + APART && Math.abs(box[1] - other[1]) < 12);
  const after = x + wide + 10 < right;
  const sides = after && x - wide - 10 > 44 ? [true, false] : [after];
  const places = [-8, 15, -20, 27, -32, 39, -44, 51].flatMap((dy) => sides.map((start) => ({ dy, start, box: [start ? x + 6 : x - 6 - wide, y + dy - 10, wide, 12] })));
  const found = places.find(({ dy, box }) => free(box) && y + dy > 8) ?? places[0];
  taken.push(found.box);
  return text(found.start ? x + 6 : x - 6, y + found.dy, name, { class: "ink bi-halo", "text-anchor": found.start ? "start" : "end" });
}

const cents = (usd) => `${Number((100 * usd).toPrecision(2))} ¢`;

/** The share of the strongest over the steps of a training run, with the band of its intervals; dashed: the paper's, of one untrained. */
export function drift({ found, paper, width }) {
  const [height, left, right, top, bottom] = [170, 44, width - 12, 10, 138];
  const [first, last] = [found.steps[0], found.steps.at(-1)];
  const x = (step) => left + ((step - first) / (last - first || 1)) * (right - left);
  const y = (share) => bottom - share * (bottom - top);
  const path = found.steps.map((step, n) => [x(step), found.shares[n]]);
  const walk = (some) => some.map(([px, share]) => `${px.toFixed(1)} ${y(share).toFixed(1)}`).join("L");
  // The words keep clear of the band: at the right end they stand over the line where the band is just under it.
  const late = found.shares.slice(Math.floor(0.7 * found.shares.length)).map((one) => one.high ?? one.value);
  const below = paper.some((one) => late.some((high) => high > one.share - 0.18 && high < one.share + 0.05)) ? -5 : 15;
  const band = `M${walk(path.map(([px, one]) => [px, one.high]))}L${walk(path.map(([px, one]) => [px, one.low]).reverse())}Z`;
  return chart(
    width,
    height,
    `Share of the strongest tool over ${found.steps.length} steps`,
    [0, 0.25, 0.5, 0.75, 1].map((at) => [line(left, y(at), right, y(at), { class: "g" }), text(left - 6, y(at) + 4, `${percent(at)} %`, { "text-anchor": "end" })]),
    paper.map((one) => [line(left, y(one.share), right, y(one.share), { class: "bi-ref" }), text(right, y(one.share) + below, `paper: ${one.orchestrator} ${one.words}, ${percent(one.share)} %`, { class: "bi-halo", "text-anchor": "end" })]),
    svg("path", { class: "bi-band", d: band }),
    svg("path", { class: "bi-front", d: `M${walk(path.map(([px, one]) => [px, one.value]))}` }),
    [first, last].map((step, n) => text(x(step), bottom + 16, `step ${step}`, { "text-anchor": n ? "end" : "start" })),
  );
}
