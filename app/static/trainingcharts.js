// Curves, bars and areas over the steps of training: own SVG, so that they follow the theme. Nothing here asks the server.

import { el, put, svg } from "./dom.js";
import { plain, unknown } from "./format.js";

const [WIDE, HIGH, LEFT, RIGHT, TOP, BASE] = [330, 150, 46, 320, 16, 126];
const MOST_POINTS = 240;
const MANY = 8; // from so many steps on a trailing mean is drawn over the steps

/** How figures of training are written: text of a value, ticks of an axis, the least span of an axis. */
export const UNITS = {
  share: { text: (value) => `${Math.round(100 * value)} %`, least: 0.2, most: 1, floor: 0, step: 0.1 },
  usd: { text: (value) => (value < 0.995 ? `${(100 * value).toPrecision(2)} ¢` : `$${value.toFixed(2)}`), floor: 0, zero: true },
  seconds: { text: (value) => `${value < 9.95 ? value.toFixed(1) : Math.round(value)} s`, floor: 0, zero: true },
  number: { text: short, floor: null },
  count: { text: short, floor: 0, zero: true },
};

/** A number in three digits that count. */
export function short(value) {
  const size = Math.abs(value);
  if (size !== 0 && (size < 0.001 || size >= 1e5)) return value.toExponential(1).replace("-", "\u2212").replace("e+", "e");
  return String(Number(value.toPrecision(3))).replace("-", "\u2212");
}

/** The mean of what is known in the `size` values up to each one; null where nothing is. */
export function trailing(values, size = 5) {
  return values.map((_, at) => mean(values.slice(Math.max(0, at - size + 1), at + 1)));
}

export function mean(values) {
  const known = values.filter((value) => value !== null && value !== undefined);
  return known.length ? known.reduce((all, value) => all + value, 0) / known.length : null;
}

function niceStep(span, parts) {
  const rough = span / parts || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  return [1, 2, 2.5, 5, 10].map((digit) => digit * power).find((step) => step >= rough * 0.999);
}

/** An axis around some values; one that was there before only grows, so that a live chart does not jump. */
function axisOf(values, unit, before) {
  const { floor = null, most = Infinity, zero = false, least = 0 } = UNITS[unit];
  let [low, high] = values.length ? [Math.min(...values), Math.max(...values)] : [0, unit === "share" ? 1 : 0];
  if (before) [low, high] = [Math.min(low, before.low), Math.max(high, before.high)];
  if (zero) low = Math.min(low, 0);
  if (high - low < least) [low, high] = [low - (least - high + low) / 2, high + (least - high + low) / 2];
  if (high === low) high = low + (Math.abs(low) || 1);
  const step = niceStep(high - low, 3);
  low = Math.floor(low / step + 1e-9) * step;
  high = Math.ceil(high / step - 1e-9) * step;
  if (floor !== null) low = Math.max(floor, low);
  high = Math.min(most, high);
  const ticks = [];
  for (let n = Math.ceil(low / step - 1e-9); n * step <= high + step * 1e-6; n += 1) ticks.push(n * step);
  return { low, high, ticks };
}

/** Ticks of the steps: 0, then some round ones up to the end. */
function stepTicks(end, parts) {
  const step = Math.max(1, niceStep(end, parts));
  return Array.from({ length: Math.floor(end / step) + 1 }, (_, n) => n * step).filter(Number.isInteger);
}

/** The same rows, or as many stretches of them as can be told apart: each the mean of its rows. */
export function thinned(rows, most = MOST_POINTS) {
  const size = Math.ceil(rows.length / most) || 1;
  if (size === 1) return rows.map((row) => [row]);
  return Array.from({ length: Math.ceil(rows.length / size) }, (_, n) => rows.slice(n * size, (n + 1) * size));
}

