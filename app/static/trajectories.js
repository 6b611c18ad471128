// The Trajectories page: filters and place in the list live in the URL; the detail is drawn by Live's own code.

import { byId, el, put } from "./dom.js";
import { icon } from "./icons.js";
import { cost, count, plain, plural, seconds, unknown, usd, weight, when } from "./format.js";
import { Refused, follow, getJson, getText, runPath } from "./server.js";
import { Run } from "./run.js";
import { Timeline, endCard } from "./timeline.js";
import { drawScore, glyph } from "./score.js";
import { billTable, nominalBadge, simulatedBadge, statusChip } from "./bill.js";
import { moveCard, openObservation } from "./live.js";
import * as keys from "./keys.js";

const FILTERS = { q: "q", status: "f-status", orchestrator: "f-orchestrator", tool: "f-tool" };
const TYPING_MS = 200;

class Trajectories {
  constructor() {
    this.page = null;
    this.run = null;
    this.unfollow = () => {};
    let typing = 0;
    byId("filters").addEventListener("submit", (event) => event.preventDefault());
    byId("q").addEventListener("input", () => {
      clearTimeout(typing);
      typing = setTimeout(() => this.filter(), TYPING_MS);
    });
    for (const id of ["f-status", "f-orchestrator", "f-tool"]) byId(id).addEventListener("change", () => this.filter());
    byId("clear").addEventListener("click", () => this.clear());
    byId("older").addEventListener("click", () => this.turnPage(this.page.older, [...this.pages, this.query.get("before")]));
    byId("newer").addEventListener("click", () => this.turnPage(this.pages.at(-1), this.pages.slice(0, -1)));
    addEventListener("popstate", () => this.open());
    new ResizeObserver(() => this.drawScore()).observe(byId("main"));
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
    if (wanted !== (this.run?.id ?? null)) this.show(wanted);
    query.delete("run");
    const key = query.toString();
    if (key !== this.listKey || this.page === null) await this.load(query, key);
    this.mark();
  }

  async load(query, key) {
    this.listKey = key;
    try {
      const page = await getJson(`/api/trajectories?${query}`);
      if (this.listKey !== key) return;
      this.page = page;
      this.drawFilters(query);
      this.drawList();
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      put(byId("rows"), el("div", { class: "wb-state" }, el("h2", { text: "The list could not be read" }), el("p", { text: plain(error.message) })));
    }
  }

  drawFilters(query) {
    const choices = { status: this.page.statuses, orchestrator: this.page.orchestrators, tool: this.page.tools };
    for (const [name, values] of Object.entries(choices)) {
      const now = query.get(name) ?? "";
      const all = now && !values.includes(now) ? [...values, now] : values;
      put(byId(FILTERS[name]), el("option", { value: "", text: "any" }), all.map((value) => el("option", { value, text: plain(value).replaceAll("_", " ") })));
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
    if (!this.run && rows.length && innerWidth > 760) put(byId("detail"), el("div", { class: "wb-state lv-empty" }, el("h2", { text: "No trajectory is open" }), el("p", { text: "Pick one on the left; j and k move, Enter opens." })));
  }

  nothing(total) {
    if (total === 0) return el("div", { class: "wb-state" }, el("h2", { text: "Nothing has been run yet" }), el("p", { text: "Every run is kept here, finished or stopped." }), el("a", { class: "wb-btn primary", href: "/", text: "Give it a task" }));
    return el("div", { class: "wb-state" }, el("h2", { text: "No trajectory matches" }), el("p", { text: `Drop a filter: ${[...this.query.keys()].filter((name) => name in FILTERS).join(", ") || "page"}.` }),
      el("button", { class: "wb-btn", type: "button", text: "Clear filters", on: { click: () => this.clear() } }));
  }

  address(id) {
    const query = this.query;
    query.set("run", id);
    return `/trajectories?${query}`;
  }

  row(row) {
    const badges = [row.nominal ? nominalBadge(true) : null, row.simulated ? simulatedBadge(true) : null];
    return el("a", { class: "tr-row", href: this.address(row.id), "data-id": row.id, on: { click: (event) => this.click(event, row.id) } },
      el("span", { class: "t", text: plain(row.task) }), el("span", { class: "c" }, statusChip(row.status)),
      el("span", { class: "m" }, el("span", { class: "lv-cut", text: `${plain(row.orchestrator)} · ${row.wish}` }), badges), el("span", { class: "g" }, glyph(row.glyph)),
      el("span", { class: "n turns", text: count(row.turns) }), el("span", { class: "n" }, el("b", {}, cost(row.cost))),
      el("span", { class: "n" }, row.seconds === null ? unknown("the run has not ended") : seconds(row.seconds)));
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
      if (row.dataset.id === this.run?.id) row.setAttribute("aria-current", "true");
      else row.removeAttribute("aria-current");
    }
    byId("wb").classList.toggle("tr-open", this.run !== null);
  }

