// What moves by itself on Live: the score, as wide as the page, and the clocks of a run that goes on.

import { byId } from "./dom.js";
import { seconds } from "./format.js";
import { tickClock } from "./bill.js";
import { drawScore } from "./score.js";

const CLOCK_MS = 200;
const SCORE_PADDING_PX = 8;

export class LiveClock {
  /** `run()` is the one that is shown, or null; `going()` says whether it goes on; `painter` keeps drawing cheap. */
  constructor({ run, going, painter }) {
    Object.assign(this, { run, going, painter });
    this.width = null; // of the page, until the observer tells it: frames may come before
    new ResizeObserver(([entry]) => this.resized(entry.contentRect.width)).observe(byId("main"));
    setInterval(() => this.tick(), CLOCK_MS);
  }

  resized(width) {
    this.width = width; // known before drawing: asking for it then would cost a layout
    this.draw();
  }

  draw() {
    const run = this.run();
    if (run?.setting && this.width !== null) drawScore(byId("score"), run, { width: this.width - SCORE_PADDING_PX });
  }

  tick() {
    if (!this.going() || document.hidden || !this.painter.isFree) return;
    const run = this.run();
    this.painter.measure(() => this.draw());
    tickClock(run);
    for (const node of document.querySelectorAll("[data-clock]")) node.textContent = run.now.toFixed(1);
    for (const node of document.querySelectorAll("[data-since]"))
      node.textContent = seconds(Math.max(0, run.now - Number(node.dataset.since)));
  }
}
