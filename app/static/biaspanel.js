// A panel of the Bias page, the place of its chart, and what stands where there is nothing to draw.

import { command as commandOf } from "./command.js";
import { el, put } from "./dom.js";

export const plot = () => el("div", { class: "bi-plot" });
export const fill = (host, make) => put(host, make(Math.max(260, host.clientWidth)));

export function panel(title, note, actions, ...body) {
  return el("section", { class: "wb-panel" }, el("header", {}, el("h2", { text: title }), el("p", { text: note }), actions), body);
}

/** What is missing and the command that makes it; its heading stands under that of a panel unless `level` says otherwise. */
export function state(title, words, command, level = "h3") {
  return el("div", { class: "wb-state" }, el(level, { text: title }), el("p", { text: words }), commandOf(command));
}
