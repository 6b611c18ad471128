// The rows of a list that is read again and again: what did not change stays as it is, and nothing jumps.

export class RowList {
  /** `host` scrolls, or the document does. */
  constructor(host) {
    this.host = host;
    this.drawn = new Map(); // id -> { key, node }
  }

  /** Show `rows`; `make(row)` draws one, and `keyOf(row)` changes with whatever it draws. */
  draw(rows, keyOf, make) {
    const focus = this.focus();
    const before = this.anchor();
    const drawn = rows.map((row) => {
      const key = keyOf(row);
      const old = this.drawn.get(row.id);
      return [row.id, old?.key === key ? old : { key, node: make(row) }];
    });
    this.drawn = new Map(drawn);
    this.place(drawn.map(([, { node }]) => node));
    if (before) this.scroller().scrollTop += topOf(this.drawn.get(before.id)?.node, before.top) - before.top;
    if (focus && !this.host.contains(document.activeElement))
      this.drawn.get(focus.id)?.node.querySelector(focus.what)?.focus({ preventScroll: true });
  }

  /** Something else stands in the place of rows. */
  replace(...nodes) {
    this.drawn = new Map();
    this.host.replaceChildren(...nodes);
  }

  place(nodes) {
    const wanted = new Set(nodes);
    for (const node of [...this.host.children]) if (!wanted.has(node)) node.remove();
    nodes.forEach((node, n) => {
      if (this.host.children[n] !== node) this.host.insertBefore(node, this.host.children[n] ?? null);
    });
  }

  scroller() {
    return this.host.scrollHeight > this.host.clientHeight ? this.host : document.scrollingElement;
  }

  /** The first row that can be seen, where the list has been scrolled: it is to stay where it is. */
  anchor() {
    const scroller = this.scroller();
    if (scroller.scrollTop === 0) return null;
    const edge = Math.max(0, this.host.getBoundingClientRect().top);
    for (const [id, { node }] of this.drawn) {
      const { top, bottom } = node.getBoundingClientRect();
      if (bottom > edge) return { id, top };
    }
    return null;
  }

  focus() {
    const at = document.activeElement;
    if (!this.host.contains(at)) return null;
    for (const [id, { node }] of this.drawn) if (node.contains(at)) return { id, what: at.localName };
    return null;
  }
}

const topOf = (node, usual) => node?.getBoundingClientRect().top ?? usual;
