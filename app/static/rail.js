// The runs open in this browser tab, as tabs: each with its state, cost and seconds; the address names the shown one.

import { byId, el, put } from "./dom.js";
import { icon } from "./icons.js";
import { cost, count, fineUsd, plain, seconds } from "./format.js";
import { outcomeMark, statusMark } from "./marks.js";
import { Refused, getJson } from "./server.js";

const KEY = "wb-runs";
const MOST = 24;
const POLL_MS = 1000;
const GOING = new Set(["queued", "running", "asked"]);

export class Rail {
  /** `onShow(id)` shows a run (null: a new task) and `onWaiting(answer)` hears how the queue stands. */
  constructor({ onShow, onWaiting }) {
    this.onShow = onShow;
    this.onWaiting = onWaiting;
    this.shown = null;
    this.ids = remembered();
    this.entries = new Map();
    this.timer = 0;
    this.list = el("ul", { class: "lv-tabs" }); // one list for good, so that it stays scrolled where it is
    this.compare = el("a", { class: "wb-btn sm", "data-key": "compare", text: "Compare" });
    new ResizeObserver(() => this.reveal()).observe(this.list); // a button beside it comes and goes
    put(
      byId("rail"),
      this.list,
      this.compare,
      el(
        "a",
        { class: "wb-btn sm", href: "/", "data-key": "new", on: { click: (event) => this.go(event, null) } },
        "New task",
      ),
    );
  }

  /** Show a run's tab as the current one; opens it when there is none. */
  select(id) {
    this.shown = id;
    if (id && !this.ids.includes(id)) this.ids = [...this.ids, id].slice(-MOST);
    this.keep();
    this.draw();
    this.reveal();
    this.poll();
  }

  reveal() {
    this.list.querySelector(".on")?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }

  close(id) {
    const at = this.ids.indexOf(id);
    if (at < 0) return false;
    this.ids = this.ids.filter((one) => one !== id);
    this.entries.delete(id);
    this.keep();
    if (id === this.shown) this.onShow(this.ids[Math.min(at, this.ids.length - 1)] ?? null);
    else this.draw();
    return true;
  }

  /** Drop the tab of a run that is not there; what is shown stays. */
  forget(id) {
    this.ids = this.ids.filter((one) => one !== id);
    this.entries.delete(id);
    this.keep();
    this.draw();
  }

  /** The tab `step` further on. */
  move(step) {
    if (this.ids.length === 0) return false;
    const at = this.ids.indexOf(this.shown);
    const next = this.ids[(at + step + this.ids.length + (at < 0 && step < 0 ? 1 : 0)) % this.ids.length];
    if (next !== this.shown) this.onShow(next);
    return true;
  }

  /** How the shown run stands, known here before the server is asked again. */
  update(run) {
    this.entries.set(run.id, { ...this.entries.get(run.id), ...entryOf(run) });
    this.draw();
  }

  async poll() {
    clearTimeout(this.timer);
    const asked = this.ids.filter((id) => this.isOpen(id) || this.entries.get(id).wish === undefined);
    try {
      const answer = await getJson(`/api/rail?ids=${asked.map(encodeURIComponent).join(",")}`);
      for (const entry of answer.runs) if (this.ids.includes(entry.id)) this.entries.set(entry.id, entry);
      this.waiting = answer.waiting;
      this.onWaiting(answer);
      this.draw();
    } catch (error) {
      if (!(error instanceof Refused)) throw error; // the page says elsewhere that the server does not answer
    }
    clearTimeout(this.timer);
    if (this.waiting || this.ids.some((id) => this.isOpen(id)))
      this.timer = setTimeout(() => this.poll(), document.hidden ? 4 * POLL_MS : POLL_MS);
  }

  isOpen(id) {
    return GOING.has(this.entries.get(id)?.status ?? "asked");
  }