/** One figure over the steps, of one run or of several side by side. */
export class Curve {
  /** `get(row)` is the figure; `mark` a target to draw; `pick(step)` hears a click; `hover(step or null)` the pointer. */
  constructor({ title, what, unit, get, target = null, pick = null, hover = null }) {
    Object.assign(this, { title, what: what ?? title, unit, get, target, pick, hover });
    this.value = el("b", {});
    this.note = el("span", { class: "wb-note" });
    this.chart = svg("svg", { class: "wb-chart tn-curve", viewBox: `0 0 ${WIDE} ${HIGH}`, role: "img" });
    this.name = el("h2", { text: title });
    this.node = el("section", { class: "wb-panel tn-c", "aria-label": title }, el("header", {}, this.name, el("span", { class: "wb-sp" }), this.value, this.note), this.chart);
    this.axis = null;
    this.cursor = svg("line", { class: "tn-cursor", y1: TOP, y2: BASE });
    if (pick) {
      this.chart.classList.add("pick");
      this.chart.addEventListener("click", (event) => pick(this.stepAt(event)));
    }
    if (hover) {
      this.chart.addEventListener("pointermove", (event) => hover(this.stepAt(event)));
      this.chart.addEventListener("pointerleave", () => hover(null));
    }
  }

  retitle(title, get) {
    Object.assign(this, { title, what: title, get, axis: null });
    this.name.textContent = title;
    this.node.setAttribute("aria-label", title);
  }

  stepAt(event) {
    const box = this.chart.getBoundingClientRect();
    const share = (((event.clientX - box.left) / box.width) * WIDE - LEFT) / (RIGHT - LEFT);
    return Math.round(Math.min(1, Math.max(0, share)) * this.end);
  }

  x(step) {
    return LEFT + (step / this.end) * (RIGHT - LEFT);
  }

  y(value) {
    const { low, high } = this.axis;
    return BASE - ((value - low) / (high - low)) * (BASE - TOP);
  }

  /**
   * `runs`: `{ rows, look, letter, odd }` each; `end` the last step wanted; `before` a figure to hold against, with its name.
   */
  draw(runs, end, before = null) {
    this.end = Math.max(1, end, ...runs.map((run) => run.rows.at(-1)?.step ?? 0));
    this.runs = runs.map((run) => this.points(run));
    const extra = [before?.value, this.target].filter((value) => value !== null && value !== undefined);
    const all = this.runs.flatMap((run) => [...run.raw, ...run.smooth].map(([, value]) => value).filter((value) => value !== null));
    this.axis = axisOf([...all, ...extra], this.unit, this.axis);
    const { text } = UNITS[this.unit];
    const line = (value, name) => svg("line", { class: name, x1: LEFT, x2: RIGHT, y1: this.y(value), y2: this.y(value) });
    put(
      this.chart,
      this.axis.ticks.map((tick) => [
        line(tick, "g"),
        svg("text", { x: LEFT - 6, y: this.y(tick) + 4, "text-anchor": "end", text: text(tick) }),
      ]),
      stepTicks(this.end, 3).map((step) => svg("text", { x: this.x(step), y: BASE + 16, "text-anchor": "middle", text: String(step) })),
      before?.value === null || before?.value === undefined ? null : [line(before.value, "tn-ref"), svg("title", { text: before.name })],
      this.target === null ? null : [line(this.target, "tn-target"), svg("text", { class: "tn-targettext", x: LEFT + 4, y: this.y(this.target) - 4, text: `target ${text(this.target)}` })],
      this.runs.map((run, at) => this.lines(run, runs[at])),
      this.cursor,
    );
    this.setCursor(null);
    this.chart.setAttribute("aria-label", this.sentence(before));
  }

  points({ rows }) {
    const parts = thinned(rows);
    const raw = parts.map((part) => [part.at(-1).step, mean(part.map(this.get))]);
    const smooth = rows.length < MANY ? [] : trailing(rows.map(this.get));
    const thin = parts.length === rows.length ? smooth.map((value, at) => [rows[at].step, value]) : [];
    return { raw, smooth: thin.length ? thin : raw, rows, noisy: thin.length > 0 };
  }

