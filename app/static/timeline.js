// The timeline: one card per call, redrawn when its turn changes; what the reader opened stays open.

import { el, put } from "./dom.js";
import { count } from "./format.js";
import { phase } from "./run.js";
import { callCard, callKey, grow, orchestratorCard, stateWord, turnKey } from "./turncards.js";
import { Windowing } from "./windowing.js";

const FIRST = 40;
const MORE = 200;
const REST = "rest";

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
      const item = callCard(this, turn, turn.calls[n], n, position);
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
    if (turn.calls.length === 0) return new Map([[0, orchestratorCard(this, turn, position)]]);
    const room = this.room.get(position) ?? FIRST;
    const items = new Map(turn.calls.slice(0, room).map((call, n) => [n, callCard(this, turn, call, n, position)]));
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
}
