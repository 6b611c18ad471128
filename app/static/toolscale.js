// ToolScale: domains on the left; of the chosen one its tasks, schema, records, operations and policy.

import { byId, el, put } from "./dom.js";
import { count, plain, plural } from "./format.js";
import { kindBox } from "./marks.js";
import { Refused, domainPath, getJson } from "./server.js";
import { again, alertOf } from "./toolmarks.js";
import { operationsView, policyView, schemaView } from "./toolscaledomain.js";
import { Place } from "./place.js";
import { Maker } from "./toolscalemaker.js";
import { publishedTable } from "./toolscaleplots.js";
import { Records } from "./toolscalerecords.js";
import { TaskList } from "./toolscalelist.js";
import { TaskPage } from "./toolscaletask.js";
import * as keys from "./keys.js";

const VIEWS = { tasks: "Tasks", schema: "Schema", records: "Records", operations: "Operations", policy: "Policy" };
const OF_A_TASK = ["task", "call", "run"];
const MOST_NAME = 60;

class ToolScale extends Place {
  constructor() {
    super("/toolscale");
    this.domains = [];
    this.kept = new Map();
    this.asked = 0;
    this.missing = false;
    this.list = new TaskList(this);
    this.task = new TaskPage(this);
    this.records = new Records(this);
    this.maker = new Maker(() => this.reload());
  }

  /** The domain that the address names, the first where it names none; null where there is none of that name. */
  get domain() {
    const wanted = this.query.get("domain");
    const names = this.domains.map((one) => one.name);
    // What can be played at once comes first: the smallest domain with tasks.
    const first = this.domains.filter((one) => one.tasks).sort((a, b) => sum(a.records) - sum(b.records))[0];
    if (wanted) return names.includes(wanted) ? wanted : null;
    return first?.name ?? names[0] ?? null;
  }

  get view() {
    const wanted = this.query.get("view");
    return Object.hasOwn(VIEWS, wanted ?? "") ? wanted : "tasks";
  }

  async start() {
    const waiting = setTimeout(() => put(byId("ts-view"), el("div", { class: "wb-skel", "aria-hidden": "true" })), 300);
    await this.load();
    clearTimeout(waiting);
    await this.maker.watch();
    if (this.domains.length) await this.show();
  }

  async load() {
    try {
      const found = await getJson("/api/toolscale");
      Object.assign(this, { domains: found.domains, made: new Set(found.made), folder: found.folder });
      put(byId("problem"));
    } catch (error) {
      this.refused("The domains could not be read.", error);
    }
  }

  async reload() {
    this.kept.clear();
    await this.load();
    if (this.domains.length) await this.show();
  }

  refused(what, error) {
    if (!(error instanceof Refused)) throw error;
    put(byId("problem"), alertOf(what, error.message), again(error, () => this.reload()));
    byId("ts-view").querySelector(":scope > .wb-skel")?.remove();
  }

  /** An answer of the server that does not change while the page is open. */
  async get(address) {
    if (!this.kept.has(address)) this.kept.set(address, await getJson(address));
    return this.kept.get(address);
  }

  async show() {
    this.drawDomains();
    this.drawTop();
    const { domain, view } = this;
    const asked = ++this.asked;
    const line = this.domains.find((one) => one.name === domain);
    document.title = `${line ? `${plain(line.title)} · ` : ""}ToolScale · Orchestra Workbench`;
    put(byId("problem"));
    this.missing = domain === null;
    if (this.missing) return this.drawMissing("domain", this.query.get("domain"), "", `All ${plural(this.domains.length, "domain")}`, { domain: null });
    try {
      const content = await this.content(view, domain);
      if (asked === this.asked) put(byId("ts-view"), content);
    } catch (error) {
      if (asked !== this.asked) return;
      put(byId("ts-view"));
      const task = view === "tasks" ? this.query.get("task") : null;
      this.missing = task !== null && error.status === 404;
      if (this.missing) this.drawMissing("task", task, "It may have gone when tasks were made anew. ", `Tasks of ${plain(line.title)}`, {});
      else this.refused("This part could not be read.", error);
    }
  }

  /** The address names a domain or a task that is not there; `change` of it leads to the `list`. */
  drawMissing(kind, name, why, list, change) {
    const shown = alertOf(`There is no ${kind} ${JSON.stringify(plain(name.slice(0, MOST_NAME)))}.`, why);
    shown.lastElementChild.append(this.link({ ...nothing(OF_A_TASK), ...change }, { class: "wb-link" }, list));
    put(byId("ts-view"));
    put(byId("problem"), shown);
  }

  async content(view, domain) {
    if (view === "tasks") {
      const found = await this.get(domainPath(domain, "/tasks"));
      put(byId("ts-published"), found.metrics ? publishedTable(found.metrics) : null);
      const wanted = this.query.get("task");
      return wanted ? this.task.content(domain, wanted, found) : this.list.content(domain, found);
    }
    const whole = await this.get(domainPath(domain));
    if (view === "records") return this.records.content(whole);
    return { schema: schemaView, operations: operationsView, policy: policyView }[view](whole, this);
  }