  lines(run, { look = "", letter = null, odd = [] }) {
    const end = [...run.smooth].reverse().find(([, value]) => value !== null);
    return [
      run.noisy ? svg("path", { class: `tn-raw ${look}`, d: this.path(run.raw) }) : null,
      svg("path", { class: `tn-line ${look}`, d: this.path(run.smooth) }),
      end ? svg("circle", { class: `tn-end ${look}`, cx: this.x(end[0]), cy: this.y(end[1]), r: letter ? 2.5 : 3.5 }) : null,
      end && letter ? svg("text", { class: "ink b", x: Math.min(this.x(end[0]) + 5, WIDE - 8), y: this.y(end[1]) + 4, text: letter }) : null,
      odd.map((step) => svg("path", { class: "tn-odd", d: `M${this.x(step) - 4} ${BASE - 9}l8 8m0 -8l-8 8` }, svg("title", { text: `step ${step}: not a number` }))),
    ];
  }

  path(points) {
    let pen = "M";
    let d = "";
    for (const [step, value] of points) {
      if (value === null) pen = "M";
      else {
        d += `${pen}${this.x(step).toFixed(1)} ${this.y(value).toFixed(1)}`;
        pen = "L";
      }
    }
    return d || "M0 0";
  }

  /** The figure at a step, or of the last steps for null. */
  setCursor(step) {
    this.cursor.style.visibility = step === null ? "hidden" : "visible";
    const x = String(this.x(step ?? 0));
    this.cursor.setAttribute("x1", x);
    this.cursor.setAttribute("x2", x);
    if (this.runs.length !== 1) return;
    const { rows } = this.runs[0];
    const row = step === null ? null : rows.find((one) => one.step === step);
    const found = step === null ? mean(rows.slice(-5).map(this.get)) : row ? this.get(row) : null;
    put(this.value, found === null ? unknown(step === null ? "not known in the last steps" : "not known at this step") : UNITS[this.unit].text(found));
    this.note.textContent = step === null ? "" : `step ${step}`;
  }

  sentence(before) {
    const { text } = UNITS[this.unit];
    const said = this.runs.map(({ rows, smooth }, at) => {
      const known = smooth.filter(([, value]) => value !== null);
      const name = this.runs.length > 1 ? `${plain(String.fromCharCode(65 + at))}: ` : "";
      if (!known.length) return `${name}nothing known yet`;
      return `${name}from ${text(known[0][1])} at step ${known[0][0]} to ${text(known.at(-1)[1])} at step ${rows.at(-1).step}`;
    });
    const held = before?.value === null || before?.value === undefined ? "" : `; ${before.name} ${text(before.value)}`;
    return `${this.what} over steps: ${said.join("; ")}${held}`;
  }
}

// ---- shares of a whole, step by step

const [W2, H2, L2, R2, T2, B2] = [660, 186, 42, 486, 24, 158];

/** Names in a column at their bands, moved apart where they would stand on each other. */
function placed(bands) {
  const spots = bands.map((band) => ({ ...band, at: band.middle })).sort((a, b) => a.at - b.at);
  for (let n = 1; n < spots.length; n += 1) spots[n].at = Math.max(spots[n].at, spots[n - 1].at + 14);
  const over = spots.length ? Math.max(0, spots.at(-1).at - (B2 + 4)) : 0;
  for (let n = spots.length - 1; n >= 0 && over; n -= 1) spots[n].at = Math.min(spots[n].at, n === spots.length - 1 ? B2 + 4 : spots[n + 1].at - 14);
  return spots;
}

/** Bands that fill the height: bars for samples, areas for calls. */
export class Shares {
  /** `bars` draws a bar a step. `bands(row)` gives `[{ name, look, share }]` from the bottom up, the same names in every row. */
  constructor({ title, words, bars, bands, pick = null, hover = null }) {
    Object.assign(this, { title, bars, bands });
    this.said = el("p", { text: words });
    this.chart = svg("svg", { class: "wb-chart tn-shares", viewBox: `0 0 ${W2} ${H2}`, role: "img" });
    this.scroll = el("div", { class: "tn-wide", tabindex: "0", role: "region", "aria-label": `${title}, chart` }, this.chart);
    this.node = el("section", { class: "wb-panel", "aria-label": title }, el("header", {}, el("h2", { text: title }), this.said), this.scroll);
    this.cursor = svg("line", { class: "tn-cursor", y1: T2, y2: B2 });
    this.names = svg("g", {});
    const at = (event) => {
      const box = this.chart.getBoundingClientRect();
      const share = (((event.clientX - box.left) / box.width) * W2 - L2) / (R2 - L2);
      return Math.min(this.end, Math.max(1, this.bars ? Math.ceil(share * this.end) : Math.round(share * this.end)));
    };
    if (pick) {
      this.chart.classList.add("pick");
      this.chart.addEventListener("click", (event) => pick(at(event)));
    }
    if (hover) {
      this.chart.addEventListener("pointermove", (event) => hover(at(event)));
      this.chart.addEventListener("pointerleave", () => hover(null));
    }
  }

