// Price tables side by side, each with its date and source; and the editor of a table of one's own.

import { byId, el, put } from "./dom.js";
import { count, plain, unknown } from "./format.js";
import { Refused, getJson, postJson } from "./server.js";
import { alertOf } from "./toolmarks.js";

const TYPING_MS = 200;
const NO_ROW = "no row in this table; a USD limit refuses to start with it";

export class Prices {
  /** `changed` is told when a table was made or changed. */
  constructor(changed) {
    this.changed = changed;
    this.tables = [];
    this.rows = [];
    this.inUse = null;
    let typing = 0;
    byId("price-q").addEventListener("input", () => {
      clearTimeout(typing);
      typing = setTimeout(() => this.load(this.inUse), TYPING_MS);
    });
    byId("edit-prices").addEventListener("click", () => this.edit());
  }

  async load(inUse) {
    this.inUse = inUse;
    const asked = byId("price-q").value.trim();
    try {
      const found = await getJson(`/api/prices?q=${encodeURIComponent(asked)}`);
      if (asked !== byId("price-q").value.trim()) return;
      this.tables = found.tables;
      this.rows = found.rows;
      this.more = found.more;
      this.draw(asked);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      put(byId("prices-table"), alertOf("The price tables could not be read.", error.message));
    }
  }

  mark(inUse) {
    this.inUse = inUse;
    this.draw(byId("price-q").value.trim());
  }

  look(table) {
    return `n${table.name === this.inUse ? " use" : ""}`;
  }

  draw(asked) {
    if (asked && this.rows.length === 0) {
      put(
        byId("prices-table"),
        el("div", { class: "wb-state" }, el("h2", { text: "No row has this in its name" }), el("p", { text: `${this.tables.length} tables were searched.` })),
      );
      return;
    }
    const marks = (table) =>
      [table.name === this.inUse ? "in use" : null, table.nominal ? "nominal" : null, table.historic ? "paper figures" : null, table.own ? "yours" : null]
        .filter(Boolean)
        .join(", ");
    put(
      byId("prices-table"),
      el(
        "table",
        { class: "wb-tbl tight tp-prices" },
        el("caption", { class: "wb-sr", text: "Prices by table, USD per million tokens, in and out" }),
        el(
          "thead",
          {},
          el(
            "tr",
            {},
            el("th", { scope: "col" }, el("span", { class: "wb-sr", text: "Row" })),
            this.tables.map((table) =>
              el("th", { scope: "col", class: this.look(table) }, el("b", { text: plain(table.name) }), el("br"), table.dated),
            ),
          ),
        ),
        el(
          "tbody",
          {},
          this.rows.map((row) =>
            el(
              "tr",
              {},
              el("th", { scope: "row", class: "lv-cut", title: plain(row.name), text: plain(row.name) }),
              this.tables.map((table) => el("td", { class: this.look(table) }, cell(row.cells[table.name]))),
            ),
          ),
          el(
            "tr",
            { class: "src" },
            el("th", { scope: "row", text: "source" }),
            this.tables.map((table) =>
              el("td", { class: this.look(table), title: plain(table.source) }, el("span", { class: "tp-src", text: plain(table.source) }), marks(table) ? el("b", { text: ` ${marks(table)}` }) : null),
            ),
          ),
        ),
      ),
      this.more ? el("p", { class: "wb-note", text: `The first ${count(this.rows.length)}; search more closely for the others.` }) : null,
    );
  }

  edit() {
    const own = this.tables.filter((table) => table.own);
    if (own.length) return this.open(own[0].name);
    return this.begin();
  }

