// The records of a domain, table by table: filtered by words, page by page, look-alikes marked.

import { el, put } from "./dom.js";
import { count, plain, plural } from "./format.js";
import { icon } from "./icons.js";
import { domainPath, getJson } from "./server.js";

const PAUSE_MS = 200;

export class Records {
  constructor(page) {
    this.page = page;
    this.timer = 0;
    this.asked = 0;
  }

  content(domain) {
    const wanted = this.page.query.get("table");
    this.domain = domain;
    this.table = domain.tables.find((one) => one.name === wanted) ?? domain.tables[0];
    this.offset = 0;
    this.words = "";
    this.alike = false;
    const tab = (one) =>
      this.page.link(
        { table: one.name },
        { class: "wb-filter", "aria-current": one === this.table ? "true" : null },
        plain(one.name),
        el("b", { text: count(one.records) }),
      );
    const search = el("input", {
      type: "search",
      placeholder: "Words in any field",
      "aria-label": "Search the records",
      autocomplete: "off",
      on: { input: () => this.later(() => Object.assign(this, { words: search.value, offset: 0 })) },
    });
    const alike = el("input", {
      type: "checkbox",
      on: { change: () => this.later(() => Object.assign(this, { alike: alike.checked, offset: 0 }), 0) },
    });
    this.said = el("p", { role: "status" });
    this.rows = el("div", {
      class: "ts-scroll ts-records",
      tabindex: "0",
      role: "region",
      "aria-label": `Records of ${plain(this.table.name)}`,
    });
    this.pager = el("div", { class: "lv-actions" });
    this.load();
    return el(
      "section",
      { class: "wb-panel", "aria-label": "Records" },
      el("header", {}, el("h2", { text: "Records" }), this.said),
      el(
        "div",
        { class: "ts-bar" },
        el("nav", { class: "ts-filters", "aria-label": "Tables" }, domain.tables.map(tab)),
        el("label", { class: "wb-in sm ts-search" }, icon("search", true), search, el("kbd", { text: "/" })),
        this.table.look_alike.length ? el("label", { class: "ts-check" }, alike, "only look-alikes") : null,
      ),
      this.rows,
      this.pager,
    );
  }

  later(change, pause = PAUSE_MS) {
    change();
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.load(), pause);
  }

  async load() {
    const asked = ++this.asked;
    const query = new URLSearchParams({ q: this.words, offset: this.offset, alike: this.alike });
    try {
      const found = await getJson(domainPath(this.domain.name, `/records/${encodeURIComponent(this.table.name)}?${query}`));
      if (asked === this.asked) this.draw(found);
    } catch (error) {
      this.page.refused("The records could not be read.", error);
    }
  }

  draw(found) {
    const { total, offset, page } = found;
    const last = Math.min(total, offset + page);
    this.said.textContent = total ? `${count(offset + 1)} to ${count(last)} of ${count(total)}` : "nothing matches";
    const names = this.table.fields.map((field) => field.name);
    put(
      this.rows,
      total
        ? el(
            "table",
            { class: "wb-tbl tight" },
            el("caption", { class: "wb-sr", text: `Records of ${plain(this.table.name)}` }),
            el("thead", {}, el("tr", {}, names.map((name) => el("th", { scope: "col", text: plain(name) })), el("th", { scope: "col", text: "looks like" }))),
            el("tbody", {}, found.rows.map((one) => this.row(one, names))),
          )
        : el("div", { class: "wb-state" }, el("p", { text: "No record has these words. Drop some of them." })),
    );
    const button = (text, to, there) =>
      el("button", { class: "wb-btn sm", type: "button", text, disabled: !there, on: { click: () => this.later(() => (this.offset = to), 0) } });
    put(this.pager, total > page ? [button("Before", Math.max(0, offset - page), offset > 0), button("Next", offset + page, last < total)] : null);
  }

  row({ key, row, alike }, names) {
    const marked = new Set(alike.length ? this.table.look_alike : []);
    const cell = (name) => {
      const words = valueWords(row[name]);
      const cut = el("span", { class: "ts-cell", title: words.length > 40 ? words : null, text: words });
      const look = marked.has(name) ? "ts-alike" : row[name] === null || row[name] === undefined ? "wb-mut" : null;
      return name === this.table.key ? el("th", { scope: "row", class: "wb-mono" }, cut) : el("td", { class: look }, cut);
    };
    const twins = alike.length ? el("span", { class: "wb-note", title: alike.map(plain).join(", "), text: plural(alike.length, "other") }) : "";
    return el("tr", { "data-key": key }, names.map(cell), el("td", {}, twins));
  }
}

/** A value of a record in words; nothing is a dash. */
export function valueWords(value) {
  if (value === null || value === undefined) return "—";
  return plain(typeof value === "object" ? JSON.stringify(value) : value);
}
