// The histogram of costs that is the filter: bars of runs by cost, and two thumbs that say from where to where.

import { el, put, svg } from "./dom.js";
import { count, plural, usd } from "./format.js";

const [WIDTH, HEIGHT] = [168, 24];
const WIDEST = 28; // of a bar: the only one of a narrow list is no wall
const PAUSE_MS = 200;

export class CostRange {
  /** `onChange(from, to)` hears USD, or null for an end that is open. */
  constructor(host, onChange) {
    this.host = host;
    this.onChange = onChange;
    this.bars = [];
    this.words = el("span", { class: "wb-note" });
    this.drawing = svg("svg", {
      width: WIDTH,
      height: HEIGHT,
      viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
      "aria-hidden": "true",
    });
    this.low = this.thumb("Cost from");
    this.high = this.thumb("Cost to");
    this.rest = el("span", { class: "wb-note rc-rest" });
    put(host, this.words, el("div", { class: "rc-hist" }, this.drawing, this.low, this.high), this.rest);
  }

  thumb(label) {
    let timer = 0;
    const input = el("input", { type: "range", min: 0, step: 1, disabled: true, "aria-label": label });
    input.addEventListener("input", () => {
      if (Number(this.low.value) >= Number(this.high.value)) {
        // The thumbs never pass each other: a range holds at least one bar.
        if (input === this.low) input.value = String(Number(this.high.value) - 1);
        else input.value = String(Number(this.low.value) + 1);
      }
      this.draw();
      clearTimeout(timer);
      timer = setTimeout(() => this.onChange(this.from, this.to), PAUSE_MS);
    });
    return input;
  }

  get from() {
    return Number(this.low.value) === 0 ? null : this.bars[Number(this.low.value)].from;
  }

  get to() {
    return Number(this.high.value) === this.bars.length ? null : this.bars[Number(this.high.value) - 1].to;
  }

  /** New bars, and the range of the address: USD, or null for an open end. */
  show({ bars, free, unknown }, from, to) {
    this.bars = bars;
    this.free = free;
    this.unknown = unknown;
    this.given = [from, to];
    const n = bars.length;
    for (const input of [this.low, this.high]) {
      input.max = String(n);
      input.disabled = n < 2;
    }
    const first = from === null ? 0 : bars.findIndex((bar) => bar.to > from);
    const last = to === null ? n : bars.findIndex((bar) => bar.to >= to * 0.999) + 1;
    this.low.value = String(first < 0 ? Math.max(0, n - 1) : first);
    this.high.value = String(last <= 0 ? n : Math.max(last, Number(this.low.value) + 1));
    this.draw();
  }

  draw() {
    const most = Math.max(1, ...this.bars.map((bar) => bar.runs));
    const step = WIDTH / Math.max(1, this.bars.length);
    const [low, high] = [Number(this.low.value), Number(this.high.value)];
    this.drawing.replaceChildren(
      ...this.bars.map((bar, n) => {
        const height = bar.runs ? Math.max(2, (bar.runs / most) * (HEIGHT - 2)) : 0.75;
        const look = n >= low && n < high ? "rc-bar" : "rc-bar out";
        const width = Math.min(WIDEST, Math.max(1, step - 1));
        return svg("rect", { class: look, x: n * step + (step - 1 - width) / 2, y: HEIGHT - height, width, height });
      }),
    );
    const [from, to] = this.bars.length ? [this.from, this.to] : [null, null];
    this.low.setAttribute("aria-valuetext", from === null ? "any" : usd(from));
    this.high.setAttribute("aria-valuetext", to === null ? "any" : usd(to));
    const on = from !== null || to !== null || this.given.some((end) => end !== null);
    put(this.words, "Cost ", el("b", { text: on ? span(from ?? this.given[0], to ?? this.given[1]) : "any" }));
    const apart = [
      this.free ? `${count(this.free)} free` : null,
      this.unknown ? `${count(this.unknown)} unknown` : null,
    ];
    const words = apart.filter(Boolean).join(", ");
    const out = on && this.unknown ? `; ${plural(this.unknown, "run")} of unknown cost left out` : "";
    this.rest.textContent = words;
    this.rest.title = words ? `Beside the bars: ${words}${out}` : "";
    this.host.classList.toggle("on", on);
  }
}

function span(from, to) {
  if (from === null) return `up to ${usd(to)}`;
  return to === null ? `from ${usd(from)}` : `${usd(from)} to ${usd(to)}`;
}
