// Drawing what sums up a run, such as bill and score: once per frame, and less often when it takes long.

const SHARE = 0.2; // of the time, at most, goes into drawing while a long run goes on
const REST_MS = 80; // nobody reads a sum that changes more often, and each event has its own card to draw

export class Painter {
  /** `paint()` draws. */
  constructor(paint) {
    this.paint = paint;
    this.asked = false;
    this.freeAt = 0;
  }

  /** Whether the last drawing was cheap enough, or long enough ago, to draw again. */
  get isFree() {
    return performance.now() >= this.freeAt;
  }

  /** Draw with the next frame that has time for it. */
  ask() {
    if (this.asked) return;
    this.asked = true;
    this.wait();
  }

  wait() {
    if (document.hidden)
      setTimeout(() => this.now(), 1000); // no frames come while nobody looks
    else requestAnimationFrame(() => (this.isFree ? this.now() : this.wait()));
  }

  now() {
    this.asked = false;
    this.measure(this.paint);
  }

  measure(draw) {
    const start = performance.now();
    draw();
    const end = performance.now();
    this.freeAt = end + Math.max(REST_MS, (end - start) * (1 / SHARE - 1));
  }
}
