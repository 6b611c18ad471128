// The tasks of a domain in one list, filtered in the page; below it how long and how hard they are, and the funnel.

import { el, put } from "./dom.js";
import { count, plain, plural } from "./format.js";
import { icon } from "./icons.js";
import { difficultyPanel, funnelPanel, metricsPanel } from "./toolscaleplots.js";

const STEP = 60;
const FILTERS = ["kind", "split"];

export class TaskList {
  constructor(page) {
    this.page = page;
    this.shown = STEP;
  }

  content(domain, found) {
    if (this.domain !== domain) this.shown = STEP;
    this.domain = domain;
    this.found = found;
    if (!found.total) return [this.page.maker.empty(domain), this.page.maker.node];
    this.body = el("tbody", {});
    this.said = el("p", { role: "status" });
    this.more = el("div", { class: "lv-actions" });
    this.plots = el("div", { class: "ts-b" });
    this.draw();
    return [
      el(
        "section",
        { class: "wb-panel", "aria-label": "Tasks" },
        el(
          "header",
          {},
          el("h2", { text: "Tasks" }),
          this.said,
          found.made ? null : el("span", { class: "wb-badge", tabindex: "0", title: "Examples written by hand that ship with the workbench; orchestra synth makes verified ones.", text: "examples" }),
        ),
        this.filters(),
        el(
          "div",
          { class: "ts-scroll ts-tasks", tabindex: "0", role: "region", "aria-label": "List of tasks" },
          el(
            "table",
            { class: "wb-tbl" },
            el("caption", { class: "wb-sr", text: "Tasks" }),
            el(
              "thead",
              {},
              el("tr", {}, ["Task", "User's words", "Kind"].map((text) => el("th", { scope: "col", text })), ["Calls", "Writes"].map((text) => el("th", { scope: "col", class: "n", text })), el("th", { scope: "col", text: "Split" })),
            ),
            this.body,
          ),
        ),
        this.more,
      ),
      this.plots,
      this.page.maker.node,
    ];
  }

  filters() {
    const { query } = this.page;
    const choice = (name) => {
      const values = [...new Set(this.found.tasks.map((one) => one[name]))].sort();
      const select = el("select", {
        "aria-label": name,
        on: { change: () => this.narrow({ [name]: select.value }) },
      });
      put(select, el("option", { value: "", text: "all" }), values.map((value) => el("option", { value, text: plain(value) })));
      select.value = values.includes(query.get(name)) ? query.get(name) : "";
      return el("label", { class: `wb-filter${select.value ? " on" : ""}` }, name, select);
    };
    const search = el("input", {
      type: "search",
      value: query.get("q") ?? "",
      placeholder: "Words of the user, id, intent",
      "aria-label": "Search the tasks",
      autocomplete: "off",
      on: { input: () => this.narrow({ q: search.value.trim() }) },
    });
    const least = el("input", {
      type: "number",
      min: 0,
      value: query.get("least") ?? "",
      placeholder: "0",
      "aria-label": "Golden calls at least",
      on: { input: () => this.narrow({ least: least.value }) },
    });
    return el(
      "div",
      { class: "ts-bar" },
      el("label", { class: "wb-in sm ts-search" }, icon("search", true), search, el("kbd", { text: "/" })),
      FILTERS.map(choice),
      el("label", { class: "wb-filter ts-least" }, "calls ≥", least),
    );
  }

  narrow(change) {
    this.shown = STEP;
    this.page.go(change, true);
    for (const label of document.querySelectorAll(".ts-bar .wb-filter")) {
      const field = label.querySelector("select, input");
      label.classList.toggle("on", Boolean(field?.value));
    }
    this.draw();
  }

  /** The tasks that the filters let through, in the file's order. */
  get fitting() {
    const { query } = this.page;
    const words = (query.get("q") ?? "").toLowerCase().split(/\s+/).filter(Boolean);
    const least = Number(query.get("least") ?? 0);
    const text = (one) => `${one.id} ${one.words} ${one.intents.join(" ")}`.toLowerCase();
    return this.found.tasks.filter(
      (one) =>
        one.calls >= least &&
        FILTERS.every((name) => !query.get(name) || one[name] === query.get(name)) &&
        words.every((word) => text(one).includes(word)),
    );
  }

  draw() {
    const some = this.fitting;
    const rest = this.found.total - this.found.tasks.length;
    this.said.textContent =
      some.length === this.found.total ? plural(some.length, "task") : `${count(some.length)} of ${plural(this.found.total, "task")}`;
    if (rest > 0) this.said.textContent += ` (the first ${count(this.found.tasks.length)} are listed)`;
    put(this.body, some.slice(0, this.shown).map((one) => this.row(one)));
    if (!some.length) put(this.body, this.none());
    put(
      this.more,
      some.length > this.shown
        ? el("button", {
            class: "wb-btn sm",
            type: "button",
            text: `Show ${count(Math.min(STEP, some.length - this.shown))} more`,
            on: {
              click: () => {
                this.shown += STEP;
                this.draw();
              },
            },
          })
        : null,
    );
    put(this.plots, funnelPanel(this.page.maker.report, this.domain), difficultyPanel(some, this.found, null), metricsPanel(this.page.maker.report));
  }

  none() {
    const drop = { q: null, kind: null, split: null, least: null };
    const all = this.page.link(drop, { class: "wb-btn sm" }, "Show all");
    return el("tr", {}, el("td", { colspan: 6 }, el("div", { class: "wb-state" }, el("p", { text: "No task fits these filters." }), all)));
  }

  row(one) {
    return el(
      "tr",
      {},
      el("th", { scope: "row" }, this.page.link({ task: one.id, call: null, run: null }, { class: "wb-mono ts-task" }, plain(one.id))),
      el("td", { class: "ts-words" }, el("span", { class: "lv-cut", title: plain(one.words), text: plain(one.words) })),
      el("td", { text: plain(one.kind) }),
      el("td", { class: "n", text: count(one.calls) }),
      el("td", { class: "n", text: count(one.writes) }),
      el("td", { class: "wb-mut", text: plain(one.split) }),
    );
  }

  step(by) {
    const links = [...document.querySelectorAll(".ts-task")];
    if (!links.length) return false;
    const at = links.indexOf(document.activeElement);
    const next = links[Math.min(links.length - 1, Math.max(0, at < 0 ? 0 : at + by))];
    next.focus();
    next.scrollIntoView({ block: "nearest" });
    return true;
  }
}

/** The task beside another one in the list as it is filtered; null at its ends. */
export function beside(list, id, by) {
  const some = list.fitting;
  const at = some.findIndex((one) => one.id === id);
  return some[at + by]?.id ?? null;
}

