// The timeline: one card per call, redrawn when its turn changes; what the reader opened stays open.

import { el, put } from "./dom.js";
import { icon, toolIcon } from "./icons.js";
import { cost, count, firstLine, plain, tokenText, unknown, usd } from "./format.js";
import { argumentsBox, observationBox } from "./observation.js";
import { phase } from "./run.js";
import { lasted } from "./times.js";
import { whyBox } from "./why.js";
import { Windowing } from "./windowing.js";

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
const FIRST = 40;
const MORE = 200;
const REST = "rest";
const turnKey = (turn) => `turn-${turn.index}`;
const callKey = (call) => `call-${call.id}`;
const stateWord = (state) => CHIPS[state]?.[2] ?? state;

export class Timeline {
  /** `list` is the `ol` to fill. */
  constructor(list) {
    this.list = list;
    this.windowing = new Windowing(list, {
      draw: (position) => this.drawTurn(position),
      nodes: (position) => [...this.turns.get(position).values()],
      forget: (position) => this.turns.delete(position),
    });
    this.reset(null);
  }

  reset(run) {
    this.run = run;
    this.turns = new Map(); // turn position -> its list items by key; those in a gap have none
    this.choices = new Map(); // what the reader opened or closed, by key
    this.room = new Map(); // how many calls of a turn are drawn, by position
    this.full = new Map(); // full observations already fetched, by call id
    this.windowing.reset();
    put(this.list);
  }

  /** Draw the turn at `position` anew, or only the card of one of its calls; in a gap, when it comes into view. */
  update(position, callId) {
    const turn = this.run.turns[position];
    const drawn = this.turns.get(position);
    if (!drawn && (this.windowing.has(position) || !this.windowing.add())) return;
    const only = drawn && callId !== undefined ? this.placesOf(turn, callId) : null;
    if (only) this.updateSome(turn, position, drawn, only);
    else this.updateTurn(turn, position, drawn);
  }

  updateSome(turn, position, drawn, places) {
    for (const n of places) {
      const old = drawn.get(n);
      if (!old) continue; // one of the many that are not drawn: the line below them counts it
      const item = this.callCard(turn, turn.calls[n], n, position);
      this.keepFocus(old, () => old.replaceWith(item));
      drawn.set(n, item);
    }
    drawn.get(REST)?.update();
  }

  updateTurn(turn, position, drawn) {
    const items = this.cards(turn, position);
    const old = [...(drawn?.values() ?? [])];
    if (old.length) {
      const holder = old.find((node) => node.contains(document.activeElement));
      this.keepFocus(holder, () => {
        old[0].before(...items.values());
        for (const node of old) node.remove();
      });
    } else {
      for (const item of items.values()) item.classList.add("new");
      this.list.append(...items.values());
    }
    this.turns.set(position, items);
  }

  /** The list items of a turn that comes back from a gap. */
  drawTurn(position) {
    const items = this.cards(this.run.turns[position], position);
    this.turns.set(position, items);
    return [...items.values()];
  }

  keepFocus(holder, replace) {
    const inside = holder?.contains(document.activeElement);
    const key = inside ? document.activeElement.dataset.key : null;
    replace();
    if (key) this.list.querySelector(`[data-key="${CSS.escape(key)}"]`)?.focus({ preventScroll: true });
  }

  placesOf(turn, callId) {
    turn.places ??= Map.groupBy(turn.calls.keys(), (n) => turn.calls[n].id);
    return turn.places.get(callId) ?? [];
  }

  /** New text of a generation: only what was added, so that a long one costs no more than a short one. */
  stream(position) {
    const turn = this.run.turns[position];
    const node = this.turns.get(position)?.values().next().value;
    const reasoning = node?.querySelector("[data-reasoning]");
    const content = node?.querySelector("[data-content]");
    if (!reasoning || !content || phase(turn, this.run) !== node.dataset.phase) return this.update(position);
    grow(reasoning, turn.text.reasoning);
    grow(content, turn.text.content);
  }

