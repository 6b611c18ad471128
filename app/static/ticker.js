// Looking again from time to time, for a page that follows something.

/** Calls `work` again and again, a while after it has ended; never while the page is hidden. */
export class Ticker {
  constructor(work) {
    this.work = work;
    this.timer = 0;
  }

  next(ms) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => (document.hidden ? this.next(ms) : this.work()), ms);
  }

  stop() {
    clearTimeout(this.timer);
  }
}
