// The SQL page: the query is in the URL, what was asked before in this browser, the answer a table or bars.

import { byId, el, put } from "./dom.js";
import { asSentence, count, plain, plural, seconds } from "./format.js";
import { icon } from "./icons.js";
import { skeleton } from "./placards.js";
import { Refused, getJson } from "./server.js";
import { reasonOf } from "./toolmarks.js";
import { EXAMPLES } from "./sqlexamples.js";
import { chart, chartable, resultTable } from "./sqlresult.js";
import * as keys from "./keys.js";

const HISTORY = "wb-sql";
const KEPT = 30;

class Sql {
  constructor() {
    this.asking = null;
    this.answer = null;
    this.view = "table";
    byId("ask").addEventListener("submit", (event) => {
      event.preventDefault();
      this.run();
    });
    byId("stop").addEventListener("click", () => this.stop());
    byId("forget").addEventListener("click", () => {
      store([]);
      this.drawHistory();
    });
    addEventListener("popstate", () => this.open());
    const narrow = matchMedia("(max-width:1000px)");
    narrow.addEventListener("change", () => this.arrange(narrow.matches));
    this.arrange(narrow.matches);
  }

  /** The query stands right of what to ask about, or before it: in the document too, as the Tab key goes by that. */
  arrange(narrow) {
    const [side, middle] = [".qy-side", ".qy-mid"].map((name) => document.querySelector(name));
    if (narrow) middle.after(side);
    else side.after(middle);
  }

  async start() {
    put(
      byId("examples"),
      EXAMPLES.map(({ title, sql }) => el("li", {}, this.link(title, sql))),
    );
    this.drawHistory();
    await Promise.all([this.drawSchema(), this.open()]);
  }

  /** A query as a link: it opens in another tab too. */
  link(title, sql) {
    return el("a", {
      href: address(sql),
      title: plain(sql),
      text: title,
      on: {
        click: (event) => {
          if (event.ctrlKey || event.metaKey || event.shiftKey) return;
          event.preventDefault();
          byId("sql").value = sql;
          this.run();
        },
      },
    });
  }

  async open() {
    const asked = new URLSearchParams(location.search).get("q");
    byId("sql").value = asked ?? byId("sql").value;
    if (asked) await this.run(true);
  }

  async drawSchema() {
    put(byId("schema"), skeleton());
    try {
      const tables = await getJson("/api/sql/schema");
      put(
        byId("schema"),
        tables.map((table) =>
          el(
            "details",
            { class: "qy-table" },
            el(
              "summary",
              {},
              el("b", { text: table.name }),
              el("span", {
                class: "wb-note",
                text: table.rows === null ? " view" : ` about ${plural(table.rows, "row")}`,
              }),
            ),
            el(
              "ul",
              {},
              table.columns.map((column) =>
                el(
                  "li",
                  {},
                  el("button", {
                    type: "button",
                    class: "qy-col",
                    title: `Write ${column.name} into the query`,
                    text: column.name,
                    on: { click: () => this.insert(column.name) },
                  }),
                  el("span", { class: "wb-mut wb-mono lv-cut", title: column.type, text: column.type.toLowerCase() }),
                ),
              ),
            ),
          ),
        ),
      );
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      put(byId("schema"), el("p", { class: "wb-note", text: asSentence(plain(error.message)) }));
    }
  }

  insert(word) {
    const box = byId("sql");
    box.setRangeText(word, box.selectionStart, box.selectionEnd, "end");
    box.focus();
  }

  async run(fromAddress = false) {
    const sql = byId("sql").value;
    if (sql.trim() === "") return;
    if (this.asking) this.stop();
    if (!fromAddress) history.pushState(null, "", address(sql));
    const asking = new AbortController();
    this.asking = asking;
    this.busy(true);
    put(byId("problem"));
    byId("told").textContent = "Asking …";
    try {
      const answer = await post(sql, asking.signal);
      if (this.asking !== asking) return;
      this.answer = answer;
      byId("told").textContent = `answered in ${seconds(answer.seconds)}`;
      this.keep(sql);
      this.draw(sql);
    } catch (error) {
      if (this.asking !== asking) return;
      byId("told").textContent = "";
      if (error.name === "AbortError") byId("told").textContent = "Stopped.";
      else this.refuse(error, sql);
    }
    if (this.asking === asking) {
      this.asking = null;
      this.busy(false);
    }
  }