  /** A new table of one's own. */
  begin() {
    const dialog = byId("dialog");
    const name = el("input", { id: "table-name", type: "text", value: "mine", autocomplete: "off", spellcheck: "false" });
    const from = el("select", { id: "table-from" }, this.tables.map((table) => el("option", { value: table.name, text: `${plain(table.name)} ${table.dated}, ${count(table.rows)} rows` })));
    from.value = this.inUse ?? this.tables[0]?.name;
    const problem = el("p", { class: "tp-bad", role: "alert", hidden: true });
    const submit = async (event) => {
      event.preventDefault();
      try {
        const made = await postJson("/api/prices", { name: name.value.trim(), copy_of: from.value });
        await this.load(this.inUse);
        await this.open(made.name);
        this.changed();
      } catch (error) {
        if (!(error instanceof Refused)) throw error;
        problem.hidden = false;
        problem.textContent = plain(error.message);
      }
    };
    put(
      dialog,
      el("header", {}, el("h2", { id: "dialog-title", text: "A price table of your own" })),
      el("p", { class: "wb-note", text: "Tables that ship are only read. Copy one under another name and change the copy." }),
      el(
        "form",
        { novalidate: true, on: { submit } },
        el("div", { class: "tp-field" }, el("label", { for: "table-name", class: "tp-label" }, el("b", { text: "Name" })), el("span", { class: "wb-in" }, name)),
        el("div", { class: "tp-field" }, el("label", { for: "table-from", class: "tp-label" }, el("b", { text: "Copy of" })), el("span", { class: "wb-sel lv-pick" }, from)),
        problem,
        el(
          "div",
          { class: "lv-actions" },
          el("button", { class: "wb-btn primary", text: "Copy it" }),
          el("button", { class: "wb-btn", type: "button", text: "Cancel", on: { click: () => dialog.close() } }),
        ),
      ),
    );
    if (!dialog.open) dialog.showModal();
    name.focus();
  }

  async open(name) {
    const dialog = byId("dialog");
    const table = await getJson(`/api/prices/${encodeURIComponent(name)}`);
    const editor = new Editor(table, async () => {
      await this.load(this.inUse);
      this.changed();
    });
    put(
      dialog,
      el(
        "header",
        {},
        el("h2", { id: "dialog-title", text: `Prices: ${plain(name)}` }),
        el("span", { class: "wb-sp" }),
        el("button", { class: "wb-btn sm", type: "button", text: "New table", on: { click: () => this.begin() } }),
        el("button", { class: "wb-btn sm", type: "button", text: "Close", on: { click: () => dialog.close() } }),
      ),
      editor.node,
    );
    if (!dialog.open) dialog.showModal();
  }
}

function cell(found) {
  if (found === null || found === undefined) return unknown(NO_ROW);
  const more = [
    found.by === "row" ? null : `by the ${found.by} ${found.row}`,
    found.cached === null ? null : `cached input ${found.cached}`,
    found.tiers ? "dearer for long prompts" : null,
    found.since ? `since ${found.since}` : null,
    found.assumed,
    found.source,
  ].filter(Boolean);
  const dear = found.tiers ? " and up" : "";
  return el("span", { title: plain(more.join("; ")), text: `${found.text}${dear}` });
}

const AMOUNTS = [
  ["input", "in / M", "input_usd_per_mtok"],
  ["output", "out / M", "output_usd_per_mtok"],
  ["cached", "cached / M", "cached_usd_per_mtok"],
  ["call", "a call", "call_usd"],
  ["second", "a second", "second_usd"],
];
const SHOWN = 100;

/** The rows of one table as fields; nothing is written before "Save". */
class Editor {
  constructor(table, saved) {
    this.table = table;
    this.saved = saved;
    this.changed = new Map();
    this.problem = el("p", { class: "tp-bad", role: "alert", hidden: true });
    this.done = el("p", { class: "wb-note", role: "status" });
    this.search = el("input", { type: "search", placeholder: `Search ${count(table.rows.length)} rows`, "aria-label": "Search rows", on: { input: () => this.draw() } });
    this.added = el("input", { type: "text", placeholder: "Name of a new row", "aria-label": "Name of a new row", autocomplete: "off" });
    this.body = el("tbody", {});
    this.save = el("button", { class: "wb-btn primary", type: "button", text: "Save", disabled: true, on: { click: () => this.write() } });
    this.node = el(
      "div",
      { class: "tp-editor" },
      el(
        "div",
        { class: "tp-bar" },
        el("label", { class: "wb-in sm" }, this.search),
        el("span", { class: "wb-sp" }),
        el("label", { class: "wb-in sm" }, this.added),
        el("button", { class: "wb-btn sm", type: "button", text: "Add row", on: { click: () => this.add() } }),
      ),
      el(
        "div",
        { class: "tp-scroll tp-rows" },
        el(
          "table",
          { class: "wb-tbl tight" },
          el("caption", { class: "wb-sr", text: "Rows, in USD" }),
          el("thead", {}, el("tr", {}, el("th", { scope: "col", text: "Row" }), AMOUNTS.map(([, title]) => el("th", { scope: "col", class: "n", text: title })), el("th", { scope: "col" }, el("span", { class: "wb-sr", text: "Take out" })))),
          this.body,
        ),
      ),
      this.problem,
      el("div", { class: "lv-actions" }, this.save, this.done),
    );
    this.draw();
  }

