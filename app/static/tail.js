// The end of the timeline: followed while the reader is there, else a button counts what is new.

import { byId, put } from "./dom.js";
import { icon } from "./icons.js";
import { plural } from "./format.js";

const NEAR_END_PX = 90;
const NARROW_PX = 760;

export class Tail {
  /** `isDone` says whether the run has ended. */
  constructor(isDone) {
    this.isDone = isDone;
    this.reset();
    byId("newer").addEventListener("click", () => this.toEnd());
    this.listen(byId("scroll"));
    this.listen(document);
    const watcher = new ResizeObserver(() => this.grown());
    watcher.observe(byId("timeline"));
    watcher.observe(byId("scroll"));
  }

  reset() {
    this.unseen = 0;
    this.sticks = true; // until the reader scrolls away
    this.top = 0;
    this.draw();
  }

  /** The reader is led elsewhere. */
  leave() {
    this.sticks = false;
  }

  /** Another turn stands at the end. */
  turn() {
    if (this.sticks) return;
    this.unseen += 1;
    this.draw();
  }

  /**
   * The timeline is longer: followed here, after layout, where it costs no second one. What the reader has
   * opened in a run that has ended stays where it is.
   */
  grown() {
    const reading = this.isDone() && document.activeElement?.closest("#timeline") !== null;
    if (this.sticks && !reading) this.toEnd();
  }

  get box() {
    return innerWidth <= NARROW_PX ? document.scrollingElement : byId("scroll");
  }

  listen(scroller) {
    scroller.addEventListener("scroll", () => this.scrolled(), { passive: true });
  }

  scrolled() {
    const { box } = this;
    const near = box.scrollHeight - box.scrollTop - box.clientHeight < NEAR_END_PX;
    // Only who scrolls up leaves the end: the end itself may have moved on since the scroll that this event tells of.
    if (near) this.sticks = true;
    else if (box.scrollTop < this.top) this.sticks = false;
    this.top = box.scrollTop;
    if (this.sticks) this.unseen = 0;
    this.draw();
  }

  toEnd() {
    this.sticks = true;
    this.unseen = 0;
    if (this.isDone() !== null) this.box.scrollTop = this.box.scrollHeight;
    this.draw();
  }

  draw() {
    byId("newer").hidden = this.unseen === 0;
    if (this.unseen) put(byId("newer"), icon("down", true), `${plural(this.unseen, "new turn")}`);
  }
}
