// Search within the run that is shown: the server finds the places, the page goes to them one by one.

import { byId } from "./dom.js";
import { count, plain } from "./format.js";
import { Refused, getJson, runPath } from "./server.js";

const TYPING_MS = 150;
const MARKED = "wb-found";

export class Finder {
  /** `timeline` holds the cards. */
  constructor(timeline) {
    this.timeline = timeline;
    this.hits = [];
    this.at = -1;
    this.timer = 0;
    this.before = null;
    byId("find-text").addEventListener("input", () => {
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.search(), TYPING_MS);
    });
    byId("find").addEventListener("submit", (event) => {
      event.preventDefault();
      this.step(1);
    });
    byId("find-back").addEventListener("click", () => this.step(-1));
    byId("find-close").addEventListener("click", () => this.close());
    byId("find-text").addEventListener("keydown", (event) => {
      if (event.key === "Enter" && event.shiftKey) {
        event.preventDefault();
        this.step(-1);
      }
    });
  }

  get isOpen() {
    return !byId("find").hidden;
  }

  open() {
    if (!this.timeline.run?.setting) return false;
    if (!this.isOpen) this.before = document.activeElement;
    byId("find").hidden = false;
    byId("find-text").select();
    byId("find-text").focus();
    return true;
  }

  close() {
    if (!this.isOpen) return false;
    byId("find").hidden = true;
    CSS.highlights?.delete(MARKED);
    (this.before?.isConnected ? this.before : byId("scroll")).focus({ preventScroll: true });
    return true;
  }

  async search() {
    const text = byId("find-text").value.trim();
    const { run } = this.timeline;
    this.hits = [];
    this.at = -1;
    CSS.highlights?.delete(MARKED);
    if (!text) return this.say("");
    let found;
    try {
      found = await getJson(runPath(run.id, `/find?q=${encodeURIComponent(text)}`));
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      return this.say(error.message);
    }
    if (text !== byId("find-text").value.trim() || this.timeline.run !== run) return;
    this.hits = found.hits;
    this.more = found.hits.length === found.most;
    if (this.hits.length) this.step(1);
    else this.say("not found in this run");
  }

  say(words) {
    byId("find-said").textContent = plain(words);
  }

  step(by) {
    if (this.hits.length === 0) return;
    this.at = (this.at + by + this.hits.length) % this.hits.length;
    const hit = this.hits[this.at];
    this.say(
      `${count(this.at + 1)} of ${count(this.hits.length)}${this.more ? " or more" : ""}, turn ${hit.turn}, ${hit.where}`,
    );
    this.show(hit);
  }

  show(hit) {
    const { timeline } = this;
    const position = timeline.run.turns.findIndex((turn) => turn.index === hit.turn);
    if (position < 0) return;
    if (hit.where === "answer") return mark(byId("answer"), byId("find-text").value);
    const turn = timeline.run.turns[position];
    const n = hit.call ?? 0;
    timeline.reveal(position, n);
    for (const key of keysOf(turn, turn.calls[n], hit)) timeline.choices.set(key, true);
    timeline.update(position);
    mark(timeline.reveal(position, n), byId("find-text").value);
  }
}

/** What must be open for a place to be seen. */
function keysOf(turn, call, { where }) {
  if (!call) return [`turn-${turn.index}`];
  if (where === "observation") return [`call-${call.id}-obs`];
  if (where === "arguments") return [`call-${call.id}`, `call-${call.id}-args`];
  return [`why-${turn.index}`];
}

/** Scroll to a card and mark the text in it, as a highlight: no element is added. */
function mark(node, text) {
  if (!node) return;
  const range = firstRange(node, text.trim().toLowerCase());
  const target = range?.startContainer.parentElement ?? node;
  target.scrollIntoView({ block: "center" });
  if (range && CSS.highlights) CSS.highlights.set(MARKED, new Highlight(range));
}

function firstRange(root, wanted) {
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const at = walker.currentNode.data.toLowerCase().indexOf(wanted);
    if (at < 0) continue;
    const range = new Range();
    range.setStart(walker.currentNode, at);
    range.setEnd(walker.currentNode, at + wanted.length);
    return range;
  }
  return null;
}
