// Shares of a whole over the steps of training: bars for samples, areas for calls, and before and after.

import { el, put, svg } from "./dom.js";
import { percent, plain } from "./format.js";
import { stepTicks, thinned } from "./trainingfigures.js";

const [H2, L2, T2, B2] = [186, 42, 24, 158];
const WIDE = { width: 660, right: 486 };
const NARROW = { width: 344, right: 336 }; // a phone's: the names stand below, in two columns
const LINE = 18;
const narrow = matchMedia("(max-width: 760px)");

/** Names in a column at their bands, moved apart where they would stand on each other. */
function placed(bands) {
  const spots = bands.map((band) => ({ ...band, at: band.middle })).sort((a, b) => a.at - b.at);
  for (let n = 1; n < spots.length; n += 1) spots[n].at = Math.max(spots[n].at, spots[n - 1].at + 14);
  const over = spots.length ? Math.max(0, spots.at(-1).at - (B2 + 4)) : 0;
  for (let n = spots.length - 1; n >= 0 && over; n -= 1) spots[n].at = Math.min(spots[n].at, n === spots.length - 1 ? B2 + 4 : spots[n + 1].at - 14);
  return spots;
}

/** Names in two columns below the axis, from the top band down. */
const below = (bands) =>
  [...bands].reverse().map((band, n) => ({ ...band, left: L2 - 30 + (n % 2) * 164, at: H2 + 8 + LINE * Math.floor(n / 2) }));

/** Bands that fill the height: bars for samples, areas for calls. */
export class Shares {
  /** `bars` draws a bar a step. `bands(row)` gives `[{ name, look, share }]` from the bottom up, the same names in every row. */
  constructor({ title, words, bars, bands, pick = null, hover = null }) {
    Object.assign(this, { title, bars, bands });
    this.said = el("p", { text: words });
    this.chart = svg("svg", { class: "wb-chart tn-shares", role: "img" });
    this.scroll = el("div", { class: "tn-wide", tabindex: "0", role: "region", "aria-label": `${title}, chart` }, this.chart);
    this.node = el("section", { class: "wb-panel", "aria-label": title }, el("header", {}, el("h2", { text: title }), this.said), this.scroll);
    this.cursor = svg("line", { class: "tn-cursor", y1: T2, y2: B2 });
    this.names = svg("g", {});
    narrow.addEventListener("change", () => this.last && this.draw(...this.last));
    const at = (event) => {
      const box = this.chart.getBoundingClientRect();
      const share = (((event.clientX - box.left) / box.width) * this.form.width - L2) / (this.form.right - L2);
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

  get form() {
    return narrow.matches ? NARROW : WIDE;
  }

  x(step) {
    return L2 + (step / this.end) * (this.form.right - L2);
  }

  draw(rows, end, alarms = []) {
    this.last = [rows, end, alarms];
    this.rows = rows.filter((row) => this.bands(row).length);
    this.end = Math.max(1, end, rows.at(-1)?.step ?? 0);
    const y = (share) => B2 - share * (B2 - T2);
    put(
      this.chart,
      [0, 0.5, 1].map((share) => [
        svg("line", { class: "g", x1: L2, x2: this.form.right, y1: y(share), y2: y(share) }),
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
    const named = narrow.matches && last ? LINE * Math.ceil(this.bands(last).length / 2) + 6 : 0;
    this.chart.setAttribute("viewBox", `0 0 ${this.form.width} ${H2 + named}`);
    const parts = last ? this.bands(last).map((band) => `${band.name} ${percent(band.share)} %`) : ["nothing yet"];
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
      text ? svg("text", { class: "ink", x: Math.min(Math.max((a + b) / 2, 90), this.form.right - 60), y: T2 - 11, "text-anchor": "middle", text: plain(text) }) : null,
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
    const spots = narrow.matches ? below(bands) : placed(bands).map((band) => ({ ...band, left: WIDE.right + 12 }));
    return put(
      this.names,
      spots.map(({ look, fade, name, share, left, at }) => [
        svg("rect", { class: `tn-band ${look}`, "fill-opacity": fade ?? 1, x: left, y: at - 5, width: 10, height: 10, rx: 2 }),
        svg("text", { class: "ink", x: left + 15, y: at + 4 }, `${plain(name).slice(0, 24)} `, svg("tspan", { class: "b", text: `${percent(share)} %` })),
      ]),
    );
  }
}

/** What tools got before and get after, on one line each: hollow before, filled after. `wide` in pixels. */
export function dumbbells(pairs, words, wide) {
  const step = 24;
  const [left, right] = [Math.min(150, 0.36 * wide), wide - 72];
  const most = Math.max(0.1, ...pairs.flatMap(({ before, after }) => [before ?? 0, after ?? 0]));
  const end = Math.ceil(most * 10 - 1e-9) / 10;
  const high = pairs.length * step + 26;
  const x = (share) => left + (share / end) * (right - left);
  const ticks = [0, end / 2, end];
  return svg(
    "svg",
    { class: "wb-chart", viewBox: `0 0 ${wide} ${high}`, style: { "max-width": `${wide}px` }, role: "img", "aria-label": plain(words) },
    ticks.map((tick) => [
      svg("line", { class: "g", x1: x(tick), x2: x(tick), y1: 2, y2: high - 20 }),
      svg("text", { x: x(tick), y: high - 6, "text-anchor": "middle", text: `${percent(tick)} %` }),
    ]),
    pairs.map(({ name, look, before, after }, at) => {
      const y = 14 + at * step;
      const [a, b] = [before ?? 0, after ?? 0];
      return [
        svg("text", { class: "ink", x: left - 10, y: y + 4, "text-anchor": "end", text: plain(name).slice(0, 24) }),
        svg("line", { class: `tn-bell ${look}`, x1: x(a), x2: x(b), y1: y, y2: y }),
        svg("circle", { class: `tn-bell hollow ${look}`, cx: x(a), cy: y, r: 4.5 }),
        svg("circle", { class: `tn-bell full ${look}`, cx: x(b), cy: y, r: 5 }),
        svg("text", { x: right + 12, y: y + 4 }, `${percent(a)} → `, svg("tspan", { class: "ink b", text: `${percent(b)} %` })),
      ];
    }),
  );
}
