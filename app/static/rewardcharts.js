// What the two arithmetics make of the solved rollouts: their ranks side by side, and the reward against the cost.

import { put, svg } from "./dom.js";
import { fineUsd, plain, usd } from "./format.js";
import { fixed } from "./rewardwhy.js";

const LEAST = 300; // pixels: narrower than that, names would stand on each other
const HEIGHT = 214;
const LABELLED = 10; // from so many rows on, names would stand on each other
const ORDER = (report) => (a, b) => report.reward[b] - report.reward[a] || a - b;

export class Charts {
  constructor(bump, scatter) {
    this.bump = bump;
    this.scatter = scatter;
    this.top = 0;
    this.width = Math.max(LEAST, Math.round(bump.getBoundingClientRect().width));
    new ResizeObserver(([{ contentRect }]) => this.fit(contentRect.width)).observe(bump.parentElement);
  }

  /** A chart is as wide as its place, so that its letters keep their size. */
  fit(width) {
    const fitting = Math.max(LEAST, Math.round(width));
    if (fitting === this.width) return;
    this.width = fitting;
    if (this.told) this.draw(this.told, false);
  }

  /** `settled` fits the scale of the rewards, which only grows while a fader is dragged. */
  draw(told, settled) {
    this.told = told;
    const { counted, paper, released, short } = told;
    const solved = counted.flatMap((rollout, at) => (rollout.outcome ? [at] : []));
    const rows = { counted, solved, paper, released, short, width: this.width };
    this.put(this.bump, solved, counted, () => ranks(rows));
    const most = Math.max(0, ...solved.flatMap((at) => [paper.reward[at], released.reward[at]])) * 1.05;
    this.top = settled || most > this.top ? most || 1 : this.top;
    this.put(this.scatter, solved, counted, () => costs(rows, this.top));
  }

  /** A drawing, or why there is none in the words behind it. */
  put(host, solved, counted, parts) {
    const none = counted.length ? "No rollout is solved, so every reward is 0." : "Drawn once rollouts are graded: “grade it” above leads to each.";
    host.setAttribute("viewBox", `0 0 ${this.width} ${HEIGHT}`);
    host.classList.toggle("rw-none", solved.length === 0);
    put(host, solved.length ? parts() : null);
    host.nextElementSibling.textContent = solved.length ? "" : none;
  }
}

const text = (x, y, words, more = {}) => svg("text", { x, y, text: words, ...more });

/** The line from a place on the left to one on the right. */
const swung = (from, to, [a, b]) => `M${a} ${from}C${a + 0.4 * (b - a)} ${from} ${b - 0.4 * (b - a)} ${to} ${b} ${to}`;

function ranks({ counted, solved, paper, released, short, width }) {
  const ends = [130, width - 130];
  const place = (report) => new Map([...solved].sort(ORDER(report)).map((at, rank) => [at, rank]));
  const [left, right] = [place(paper), place(released)];
  const y = (rank) => (solved.length === 1 ? 110 : 36 + rank * (166 / (solved.length - 1)));
  const named = solved.length <= LABELLED;
  const bold = { class: "ink b" };
  const heads = [text(ends[0], 14, "paper", { ...bold, "text-anchor": "end" }), text(ends[1], 14, "released_code", bold)];
  if (!named) return [...heads, ...bundles(solved.map((at) => [left.get(at), right.get(at)]), y, ends)];
  const parts = [
    ...heads,
    ...solved.flatMap((at) => {
      const [from, to] = [left.get(at), right.get(at)];
      const look = to > from ? "down" : to < from ? "upward" : "level";
      const moved = to > from ? `down ${to - from}` : to < from ? `up ${from - to}` : "same";
      const line = svg("path", { class: `rw-line ${look}`, d: swung(y(from), y(to), ends) }, svg("title", { text: `${short(counted[at])}, ${moved}` }));
      const dots = ends.map((x, n) =>
        svg("circle", { class: `rw-dot ${look}`, cx: x, cy: y(n ? to : from), r: 4 }),
      );
      const name = plain(short(counted[at]));
      return [
        line,
        ...dots,
        svg(
          "text",
          { x: ends[0] - 12, y: y(from) + 4, "text-anchor": "end" },
          svg("tspan", { class: "ink", text: name }),
          `  ${usd(counted[at].cost_usd)}  `,
          svg("tspan", { class: "ink b", text: fixed(paper.reward[at]) }),
        ),
        svg(
          "text",
          { x: ends[1] + 12, y: y(to) + 4 },
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
function bundles(pairs, y, ends) {
  const looks = { level: pairs.filter(([a, b]) => a === b), down: pairs.filter(([a, b]) => b > a), upward: pairs.filter(([a, b]) => b < a) };
  return Object.entries(looks).flatMap(([look, some]) => [
    svg("path", {
      class: `rw-line thin ${look}`,
      d: some.map(([a, b]) => swung(y(a), y(b), ends)).join("") || "M0 0",
    }),
    svg("path", { class: `rw-dot ${look}`, d: some.flatMap(([a, b]) => [disc(ends[0], y(a), 2), disc(ends[1], y(b), 2)]).join("") || "M0 0" }),
  ]);
}

const disc = (x, y, r) => `M${(x - r).toFixed(1)} ${y.toFixed(1)}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0`;
const square = (x, y, r) => `M${(x - r).toFixed(1)} ${(y - r).toFixed(1)}h${2 * r}v${2 * r}h${-2 * r}z`;

function costs({ counted, solved, paper, released, width }, top) {
  const all = solved.map((at) => counted[at].cost_usd).sort((a, b) => a - b);
  const scale = axis(all, width < 400 ? 2 : 3);
  const x = (usd) => 46 + scale.place(usd) * (width - 142);
  const y = (reward) => 178 - (reward / top) * 156;
  const digits = top < 0.1 ? 3 : top < 1 ? 2 : 1;
  const grid = [0, 0.25, 0.5, 0.75, 1].flatMap((share) => [
    svg("line", { class: "g", x1: 46, x2: width - 30, y1: y(share * top), y2: y(share * top) }),
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

/** Logarithmic in so many steps, unless something was free; and then, or where all cost the same, straight from 0. */
function axis(sorted, steps) {
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
  const ticks = Array.from({ length: steps + 1 }, (_, n) => {
    const value = Math.exp(low + (n / steps) * (high - low));
    return [value, shown(value)];
  });
  return { words, ticks, place };
}