  /** j and k: the row after or before the focused or opened one. */
  step(by) {
    const rows = [...document.querySelectorAll(".tr-row")];
    if (rows.length === 0) return false;
    const focused = rows.indexOf(document.activeElement);
    const at = focused >= 0 ? focused : rows.findIndex((row) => row.dataset.id === this.run?.id);
    const next = rows[Math.min(rows.length - 1, Math.max(0, at < 0 ? 0 : at + by))];
    next.focus();
    next.scrollIntoView({ block: "nearest" });
    return true;
  }

  // ---- one trajectory
  show(id) {
    this.unfollow();
    this.run = id ? new Run(id) : null;
    document.title = "Trajectories · Orchestra Workbench";
    if (!id) {
      put(byId("detail"));
      if (this.page) this.drawList();
      return;
    }
    put(byId("detail"), el("div", { class: "wb-skel lv-late", "aria-hidden": "true" }));
    this.timeline = null;
    const run = this.run;
    const mine = (act) => (...given) => { if (this.run === run) act(...given); };
    this.unfollow = follow(id, {
      frame: mine((event) => this.take(event)), clock: mine((t) => run.setClock(t)), broken: mine((message) => { run.broken = message; }),
      end: mine(() => this.ended()), lost: () => {}, back: () => {}, unknown: mine((message) => this.unknown(message)),
    });
  }

  unknown(message) {
    put(byId("detail"), el("div", { class: "wb-state lv-empty" }, el("h2", { text: "There is no such trajectory here" }), el("p", { text: plain(message) }), el("a", { class: "wb-btn", href: "/trajectories", text: "All trajectories" })));
  }

  take(event) {
    const position = this.run.feed(event);
    if (event.kind === "run_started") this.frame();
    if (event.kind === "streamed") this.timeline.stream(position);
    else if (position !== null) this.timeline.update(position);
    if (event.kind !== "streamed" && this.run.finished !== (event.kind !== "run_finished")) this.facts();
  }

  ended() {
    this.timeline.updateAll();
    if (this.run.finished) byId("turns").append(endCard(this.run, statusChip(this.run.stop ?? "fault"), null));
    this.facts();
  }

  frame() {
    const { setting, id } = this.run;
    document.title = `${plain(setting.task.text).slice(0, 60)} · Orchestra Workbench`;
    const meta = [id, plain(setting.orchestrator), setting.protocol, setting.seed === null ? null : `seed ${setting.seed}`, when(setting.started_at)].filter(Boolean).join(" · ");
    put(byId("detail"),
      el("div", { class: "tr-top" }, el("div", { class: "tr-title" }, el("button", { class: "wb-btn ghost sm tr-back", type: "button", on: { click: () => { const query = this.query; query.delete("run"); this.go(query); } } }, icon("back", true), "Runs"),
        el("h2", { class: "tr-task", text: plain(setting.task.text) }), el("p", { class: "wb-note", text: meta })), this.actions()),
      el("div", { class: "tr-strip", id: "facts" }), el("section", { class: "wb-panel tr-score", id: "d-score", "aria-label": "Score" }),
      el("div", { class: "tr-cols" }, el("ol", { class: "wb-tl", id: "turns", "aria-label": "Turns" }), el("div", { class: "tr-side", id: "side" })));
    this.timeline = new Timeline(byId("turns"));
    this.timeline.reset(this.run);
    this.facts();
  }

