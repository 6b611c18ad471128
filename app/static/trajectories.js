// The Trajectories page: filters and place in the list live in the URL; the detail is drawn by Live's own code.

import { byId, el, put } from "./dom.js";
import { cost, count, plain, seconds, unknown } from "./format.js";
import { Refused, getJson } from "./server.js";
import { Detail } from "./detail.js";
import { nominalBadge, simulatedBadge, statusChip } from "./marks.js";
import { glyph } from "./score.js";
import { moveCard, openObservation } from "./cards.js";
import * as keys from "./keys.js";

const FILTERS = { q: "q", status: "f-status", orchestrator: "f-orchestrator", tool: "f-tool" };
const TYPING_MS = 200;

class Trajectories {
  constructor() {
    this.page = null;
    this.detail = new Detail(() => this.close());
    let typing = 0;
    byId("filters").addEventListener("submit", (event) => event.preventDefault());
    byId("q").addEventListener("input", () => {
      clearTimeout(typing);
      typing = setTimeout(() => this.filter(), TYPING_MS);
    });
    for (const id of ["f-status", "f-orchestrator", "f-tool"]) byId(id).addEventListener("change", () => this.filter());
    byId("clear").addEventListener("click", () => this.clear());
    byId("older").addEventListener("click", () =>
      this.turnPage(this.page.older, [...this.pages, this.query.get("before")]),
    );
    byId("newer").addEventListener("click", () => this.turnPage(this.pages.at(-1), this.pages.slice(0, -1)));
    addEventListener("popstate", () => this.open());
  }

  get query() {
    return new URLSearchParams(location.search);
  }

  /** The pages before this one, as their cursors; the list has no other memory of where it was. */
  get pages() {
    return history.state?.pages ?? [];
  }

  go(query, { replace = false, pages = this.pages } = {}) {
    const address = `/trajectories${query.size ? `?${query}` : ""}`;
    if (replace) history.replaceState({ pages }, "", address);
    else history.pushState({ pages }, "", address);
    return this.open();
  }

  filter() {
    const query = new URLSearchParams();
    for (const [name, id] of Object.entries(FILTERS)) if (byId(id).value) query.set(name, byId(id).value);
    if (this.query.get("run")) query.set("run", this.query.get("run"));
    return this.go(query, { replace: true, pages: [] });
  }

  clear() {
    for (const id of Object.values(FILTERS)) byId(id).value = "";
    return this.filter();
  }

  turnPage(before, pages) {
    const query = this.query;
    query.delete("before");
    if (before) query.set("before", before);
    return this.go(query, { pages });
  }

  async open() {
    const query = this.query;
    const wanted = query.get("run");
    if (wanted !== this.detail.id) {
      this.detail.show(wanted);
      this.invite();
    }
    query.delete("run");
    const key = query.toString();
    if (key !== this.listKey || this.page === null) await this.load(query, key);
    this.mark();
  }

  async load(query, key) {
    this.listKey = key;
    try {
      const pages = ["/api/trajectories", "/api/trajectories/overview"].map((path) => getJson(`${path}?${query}`));
      const page = Object.assign({}, ...(await Promise.all(pages)));
      if (this.listKey !== key) return;
      this.page = page;
      this.drawFilters(query);
      this.drawList();
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      put(
        byId("rows"),
        el(
          "div",
          { class: "wb-state" },
          el("h2", { text: "The list could not be read" }),
          el("p", { text: plain(error.message) }),
        ),
      );
    }
  }

  drawFilters(query) {
    const choices = { status: this.page.statuses, orchestrator: this.page.orchestrators, tool: this.page.tools };
    for (const [name, values] of Object.entries(choices)) {
      const now = query.get(name) ?? "";
      const all = now && !values.includes(now) ? [...values, now] : values;
      put(
        byId(FILTERS[name]),
        el("option", { value: "", text: "any" }),
        all.map((value) => el("option", { value, text: plain(value).replaceAll("_", " ") })),
      );
      byId(FILTERS[name]).value = now;
      byId(FILTERS[name]).parentElement.classList.toggle("on", Boolean(now));
    }
    if (document.activeElement !== byId("q")) byId("q").value = query.get("q") ?? "";
    byId("clear").hidden = !Object.keys(FILTERS).some((name) => query.get(name));
  }

