// Tools & prices: the catalogue with live status, the card of one entry, price tables beside each other.

import { byId, el, put } from "./dom.js";
import { plain } from "./format.js";
import { Refused, deleteJson, getJson, postJson } from "./server.js";
import { ask } from "./ask.js";
import { Catalogue, missingWeights, sameEntry, skeleton } from "./catalogue.js";
import { endpointForm } from "./endpointform.js";
import { McpServers } from "./mcpservers.js";
import { remembered, remember } from "./pricechoice.js";
import { Prices } from "./prices.js";
import { ToolCard } from "./toolcard.js";
import { BUSY, again, alertOf } from "./toolmarks.js";
import * as keys from "./keys.js";

const AGAIN_MS = 15_000;
const SOON_MS = 2_500;
const WEIGHTS_MS = 1_000;

const stacked = matchMedia("(max-width: 1000px)");

/** The card stands beside all the rest, or right below the catalogue: there by its place, so that Tab goes with the eye. */
function placeCard() {
  if (stacked.matches) byId("catalogue").closest("section").after(byId("card"));
  else byId("card-place").append(byId("card"));
}

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
    this.catalogue = new Catalogue(this);
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
    this.drawTables();
    await this.load();
    clearTimeout(waiting);
    await this.mcp.load();
    await this.open();
    if (stacked.matches && this.picked) byId("card").scrollIntoView({ block: "start" }); // what the link is about
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
      put(byId("problem"), alertOf("The catalogue could not be read.", error.message), again(error, () => this.load()));
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

  draw() {
    if (!this.rows.length) return this.catalogue.clear();
    this.catalogue.draw();
    const picked = this.picked;
    const row = this.rows.find((one) => sameEntry(one, picked)) ?? null;
    document.title = `${row ? plain(row.title) : "Tools & prices"} · Orchestra Workbench`;
    this.card.show(row, picked, row ? missingWeights(row, this.weights) : null);
    byId("wb").classList.toggle("tp-open", picked !== null);
    return undefined;
  }

  pick(event, row) {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return;
    event.preventDefault();
    const other = row.role === "tool" ? "orchestrator" : "tool";
    this.write({ [other]: null, [row.role]: row.id });
    if (stacked.matches) {
      byId("card").scrollIntoView({ block: "start" });
      byId("card").focus({ preventScroll: true });
    }
  }
}

export async function start() {
  const tools = new Tools();
  placeCard();
  stacked.addEventListener("change", placeCard);
  keys.start({
    j: { words: "next entry", run: () => tools.catalogue.step(1) },
    k: { words: "entry before", run: () => tools.catalogue.step(-1) },
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