  draw() {
    const wanted = this.search.value.trim().toLowerCase();
    const rows = this.table.rows.filter((row) => row.name.toLowerCase().includes(wanted));
    put(
      this.body,
      rows.slice(0, SHOWN).map((row) => this.row(row)),
      rows.length > SHOWN ? el("tr", {}, el("td", { colspan: "7", class: "wb-mut", text: `${count(rows.length - SHOWN)} more: search for them` })) : null,
    );
  }

  row(row) {
    const out = this.changed.get(row.name) === null;
    return el(
      "tr",
      { class: out ? "tp-out-row" : "" },
      el("th", { scope: "row", class: "lv-cut", title: plain(row.source), text: plain(row.name) }),
      AMOUNTS.map(([key, title]) =>
        el(
          "td",
          { class: "n" },
          el("input", {
            type: "text",
            inputmode: "decimal",
            class: "tp-amount",
            "aria-label": `${row.name}, ${title}`,
            value: row[key] === null ? "" : String(row[key]),
            disabled: out,
            on: { change: (event) => this.set(row, key, event.target) },
          }),
        ),
      ),
      el("td", {}, el("button", { class: "wb-btn ghost sm", type: "button", "aria-label": `${out ? "Keep" : "Take out"} ${row.name}`, text: out ? "Keep" : "Take out", on: { click: () => this.takeOut(row, out) } })),
    );
  }

  set(row, key, input) {
    const written = input.value.trim();
    const value = written === "" ? null : Number(written);
    const bad = value !== null && !(Number.isFinite(value) && value >= 0);
    input.setAttribute("aria-invalid", String(bad));
    if (bad) return this.say(`${row.name}: ${written.slice(0, 40)} is no amount of dollars; write a number, 0 or more, or leave it empty.`);
    this.say(null);
    row[key] = value;
    this.touch(row.name, row);
  }

  takeOut(row, back) {
    this.touch(row.name, back ? row : null);
    this.draw();
  }

  add() {
    const name = this.added.value.trim();
    if (!name || this.table.rows.some((row) => row.name === name)) return this.say(name ? `There is a row ${name} already.` : "Give the new row a name.");
    this.say(null);
    const row = { name, input: null, output: null, cached: null, call: null, second: null, tiers: 0, source: "entered by hand" };
    this.table.rows.unshift(row);
    this.added.value = "";
    this.search.value = "";
    this.touch(name, row);
    this.draw();
    this.body.querySelector("input").focus();
  }

  touch(name, row) {
    this.changed.set(name, row);
    this.save.disabled = false;
    this.done.textContent = `${count(this.changed.size)} changed, not saved yet`;
  }

  say(words) {
    this.problem.hidden = words === null;
    this.problem.textContent = words === null ? "" : plain(words);
  }

  async write() {
    const rows = Object.fromEntries([...this.changed].map(([name, row]) => [name, row && price(row)]));
    try {
      const kept = await postJson(`/api/prices/${encodeURIComponent(this.table.name)}/rows`, { rows });
      this.say(null);
      this.changed.clear();
      this.save.disabled = true;
      this.done.textContent = `Saved: ${count(kept.rows)} rows, dated ${kept.dated}. What it replaced is kept beside it.`;
      this.table.rows = this.table.rows.filter((row) => rows[row.name] !== null);
      this.draw();
      await this.saved();
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      this.say(error.message);
    }
  }
}

const price = (row) => ({
  ...Object.fromEntries(AMOUNTS.map(([key, , name]) => [name, row[key]])),
  source: "entered by hand",
});