  // ---- the left panel and the bar
  drawDomains() {
    const tasks = this.domains.reduce((all, one) => all + one.tasks, 0);
    const source = this.made?.size ? `made here, ${plural(this.made.size, "domain")}` : "examples that ship";
    byId("ts-said").textContent = `${plural(this.domains.length, "domain")}, ${plural(tasks, "task")} (${source}).`;
    const head = ["Domain", "tools", "rec.", "tasks"].map((word, at) =>
      el("span", { class: at ? "n" : null, text: word }),
    );
    const line = (one) =>
      this.link(
        { domain: one.name, table: null, ...nothing(OF_A_TASK) },
        { class: "ts-d", "data-name": one.name, title: plain(one.archetype), "aria-current": one.name === this.domain ? "true" : null },
        el("b", { class: "lv-cut", text: plain(one.title) }),
        el("span", { class: "n" }, String(one.reads + one.writes + one.generic), el("small", { text: ` ${one.writes} w` })),
        el("span", { class: "n", text: count(sum(one.records)) }),
        el("span", { class: "n", text: count(one.tasks) }),
      );
    const focused = document.activeElement?.closest?.(".ts-d")?.getAttribute("data-name");
    put(byId("ts-domains"), el("div", { class: "ts-dh", "aria-hidden": "true" }, head), this.domains.map(line));
    const here = byId("ts-domains").querySelector("[aria-current]");
    // On a narrow screen the list scrolls by itself; the page stays where it is.
    if (here) byId("ts-domains").scrollTop = here.offsetTop - byId("ts-domains").offsetTop - here.offsetHeight;
    if (focused) byId("ts-domains").querySelector(`[data-name="${CSS.escape(focused)}"]`)?.focus();
  }

  drawTop() {
    const one = this.domains.find((line) => line.name === this.domain);
    if (!one) {
      put(byId("ts-top"));
      put(byId("ts-published"));
      return;
    }
    const facts = [
      plural(Object.keys(one.records).length, "table"),
      plural(sum(one.records), "record"),
      `${plural(one.reads + one.writes + one.generic, "operation")} (${one.reads} read, ${one.writes} write)`,
      `${count(one.words)} words of policy`,
      `clock ${plain(one.now).replace("T", " ")}`,
    ];
    const tab = ([name, title]) =>
      this.link(
        { view: name === "tasks" ? null : name, ...nothing(OF_A_TASK) },
        { "aria-current": name === this.view ? "true" : null },
        title,
      );
    put(
      byId("ts-top"),
      el(
        "div",
        { class: "ts-name" },
        kindBox("domain"),
        el("h2", { text: plain(one.title) }),
        one.split === "train" ? null : el("span", { class: "wb-tag", text: plain(one.split).replace("_", " ") }),
        el("span", { class: "wb-note lv-cut", text: facts.join(" · ") }),
      ),
      el("nav", { class: "wb-tabs", "aria-label": "Parts of the domain" }, Object.entries(VIEWS).map(tab)),
    );
  }

  turn(by) {
    const names = Object.keys(VIEWS);
    const next = names[(names.indexOf(this.view) + by + names.length) % names.length];
    this.go({ view: next === "tasks" ? null : next, ...nothing(OF_A_TASK) });
  }
}

const sum = (counts) => Object.values(counts).reduce((all, n) => all + n, 0);
const nothing = (names) => Object.fromEntries(names.map((name) => [name, null]));

export async function start() {
  const page = new ToolScale();
  const { task, list } = page;
  const open = () => page.view === "tasks" && page.query.has("task") && !page.missing;
  const inTask = (run) => () => (open() ? run() : false);
  keys.start({
    j: { words: "next task", brief: "task", shown: "j k", run: () => (open() ? task.other(1) : list.step(1)) },
    k: { words: "task before", run: () => (open() ? task.other(-1) : list.step(-1)) },
    ArrowRight: { words: "next golden call", shown: "← →", brief: "golden call", run: inTask(() => task.step(1)) },
    ArrowLeft: { words: "golden call before", shown: "←", run: inTask(() => task.step(-1)) },
    d: { words: "to the state diff", brief: "state diff", run: inTask(() => task.focusDiff()) },
    l: { words: "try it live", brief: "try it live", run: inTask(() => task.focusLive()) },
    v: { words: "next part of the domain", brief: "part", run: () => page.turn(1) },
    "/": {
      words: "search",
      brief: "search",
      run: () => {
        const field = document.querySelector(".ts-search input");
        field?.focus();
        return Boolean(field);
      },
    },
    Escape: {
      shown: "Esc",
      words: "leave the field, then the task",
      inFields: true,
      run: () => {
        if (document.activeElement?.matches?.("input, select")) document.activeElement.blur();
        else if (page.view === "tasks" && page.query.has("task")) page.go(nothing(OF_A_TASK));
        else return false;
      },
    },
  });
  await page.start();
}
