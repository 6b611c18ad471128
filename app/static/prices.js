// Price tables side by side, each with its date and source; and a copy of one to edit.

import { byId, el, put } from "./dom.js";
import { count, plain, unknown } from "./format.js";
import { Refused, getJson, postJson } from "./server.js";
import { Editor } from "./priceeditor.js";
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

  look(table, ...more) {
    return ["n", table.name === this.inUse ? "use" : "", ...more].filter(Boolean).join(" ");
  }

  /** The price of a row in a table, which on a phone stands beside the table's name. */
  cell(table, found) {
    const none = found === null || found === undefined;
    return el("td", { class: this.look(table, none ? "none" : "") }, named(table), none ? dash() : priced(found));
  }

  draw(asked) {
    if (!this.tables.length) return; // not read yet, or not readable, as stands there
    if (asked && this.rows.length === 0) {
      put(
        byId("prices-table"),
        el(
          "div",
          { class: "wb-state" },
          el("h2", { text: "No row has this in its name" }),
          el("p", { text: `${this.tables.length} tables were searched.` }),
        ),
      );
      return;
    }
    const marks = (table) =>
      [
        table.name === this.inUse ? "in use" : null,
        table.nominal ? "nominal" : null,
        table.historic ? "paper figures" : null,
        table.own ? "yours" : null,
      ]
        .filter(Boolean)
        .join(", ");
    put(
      byId("prices-table"),
      el(
        "table",
        { class: "wb-tbl tight wb-fold tp-prices" },
        el("caption", { class: "wb-sr", text: "Prices by table, USD per million tokens, in and out" }),
        el(
          "thead",
          {},
          el(
            "tr",
            {},
            el("th", { scope: "col" }, el("span", { class: "wb-sr", text: "Row" })),
            this.tables.map((table) =>
              el(
                "th",
                { scope: "col", class: this.look(table) },
                el("b", { text: plain(table.name) }),
                el("br"),
                table.dated,
              ),
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
              this.tables.map((table) => this.cell(table, row.cells[table.name])),
            ),
          ),
          el(
            "tr",
            { class: "src" },
            el("th", { scope: "row", text: "source" }),
            this.tables.map((table) =>
              el(
                "td",
                { class: this.look(table), title: plain(table.source) },
                named(table),
                el("span", { class: "tp-src", text: plain(table.source) }),
                marks(table) ? el("b", { text: ` ${marks(table)}` }) : null,
              ),
            ),
          ),
        ),
      ),
      this.more
        ? el("p", {
            class: "wb-note",
            text: `The first ${count(this.rows.length)}; search more closely for the others.`,
          })
        : null,
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
    const name = el("input", {
      id: "table-name",
      type: "text",
      value: "mine",
      autocomplete: "off",
      spellcheck: "false",
    });
    const from = el(
      "select",
      { id: "table-from" },
      this.tables.map((table) =>
        el("option", { value: table.name, text: `${plain(table.name)} ${table.dated}, ${count(table.rows)} rows` }),
      ),
    );
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
      el("p", {
        class: "wb-note",
        text: "Tables that ship are only read. Copy one under another name and change the copy.",
      }),
      el(
        "form",
        { novalidate: true, on: { submit } },
        el(
          "div",
          { class: "tp-field" },
          el("label", { for: "table-name", class: "tp-label" }, el("b", { text: "Name" })),
          el("span", { class: "wb-in" }, name),
        ),
        el(
          "div",
          { class: "tp-field" },
          el("label", { for: "table-from", class: "tp-label" }, el("b", { text: "Copy of" })),
          el("span", { class: "wb-sel lv-pick" }, from),
        ),
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

  /** The other tables of one's own. */
  others(name) {
    return this.tables
      .filter((table) => table.own && table.name !== name)
      .map((table) =>
        el("button", {
          class: "wb-btn ghost sm",
          type: "button",
          text: plain(table.name),
          on: { click: () => this.open(table.name) },
        }),
      );
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
        this.others(name),
        el("span", { class: "wb-sp" }),
        el("button", { class: "wb-btn sm", type: "button", text: "New table", on: { click: () => this.begin() } }),
        el("button", { class: "wb-btn sm", type: "button", text: "Close", on: { click: () => dialog.close() } }),
      ),
      editor.node,
    );
    if (!dialog.open) dialog.showModal();
  }
}

/** No row; as there are hundreds of them, each with the same reason, none is a stop for Tab. */
function dash() {
  const made = unknown(NO_ROW);
  made.removeAttribute("tabindex");
  return made;
}

/** The head of a column again, for rows that are folded. */
const named = (table) => el("span", { class: "wb-of", text: `${plain(table.name)} ` });

function priced(found) {
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
