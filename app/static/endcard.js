// The card that closes a run.

import { el } from "./dom.js";
import { plain, plural } from "./format.js";
import { outcomeChip } from "./marks.js";
import { prose } from "./prose.js";

const ENDS = {
  cancelled: ["Stopped by you", "The run was stopped; calls that ran were closed."],
  max_turns: ["Turn limit", "The run used all its turns without an answer."],
  cost_limit: ["Cost limit", "The next step could have cost more than the limit allows."],
  time_limit: ["Time limit", "The run's seconds are used up; calls that ran were closed."],
  token_limit: ["Token limit", "The run's tokens are used up."],
  loop: ["Ended in a loop", "The orchestrator kept repeating a call that had been refused as a repeat."],
  fault: ["Ended by a fault", "Something outside the episode failed, so it ended here."],
};

/** The card that closes a run: the answer, or why there is none and what is kept. */
export function endCard(run, actions) {
  const graded = run.outcome === null ? null : outcomeChip(run.outcome);
  if (run.stop === "answered") {
    return el(
      "li",
      { class: "lv-end" },
      el("div", { class: "lv-end-head" }, el("h2", { class: "wb-cap", text: "Answer" }), graded),
      el(
        "div",
        { class: "lv-answer", id: "answer", tabindex: "0", role: "region", "aria-label": "Answer" },
        prose(run.answer),
      ),
      actions,
    );
  }
  const [title, words] = ENDS[run.stop] ?? ["Ended", ""];
  const message = run.broken ?? run.fault?.message;
  const kept = run.turns.filter((turn) => turn.finished !== null && turn.generation !== null).length;
  const keptWords = kept ? `${plural(kept, "turn")} and the bill are kept.` : "What was spent so far is on the bill.";
  return el(
    "li",
    { class: `lv-end ${run.stop === "fault" || run.broken ? "bad" : ""}` },
    el("div", { class: "lv-end-head" }, el("h2", { class: "wb-cap", text: title }), graded),
    message
      ? el("p", { class: "lv-fault" }, el("b", { text: `${plain(run.fault?.where ?? "run")}: ` }), plain(message))
      : null,
    el("p", {}, run.broken ? `The record may be incomplete. ${keptWords}` : `${words} ${keptWords}`),
    actions,
  );
}
