// Small marks that every page shares: the chip of a status, the box of a kind, the badges of provenance.

import { el } from "./dom.js";
import { plain } from "./format.js";
import { icon, toolIcon } from "./icons.js";

const STATUS = {
  queued: ["", "minus", "queued"],
  running: ["run", null, "running"],
  answered: ["ok", "check", "answered"],
  cancelled: ["warn", "warn", "stopped"],
  max_turns: ["warn", "warn", "turn limit"],
  cost_limit: ["warn", "warn", "cost limit"],
  time_limit: ["warn", "warn", "time limit"],
  token_limit: ["warn", "warn", "token limit"],
  loop: ["warn", "warn", "loop"],
  fault: ["bad", "cross", "fault"],
  interrupted: ["warn", "warn", "interrupted"],
};

/** The chip of a run's status: icon and word. */
export function statusChip(status, word) {
  const [look, sign, usual] = STATUS[status] ?? ["", "minus", status];
  const mark = status === "running" ? el("i", { class: "dot" }) : icon(sign, true);
  return el("span", { class: `wb-chip ${look}` }, mark, word ?? usual);
}

/** The chip of a graded run. */
export const outcomeChip = (solved) =>
  el(
    "span",
    { class: `wb-chip ${solved ? "ok" : "bad"}` },
    icon(solved ? "check" : "cross", true),
    solved ? "solved" : "not solved",
  );

/** The same without a ground, for a narrow place. */
export const outcomeMark = (solved) =>
  el(
    "span",
    { class: `lv-statusmark ${solved ? "ok" : "bad"}` },
    icon(solved ? "check" : "cross", true),
    solved ? "solved" : "not solved",
  );

/** A status without a ground. */
export function statusMark(status, word) {
  const [look, sign, usual] = STATUS[status] ?? ["", "minus", status];
  const mark = status === "running" ? el("i", { class: "dot" }) : icon(sign, true);
  return el("span", { class: `lv-statusmark ${look}` }, mark, word ?? usual);
}

export const kindBox = (kind, name = "") =>
  el("span", { class: `wb-kind k-${kind}`, "aria-hidden": "true" }, icon(toolIcon(kind, name)));

export function nominalBadge(short = false) {
  const title = "Nominal prices: what hosted equivalents of these models would cost. Nobody is billed.";
  return el("span", { class: "wb-badge", tabindex: short ? null : "0", title, text: short ? "nom" : "nominal" });
}

export function simulatedBadge(short = false) {
  return el("span", {
    class: "wb-badge",
    tabindex: short ? null : "0",
    title: "Simulated: a stated profile answers, not the thing it names.",
    text: short ? "sim" : "simulated",
  });
}

/** Which step of which training run a run was a rollout of: `{ run, step }`. */
export function trainingBadge({ run, step }) {
  const title = `A rollout of step ${step} of the training run ${plain(run)}`;
  return el("span", { class: "wb-badge", title, text: `training ${step}` });
}

/** Where a run came from that was not played here first: `{ origin, conversation }` of its setting. */
export function originBadge({ origin, conversation }) {
  if (origin === null) return null;
  const [word, title] = conversation === null ? ["replay", `A ${origin}`] : ["imported", `Imported: ${origin}`];
  return el("span", { class: "wb-badge", tabindex: "0", title: plain(title), text: word });
}
