// The Trajectories page: filters and place in the list live in the URL; the detail is drawn by Live's own code.

import { byId, el, put } from "./dom.js";
import { count, plain } from "./format.js";
import { Refused, getJson } from "./server.js";
import { Detail } from "./detail.js";
import { Filters, NAMES, narrowing } from "./filters.js";
import { closeMenus, drawColumns, drawExport, drawViews, startMenus } from "./menus.js";
import { Picked, hearOthers } from "./picked.js";
import { chosenColumns, headCells, runRow, template } from "./runrow.js";
import { moveCard, openObservation } from "./cards.js";
import * as keys from "./keys.js";

const PLACES = ["before", "after"];

class Trajectories {
  constructor() {
    this.page = null;
    this.overview = null;
    this.picked = new Picked({
      changed: () => this.drawRows(),
      reload: (gone = []) => this.reload(gone),
      open: () => this.detail.id,
    });
    this.detail = new Detail({
      back: () => this.close(),
      tab: (tab) => this.go(this.with({ tab })),
      remove: (id) => this.picked.remove([id]),
      restore: (id) => this.picked.restore([id]),
      tagged: () => this.reload(),
    });
    this.filters = new Filters((query) => {
      for (const name of ["run", "tab"]) if (this.query.get(name)) query.set(name, this.query.get(name));
      return this.go(query, { replace: true });
    });
    startMenus();
    drawColumns(() => this.drawRows());
    byId("older").addEventListener("click", () => this.turnPage("before", this.page.older));
    byId("newer").addEventListener("click", () => this.turnPage("after", this.page.newer));
    addEventListener("popstate", () => this.open());
    addEventListener("focus", () => this.page && this.reload());
    hearOthers(() => this.reload());
  }

  get query() {
    return new URLSearchParams(location.search);
  }

  /** The present address with other values; null takes a name out. */
  with(changes) {
    const query = this.query;
    for (const [name, value] of Object.entries(changes)) {
      if (value === null) query.delete(name);
      else query.set(name, value);
    }
    return query;
  }

  go(query, { replace = false } = {}) {
    const address = `/trajectories${query.size ? `?${query}` : ""}`;
    if (replace) history.replaceState(null, "", address);
    else history.pushState(null, "", address);
    return this.open();
  }

  turnPage(name, place) {
    byId("rows").scrollTop = 0;
    return this.go(this.with({ before: null, after: null, [name]: place }));
  }

  async open() {
    const query = this.query;
    const wanted = query.get("run");
    if (wanted !== this.detail.id) this.detail.show(wanted);
    if (wanted) this.detail.turnTo(query.get("tab"));
    else this.invite();
    this.filters.read(query);
    drawViews(() => `/trajectories${this.narrowed().size ? `?${this.narrowed()}` : ""}`);
    const key = [...this.narrowed(), ...PLACES.map((name) => [name, query.get(name)])].join();
    if (key !== this.listKey) await this.load(key);
    this.mark();
  }

  /** The filters of the address, without place, run and tab. */
  narrowed() {
    return new URLSearchParams([...this.query].filter(([name]) => NAMES.includes(name)));
  }

  async reload(gone = []) {
    this.detail.check(gone);
    await this.load(this.listKey);
    this.mark();
  }

  async load(key) {
    this.listKey = key;
    const narrowed = this.narrowed();
    const asked = new URLSearchParams(narrowed);
    for (const name of PLACES) if (this.query.get(name)) asked.set(name, this.query.get(name));
    drawExport(narrowed);
    const counted = getJson(`/api/trajectories/overview?${narrowed}`);
    counted.catch(() => {}); // the list says it
    try {
      const page = await getJson(`/api/trajectories?${asked}`);
      if (this.listKey !== key) return;
      this.page = page;
      this.drawRows();
      const overview = await counted; // counting a million may take longer than showing fifty
      if (this.listKey !== key) return;
      this.overview = overview;
      this.drawOverview();
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      if (this.listKey === key) this.unreadable(error);
    }
  }

  unreadable(error) {
    put(
      byId("rows"),
      el(
        "div",
        { class: "wb-state" },
        el("h2", { text: "The list could not be read" }),
        el("p", { text: plain(error.message) }),
        el("a", { class: "wb-btn", href: "/trajectories", text: "The whole list" }),
      ),
    );
  }

  drawOverview() {
    const { matches, total } = this.overview;
    this.filters.offer(this.overview, this.query);
    put(byId("matches"), el("b", { text: count(matches) }), ` of ${count(total)}`);
    byId("count").textContent = `${count(total)} trajector${total === 1 ? "y" : "ies"}`;
    if (this.page.rows.length === 0) put(byId("rows"), this.nothing(total));
  }

