// Marks of Tools & prices: whether an entry can be used, how far its weights are, what went wrong.

import { el } from "./dom.js";
import { asSentence, bytes, count, plain, wait } from "./format.js";
import { icon } from "./icons.js";

/** What a sentence of ours begins with; a name of a file, a setting or a server stays as it is. */
const OPENER = /^(?:a|an|it|no|the|there|this)\b/;

export const BUSY = new Set(["fetching", "checking"]);

/** A reason of the server as it is read after other words. */
export const reasonOf = (why) => plain(why).replace(OPENER, asSentence);

export function alertOf(what, why) {
  return el("div", { class: "wb-alert bad" }, icon("warn"), el("p", {}, el("b", { text: `${plain(what)} ` }), reasonOf(why)));
}

/** The remedy where the server failed or does not answer; null where it refused, which it would do again. */
export function again(error, show) {
  const failed = error.status === 0 || error.status >= 500;
  return failed ? el("button", { class: "wb-btn", type: "button", text: "Try again", on: { click: show } }) : null;
}

/** Ready, off with the reason, or how far its weights are. */
export function status(row, weights) {
  if (weights && BUSY.has(weights.state)) {
    const share = weights.total_bytes ? weights.done_bytes / weights.total_bytes : 0;
    return el(
      "span",
      { class: "tp-s" },
      el("span", { class: "wb-chip run" }, el("i", { class: "dot" }), `${weights.state} ${Math.floor(share * 100)} %`),
      el(
        "span",
        { class: "tp-w" },
        el("span", { class: "wb-prog" }, el("i", { style: { width: `${share * 100}%` } })),
        weightsWords(weights),
      ),
    );
  }
  if (row.off === null)
    return el("span", { class: "tp-s" }, el("span", { class: "wb-chip ok" }, icon("check", true), "ready"));
  const reason = plain(row.off);
  return el(
    "span",
    { class: "tp-s" },
    el("span", { class: "wb-chip" }, icon("minus", true), "off"),
    el("span", { class: "wb-note lv-cut", title: reason, text: reason }),
  );
}

export function weightsWords(weights) {
  const parts = [
    `${count(Math.floor(weights.done_bytes / 1e6))} of ${count(Math.round(weights.total_bytes / 1e6))} MB`,
  ];
  if (weights.rate_bps) parts.push(`${bytes(Math.round(weights.rate_bps))}/s`);
  if (weights.eta_s !== null && weights.eta_s !== undefined) parts.push(`${wait(weights.eta_s)} left`);
  return parts.join(" · ");
}