  drawList() {
    const { rows, matches, total, older } = this.page;
    put(byId("matches"), el("b", { text: count(matches) }), ` of ${count(total)}`);
    byId("count").textContent = `${count(total)} trajector${total === 1 ? "y" : "ies"}`;
    byId("older").disabled = !older;
    byId("newer").disabled = !this.query.get("before");
    put(byId("rows"), rows.length ? rows.map((row) => this.row(row)) : this.nothing(total));
    this.invite();
  }

  /** What the right side says while nothing is open. */
  invite() {
    if (this.detail.id !== null || !this.page?.rows.length) return;
    const words = "Pick one on the left; j and k move, Enter opens.";
    put(
      byId("detail"),
      el("div", { class: "wb-state lv-empty" }, el("h2", { text: "No trajectory is open" }), el("p", { text: words })),
    );
  }

  close() {
    const query = this.query;
    query.delete("run");
    return this.go(query);
  }

  nothing(total) {
    if (total === 0)
      return el(
        "div",
        { class: "wb-state" },
        el("h2", { text: "Nothing has been run yet" }),
        el("p", { text: "Every run is kept here, finished or stopped." }),
        el("a", { class: "wb-btn primary", href: "/", text: "Give it a task" }),
      );
    return el(
      "div",
      { class: "wb-state" },
      el("h2", { text: "No trajectory matches" }),
      el("p", {
        text: `Drop a filter: ${[...this.query.keys()].filter((name) => name in FILTERS).join(", ") || "page"}.`,
      }),
      el("button", { class: "wb-btn", type: "button", text: "Clear filters", on: { click: () => this.clear() } }),
    );
  }

  address(id) {
    const query = this.query;
    query.set("run", id);
    return `/trajectories?${query}`;
  }

  row(row) {
    const badges = [row.nominal ? nominalBadge(true) : null, row.simulated ? simulatedBadge(true) : null];
    return el(
      "a",
      {
        class: "tr-row",
        href: this.address(row.id),
        "data-id": row.id,
        on: { click: (event) => this.click(event, row.id) },
      },
      el("span", { class: "t", text: plain(row.task) }),
      el("span", { class: "c" }, badges, statusChip(row.status)),
      el("span", { class: "m", title: row.wish, text: `${plain(row.orchestrator)} · ${row.wish}` }),
      el("span", { class: "g" }, glyph(row.glyph)),
      el("span", { class: "n turns", text: count(row.turns) }),
      el("span", { class: "n" }, el("b", {}, cost(row.cost))),
      el("span", { class: "n" }, row.seconds === null ? unknown("the run has not ended") : seconds(row.seconds)),
    );
  }

  click(event, id) {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return;
    event.preventDefault();
    const query = this.query;
    query.set("run", id);
    this.go(query);
  }

  mark() {
    for (const row of document.querySelectorAll(".tr-row")) {
      if (row.dataset.id === this.detail.id) row.setAttribute("aria-current", "true");
      else row.removeAttribute("aria-current");
    }
    byId("wb").classList.toggle("tr-open", this.detail.id !== null);
  }

  /** j and k: the row after or before the focused or opened one. */
  step(by) {
    const rows = [...document.querySelectorAll(".tr-row")];
    if (rows.length === 0) return false;
    const focused = rows.indexOf(document.activeElement);
    const at = focused >= 0 ? focused : rows.findIndex((row) => row.dataset.id === this.detail.id);
    const next = rows[Math.min(rows.length - 1, Math.max(0, at < 0 ? 0 : at + by))];
    next.focus();
    next.scrollIntoView({ block: "nearest" });
    return true;
  }
}

export async function start() {
  const list = new Trajectories();
  keys.start({
    j: { words: "next trajectory", run: () => list.step(1) },
    k: { words: "trajectory before", run: () => list.step(-1) },
    n: { words: "next turn", run: () => moveCard(1) },
    p: { words: "turn before", run: () => moveCard(-1) },
    Enter: { words: "open the row, or the observation of the turn", run: openObservation },
    "/": { words: "search", run: () => byId("q").focus() },
    "[": { words: "newer", run: () => byId("newer").click() },
    "]": { words: "older", run: () => byId("older").click() },
    Escape: {
      shown: "Esc",
      words: "leave the search field",
      inFields: true,
      run: () => document.activeElement?.blur(),
    },
  });
  await list.open();
}
