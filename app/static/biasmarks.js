// What the charts of the Bias page share: scales, intervals, marks that open what is behind them, names.

import { svg } from "./dom.js";
import { percent, plain } from "./format.js";

export const SIMULATED = "sim:";

/** A model's name as a label of at most so many characters. */
export function short(name, most = 16) {
  const text = plain(name).replace(/^sim:/, "");
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}

/** An interval as `[66, 80]`; nothing where it is unknown. */
export function between(found, write = percent) {
  return found.low === null || found.high === null ? "" : `[${write(found.low)}, ${write(found.high)}]`;
}

/** A mark in a chart that opens the runs behind it, by click, Enter and space; `words` are its spoken name. */
export function mark(words, open, ...shapes) {
  const press = (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    open();
  };
  const on = { click: open, keydown: press };
  return svg("g", { class: "bi-mark", role: "button", tabindex: "0", "aria-label": words, on }, svg("title", { text: words }), shapes);
}

export const text = (x, y, words, more = {}) => svg("text", { x, y, text: words, ...more });
export const line = (x1, y1, x2, y2, more = {}) => svg("line", { x1, y1, x2, y2, ...more });

/** A chart of this size, whose letters keep theirs. */
export function chart(width, height, words, ...parts) {
  return svg("svg", { class: "wb-chart", viewBox: `0 0 ${width} ${height}`, width, height, role: "group", "aria-label": words }, parts);
}

/** A dot with its interval: filled or hollow, round or square. */
export function dot(x, y, found, place, { look, square = false, hollow = false, intervals = true }) {
  const bar =
    intervals && found.low !== null && found.high !== null
      ? line(place(found.low), y, place(found.high), y, { class: `bi-bar ${look}` })
      : null;
  const shape = square
    ? svg("rect", { class: `bi-dot ${look}${hollow ? " hollow" : ""}`, x: x - 4, y: y - 4, width: 8, height: 8 })
    : svg("circle", { class: `bi-dot ${look}${hollow ? " hollow" : ""}`, cx: x, cy: y, r: 4.5 });
  const reach = svg("rect", { class: "bi-reach", x: x - 12, y: y - 10, width: 24, height: 20 });
  return [bar, shape, reach];
}