  drawRows() {
    if (!this.page) return;
    const names = chosenColumns();
    byId("rows").parentElement.style.setProperty("--rc-cols", template(names));
    put(byId("head"), headCells(names));
    byId("older").disabled = !this.page.older;
    byId("newer").disabled = !this.page.newer;
    const on = { click: (event, row) => this.click(event, row.id), pick: (row, yes) => this.picked.set(row, yes) };
    const focused = document.activeElement?.dataset?.id;
    const rows = this.page.rows.map((row) =>
      runRow(row, names, `/trajectories?${this.with({ run: row.id })}`, this.picked.has(row.id), on),
    );
    put(byId("rows"), rows.length ? rows : this.nothing(this.overview?.total ?? null));
    if (focused) document.querySelector(`.tr-row[data-id="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
    this.invite();
    this.mark();
  }

  /** What the right side says while nothing is open. */
  invite() {
    if (this.detail.id !== null) return;
    const words = "Pick one on the left; j and k move, Enter opens. Select two and press c to compare them.";
    const state = el(
      "div",
      { class: "wb-state lv-empty" },
      el("h2", { text: "No trajectory is open" }),
      el("p", { text: words }),
    );
    put(byId("detail"), this.page?.rows.length ? state : null);
  }

  close() {
    return this.go(this.with({ run: null, tab: null }));
  }

  nothing(total) {
    if (total === null) return el("div", { class: "wb-skel lv-late", "aria-hidden": "true" });
    if (total === 0)
      return el(
        "div",
        { class: "wb-state" },
        el("h2", { text: "Nothing has been run yet" }),
        el("p", { text: "Every run is kept here, finished or stopped." }),
        el("a", { class: "wb-btn primary", href: "/", text: "Give it a task" }),
      );
    const names = narrowing(this.query);
    if (names.length === 0)
      return el(
        "div",
        { class: "wb-state" },
        el("h2", { text: "Nothing lies beyond this place" }),
        el("p", { text: "The runs that this link showed are gone, or it was cut." }),
        el("a", { class: "wb-btn", href: "/trajectories", text: "The newest ones" }),
      );
    return el(
      "div",
      { class: "wb-state" },
      el("h2", { text: "No trajectory matches" }),
      el("p", { text: `Drop a filter: ${names.join(", ")}.` }),
      el("button", {
        class: "wb-btn",
        type: "button",
        text: "Clear filters",
        on: { click: () => this.filters.clear() },
      }),
    );
  }

  click(event, id) {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return;
    event.preventDefault();
    this.go(this.with({ run: id }));
  }

  mark() {
    for (const row of document.querySelectorAll(".tr-row")) {
      if (row.dataset.id === this.detail.id) row.setAttribute("aria-current", "true");
      else row.removeAttribute("aria-current");
    }
    byId("wb").classList.toggle("tr-open", this.detail.id !== null);
    this.picked.draw();
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

  /** s: select the focused row, or the open one. */
  select() {
    const row = document.activeElement?.classList.contains("tr-row")
      ? document.activeElement
      : document.querySelector(".tr-row[aria-current]");
    const box = row?.parentElement.querySelector("input");
    box?.click();
    return Boolean(box);
  }
}

export async function start() {
  const list = new Trajectories();
  keys.start({
    j: { shown: "j k", words: "next trajectory", brief: "next, previous", run: () => list.step(1) },
    k: { words: "trajectory before", run: () => list.step(-1) },
    n: { shown: "n p", words: "next turn", brief: "turn", run: () => moveCard(1) },
    p: { words: "turn before", run: () => moveCard(-1) },
    Enter: { words: "open the row, or the observation of the turn", brief: "open", run: openObservation },
    "/": { words: "search", brief: "search", run: () => byId("q").focus() },
    s: { words: "select the row", brief: "select", run: () => list.select() },
    c: { words: "compare the two that are selected", brief: "compare", run: () => list.picked.compare() },
    a: { words: "add a tag", brief: "tag", run: () => list.detail.focusTag() },
    "[": { shown: "[ ]", words: "newer", brief: "newer, older", run: () => byId("newer").click() },
    "]": { words: "older", run: () => byId("older").click() },
    Escape: {
      shown: "Esc",
      words: "close a menu, leave the search field",
      inFields: true,
      run: () => {
        closeMenus();
        document.activeElement?.blur();
      },
    },
  });
  await list.open();
}
