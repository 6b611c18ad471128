// The timeline: one card per call, redrawn when its turn changes; what the reader opened stays open.

import { el, put } from "./dom.js";
import { icon, toolIcon } from "./icons.js";
import { cost, firstLine, plain, seconds, tokenText, unknown, usd } from "./format.js";
import { argumentsBox, observationBox } from "./observation.js";
import { phase } from "./run.js";
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

export class Timeline {
  /** `list` is the `ol` to fill. */
  constructor(list) {
    this.list = list;
    this.reset(null);
  }

  reset(run) {
    this.run = run;
    this.nodes = new Map(); // turn position -> its list items
    this.choices = new Map(); // what the reader opened or closed, by key
    this.full = new Map(); // full observations already fetched, by call id
    put(this.list);
  }

  /** Draw the turn at `position` anew. */
  update(position) {
    const turn = this.run.turns[position];
    const old = this.nodes.get(position) ?? [];
    const focus = old.some((node) => node.contains(document.activeElement)) ? document.activeElement.dataset.key : null;
    const items = this.cards(turn, position);
    this.nodes.set(position, items);
    if (old.length) {
      old[0].before(...items);
      for (const node of old) node.remove();
    } else {
      for (const item of items) item.classList.add("new");
      this.list.append(...items);
    }
    if (focus) this.list.querySelector(`[data-key="${CSS.escape(focus)}"]`)?.focus({ preventScroll: true });
  }

  /** New text of a generation: only the text changes. */
  stream(position) {
    const turn = this.run.turns[position];
    const node = this.nodes.get(position)?.[0];
    const reasoning = node?.querySelector("[data-reasoning]");
    const content = node?.querySelector("[data-content]");
    if (!reasoning || !content || phase(turn, this.run) !== node.dataset.phase) return this.update(position);
    reasoning.textContent = plain(turn.text.reasoning);
    content.firstChild.textContent = plain(turn.text.content);
  }

  updateAll() {
    this.run.turns.forEach((_, position) => this.update(position));
  }

  cards(turn, position) {
    if (turn.calls.length) return turn.calls.map((call, n) => this.callCard(turn, call, n, position));
    return [this.orchestratorCard(turn, position)];
  }

  isOpen(key, usual) {
    return this.choices.get(key) ?? usual;
  }

  toggle(key, usual, position) {
    this.choices.set(key, !this.isOpen(key, usual));
    this.update(position);
  }

  // ---- a turn without calls: thinking, writing, an answer, or nothing
  orchestratorCard(turn, position) {
    const state = phase(turn, this.run);
    const live = state === "thinking" || state === "writing";
    const cut = !live && turn.generation === null;
    const chip = live ? state : cut ? (this.run.stop === "fault" ? "error" : "cancelled") : "ok";
    const key = `turn-${turn.index}`;
    const unfolded = this.isOpen(key, live || cut);
    const answered = turn.generation && turn.generation.answer !== null;
    const word = answered ? "answered" : null;
    const took = (turn.generated ?? turn.finished ?? this.run.now) - turn.started;
    const header = this.header({
      key,
      unfolded,
      usual: live || cut,
      position,
      number: turn.index,
      title: "Orchestrator",
      code: this.run.setting.orchestrator,
      chip,
      word,
      cells: [
        turn.spent ? cost(turn.spent.cost) : "",
        live ? el("span", { "data-since": turn.started }) : seconds(took),
        tokenText(turn.spent),
      ],
    });
    const body = [];
    if (unfolded) {
      body.push(el("p", { class: "wb-say", "data-reasoning": true, text: plain(turn.text.reasoning) }));
      if (!answered)
        body.push(
          el(
            "p",
            { class: "wb-say lv-content", "data-content": true },
            plain(turn.text.content),
            live ? el("span", { class: "caret" }) : null,
          ),
        );
      body.push(whyBox(this, turn, null, position));
    } else if (turn.text.reasoning)
      body.push(el("p", { class: "wb-say lv-fold", text: firstLine(turn.text.reasoning) }));
    return this.item(
      "orch",
      icon("baton"),
      `Turn ${turn.index}, orchestrator, ${word ?? CHIPS[chip][2]}`,
      header,
      body,
      { live, bad: chip === "error", key, state },
    );
  }

  // ---- a call
  callCard(turn, call, n, position) {
    const spec = this.run.tool(call.tool);
    const key = `call-${call.id}`;
    const running = call.state === "running" || (call.state === "waiting" && !this.run.finished);
    const bad = FAILED.has(call.state);
    const images = (call.observation?.artefacts ?? []).filter((file) => file.media_type.startsWith("image/"));
    const usual = running || images.length > 0 || call.state === "rejected";
    const unfolded = this.isOpen(key, usual);
    const number = turn.calls.length > 1 ? `${turn.index}.${n + 1}` : `${turn.index}`;
    const chip = call.state === "waiting" && this.run.finished ? "cancelled" : call.state;
    const header = this.header({
      key,
      unfolded,
      usual,
      position,
      number,
      title: spec.title,
      code: spec.model ?? spec.name,
      chip,
      simulated: spec.simulated,
      cells: this.callCells(call),
    });
    const body = [];
    if (n === 0 && unfolded) body.push(...said(turn));
    if (n === 0) body.push(whyBox(this, turn, call, position));
    if (unfolded) body.push(argumentsBox(this, call, key, position));
    if (call.observation) body.push(observationBox(this, call, spec, images, key, position));
    const label = `Turn ${number}, ${plain(spec.title)}, ${CHIPS[chip]?.[2] ?? chip}`;
    return this.item(spec.kind, icon(toolIcon(spec.kind, spec.name)), label, header, body, {
      live: running,
      bad,
      key,
      state: call.state,
    });
  }

  callCells(call) {
    if (call.observation)
      return [
        call.state === "rejected" ? el("span", { class: "wb-mut wb-thin", text: "not run" }) : cost(call.derived.cost),
        seconds(call.observation.finished_s - call.observation.started_s),
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

  header({ key, unfolded, usual, position, number, title, code, chip, word, simulated, cells }) {
    const [look, sign, name] = CHIPS[chip] ?? ["", "minus", chip];
    const mark = sign ? icon(sign, true) : look === "run" ? el("i", { class: "dot" }) : null;
    const fold = el(
      "button",
      {
        class: "lv-foldbtn",
        type: "button",
        "aria-expanded": String(unfolded),
        "data-key": `${key}-fold`,
        title: unfolded ? "Fold this turn" : "Unfold this turn",
        on: { click: () => this.toggle(key, usual, position) },
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

  item(kind, sign, label, header, body, { live, bad, key, state }) {
    const look = `wb-turn${live ? " live" : ""}${bad ? " bad" : ""}`;
    return el(
      "li",
      { class: look, "data-phase": state },
      el("span", { class: `wb-kind k-${kind} lg`, "aria-hidden": "true" }, sign),
      el("article", { class: "wb-call", tabindex: "-1", "aria-label": label, "data-key": key }, header, body),
    );
  }
}

/** What the orchestrator said before it called, and what saying it cost. */
function said(turn) {
  const words = [turn.text.reasoning, turn.text.content]
    .filter(Boolean)
    .map((text) => el("p", { class: "wb-say", text: plain(text) }));
  if (!turn.spent || turn.spent.attempts === 0) return words;
  const parts = [seconds(turn.generated - turn.started), cost(turn.spent.cost), tokenText(turn.spent)];
  const line = parts.filter(Boolean).flatMap((part) => [" · ", part]);
  return [...words, el("p", { class: "wb-say wb-note" }, "orchestrator ", line.slice(1))];
}
