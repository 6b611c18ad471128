// A curve as small as a word.

import { el, svg } from "./dom.js";
import { plain } from "./format.js";

/** The values as a line without axes. */
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