  /** The run has ended: what was under way is drawn as it ended. */
  updateAll() {
    const open = this.run.turns.findLastIndex((turn) => turn.finished !== null && turn.generation !== null);
    for (let position = Math.max(0, open); position < this.run.turns.length; position += 1) this.update(position);
  }

  /** Make sure that a call is among those drawn; returns its list item. */
  reveal(position, n) {
    const turn = this.run.turns[position];
    this.windowing.show(position);
    if (n >= (this.room.get(position) ?? FIRST)) {
      this.room.set(position, n + 1);
      this.update(position);
    }
    const items = this.turns.get(position);
    return items?.get(turn.calls.length ? n : 0) ?? null;
  }

  /** The number of the turn that has the focus, or null. */
  get focusedTurn() {
    for (const [position, items] of this.turns)
      for (const item of items.values()) if (item.contains(document.activeElement)) return this.run.turns[position].index;
    return null;
  }

  /** Go to a turn by its number; false when there is none. */
  goTo(index) {
    const position = this.run.turns.findIndex((turn) => turn.index === index);
    const item = position < 0 ? null : this.reveal(position, 0);
    if (!item) return false;
    item.querySelector(".wb-call").focus({ preventScroll: true });
    item.scrollIntoView({ block: "center" });
    return true;
  }

  /** Fold or unfold every turn. */
  foldAll(open) {
    for (const turn of this.run?.turns ?? [])
      for (const key of turn.calls.length ? turn.calls.map((call) => callKey(call)) : [turnKey(turn)])
        this.choices.set(key, open);
    for (const position of this.turns.keys()) this.update(position);
  }

  cards(turn, position) {
    if (turn.calls.length === 0) return new Map([[0, this.orchestratorCard(turn, position)]]);
    const room = this.room.get(position) ?? FIRST;
    const items = new Map(turn.calls.slice(0, room).map((call, n) => [n, this.callCard(turn, call, n, position)]));
    if (turn.calls.length > room) items.set(REST, this.rest(turn, position, room));
    return items;
  }

  /** The line below the drawn calls of a turn with very many. */
  rest(turn, position, room) {
    const words = el("span", { class: "wb-note" });
    const more = () => {
      this.room.set(position, room + MORE);
      this.update(position);
    };
    const item = el(
      "li",
      { class: "wb-turn lv-rest" },
      el("span"),
      el(
        "div",
        {},
        words,
        el("button", { class: "wb-btn sm", type: "button", text: `Show ${MORE} more`, on: { click: more } }),
      ),
    );
    item.update = () => {
      const states = [...turn.states].filter(([, n]) => n > 0).map(([state, n]) => `${count(n)} ${stateWord(state)}`);
      words.textContent = `${count(room)} of ${count(turn.calls.length)} calls are drawn; in all ${states.join(" · ")}`;
    };
    item.update();
    return item;
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
    const answered = turn.generation !== null && turn.generation.answer !== null;
    const cut = !live && !answered && (turn.generation === null || this.wasCutOff(turn));
    const chip = live ? state : cut ? (this.run.stop === "fault" ? "error" : "cancelled") : "ok";
    const key = turnKey(turn);
    const unfolded = this.isOpen(key, live || cut);
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
        live ? el("span", { "data-since": turn.started }) : lasted(this.run.timed ? took : null),
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

  /** The run ended in the middle of this turn's generation. */
  wasCutOff(turn) {
    return turn === this.run.turns.at(-1) && ["cancelled", "fault", "time_limit"].includes(this.run.stop);
  }

  // ---- a call
  callCard(turn, call, n, position) {
    const spec = this.run.tool(call.tool);
    const key = callKey(call);
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
    if (n === 0 && unfolded && turn.generation?.estimates.length && turn.text.reasoning)
      body.push(el("p", { class: "wb-say lv-fold", text: firstLine(turn.text.reasoning) })); // all of it is under "why"
    if (n === 0) body.push(whyBox(this, turn, call, position), unfolded ? spentLine(turn, this.run.timed) : null);
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
        lasted(this.run.lasted(call)),
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
        "data-fold": key,
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

function grow(node, text) {
  if (text.length === node.taken) return;
  node.firstChild.appendData(plain(text.slice(node.taken)));
  node.taken = text.length;
}
