// What the two arithmetics make of the solved rollouts: their ranks side by side, and the reward against the cost.

import { put, svg } from "./dom.js";
import { fineUsd, plain, usd } from "./format.js";
import { fixed } from "./rewardwhy.js";

const WIDTH = 430;
const HEIGHT = 214;
const LABELLED = 10; // from so many rows on, names would stand on each other
const ORDER = (report) => (a, b) => report.reward[b] - report.reward[a] || a - b;

export class Charts {
  constructor(bump, scatter) {
    this.bump = bump;
    this.scatter = scatter;
    this.top = 0;
    for (const host of [bump, scatter]) host.setAttribute("viewBox", `0 0 ${WIDTH} ${HEIGHT}`);
  }

  /** `settled` fits the scale of the rewards, which only grows while a fader is dragged. */
  draw({ counted, paper, released, short }, settled) {
    const solved = counted.flatMap((rollout, at) => (rollout.outcome ? [at] : []));
    const rows = { counted, solved, paper, released, short };
    put(this.bump, solved.length ? ranks(rows) : nothing());
    const most = Math.max(0, ...solved.flatMap((at) => [paper.reward[at], released.reward[at]])) * 1.05;
    this.top = settled || most > this.top ? most || 1 : this.top;
    put(this.scatter, solved.length ? costs(rows, this.top) : nothing());
  }
}

const text = (x, y, words, more = {}) => svg("text", { x, y, text: words, ...more });
const nothing = () => text(WIDTH / 2, HEIGHT / 2, "No rollout is solved, so every reward is 0.", { "text-anchor": "middle" });

function ranks({ counted, solved, paper, released, short }) {
  const place = (report) => new Map([...solved].sort(ORDER(report)).map((at, rank) => [at, rank]));
  const [left, right] = [place(paper), place(released)];
  const y = (rank) => (solved.length === 1 ? 110 : 36 + rank * (166 / (solved.length - 1)));
  const named = solved.length <= LABELLED;
  const bold = { class: "ink b" };
  const heads = [text(130, 14, "paper", { ...bold, "text-anchor": "end" }), text(300, 14, "released_code", bold)];
  if (!named) return [...heads, ...bundles(solved.map((at) => [left.get(at), right.get(at)]), y)];
  const parts = [
    ...heads,
    ...solved.flatMap((at) => {
      const [from, to] = [left.get(at), right.get(at)];
      const look = to > from ? "down" : to < from ? "upward" : "level";
      const path = `M130 ${y(from)}C200 ${y(from)} 230 ${y(to)} 300 ${y(to)}`;
      const moved = to > from ? `down ${to - from}` : to < from ? `up ${from - to}` : "same";
      const line = svg("path", { class: `rw-line ${look}`, d: path }, svg("title", { text: `${short(counted[at])}, ${moved}` }));
      const dots = [130, 300].map((x, n) =>
        svg("circle", { class: `rw-dot ${look}`, cx: x, cy: y(n ? to : from), r: 4 }),
      );
      const name = plain(short(counted[at]));
      return [
        line,
        ...dots,
        svg(
          "text",
          { x: 118, y: y(from) + 4, "text-anchor": "end" },
          svg("tspan", { class: "ink", text: name }),
          `  ${usd(counted[at].cost_usd)}  `,
          svg("tspan", { class: "ink b", text: fixed(paper.reward[at]) }),
        ),
        svg(
          "text",
          { x: 312, y: y(to) + 4 },
          svg("tspan", { class: "ink b", text: fixed(released.reward[at]) }),
          "  ",
          svg("tspan", { class: "ink", text: name }),
          `  ${moved}`,
        ),
      ];
    }),
  ];
  return parts;
}

/** Many lines as one drawing for each direction: a node for each of them would be too slow to drag. */
function bundles(pairs, y) {
  const looks = { level: pairs.filter(([a, b]) => a === b), down: pairs.filter(([a, b]) => b > a), upward: pairs.filter(([a, b]) => b < a) };
  return Object.entries(looks).flatMap(([look, some]) => [
    svg("path", {
      class: `rw-line thin ${look}`,
      d: some.map(([a, b]) => `M130 ${y(a)}C200 ${y(a)} 230 ${y(b)} 300 ${y(b)}`).join("") || "M0 0",
    }),
    svg("path", { class: `rw-dot ${look}`, d: some.flatMap(([a, b]) => [disc(130, y(a), 2), disc(300, y(b), 2)]).join("") || "M0 0" }),
  ]);
}

const disc = (x, y, r) => `M${(x - r).toFixed(1)} ${y.toFixed(1)}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0`;
const square = (x, y, r) => `M${(x - r).toFixed(1)} ${(y - r).toFixed(1)}h${2 * r}v${2 * r}h${-2 * r}z`;

function costs({ counted, solved, paper, released }, top) {
  const all = solved.map((at) => counted[at].cost_usd).sort((a, b) => a - b);
  const scale = axis(all);
  const x = (usd) => 46 + scale.place(usd) * 288;
  const y = (reward) => 178 - (reward / top) * 156;
  const digits = top < 0.1 ? 3 : top < 1 ? 2 : 1;
  const grid = [0, 0.25, 0.5, 0.75, 1].flatMap((share) => [
    svg("line", { class: "g", x1: 46, x2: 400, y1: y(share * top), y2: y(share * top) }),
    text(40, y(share * top) + 4, (share * top).toFixed(digits), { "text-anchor": "end" }),
  ]);
  const ticks = scale.ticks.map(([usd, words]) => text(x(usd), 196, words, { "text-anchor": "middle" }));
  const order = [...solved].sort((a, b) => counted[a].cost_usd - counted[b].cost_usd || a - b);
  const series = (report, name, dot) => {
    const points = order.map((at) => [x(counted[at].cost_usd), y(report.reward[at])]);
    const [endX, endY] = points.at(-1);
    return [
      svg("polyline", { class: `rw-series ${name}`, points: points.map((one) => one.map((v) => v.toFixed(1)).join(",")).join(" ") }),
      svg("path", { class: `rw-point ${name}`, d: points.map(([cx, cy]) => dot(cx, cy, 4)).join("") }),
      text(endX + 10, endY + 4, name, { class: `b rw-name ${name}` }),
    ];
  };
  return [
    ...grid,
    ...ticks,
    ...series(released, "released_code", square),
    ...series(paper, "paper", disc),
    text(46, 210, scale.words),
    text(4, 12, "R"),
  ];
}

/** Logarithmic, unless something was free; and then, or where all cost the same, straight from 0. */
function axis(sorted) {
  const [least, most] = [sorted[0], sorted.at(-1)];
  const log = least > 0 && most / least > 1.5;
  const words = `cost of the rollout, USD${log ? ", log" : ""}`;
  const shown = (value) => (value === 0 ? "$0" : value < 0.01 && value >= 0.0001 ? `$${value.toPrecision(2)}` : fineUsd(value));
  if (!log) {
    const end = most || 1;
    const ticks = (most ? [0, 0.5, 1] : [0]).map((share) => [share * end, shown(share * end)]);
    return { words, ticks, place: (value) => value / end };
  }
  const [low, high] = [Math.log(least), Math.log(most)];
  const place = (value) => (Math.log(value) - low) / (high - low);
  const ticks = [0, 1 / 3, 2 / 3, 1].map((share) => {
    const value = Math.exp(low + share * (high - low));
    return [value, shown(value)];
  });
  return { words, ticks, place };
}
