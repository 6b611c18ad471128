// What an evaluation on held-out draws came to, with intervals, beside those who always do the same.

import { el } from "./dom.js";

/** The tables of an evaluation, or how one is made. */
export function evaluationView(evaluation, head) {
  if (!evaluation)
    return el(
      "section",
      { class: "wb-panel wb-state", "aria-label": "No evaluation" },
      el("h2", { text: "It was not evaluated yet" }),
      el("p", { text: "An evaluation plays held-out draws, of seen and of unseen kinds, beside who always asks the strongest, who asks at random and who knows everything. It is written to evaluation.json in the folder of the run." }),
    );
  return el("section", { class: "wb-panel", "aria-label": "Evaluation" }, el("pre", { class: "wb-args tn-log", text: JSON.stringify(evaluation, null, 2) }), head ? null : null);
}
