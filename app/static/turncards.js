// The cards of a timeline: a list item for each call, or for a turn without any. `timeline` knows its run, what the
// reader opened, and how to draw a turn anew.

import { el } from "./dom.js";
import { icon, toolIcon } from "./icons.js";
import { cost, firstLine, plain, tokenText, unknown, usd } from "./format.js";
import { argumentsBox, observationBox } from "./observation.js";
import { phase } from "./run.js";
import { lasted } from "./times.js";
import { whyBox } from "./why.js";

const CHIPS = {
  thinking: ["run", null, "thinking"],
  writing: ["run", null, "writing"],
  waiting: ["", "minus", "waiting"],
  running: ["run", null, "calling"],
  ok: ["ok", "check", "done"],
  error: ["bad", "cross", "failed"],
  timeout: ["bad", "cross", "timed out"],
  rejected: ["bad", "cross", "rejected"],
  cancelled: ["warn", "warn", "cancelled"],
};
const FAILED = new Set(["error", "timeout", "rejected"]);

export const turnKey = (turn) => `turn-${turn.index}`;
export const callKey = (call) => `call-${call.id}`;
export const stateWord = (state) => CHIPS[state]?.[2] ?? state;

/** A turn without calls: thinking, writing, an answer, or nothing. */
export function orchestratorCard(timeline, turn, position) {
  const { run } = timeline;
  const state = phase(turn, run);
  const live = state === "thinking" || state === "writing";
  const answered = turn.generation !== null && turn.generation.answer !== null;
  const cut = !live && !answered && (turn.generation === null || wasCutOff(run, turn));
  const chip = live ? state : cut ? (run.stop === "fault" ? "error" : "cancelled") : "ok";
  const key = turnKey(turn);
  const unfolded = timeline.isOpen(key, live || cut);
  const word = answered ? "answered" : null;
  const took = (turn.generated ?? turn.finished ?? run.now) - turn.started;
  const header = heading(timeline, {
    key,
    unfolded,
    usual: live || cut,
    position,
    number: turn.index,
    title: "Orchestrator",
    code: run.setting.orchestrator,
    chip,
    word,
    cells: [
      turn.spent ? cost(turn.spent.cost) : "",
      live ? el("span", { "data-since": turn.started }) : lasted(run.timed ? took : null),
      tokenText(turn.spent),
    ],
  });
  const body = [];
  if (unfolded) {
    body.push(growing("wb-say lv-thought", turn.text.reasoning, { "data-reasoning": true }));
    if (!answered) {
      body.push(growing("wb-say lv-content", turn.text.content, { "data-content": true }));
      if (live) body.at(-1).append(el("span", { class: "caret" }));
    }
    body.push(whyBox(timeline, turn, null, position));
  } else if (turn.text.reasoning)
    body.push(el("p", { class: "wb-say lv-fold", text: firstLine(turn.text.reasoning) }));
  return item(
    "orch",
    icon("baton"),
    `Turn ${turn.index}, orchestrator, ${word ?? CHIPS[chip][2]}`,
    header,
    body,
    { live, bad: chip === "error", key, state },
  );
}

/** The run ended in the middle of this turn's generation. */
function wasCutOff(run, turn) {
  return turn === run.turns.at(-1) && ["cancelled", "fault", "time_limit"].includes(run.stop);
}

