// Meters: how much of a limit is used, with a word where it comes near or is passed.

import { el } from "./dom.js";
import { seconds, usd } from "./format.js";

const NEAR = 0.8;

/** `near`, `over` or null. */
export function nearness(used, limit) {
  if (limit === null) return null;
  return used > limit ? "over" : used > NEAR * limit ? "near" : null;
}

/** Money: spent solid, held for running calls hatched. */
export function meter(spent, held, limit) {
  const words = `Spent ${usd(spent)}${limit === null ? ", no limit" : ` of ${usd(limit)}`}${held ? `, ${usd(held)} held for running calls` : ""}`;
  return bar({ used: spent, held, limit, words });
}

/** Seconds of a limit. */
export function timeMeter(now, limit) {
  return bar({ used: now, held: 0, limit, words: `${seconds(now)} of ${seconds(limit)}`, slim: true });
}

/** The word beside a meter that is near its limit or over it. */
export function warning(used, limit, what) {
  const state = nearness(used, limit);
  if (state === null) return null;
  return el("span", {
    class: `lv-near ${state}`,
    text: state === "over" ? `over the ${what} limit` : `near the ${what} limit`,
  });
}

function bar({ used, held, limit, words, slim = false }) {
  const full = limit ?? Math.max(used + held, 0.000001);
  const share = (part) => `${Math.min(100, (part / full) * 100)}%`;
  const look = ["wb-meter", limit === null ? "open" : nearness(used, limit), slim ? "slim" : null].filter(Boolean);
  return el(
    "div",
    {
      class: look.join(" "),
      role: "meter",
      "aria-valuemin": 0,
      "aria-valuemax": full,
      "aria-valuenow": Math.min(used, full),
      "aria-label": words,
    },
    limit === null ? null : el("i", { class: "spent", style: { width: share(used) } }),
    limit === null ? null : el("i", { class: "held", style: { width: share(held) } }),
  );
}
