// Tools & prices: the catalogue with live status, the card of one entry, price tables beside each other.

import { byId, el, put } from "./dom.js";
import { count, plain, seconds, unknown } from "./format.js";
import { kindBox, simulatedBadge } from "./marks.js";
import { Refused, deleteJson, getJson, postJson } from "./server.js";
import { ask } from "./ask.js";
import { endpointForm } from "./endpointform.js";
import { McpServers } from "./mcpservers.js";
import { Prices } from "./prices.js";
import { ToolCard } from "./toolcard.js";
import { BUSY, alertOf, status } from "./toolmarks.js";
import * as keys from "./keys.js";

const SHOW = {
  all: () => true,
  on: (row) => row.off === null,
  orchestrators: (row) => row.role === "orchestrator",
  tools: (row) => row.role === "tool",
  simulated: (row) => row.simulated,
};
const AGAIN_MS = 15_000;
const SOON_MS = 2_500;
const WEIGHTS_MS = 1_000;

export const sameEntry = (row, picked) => picked !== null && row.role === picked.role && row.id === picked.id;

class Tools {
  constructor() {
    this.rows = [];
    this.weights = new Map();
    this.timer = 0;
    this.weightsTimer = 0;
    this.prices = new Prices(() => {
      this.drawTables();
      this.load();
    });
    this.mcp = new McpServers(() => this.load());
    this.card = new ToolCard({
      changed: () => this.load(),
      fetch: (name) => this.fetch(name),
      prices: () => this.table,
      edit: (own) => this.edit(own),
      remove: (own) => this.remove(own),
    });
    byId("q").addEventListener("input", () => this.write({ q: byId("q").value }, true));
    byId("add-endpoint").addEventListener("click", () => this.add());
    byId("in-use").addEventListener("change", () => this.use(byId("in-use").value));
    addEventListener("popstate", () => this.open());
    document.addEventListener("visibilitychange", () => document.hidden || this.load());
  }

  get query() {
    return new URLSearchParams(location.search);
  }

  get picked() {
    for (const role of ["tool", "orchestrator"]) {
      const id = this.query.get(role);
      if (id) return { role, id };
    }
    return null;
  }

  /** The table in use: of the address, else the one that Live uses; one that is gone counts for nothing. */
  get table() {
    const there = new Set(this.prices.tables.map((table) => table.name));
    return [this.query.get("prices"), remembered()].find((name) => there.has(name)) ?? "nominal";
  }

  write(change, replace = false) {
    const query = this.query;
    for (const [name, value] of Object.entries(change))
      if (value) query.set(name, value);
      else query.delete(name);
    history[replace ? "replaceState" : "pushState"](null, "", `/tools${query.size ? `?${query}` : ""}`);
    this.draw();
  }

  use(name) {
    remember(name);
    this.write({ prices: name }, true);
    this.prices.mark(name);
    this.load();
  }

  async open() {
    byId("q").value = this.query.get("q") ?? "";
    this.draw();
  }

  async start() {
    const waiting = setTimeout(() => put(byId("catalogue"), skeleton()), 300);
    await this.prices.load(this.table);
    this.prices.mark(this.table);
    await this.load();
    clearTimeout(waiting);
    this.drawTables();
    await this.mcp.load();
    await this.open();
  }

  drawTables() {
    put(
      byId("in-use"),
      this.prices.tables.map((table) =>
        el("option", { value: table.name, text: `${plain(table.name)} ${table.dated}` }),
      ),
    );
    byId("in-use").value = this.table;
  }

  async load() {
    clearTimeout(this.timer);
    try {
      const found = await getJson(`/api/tools?prices=${encodeURIComponent(this.table)}`);
      this.rows = found.rows;
      this.setWeights(found.weights);
      put(byId("problem"), this.goneTable());
      this.draw();
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      put(byId("problem"), alertOf("The catalogue could not be read.", error.message));
    }
    const looking = this.rows.some((row) => row.off?.startsWith("looking for"));
    if (!document.hidden) this.timer = setTimeout(() => this.load(), looking ? SOON_MS : AGAIN_MS);
  }

  /** A link may name a table that somebody took away. */
  goneTable() {
    const asked = this.query.get("prices");
    return asked === null || asked === this.table
      ? null
      : alertOf(`There is no price table ${asked.slice(0, 60)}.`, `Prices are shown under ${this.table}.`);
  }

