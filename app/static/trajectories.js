// The Trajectories page: filters and place in the list live in the URL; the detail is drawn by Live's own code.

import { byId, el, put } from "./dom.js";
import { count, plain } from "./format.js";
import { Refused, getJson } from "./server.js";
import { Detail } from "./detail.js";
import { EmptyList, unreadable } from "./emptylist.js";
import { Filters, NAMES, narrowing } from "./filters.js";
import { drawColumns, drawExport, drawViews, startMenus } from "./menus.js";
import { listKeys } from "./listkeys.js";
import { skeleton } from "./placards.js";
import { Picked, hearOthers } from "./picked.js";
import { RowList } from "./rowlist.js";
import { chosenColumns, headCells, runRow, template } from "./runrow.js";
import { showCount } from "./topbar.js";
import * as keys from "./keys.js";

const PLACES = ["before", "after"];
const GOING_MS = 2_000; // between two looks at the list while a run goes on
const IDLE_MS = 5_000;
const COUNT_SHARE = 0.1; // of the time, at most, goes into counting: with a million runs it takes a while

class Trajectories {
  constructor() {
    this.page = null;
    this.overview = null;
    this.hidden = null; // how many runs each filter alone hides
    this.countAt = 0;
    this.lost = false; // whether the server did not answer at all
    this.rows = new RowList(byId("rows"));
    this.empty = new EmptyList(this);
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
    if (!byId("rows").childElementCount) this.rows.replace(skeleton());
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
    this.rows.replace(unreadable(error, () => this.load(this.listKey)));
  }

  drawOverview() {
    const { matches, total, trajectories } = this.overview;
    this.filters.offer(this.overview, this.query);
    put(byId("matches"), el("b", { text: count(matches) }), ` of ${count(total)}`);
    showCount(trajectories);
    this.drawHiding();
    if (this.page?.rows.length === 0) this.rows.replace(this.empty.nothing(total));
  }

  drawHiding() {
    put(byId("hiding"), this.overview?.matches ? this.empty.hiding("hides") : null);
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
    if (this.page.rows.length === 0) this.rows.replace(...[this.empty.nothing(this.overview?.total ?? null)].filter(Boolean));
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
}

export async function start() {
  const list = new Trajectories();
  keys.start(listKeys(list));
  await list.open();
}
