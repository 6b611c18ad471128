// The rows of a price table of one's own as fields.

import { el, put } from "./dom.js";
import { count, plain } from "./format.js";
import { Refused, postJson } from "./server.js";

const AMOUNTS = [
  ["input", "in / M", "input_usd_per_mtok"],
  ["output", "out / M", "output_usd_per_mtok"],
  ["cached", "cached / M", "cached_usd_per_mtok"],
  ["call", "a call", "call_usd"],
  ["second", "a second", "second_usd"],
];
const SHOWN = 100;

/** The rows of one table as fields; nothing is written before "Save". */
export class Editor {
  constructor(table, saved) {
    this.table = table;
    this.saved = saved;
    this.changed = new Map();
    this.problem = el("p", { class: "tp-bad", role: "alert", hidden: true });
    this.done = el("p", { class: "wb-note", role: "status" });
    this.search = el("input", {
      type: "search",
      placeholder: `Search ${count(table.rows.length)} rows`,
      "aria-label": "Search rows",
      on: { input: () => this.draw() },
    });
    this.added = el("input", {
      type: "text",
      placeholder: "Name of a new row",
      "aria-label": "Name of a new row",
      autocomplete: "off",
    });
    this.body = el("tbody", {});
    this.save = el("button", {
      class: "wb-btn primary",
      type: "button",
      text: "Save",
      disabled: true,
      on: { click: () => this.write() },
    });
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
          { class: "wb-tbl tight wb-fold tp-amounts" },
          el("caption", { class: "wb-sr", text: "Rows, in USD" }),
          el(
            "thead",
            {},
            el(
              "tr",
              {},
              el("th", { scope: "col", text: "Row" }),
              AMOUNTS.map(([, title]) => el("th", { scope: "col", class: "n", text: title })),
              el("th", { scope: "col" }, el("span", { class: "wb-sr", text: "Take out" })),
            ),
          ),
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
      rows.length > SHOWN
        ? el(
            "tr",
            {},
            el("td", { colspan: "7", class: "wb-mut", text: `${count(rows.length - SHOWN)} more: search for them` }),
          )
        : null,
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
          el("span", { class: "wb-of", "aria-hidden": "true", text: title }),
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
      el(
        "td",
        {},
        el("button", {
          class: "wb-btn ghost sm",
          type: "button",
          "aria-label": `${out ? "Keep" : "Take out"} ${row.name}`,
          text: out ? "Keep" : "Take out",
          on: { click: () => this.takeOut(row, out) },
        }),
      ),
    );
  }

  set(row, key, input) {
    const written = input.value.trim();
    const value = written === "" ? null : Number(written);
    const bad = value !== null && !(Number.isFinite(value) && value >= 0);
    input.setAttribute("aria-invalid", String(bad));
    if (bad)
      return this.say(
        `${row.name}: ${written.slice(0, 40)} is no amount of dollars; write a number, 0 or more, or leave it empty.`,
      );
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
    if (!name || this.table.rows.some((row) => row.name === name))
      return this.say(name ? `There is a row ${name} already.` : "Give the new row a name.");
    this.say(null);
    const row = {
      name,
      input: null,
      output: null,
      cached: null,
      call: null,
      second: null,
      tiers: 0,
      source: "entered by hand",
    };
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