  x(step) {
    return L2 + (step / this.end) * (R2 - L2);
  }

  draw(rows, end, alarms = []) {
    this.rows = rows.filter((row) => this.bands(row).length);
    this.end = Math.max(1, end, rows.at(-1)?.step ?? 0);
    const y = (share) => B2 - share * (B2 - T2);
    put(
      this.chart,
      [0, 0.5, 1].map((share) => [
        svg("line", { class: "g", x1: L2, x2: R2, y1: y(share), y2: y(share) }),
        svg("text", { x: L2 - 6, y: y(share) + 4, "text-anchor": "end", text: `${100 * share} %` }),
      ]),
      stepTicks(this.end, 6).map((step) => svg("text", { x: this.x(step), y: B2 + 16, "text-anchor": "middle", text: String(step) })),
      this.bars ? this.drawBars(y) : this.drawAreas(y),
      alarms.map((alarm) => this.bracket(alarm)),
      this.cursor,
      this.names,
    );
    this.setCursor(null);
    const last = this.rows.at(-1);
    const parts = last ? this.bands(last).map((band) => `${band.name} ${Math.round(100 * band.share)} %`) : ["nothing yet"];
    this.chart.setAttribute("aria-label", plain(`${this.title}${last ? ` at step ${last.step}` : ""}: ${parts.join(", ")}`));
  }

  /** The bands of some rows together, stacked. */
  stacked(part) {
    const sums = this.bands(part[0]).map((band) => ({ ...band, share: 0 }));
    for (const row of part) this.bands(row).forEach((band, at) => (sums[at].share += band.share / part.length));
    let from = 0;
    return sums.map((band) => {
      const one = { ...band, from, to: from + band.share };
      from = one.to;
      return one;
    });
  }

  drawBars(y) {
    const paths = new Map();
    let before = 0;
    for (const part of thinned(this.rows, 120)) {
      const to = part.at(-1).step;
      const [x, wide] = [this.x(Math.max(before, part[0].step - 1)), Math.max(0.6, this.x(to) - this.x(Math.max(before, part[0].step - 1)) - 0.7)];
      before = to;
      for (const band of this.stacked(part)) {
        if (band.share <= 0) continue;
        const box = `M${x.toFixed(1)} ${y(band.to).toFixed(1)}h${wide.toFixed(1)}V${y(band.from).toFixed(1)}h${(-wide).toFixed(1)}z`;
        paths.set(band.look, (paths.get(band.look) ?? "") + box);
      }
    }
    return [...paths].map(([look, d]) => svg("path", { class: `tn-band ${look}`, d }));
  }

  drawAreas(y) {
    const columns = thinned(this.rows).map((part) => [this.x(part.at(-1).step), this.stacked(part)]);
    if (!columns.length) return null;
    if (columns.length === 1) columns.push([columns[0][0] + 3, columns[0][1]]);
    return columns[0][1].map((band, at) => {
      const along = (list, edge) => list.map(([x, bands]) => `${x.toFixed(1)} ${y(bands[at][edge]).toFixed(1)}`);
      const d = `M${along(columns, "to").join("L")}L${along([...columns].reverse(), "from").join("L")}z`;
      return svg("path", { class: `tn-area ${band.look}`, d, "fill-opacity": band.fade ?? 1 });
    });
  }

