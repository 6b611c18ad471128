// The Trajectories page: filters and place in the list live in the URL; the detail is drawn by Live's own code.

import { byId, el, put } from "./dom.js";
import { count, fullSentence, plain } from "./format.js";
import { Refused, getJson } from "./server.js";
import { Detail } from "./detail.js";
import { Filters, NAMES, narrowing } from "./filters.js";
import { closeMenus, drawColumns, drawExport, drawViews, startMenus } from "./menus.js";
import { Picked, hearOthers } from "./picked.js";
import { placard } from "./placards.js";
import { RowList } from "./rowlist.js";
import { chosenColumns, headCells, runRow, template } from "./runrow.js";
import { again } from "./toolmarks.js";
import { showCount } from "./topbar.js";
import { moveCard, openObservation } from "./cards.js";
import * as keys from "./keys.js";

const PLACES = ["before", "after"];
const GOING_MS = 2_000; // between two looks at the list while a run goes on
const IDLE_MS = 5_000;
const COUNT_SHARE = 0.1; // of the time, at most, goes into counting: with a million runs it takes a while

/** What the button of a filter says that hides so many runs. */
function hides(part, word, runs) {
  return part === "training" ? `${runs} training rollouts hidden` : `${part} ${word} ${runs}`;
}

class Trajectories {
  constructor() {
    this.page = null;
    this.overview = null;
    this.hidden = null; // how many runs each filter alone hides
    this.countAt = 0;
    this.lost = false; // whether the server did not answer at all
    this.rows = new RowList(byId("rows"));
    this.picked = new Picked({
      changed: () => this.drawRows(),
      reload: (gone = []) => this.reload(gone),
      open: () => this.detail.id,
      tagged: () => this.detail.id && this.detail.loadTags(),
      graded: (id, event) => this.detail.heard(id, event),
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
    this.watch();
  }

  /** Look at the list again from time to time, more often while a run goes on. */
  watch() {
    setTimeout(
      async () => {
        if (!document.hidden) await (this.page ? this.refresh() : this.lost && this.load(this.listKey));
        this.watch();
      },
      this.page?.running ? GOING_MS : IDLE_MS,
    );
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
    if (key !== this.listKey) this.page = this.hidden = null;
    this.listKey = key;
    drawExport(this.narrowed());
    const counted = this.count();
    counted.catch(() => {}); // the list says it
    try {
      if (!(await this.read(key))) this.drawRows();
      this.lost = false;
      await counted; // counting a million may take longer than showing fifty
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      if (this.listKey === key) this.unreadable(error);
    }
  }

  /** Read the page of the list that the address names; says whether it is another than the one that is shown. */
  async read(key) {
    const asked = this.narrowed();
    for (const name of PLACES) if (this.query.get(name)) asked.set(name, this.query.get(name));
    const page = await getJson(`/api/trajectories?${asked}`);
    if (this.listKey !== key || JSON.stringify(page) === JSON.stringify(this.page)) return false;
    this.page = page;
    this.drawRows();
    return true;
  }

  async count() {
    const [key, start] = [this.listKey, performance.now()];
    const narrowed = this.narrowed();
    const ask = narrowing(narrowed).some((part) => part !== "training")
      ? getJson(`/api/trajectories/hidden?${narrowed}`).catch(() => null)
      : Promise.resolve(null);
    const overview = await getJson(`/api/trajectories/overview?${narrowed}`);
    if (this.listKey !== key) return;
    this.overview = overview;
    this.drawOverview();
    const hidden = await ask;
    this.countAt = performance.now() + (performance.now() - start) / COUNT_SHARE;
    if (this.listKey !== key) return;
    this.hidden = hidden;
    this.drawOverview();
  }

  async refresh() {
    const key = this.listKey;
    try {
      const changed = await this.read(key);
      this.unseen ||= changed;
      if (this.unseen && performance.now() >= this.countAt) {
        this.unseen = false;
        await this.count();
      }
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      this.unseen = true;
      const words = error.status === 0 ? "connection lost" : plain(error.message); // what is here stays
      if (this.listKey === key && byId("matches").textContent !== words) byId("matches").textContent = words;
    }
  }

  unreadable(error) {
    this.page = null;
    this.lost = error.status === 0;
    this.rows.replace(
      placard(
        "The list could not be read",
        fullSentence(plain(error.message)),
        again(error, () => this.load(this.listKey)),
        el("a", { class: "wb-btn", href: "/trajectories", text: "The whole list" }),
      ),
    );
  }

  drawOverview() {
    const { matches, total } = this.overview;
    this.filters.offer(this.overview, this.query);
    put(byId("matches"), el("b", { text: count(matches) }), ` of ${count(total)}`);
    showCount(total);
    this.drawHiding();
    if (this.page?.rows.length === 0) this.rows.replace(this.nothing(total));
  }

  drawHiding() {
    put(byId("hiding"), this.overview?.matches ? this.hiding("hides") : null);
  }

  drawRows() {
    if (!this.page) return;
    this.drawHiding();
    const names = chosenColumns();
    byId("rows").parentElement.style.setProperty("--rc-cols", template(names));
    put(byId("head"), headCells(names));
    byId("older").disabled = !this.page.older;
    byId("newer").disabled = !this.page.newer;
    const on = { click: (event, row) => this.click(event, row.id), pick: (row, yes) => this.picked.set(row, yes) };
    const href = (row) => `/trajectories?${this.with({ run: row.id })}`;
    if (this.page.rows.length === 0) this.rows.replace(...[this.nothing(this.overview?.total ?? null)].filter(Boolean));
    else
      this.rows.draw(
        this.page.rows,
        (row) => JSON.stringify([row, names, href(row)]),
        (row) => runRow(row, names, href(row), this.picked.has(row.id), on),
      );
    this.invite();
    this.mark();
  }

  /** What the right side says while nothing is open. */
  invite() {
    if (this.detail.id !== null) return;
    const words = "Pick one on the left; j and k move, Enter opens. Select two to eight and press c to compare them.";
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
    // That rollouts of training are left out counts where there are any.
    const names = narrowing(this.query).filter((part) => part !== "training" || this.hiddenBy(part));
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
      el("div", { class: "lv-actions" }, this.hiding("alone hides")),
      el("button", {
        class: "wb-btn",
        type: "button",
        text: "Clear filters",
        on: { click: () => this.filters.clear() },
      }),
    );
  }

  /** How many runs a filter alone hides; where none but the one on training is set, those are all rollouts. */
  hiddenBy(part) {
    const alone = narrowing(this.query).length === 1 && part === "training" && !this.query.get("training");
    return alone ? this.page?.rollouts : this.hidden?.[part];
  }

  /** A button for each filter that alone hides runs: it takes that filter out. */
  hiding(word) {
    return narrowing(this.query)
      .filter((part) => this.hiddenBy(part))
      .map((part) =>
        el("button", {
          class: "wb-btn sm rc-hides",
          type: "button",
          title: `Drop this filter: ${count(this.hiddenBy(part))} more`,
          text: hides(part, word, count(this.hiddenBy(part))),
          on: { click: () => this.filters.drop(this.query, part) },
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
      row.parentElement.querySelector("input").checked = this.picked.has(row.dataset.id);
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
    1: { shown: "1 2 3", words: "grade: solved, not solved, cannot say", brief: "grade", run: () => list.detail.grade(0) },
    2: { words: "grade: not solved", run: () => list.detail.grade(1) },
    3: { words: "grade: cannot say", run: () => list.detail.grade(2) },
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
