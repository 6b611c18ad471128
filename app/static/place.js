// The address of a page as its state: every view has one, and links within a page load nothing anew.

import { el } from "./dom.js";

export class Place {
  /** `path` is the page's own; `show()` of the page draws what the address says. */
  constructor(path) {
    this.path = path;
    addEventListener("popstate", () => this.show());
  }

  get query() {
    return new URLSearchParams(location.search);
  }

  /** The present address with other values; null takes a name out, a list gives it several times. */
  address(change) {
    const query = this.query;
    for (const [name, value] of Object.entries(change)) {
      query.delete(name);
      for (const one of Array.isArray(value) ? value : [value])
        if (one !== null && one !== "" && one !== undefined) query.append(name, one);
    }
    return `${this.path}${query.size ? `?${query}` : ""}`;
  }

  /** Go to another state of the page; `quiet` leaves no step in the history and draws nothing anew. */
  go(change, quiet = false) {
    history[quiet ? "replaceState" : "pushState"](null, "", this.address(change));
    return quiet ? undefined : this.show();
  }

  /** A link within the page. */
  link(change, props, ...children) {
    const click = (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return;
      event.preventDefault();
      this.go(change);
    };
    return el("a", { ...props, href: this.address(change), on: { click } }, children);
  }
}