  bracket({ from, to, text }) {
    const [a, b] = [this.x(from - 1), Math.max(this.x(to), this.x(from - 1) + 3)];
    return [
      svg("path", { class: "tn-bracket", d: `M${a} ${T2 - 1}v-5H${b}v5` }),
      text ? svg("text", { class: "ink", x: Math.min(Math.max((a + b) / 2, 90), R2 - 60), y: T2 - 11, "text-anchor": "middle", text: plain(text) }) : null,
    ];
  }

  setCursor(step) {
    const { rows } = this;
    const row = step === null ? rows.at(-1) : rows.find((one) => one.step === step);
    this.cursor.style.visibility = step === null ? "hidden" : "visible";
    const x = String(this.bars ? this.x((step ?? 0.5) - 0.5) : this.x(step ?? 0));
    this.cursor.setAttribute("x1", x);
    this.cursor.setAttribute("x2", x);
    if (!row) return put(this.names);
    const bands = this.stacked([row]).map((band) => ({ ...band, middle: B2 - ((band.from + band.to) / 2) * (B2 - T2) }));
    return put(
      this.names,
      placed(bands).map((band) => [
        svg("rect", { class: `tn-band ${band.look}`, "fill-opacity": band.fade ?? 1, x: R2 + 12, y: band.at - 5, width: 10, height: 10, rx: 2 }),
        svg("text", { class: "ink", x: R2 + 27, y: band.at + 4 }, `${plain(band.name).slice(0, 24)} `, svg("tspan", { class: "b", text: `${Math.round(100 * band.share)} %` })),
      ]),
    );
  }
}

/** What tools got before and get after, on one line each: hollow before, filled after. */
export function dumbbells(pairs, words) {
  const step = 24;
  const [wide, left, right] = [520, 150, 460];
  const most = Math.max(0.1, ...pairs.flatMap(({ before, after }) => [before ?? 0, after ?? 0]));
  const end = Math.ceil(most * 10 - 1e-9) / 10;
  const high = pairs.length * step + 26;
  const x = (share) => left + (share / end) * (right - left);
  const ticks = [0, end / 2, end];
  return svg(
    "svg",
    { class: "wb-chart tn-bells", viewBox: `0 0 ${wide} ${high}`, role: "img", "aria-label": plain(words) },
    ticks.map((tick) => [
      svg("line", { class: "g", x1: x(tick), x2: x(tick), y1: 2, y2: high - 20 }),
      svg("text", { x: x(tick), y: high - 6, "text-anchor": "middle", text: `${Math.round(100 * tick)} %` }),
    ]),
    pairs.map(({ name, look, before, after }, at) => {
      const y = 14 + at * step;
      const [a, b] = [before ?? 0, after ?? 0];
      return [
        svg("text", { class: "ink", x: left - 10, y: y + 4, "text-anchor": "end", text: plain(name).slice(0, 24) }),
        svg("line", { class: `tn-bell ${look}`, x1: x(a), x2: x(b), y1: y, y2: y }),
        svg("circle", { class: `tn-bell hollow ${look}`, cx: x(a), cy: y, r: 4.5 }),
        svg("circle", { class: `tn-bell full ${look}`, cx: x(b), cy: y, r: 5 }),
        svg("text", { x: right + 12, y: y + 4 }, `${Math.round(100 * a)} → `, svg("tspan", { class: "ink b", text: `${Math.round(100 * b)} %` })),
      ];
    }),
  );
}

/** A curve as small as a word. */
export function spark(values, words) {
  const known = values.filter((value) => value !== null);
  if (known.length < 2) return el("span", { class: "tn-spark" });
  const [low, high] = [Math.min(...known), Math.max(...known)];
  const x = (at) => 1 + (at / (values.length - 1)) * 70;
  const y = (value) => 17 - ((value - low) / (high - low || 1)) * 14;
  let pen = "M";
  let d = "";
  values.forEach((value, at) => {
    if (value === null) pen = "M";
    else {
      d += `${pen}${x(at).toFixed(1)} ${y(value).toFixed(1)}`;
      pen = "L";
    }
  });
  return svg("svg", { class: "tn-spark", viewBox: "0 0 72 20", width: 72, height: 20, role: "img", "aria-label": plain(words) }, svg("path", { class: "tn-line", d }));
}