  stop() {
    if (!this.asking) return false;
    this.asking.abort();
    return true;
  }

  busy(on) {
    byId("stop").hidden = !on;
    byId("run").disabled = on;
    byId("result-box").setAttribute("aria-busy", String(on));
  }

  /** What DuckDB says, calmly, with the place marked in the query. */
  refuse(error, sql) {
    const { where, detail } = error.data ?? {};
    put(
      byId("problem"),
      el(
        "div",
        { class: "wb-alert warn" },
        icon("warn"),
        el(
          "div",
          { class: "qy-error" },
          el(
            "p",
            {},
            el("b", { text: where ? `Line ${where.line}, column ${where.column}. ` : "No answer. " }),
            reasonOf(error.message),
          ),
          detail ? el("pre", { class: "wb-mono", text: plain(detail) }) : null,
        ),
      ),
    );
    if (where) {
      const start =
        sql
          .split("\n")
          .slice(0, where.line - 1)
          .reduce((sum, line) => sum + line.length + 1, 0) +
        where.column -
        1;
      byId("sql").focus();
      byId("sql").setSelectionRange(start, start + 1);
    }
  }

  draw(sql) {
    const { rows, cut } = this.answer;
    byId("result-box").hidden = false;
    byId("size").textContent = cut
      ? `the first ${count(rows.length)} rows; a file holds up to 100,000`
      : `${count(rows.length)} row${rows.length === 1 ? "" : "s"}`;
    for (const form of ["csv", "parquet"]) byId(form).href = `/api/sql/export?${new URLSearchParams({ sql, form })}`;
    const shape = chartable(this.answer);
    byId("view").hidden = shape === null;
    this.view = shape ? "bars" : "table";
    this.drawView(shape);
  }

  drawView(shape) {
    put(
      byId("view"),
      ["bars", "table"].map((name) =>
        el("button", {
          type: "button",
          "aria-pressed": String(name === this.view),
          text: name,
          on: {
            click: () => {
              this.view = name;
              this.drawView(shape);
            },
          },
        }),
      ),
    );
    put(byId("result"), this.view === "bars" && shape ? chart(this.answer, shape) : resultTable(this.answer));
  }

  keep(sql) {
    store([sql, ...asked().filter((one) => one !== sql)].slice(0, KEPT));
    this.drawHistory();
  }

  drawHistory() {
    const list = asked();
    byId("history-box").hidden = list.length === 0;
    put(
      byId("history"),
      list.slice(0, 12).map((sql) => el("li", {}, this.link(plain(sql.replace(/\s+/g, " ")).slice(0, 120), sql))),
    );
  }
}

const address = (sql) => `/sql?${new URLSearchParams({ q: sql })}`;

async function post(sql, signal) {
  let response;
  try {
    const headers = { "content-type": "application/json" };
    response = await fetch("/api/sql", { method: "POST", headers, body: JSON.stringify({ sql }), signal });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refused("the workbench does not answer; is it still running in its terminal?", 0);
  }
  const data = await response.json().catch(() => ({}));
  if (response.ok) return data;
  throw Object.assign(new Refused(data.error ?? `the server answered ${response.status}`, response.status), { data });
}

function asked() {
  try {
    const kept = JSON.parse(localStorage.getItem(HISTORY)) ?? [];
    return Array.isArray(kept) ? kept.filter((one) => typeof one === "string") : [];
  } catch {
    return [];
  }
}

function store(list) {
  try {
    localStorage.setItem(HISTORY, JSON.stringify(list));
  } catch {
    // storage is full or switched off: nothing is remembered
  }
}

export async function start() {
  document.title = "SQL · Orchestra Workbench";
  const sql = new Sql();
  keys.start({
    "Ctrl+Enter": { shown: "Ctrl ↵", words: "run the query", inFields: true, run: () => void sql.run() },
    "/": { words: "to the query", run: () => byId("sql").focus() },
    Escape: {
      shown: "Esc",
      words: "stop the query",
      inFields: true,
      run: () => sql.stop() || document.activeElement?.blur(),
    },
  });
  await sql.start();
}
