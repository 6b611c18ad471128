// What stands in the place of rows where there are none, and which filters alone hide runs.

import { el } from "./dom.js";
import { count, fullSentence, plain, plural } from "./format.js";
import { narrowing } from "./filters.js";
import { placard, skeleton } from "./placards.js";
import { again } from "./toolmarks.js";

/** What the button of a filter says that hides so many runs. */
function hides(part, word, runs) {
  return part === "training" ? `${plural(runs, "training rollout")} hidden` : `${part} ${word} ${count(runs)}`;
}

/** The list could not be read; `retry()` reads it again where that may help. */
export const unreadable = (error, retry) =>
  placard(
    "The list could not be read",
    fullSentence(plain(error.message)),
    again(error, retry),
    el("a", { class: "wb-btn", href: "/trajectories", text: "The whole list" }),
  );

export class EmptyList {
  /** `list` tells its `query`, `page`, `filters` and `hidden`: how many runs each filter alone hides. */
  constructor(list) {
    this.list = list;
  }

  /** Why no row is there, of `total` runs that the choice of training leaves; null while they are counted. */
  nothing(total) {
    if (total === null) return skeleton();
    if (total === 0 && !this.list.page?.rollouts)
      return el(
        "div",
        { class: "wb-state" },
        el("h2", { text: "Nothing has been run yet" }),
        el("p", { text: "Every run is kept here, finished or stopped." }),
        el("a", { class: "wb-btn primary", href: "/", text: "Give it a task" }),
      );
    // That rollouts of training are left out counts where there are any.
    const names = narrowing(this.list.query).filter((part) => part !== "training" || this.hiddenBy(part));
    if (names.length === 0)
      return el(
        "div",
        { class: "wb-state" },
        el("h2", { text: "Nothing lies beyond this place" }),
        el("p", { text: "The runs that this link showed are gone, or it was cut." }),
        el("a", { class: "wb-btn", href: "/trajectories", text: "The newest ones" }),
      );
    return el(
      "div",
      { class: "wb-state" },
      el("h2", { text: "No trajectory matches" }),
      el("p", { text: `Drop a filter: ${names.join(", ")}.` }),
      el("div", { class: "lv-actions" }, this.hiding("alone hides")),
      el("button", {
        class: "wb-btn",
        type: "button",
        text: "Clear filters",
        on: { click: () => this.list.filters.clear() },
      }),
    );
  }

  /** How many runs a filter alone hides; where none but the one on training is set, those are all rollouts. */
  hiddenBy(part) {
    const alone = narrowing(this.list.query).length === 1 && part === "training" && !this.list.query.get("training");
    return alone ? this.list.page?.rollouts : this.list.hidden?.[part];
  }

  /** A button for each filter that alone hides runs: it takes that filter out. */
  hiding(word) {
    return narrowing(this.list.query)
      .filter((part) => this.hiddenBy(part))
      .map((part) =>
        el("button", {
          class: "wb-btn sm rc-hides",
          type: "button",
          title: `Drop this filter: ${count(this.hiddenBy(part))} more`,
          text: hides(part, word, this.hiddenBy(part)),
          on: { click: () => this.list.filters.drop(this.list.query, part) },
        }),
      );
  }
}
