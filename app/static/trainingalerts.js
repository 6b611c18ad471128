// What went wrong in a run: why it failed or stopped, what was not a number, lines that could not be read, drifts.

import { el, put } from "./dom.js";
import { asSentence, plain, plural } from "./format.js";
import { icon } from "./icons.js";
import { spanWords } from "./trainingwords.js";

/** Draw them again only where they changed: a screen reader would read them anew. */
export function drawAlerts(run) {
  const { head } = run;
  const alert = (look, what, text, ...rest) => el("div", { class: `wb-alert ${look}` }, icon("warn"), el("p", {}, el("b", { text: `${what} ` }), plain(text)), ...rest);
  const made = [];
  if (head.state === "failed") {
    const last = head.checkpoints.at(-1);
    made.push(alert("bad", "The run failed.", `${sentence(head.message || "it says nothing of why")} ${last === undefined ? "There is no checkpoint to go on from." : `Resume goes on from the checkpoint of step ${last}.`}`));
  }
  if (head.state === "unreadable") made.push(alert("bad", "The folder cannot be read.", head.message));
  if (head.state === "stopped" && head.message) made.push(alert("", "Stopped.", head.message));
  if (run.odd.length) {
    const { step, odd } = run.odd[0];
    made.push(alert("bad", "Not a number:", `${odd.join(", ")} at step ${step}${run.odd.length > 1 ? ` and at ${plural(run.odd.length - 1, "other step")}` : ""}. What was unknown is left out of the curves.`));
  }
  if (head.bad_lines) made.push(alert("warn", `${plural(head.bad_lines, "line")} could not be read.`, head.problem ?? ""));
  for (const span of run.spans.slice(-3)) made.push(alert("warn", `${asSentence(spanWords(span))}.`, span.why));
  const key = made.map((one) => one.textContent).join();
  if (key !== run.alertKey || !run.alerts.childElementCount) put(run.alerts, made);
  run.alertKey = key;
}

const sentence = (text) => `${asSentence(plain(text)).replace(/[.\s]+$/, "")}.`;
