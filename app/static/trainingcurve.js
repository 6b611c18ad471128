// One figure over the steps of training, of one run, of several, or of seeds together: own SVG, so that it follows the theme.

import { el, put, svg } from "./dom.js";
import { plain, unknown } from "./format.js";
import { UNITS, axisOf, mean, stepTicks, thinned, trailing } from "./trainingfigures.js";

const [WIDE, HIGH, LEFT, RIGHT, TOP, BASE] = [330, 150, 46, 320, 16, 126];
const MANY = 8; // from so many steps on a trailing mean is drawn over the steps

/** Half of an interval, in words. */
function reachWords(low, high, unit) {
  if (low === null || high === null) return "";
  const reach = (high - low) / 2;
  return `± ${unit === "share" ? `${(100 * reach).toFixed(1)} pts` : UNITS[unit].text(reach)}`;
}

const LETTER = 11; // px that a letter needs
const endOf = (run) => [...run.smooth].reverse().find(([, value]) => value !== null);

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
   * Rows of seeds together are means already and have `low` and `high`, between which a band is drawn.
   */
  draw(runs, end, before = null) {
    this.end = Math.max(1, end, ...runs.map((run) => run.rows.at(-1)?.step ?? 0));
    this.runs = runs.map((run) => this.points(run));
    const extra = [before?.value, this.target].filter((value) => value !== null && value !== undefined);
    const all = this.runs.flatMap((run) => [...run.raw, ...run.smooth, ...run.edges].map(([, value]) => value).filter((value) => value !== null));
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
      this.target === null ? null : line(this.target, "tn-target"),
      this.runs.map((run, at) => this.lines(run, runs[at])),
      this.target === null ? null : svg("text", { class: "tn-targettext", x: LEFT + 4, y: this.y(this.target) - 4, text: `target ${text(this.target)}` }),
      this.letters(runs),
      this.cursor,
    );
    this.setCursor(null);
    this.chart.setAttribute("aria-label", this.sentence(before));
  }

  points({ rows }) {
    const parts = thinned(rows);
    if (rows[0]?.low) {
      const line = parts.map((part) => [part.at(-1).step, this.get(part.at(-1))]);
      const known = parts.map((part) => part.at(-1)).filter((row) => this.get(row.low) !== null);
      const edges = [...known.map((row) => [row.step, this.get(row.high)]), ...known.reverse().map((row) => [row.step, this.get(row.low)])];
      return { raw: line, smooth: line, edges, rows, noisy: false };
    }
    const raw = parts.map((part) => [part.at(-1).step, mean(part.map(this.get))]);
    const smooth = rows.length < MANY ? [] : trailing(rows.map(this.get));
    const thin = parts.length === rows.length ? smooth.map((value, at) => [rows[at].step, value]) : [];
    return { raw, smooth: thin.length ? thin : raw, edges: [], rows, noisy: thin.length > 0 };
  }

  lines(run, { look = "", letter = null, odd = [] }) {
    const end = endOf(run);
    return [
      run.edges.length ? svg("path", { class: `tn-between95 ${look}`, d: `${this.path(run.edges)}z` }) : null,
      run.noisy ? svg("path", { class: `tn-raw ${look}`, d: this.path(run.raw) }) : null,
      svg("path", { class: `tn-line ${look}`, d: this.path(run.smooth) }),
      end ? svg("circle", { class: `tn-end ${look}`, cx: this.x(end[0]), cy: this.y(end[1]), r: letter ? 2.5 : 3.5 }) : null,
      odd.map((step) => svg("path", { class: "tn-odd", d: `M${this.x(step) - 4} ${BASE - 9}l8 8m0 -8l-8 8` }, svg("title", { text: `step ${step}: not a number` }))),
    ];
  }

  /** The letters of runs beside the ends of their lines, below each other where the ends meet. */
  letters(runs) {
    const marks = this.runs.flatMap((run, at) => {
      const end = runs[at].letter ? endOf(run) : null;
      return end ? [{ text: runs[at].letter, x: Math.min(this.x(end[0]) + 5, WIDE - 8), y: this.y(end[1]) + 4 }] : [];
    });
    marks.sort((a, b) => a.y - b.y);
    marks.forEach((mark, at) => {
      const above = marks.slice(0, at).findLast((other) => Math.abs(other.x - mark.x) < LETTER);
      if (above) mark.y = Math.max(mark.y, above.y + LETTER);
    });
    return marks.map(({ text, x, y }) => svg("text", { class: "ink b", x, y, text }));
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
    const seeds = Boolean(rows[0]?.low);
    const row = step === null ? (seeds ? rows.at(-1) : null) : rows.find((one) => one.step === step);
    const found = row ? this.get(row) : step === null && !seeds ? mean(rows.slice(-5).map(this.get)) : null;
    put(this.value, found === null ? unknown(step === null ? "not known in the last steps" : "not known at this step") : UNITS[this.unit].text(found));
    this.note.textContent = [seeds && found !== null ? reachWords(this.get(row.low), this.get(row.high), this.unit) : "", step === null ? "" : `step ${step}`].filter(Boolean).join(", ");
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