  draw() {
    const host = byId("rail");
    host.hidden = this.ids.length === 0;
    const focused = host.contains(document.activeElement) ? document.activeElement.dataset.key : null;
    put(
      this.list,
      this.ids.map((id) => this.tab(id, this.entries.get(id))),
    );
    const pair = this.pair();
    this.compare.hidden = pair === null;
    if (pair) this.compare.href = `/compare?${new URLSearchParams({ a: pair[0], b: pair[1] })}`;
    if (focused) host.querySelector(`[data-key="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
  }

  /** The shown run and another of the same task, both ended, in the order of their tabs; null without one. */
  pair() {
    const ended = (id) => this.entries.has(id) && !this.isOpen(id) && this.entries.get(id).status !== "gone";
    const task = this.entries.get(this.shown)?.task;
    const twin = this.ids.findLast((id) => id !== this.shown && ended(id) && this.entries.get(id).task === task);
    if (!twin || !ended(this.shown)) return null;
    return this.ids.filter((id) => id === twin || id === this.shown);
  }

  go(event, id) {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return; // the browser's own: another tab, another window
    event.preventDefault();
    this.onShow(id);
  }

  tab(id, entry) {
    const current = id === this.shown;
    const task = entry?.task ? plain(entry.task) : id;
    const label = this.label(id, entry, task);
    const going = GOING.has(entry?.status);
    return el(
      "li",
      { class: current ? "lv-tab on" : "lv-tab" },
      el(
        "a",
        {
          href: `/?run=${encodeURIComponent(id)}`,
          "aria-current": current ? "page" : null,
          "data-key": `tab-${id}`,
          title: [task, entry?.wish].filter(Boolean).join("\n"),
          on: { click: (event) => this.go(event, id) },
        },
        el("b", { class: "lv-cut", text: label }),
        el("span", { class: "lv-tab-facts" }, facts(entry)),
      ),
      el(
        "button",
        {
          class: "wb-btn ghost sm icon",
          type: "button",
          "data-key": `close-${id}`,
          "aria-label": `Close the tab of ${task.slice(0, 60)}`,
          title: going ? "Close the tab; the run goes on" : "Close the tab",
          on: { click: () => this.close(id) },
        },
        icon("cross", true),
      ),
    );
  }

  /** What tells a tab from others of the same task: the wish, or else its number among them. */
  label(id, entry, task) {
    const same = this.ids.filter((other) => other === id || this.entries.get(other)?.task === entry?.task);
    if (same.length === 1 || !entry?.wish) return task;
    const wishes = new Set(same.map((other) => this.entries.get(other)?.wish));
    return wishes.size > 1 ? plain(entry.wish) : `${same.indexOf(id) + 1} of ${same.length} · ${task}`;
  }

  keep() {
    try {
      sessionStorage.setItem(KEY, JSON.stringify(this.ids));
    } catch {
      // storage is switched off: the tabs last as long as the page
    }
  }
}

function entryOf({ bill, setting, finished, stop, outcome, took, timed }) {
  const kind = bill.cost_usd === null ? "unknown" : "known";
  return {
    task: setting.task.text.slice(0, 200),
    status: finished ? (stop ?? "fault") : "running",
    outcome,
    cost: { kind, usd: bill.cost_usd, why: bill.why },
    seconds: timed ? took : null,
  };
}

/** What a run came to, as its bill sums it up: only a call is told to be free. */
const money = (view) => (view.usd === null || view.usd === undefined ? cost(view) : el("span", { text: fineUsd(view.usd) }));

function facts(entry) {
  if (!entry) return "…";
  if (entry.status === "queued") return [statusMark("queued"), `place ${count(entry.place)}`];
  if (entry.status === "gone") return [statusMark("fault", "gone")];
  const time = entry.seconds === null || entry.seconds === undefined ? null : seconds(entry.seconds);
  const mark = (entry.outcome ?? null) === null ? statusMark(entry.status) : outcomeMark(entry.outcome);
  return [mark, entry.cost ? money(entry.cost) : null, el("span", { text: time })];
}

function remembered() {
  try {
    const ids = JSON.parse(sessionStorage.getItem(KEY));
    return Array.isArray(ids) ? ids.filter((id) => typeof id === "string").slice(-MOST) : [];
  } catch {
    return [];
  }
}