  setWeights(list) {
    this.weights = new Map(list.map((one) => [one.name, one]));
    clearTimeout(this.weightsTimer);
    if (list.some((one) => BUSY.has(one.state))) this.weightsTimer = setTimeout(() => this.poll(), WEIGHTS_MS);
  }

  async poll() {
    const before = new Map(this.weights);
    try {
      this.setWeights(await getJson("/api/weights"));
    } catch {
      this.weightsTimer = setTimeout(() => this.poll(), WEIGHTS_MS * 5);
      return;
    }
    const settled = [...this.weights.values()].some(
      (one) => BUSY.has(before.get(one.name)?.state) && !BUSY.has(one.state),
    );
    if (settled) await this.load();
    else this.draw();
  }

  async fetch(name) {
    await postJson(`/api/weights/${encodeURIComponent(name)}/fetch`, {});
    await this.poll();
    clearTimeout(this.weightsTimer);
    this.weightsTimer = setTimeout(() => this.poll(), WEIGHTS_MS);
  }

  add() {
    endpointForm(byId("dialog"), async (name) => {
      await this.load();
      this.write({ tool: null, orchestrator: name, show: null, q: null });
      byId("card").focus();
    });
  }

  edit(own) {
    const done = async () => {
      await this.load();
      byId("edit-endpoint")?.focus();
    };
    endpointForm(byId("dialog"), done, own);
  }

  async remove({ endpoint: { name } }) {
    const sure = await ask({
      title: `Remove ${plain(name)}?`,
      words:
        "It is taken out of endpoints.toml, as an orchestrator and as a tool. Runs that go on keep it, and its trajectories stay.",
      yes: "Remove",
      no: "Keep it",
      danger: true,
    });
    if (!sure) return;
    await deleteJson(`/api/endpoints/${encodeURI(name)}`);
    this.write({ tool: null, orchestrator: null });
    await this.load();
    byId("main").focus();
  }

  /** The weights behind an entry, when they are not here. */
  missing(row) {
    const weights = this.weights.get(row.priced_as[0]);
    return weights && weights.state !== "ready" ? weights : null;
  }

  shown() {
    const show = SHOW[this.query.get("show")] ?? SHOW.all;
    const wanted = (this.query.get("q") ?? "").trim().toLowerCase();
    const text = (row) => [row.id, row.title, row.where, row.kind, row.off ? "off" : "ready"].join(" ").toLowerCase();
    const fits = (row) => show(row) && (wanted === "" || text(row).includes(wanted));
    // What can be used comes first; within that the order of the server.
    return this.rows.filter(fits).sort((a, b) => (a.off === null ? 0 : 1) - (b.off === null ? 0 : 1));
  }

  draw() {
    if (!this.rows.length) return put(byId("catalogue")); // not read: how many there are is unknown, and not 0
    this.drawSegments();
    const rows = this.shown();
    const on = this.rows.filter((row) => row.off === null).length;
    byId("ready-count").textContent = this.rows.length ? `${on} of ${this.rows.length} ready` : "";
    const at = focusedRow();
    put(byId("catalogue"), rows.length ? this.drawTable(rows) : this.nothing());
    if (at)
      byId("catalogue")
        .querySelector(`[data-row="${CSS.escape(at)}"]`)
        ?.focus();
    const picked = this.picked;
    const row = this.rows.find((one) => sameEntry(one, picked)) ?? null;
    document.title = `${row ? plain(row.title) : "Tools & prices"} · Orchestra Workbench`;
    this.card.show(row, picked, row ? this.missing(row) : null);
    byId("wb").classList.toggle("tp-open", picked !== null);
    return null;
  }

  drawSegments() {
    const now = this.query.get("show") in SHOW ? this.query.get("show") : "all";
    put(
      byId("show"),
      Object.keys(SHOW).map((name) => {
        const n = this.rows.filter(SHOW[name]).length;
        return el("button", {
          "aria-pressed": String(name === now),
          text: `${name} ${n}`,
          on: { click: () => this.write({ show: name === "all" ? null : name }) },
        });
      }),
    );
  }

  drawTable(rows) {
    const head = ["Name", "Where", "Status", ["Price"], ["Median"], ["Calls"], ["Went well"]];
    return el(
      "table",
      { class: "wb-tbl tp-tbl" },
      el("caption", { class: "wb-sr", text: "Tools and orchestrators" }),
      el(
        "thead",
        {},
        el(
          "tr",
          {},
          head.map((word) =>
            Array.isArray(word)
              ? el("th", { scope: "col", class: "n", text: word[0] })
              : el("th", { scope: "col", text: word }),
          ),
        ),
      ),
      el(
        "tbody",
        {},
        rows.map((row) => this.row(row)),
      ),
    );
  }

