// What stands in the place of content: a run that waits in the queue, that is on its way, or something that is not there.

import { el } from "./dom.js";
import { count, fullSentence, plain } from "./format.js";

const MOST_NAME = 80;
const brief = (name) => (name.length > MOST_NAME ? `${name.slice(0, MOST_NAME)}…` : name);

/** A title, one sentence, and what can be done next, in a row. */
export function placard(title, words, ...actions) {
  return el(
    "div",
    { class: "wb-state lv-empty" },
    el("h2", { text: title }),
    el("p", { text: words }),
    el("div", { class: "lv-ex" }, actions),
  );
}

/** A run that waits; `onCancel()` takes it out of the queue. */
export function waiting({ place, waiting: all }, onCancel) {
  const ahead = place === 1 ? "It is the next to begin." : `${count(place - 1)} before it.`;
  return placard(
    `Place ${count(place)} of ${count(all)} in the queue`,
    `${ahead} Sixteen runs go on at once; this one begins by itself, also when you leave.`,
    el("button", { class: "wb-btn danger", type: "button", text: "Cancel it", on: { click: onCancel } }),
  );
}

/** A run of which nothing has come yet; seen only when that takes a while. */
export const loading = () => el("div", { class: "lv-loading", "aria-hidden": "true" }, skeleton(), skeleton(), skeleton());

/** A line of what is on its way; seen only when that takes a while. */
export const skeleton = () => el("div", { class: "wb-skel lv-late", "aria-hidden": "true" });

/** Why a link may lead to no run. */
export const nowhere = (id) => `Nothing here is called \u201c${brief(plain(id))}\u201d. It was deleted, or the link is from another machine.`;

/** A run that is not there, and where to go instead. */
export function missing(title, message) {
  return placard(
    title,
    fullSentence(plain(message)),
    el("a", { class: "wb-btn", href: "/trajectories", text: "All trajectories" }),
    el("a", { class: "wb-btn", href: "/", text: "New task" }),
  );
}
