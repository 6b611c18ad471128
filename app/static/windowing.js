// A long timeline: only the turns near what can be seen are in the document, and gaps as high as they are stand for the
// others. So five thousand turns weigh no more than two hundred.

import { el } from "./dom.js";

const CHUNK = 25; // turns that come and go together
const WHOLE = 150; // so many turns are all drawn: the browser's own search finds them
const SCREENS = 2; // drawn above and below what can be seen; twice as far off they may go
const GUESS_PX = 92; // of a turn that was not measured

export class Windowing {
  /**
   * `draw(position)` makes the list items of a turn, `nodes(position)` are those that stand in `list`, and
   * `forget(position)` hears that they are gone from it.
   */
  constructor(list, { draw, nodes, forget }) {
    Object.assign(this, { list, draw, nodes, forget });
    this.asked = false;
    this.reset();
    const scrolled = () => {
      if (this.list.isConnected) this.ask();
      else document.removeEventListener("scroll", scrolled, { capture: true });
    };
    document.addEventListener("scroll", scrolled, { capture: true, passive: true });
    new ResizeObserver(() => this.ask()).observe(list);
  }

  reset() {
    this.gaps = []; // by chunk: the gap that stands for it, null while it is drawn
    this.turns = 0;
    this.fresh = 0; // turns since the last frame
    this.measured = { px: 0, turns: 0 };
  }

  /** One turn more, the last; false when it stands in a gap and is not to be drawn now. */
  add() {
    const chunk = Math.floor(this.turns / CHUNK);
    this.turns += 1;
    this.fresh += 1;
    this.ask();
    if (chunk === this.gaps.length) {
      // What comes faster than frames, or while nobody looks, is drawn when it comes into view.
      const gap = this.turns > WHOLE && this.fresh > CHUNK ? this.gap(chunk) : null;
      this.gaps.push(gap);
      if (gap) this.list.append(gap);
    }
    const gap = this.gaps[chunk];
    if (gap) size(gap, this.positions(chunk).length * this.turnPx);
    return gap === null;
  }

  has(position) {
    return position < this.turns;
  }

  /** Draw the turn at `position` and its neighbours. */
  show(position) {
    const chunk = Math.floor(position / CHUNK);
    if (this.gaps[chunk]) this.inPlace(() => this.unfold(chunk));
  }

  ask() {
    if (this.asked) return;
    this.asked = true;
    requestAnimationFrame(() => {
      this.asked = false;
      this.fresh = 0;
      this.look();
    });
  }

  /** Draw what has come near, let go what is far off. */
  look() {
    if (this.turns <= WHOLE || this.list.offsetParent === null) return;
    const near = SCREENS * innerHeight;
    const within = ([top, bottom], margin) => bottom > -margin && top < innerHeight + margin;
    const coming = [];
    const going = [];
    this.gaps.forEach((gap, chunk) => {
      const span = this.span(chunk);
      if (gap && within(span, near)) coming.push(chunk);
      if (!gap && !within(span, 2 * near) && !this.hasFocus(chunk)) going.push([chunk, span]);
    });
    if (coming.length + going.length === 0) return;
    this.inPlace(() => {
      for (const [chunk, [top, bottom]] of going) this.fold(chunk, bottom - top);
      for (const chunk of coming) this.unfold(chunk);
    });
    if (coming.length) this.ask(); // turns are rarely as high as their gap: more may have come near
  }

  // ---- chunks
  positions(chunk) {
    const first = chunk * CHUNK;
    return Array.from({ length: Math.min(CHUNK, this.turns - first) }, (_, n) => first + n);
  }

  nodesOf(chunk) {
    return this.gaps[chunk] ? [this.gaps[chunk]] : this.positions(chunk).flatMap((position) => this.nodes(position));
  }

  span(chunk) {
    const nodes = this.nodesOf(chunk);
    return [nodes[0].getBoundingClientRect().top, nodes.at(-1).getBoundingClientRect().bottom];
  }

  hasFocus(chunk) {
    const at = document.activeElement;
    return this.list.contains(at) && this.nodesOf(chunk).some((node) => node.contains(at));
  }

  get turnPx() {
    return this.measured.turns ? this.measured.px / this.measured.turns : GUESS_PX;
  }

  gap(chunk) {
    const gap = el("li", { class: "lv-gap", "aria-hidden": "true" });
    gap.show = () => this.show(chunk * CHUNK);
    return gap;
  }

  fold(chunk, px) {
    const [first, ...rest] = this.nodesOf(chunk);
    const gap = this.gap(chunk);
    size(gap, px);
    first.replaceWith(gap);
    for (const node of rest) node.remove();
    const positions = this.positions(chunk);
    for (const position of positions) this.forget(position);
    this.measured.px += px;
    this.measured.turns += positions.length;
    this.gaps[chunk] = gap;
  }

  unfold(chunk) {
    const gap = this.gaps[chunk];
    this.gaps[chunk] = null;
    gap.replaceWith(...this.positions(chunk).flatMap((position) => this.draw(position)));
  }

  /** Change the list while what can be seen stays where it is. */
  inPlace(change) {
    const scroller = scrollerOf(this.list);
    const edge = Math.max(0, scroller.getBoundingClientRect().top);
    const seen = [...this.list.children].find((node) => node.getBoundingClientRect().bottom > edge);
    const before = seen?.getBoundingClientRect().top;
    change();
    if (!seen?.isConnected) return;
    const moved = seen.getBoundingClientRect().top - before;
    if (moved !== 0) scroller.scrollTop += moved;
  }
}

function size(gap, px) {
  gap.style.height = `${px}px`;
}

function scrollerOf(node) {
  for (let at = node.parentElement; at && at !== document.body; at = at.parentElement)
    if (at.scrollHeight > at.clientHeight && /auto|scroll/.test(getComputedStyle(at).overflowY)) return at;
  return document.scrollingElement;
}