  row(row) {
    const weights = this.missing(row);
    return el(
      "tr",
      { class: row.off === null ? "" : "dim", "aria-selected": String(sameEntry(row, this.picked)) },
      el(
        "th",
        { scope: "row" },
        el(
          "a",
          {
            class: "tp-n",
            href: this.address(row),
            "data-row": `${row.role}:${row.id}`,
            on: { click: (event) => this.pick(event, row) },
          },
          kindBox(row.kind, row.id),
          el("span", { class: "lv-cut", text: plain(row.title) }),
          row.simulated ? simulatedBadge(true) : null,
        ),
      ),
      el(
        "td",
        { class: "wb-mut" },
        el("span", { class: "lv-cut tp-where", title: plain(row.where), text: plain(row.where) }),
      ),
      el("td", {}, status(row, weights)),
      el("td", { class: "n" }, row.price ?? dash(row)),
      el("td", { class: "n" }, median(row)),
      el("td", { class: "n" }, row.use ? count(row.use.ran) : row.role === "tool" ? "0" : ""),
      el("td", { class: "n" }, share(row)),
    );
  }

  address(row) {
    const query = this.query;
    query.delete("tool");
    query.delete("orchestrator");
    query.set(row.role, row.id);
    return `/tools?${query}`;
  }

  pick(event, row) {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return;
    event.preventDefault();
    const other = row.role === "tool" ? "orchestrator" : "tool";
    this.write({ [other]: null, [row.role]: row.id });
    if (matchMedia("(max-width: 1000px)").matches) {
      byId("card").scrollIntoView({ block: "start" });
      byId("card").focus({ preventScroll: true });
    }
  }

  nothing() {
    if (this.rows.length === 0) return null;
    return el(
      "div",
      { class: "wb-state" },
      el("h2", { text: "Nothing matches" }),
      el("p", { text: "Drop the search or the choice above." }),
      el("button", {
        class: "wb-btn",
        text: "Show all",
        on: {
          click: () => {
            byId("q").value = "";
            this.write({ q: null, show: null });
          },
        },
      }),
    );
  }

  step(by) {
    const links = [...document.querySelectorAll(".tp-n")];
    if (links.length === 0) return false;
    const focused = links.indexOf(document.activeElement);
    const at = focused >= 0 ? focused : links.findIndex((link) => link.closest("tr").ariaSelected === "true");
    const next = links[Math.min(links.length - 1, Math.max(0, at < 0 ? 0 : at + by))];
    next.focus();
    next.scrollIntoView({ block: "nearest" });
    return true;
  }
}

function focusedRow() {
  return document.activeElement?.dataset?.row ?? null;
}

function skeleton() {
  return Array.from({ length: 8 }, () => el("div", { class: "wb-skel tp-skel" }));
}

function dash(row) {
  if (row.priced_as.length === 0) return "";
  return unknown(`no row for ${row.priced_as.join(", ")} in this price table; a USD limit refuses to start with it`);
}

function median(row) {
  if (row.use?.p50_s !== null && row.use?.p50_s !== undefined) return seconds(row.use.p50_s);
  if (row.role === "orchestrator") return "";
  return unknown("no call went well yet");
}

function share(row) {
  if (!row.use?.ran) return row.role === "tool" ? unknown("not called yet") : "";
  return `${Math.round((100 * row.use.ok) / row.use.ran)} %`;
}

function kept() {
  try {
    return JSON.parse(localStorage.getItem("wb-order")) ?? {};
  } catch {
    return {};
  }
}

const remembered = () => kept().prices ?? null;

/** The composer of Live takes its price table from the same place. */
function remember(name) {
  try {
    localStorage.setItem("wb-order", JSON.stringify({ ...kept(), prices: name }));
  } catch {
    // storage is switched off: the choice holds for this page
  }
}

export async function start() {
  const tools = new Tools();
  keys.start({
    j: { words: "next entry", run: () => tools.step(1) },
    k: { words: "entry before", run: () => tools.step(-1) },
    e: { words: "add an endpoint", run: () => tools.add() },
    "/": { words: "search", run: () => byId("q").focus() },
    Escape: {
      shown: "Esc",
      words: "leave the search field",
      inFields: true,
      run: () => document.activeElement?.blur(),
    },
  });
  await tools.start();
}