/** A call, the `n`th of its turn. */
export function callCard(timeline, turn, call, n, position) {
  const { run } = timeline;
  const spec = run.tool(call.tool);
  const key = callKey(call);
  const running = call.state === "running" || (call.state === "waiting" && !run.finished);
  const bad = FAILED.has(call.state);
  const images = (call.observation?.artefacts ?? []).filter((file) => file.media_type.startsWith("image/"));
  const usual = running || images.length > 0 || call.state === "rejected";
  const unfolded = timeline.isOpen(key, usual);
  const number = turn.calls.length > 1 ? `${turn.index}.${n + 1}` : `${turn.index}`;
  const chip = call.state === "waiting" && run.finished ? "cancelled" : call.state;
  const header = heading(timeline, {
    key,
    unfolded,
    usual,
    position,
    number,
    title: spec.title,
    code: spec.model ?? spec.name,
    chip,
    simulated: spec.simulated,
    cells: callCells(run, call),
  });
  const body = [];
  if (n === 0 && unfolded && turn.generation?.estimates.length && turn.text.reasoning)
    body.push(el("p", { class: "wb-say lv-fold", text: firstLine(turn.text.reasoning) })); // all of it is under "why"
  if (n === 0) body.push(whyBox(timeline, turn, call, position), unfolded ? spentLine(turn, run.timed) : null);
  if (unfolded) body.push(argumentsBox(timeline, call, key, position));
  if (call.observation) body.push(observationBox(timeline, call, spec, images, key, position));
  const label = `Turn ${number}, ${plain(spec.title)}, ${CHIPS[chip]?.[2] ?? chip}`;
  return item(spec.kind, icon(toolIcon(spec.kind, spec.name)), label, header, body, {
    live: running,
    bad,
    key,
    state: call.state,
  });
}

function callCells(run, call) {
  if (call.observation)
    return [
      call.state === "rejected" ? el("span", { class: "wb-mut wb-thin", text: "not run" }) : cost(call.derived.cost),
      lasted(run.lasted(call)),
      tokenText(call.derived),
    ];
  if (call.started === null) return ["", "", ""];
  const held =
    call.held === null
      ? unknown("the worst case of this call has no known price")
      : call.held === 0
        ? "free"
        : `≤ ${usd(call.held)}`;
  return [el("span", { class: "wb-mut wb-thin" }, held), el("span", { "data-since": call.started }), ""];
}

function heading(timeline, { key, unfolded, usual, position, number, title, code, chip, word, simulated, cells }) {
  const [look, sign, name] = CHIPS[chip] ?? ["", "minus", chip];
  const mark = sign ? icon(sign, true) : look === "run" ? el("i", { class: "dot" }) : null;
  const fold = el(
    "button",
    {
      class: "lv-foldbtn",
      type: "button",
      "aria-expanded": String(unfolded),
      "data-key": `${key}-fold`,
      "data-fold": key,
      title: unfolded ? "Fold this turn" : "Unfold this turn",
      on: { click: () => timeline.toggle(key, usual, position) },
    },
    el("span", { class: "wb-mut", text: number }),
    el("b", { class: "lv-cut", text: plain(title) }),
    el("code", { class: "lv-cut", text: plain(code) }),
  );
  return el(
    "header",
    {},
    fold,
    el("span", { class: `wb-chip ${look}` }, mark, word ?? name),
    simulated ? el("span", { class: "wb-badge", title: "Simulated: a stated profile answers.", text: "sim" }) : null,
    el("span", { class: "wb-cost" }, el("b", {}, cells[0]), el("span", {}, cells[1]), el("span", {}, cells[2])),
  );
}

function item(kind, sign, label, header, body, { live, bad, key, state }) {
  const look = `wb-turn${live ? " live" : ""}${bad ? " bad" : ""}`;
  return el(
    "li",
    { class: look, "data-phase": state },
    el("span", { class: `wb-kind k-${kind} lg`, "aria-hidden": "true" }, sign),
    el("article", { class: "wb-call", tabindex: "-1", "aria-label": label, "data-key": key }, header, body),
  );
}

/** What it cost the orchestrator to choose. */
function spentLine(turn, timed) {
  if (!turn.spent || turn.spent.attempts === 0) return null;
  const parts = [lasted(timed ? turn.generated - turn.started : null), cost(turn.spent.cost), tokenText(turn.spent)];
  const line = parts.filter(Boolean).flatMap((part) => [" · ", part]);
  return el("p", { class: "wb-say wb-note" }, "orchestrator ", line.slice(1));
}

/** A paragraph whose text is added to while it streams. */
function growing(look, text, props) {
  const node = el("p", { class: look, ...props }, document.createTextNode(plain(text)));
  node.taken = text.length;
  return node;
}

/** Add what is new in `text`. */
export function grow(node, text) {
  if (text.length === node.taken) return;
  node.firstChild.appendData(plain(text.slice(node.taken)));
  node.taken = text.length;
}