  actions() {
    const { id } = this.run;
    const said = el("span", { class: "wb-sr", role: "status" });
    const copy = (get, words) => async () => {
      try {
        await navigator.clipboard.writeText(await get());
        said.textContent = words;
      } catch (error) {
        said.textContent = `Not copied: ${error.message}`;
      }
      said.classList.remove("wb-sr");
      said.classList.add("wb-note");
    };
    const button = (sign, text, act) => el("button", { class: "wb-btn sm", type: "button", on: { click: act } }, icon(sign, true), text);
    return el("div", { class: "tr-btns" }, said, el("a", { class: "wb-btn sm", href: `/?again=${encodeURIComponent(id)}` }, icon("again", true), "Run again"),
      el("a", { class: "wb-btn sm", href: `/?run=${encodeURIComponent(id)}` }, icon("play", true), "Open in Live"),
      button("copy", "JSON", copy(() => getText(runPath(id, "/trajectory")), "JSON copied")), button("link", "Link", copy(async () => `${location.origin}/trajectories?run=${encodeURIComponent(id)}`, "Link copied")));
  }

  facts() {
    const { run } = this;
    const { setting, bill } = run;
    const tile = (name, ...value) => el("div", { class: "wb-tile" }, el("span", { class: "l", text: name }), el("b", {}, value));
    const sum = bill.cost_usd === null ? unknown(bill.why) : usd(bill.cost_usd);
    const tokens = bill.input_tokens === null || bill.output_tokens === null ? unknown("a model did not report its tokens") : count(bill.input_tokens + bill.output_tokens);
    put(byId("facts"), tile("Status", statusChip(run.finished ? run.stop ?? "fault" : "running")),
      tile("Cost", sum, setting.limits.cost_usd === null ? null : el("small", { text: ` of ${usd(setting.limits.cost_usd)}` })), tile("Time", seconds(run.now)), tile("Tokens", tokens),
      tile("Turns", count(run.turns.length), el("small", { text: ` of ${setting.limits.max_turns}` })), el("span", {}, setting.prices.nominal ? nominalBadge() : null, " ", setting.tools.some((tool) => tool.simulated) ? simulatedBadge() : null));
    put(byId("side"), this.billPanel(), this.settingPanel());
    this.drawScore();
  }

  billPanel() {
    const { prices } = this.run.setting;
    return el("section", { class: "wb-panel", "aria-label": "Bill" }, el("header", {}, el("h2", { text: "Bill" }), el("p", { text: "a row per payee, attempts counted" })), billTable(this.run),
      el("p", { class: "wb-note lv-table", title: plain(prices.source) }, prices.nominal ? nominalBadge() : null, `Price table ${plain(prices.name)} of ${prices.dated}`));
  }

  settingPanel() {
    const { setting } = this.run;
    const { preference, limits } = setting;
    const wishes = Object.entries(preference.tools).filter(([, value]) => value !== 0).map(([name, value]) => `${plain(this.run.tool(name).title)} ${weight(value)}`);
    const known = [["cost_usd", usd], ["time_s", (v) => `${v} s`], ["max_turns", (v) => plural(v, "turn")], ["tokens", (v) => `${count(v)} tokens`]].filter(([name]) => limits[name] !== null).map(([name, shown]) => shown(limits[name]));
    const rows = [
      ["Goals", `quality ${weight(preference.outcome)} · cost ${weight(preference.cost)} · latency ${weight(preference.latency)}`],
      ["Tool wishes", wishes.join(" · ") || "none"], ["The model read", setting.sentence ? `“${plain(setting.sentence)}”` : "nothing"],
      ["Limits", known.join(" · ")], ["Tools", setting.tools.map((tool) => plain(tool.title)).join(", ") || "none"], ["Seed", setting.seed === null ? "none" : String(setting.seed)],
    ];
    return el("section", { class: "wb-panel", "aria-label": "Setting" }, el("header", {}, el("h2", { text: "Setting" })), el("dl", { class: "tr-setting" }, rows.map(([name, value]) => [el("dt", { text: name }), el("dd", { text: value })])));
  }

  drawScore() {
    const host = byId("d-score");
    if (host && this.run?.setting) drawScore(host, this.run);
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
    Escape: { shown: "Esc", words: "leave the search field", inFields: true, run: () => document.activeElement?.blur() },
  });
  await list.open();
}
