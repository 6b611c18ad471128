// One training run, followed while it goes on: curves, why samples gave no gradient, whom it calls, and its parts.

import { el, put } from "./dom.js";
import { plain } from "./format.js";
import { icon } from "./icons.js";
import { simulatedBadge } from "./marks.js";
import { getJson, postJson } from "./server.js";
import { Ticker } from "./ticker.js";
import { drawAlerts } from "./trainingalerts.js";
import { RunCurves } from "./trainingcurves.js";
import { Evaluation } from "./trainingevaluation.js";
import { Rollouts } from "./trainingrollouts.js";
import { RunState } from "./trainingstate.js";
import { logView, settingsView, stepsTable } from "./trainingtables.js";
import { GOING, OF_A_RUN, aimWords, aimsIn, alarmSpans } from "./trainingwords.js";

const VIEWS = { curves: "Curves", steps: "Steps", rollouts: "Rollouts", evaluation: "Evaluation", settings: "Settings", log: "Log" };
const [GOING_MS, IDLE_MS] = [1000, 5000];
const NOT_EVALUATED = { evaluation: null, going: false, problem: null, can: false };
const NO_SEEDS = { seeds: [], rows: [] };
const SEEDS_MS = 10_000; // they are means over many steps of many runs, which move slowly
const address = (name, query) => `/api/training/${name}?${new URLSearchParams(query)}`;

export class RunPage {
  constructor(page) {
    this.page = page;
    this.id = null;
    this.rows = [];
    this.ticker = new Ticker(() => this.look());
    this.rollouts = new Rollouts(this);
    this.evaluation = new Evaluation(this);
    this.curves = new RunCurves(this);
  }

  leave() {
    this.ticker.stop();
    this.id = null;
    this.drawn = null;
  }

  get view() {
    const wanted = this.page.query.get("view");
    return Object.hasOwn(VIEWS, wanted ?? "") ? wanted : "curves";
  }

  /** The step that the reader has gone to; null follows the last one. */
  get at() {
    const wanted = Number.parseInt(this.page.query.get("step") ?? "", 10);
    return wanted >= 0 ? wanted : null;
  }

  get aim() {
    const wanted = this.page.query.get("wish");
    return this.aims.includes(wanted) ? wanted : (this.aims[0] ?? "cost");
  }

  get end() {
    return Math.max(this.head.steps ?? 0, this.rows.at(-1)?.step ?? 0);
  }

  async show() {
    const wanted = this.page.query.get("run");
    if (wanted !== this.id) {
      this.leave();
      this.id = wanted;
      this.rows = [];
      if (!(await this.load())) return;
      this.build();
    }
    this.draw();
    this.ticker.next(this.pause);
  }

  get pause() {
    return GOING.has(this.head.state) || this.state.waits || this.evaluated.going ? GOING_MS : IDLE_MS;
  }

  async load() {
    const { id } = this;
    const found = await this.page.trying("The run could not be read.", () => Promise.all([getJson(address("run", { run: id })), getJson(address("steps", { run: id })), getJson(address("evaluation", { run: id })).catch(() => NOT_EVALUATED)]), { retry: () => this.show() });
    if (this.id !== id) return false;
    if (!found) {
      this.id = null; // nothing is held of it, and it is read anew
      this.page.fill([this.page.link(OF_A_RUN, { class: "wb-btn ghost sm" }, icon("back", true), "All runs"), el("h1", { text: "Training" })]);
      return false;
    }
    const [head, steps, evaluated] = found;
    Object.assign(this, { head, evaluated, seeds: NO_SEEDS });
    this.take(steps);
    this.lookAtSeeds();
    return true;
  }

  /** New steps; a run that went back to a checkpoint begins anew from there. */
  take({ rows, last }) {
    const first = rows[0]?.step ?? Infinity;
    this.rows = [...this.rows.filter((row) => row.step < first && row.step <= last), ...rows];
    this.aims = aimsIn(this.rows);
    this.spans = alarmSpans(this.rows);
    this.odd = this.rows.filter((row) => row.odd.length);
  }

  async look() {
    const { id } = this;
    let found = null;
    try {
      found = await getJson(address("steps", { run: id, after: this.rows.at(-1)?.step ?? -1 }));
    } catch {
      this.lost = true; // the chip says so; the next look may find it again
    }
    if (this.id !== id || this.page.current !== "run") return;
    if (found) {
      const went = found.last < (this.rows.at(-1)?.step ?? 0);
      if (went) found = await getJson(address("steps", { run: id })).catch(() => found);
      const before = [this.head.state, this.rows.length, this.head.message, found.rollout_steps.length].join();
      const was = this.head.state;
      this.lost = false;
      if (went) this.rows = [];
      this.take(found);
      Object.assign(this.head, found.now, { rollout_steps: found.rollout_steps });
      if (was !== this.head.state) {
        this.page.say(`The run is ${this.head.state}`);
        this.state.waits = null;
        Object.assign(this.head, await getJson(address("run", { run: id })).catch(() => ({})));
        this.evaluated = await getJson(address("evaluation", { run: id })).catch(() => this.evaluated);
        if (this.id !== id) return;
      }
      if (before !== [this.head.state, this.rows.length, this.head.message, this.head.rollout_steps.length].join()) this.draw({ live: true });
    }
    if (this.evaluated.going) await this.lookAtEvaluation();
    if (GOING.has(this.head.state) && performance.now() - this.seedsAt > SEEDS_MS) this.lookAtSeeds();
    this.state.draw();
    this.ticker.next(this.pause);
  }

  /** What the runs of other seeds come to with this one; asked for seldom, and never waited for. */
  async lookAtSeeds() {
    const { id } = this;
    this.seedsAt = performance.now();
    const found = await getJson(address("seeds", { run: id })).catch(() => this.seeds);
    if (this.id !== id || this.page.current !== "run") return;
    const changed = JSON.stringify(found) !== JSON.stringify(this.seeds);
    this.seeds = found;
    if (changed && this.drawn === "curves") this.draw();
  }

  /** Whether the curves are those of all seeds together. */
  get together() {
    return this.seeds.rows.length > 0 && this.page.query.get("seeds") !== "alone";
  }

  flipSeeds() {
    if (!this.seeds.rows.length) return false;
    return this.page.go({ seeds: this.together ? "alone" : null });
  }

  async lookAtEvaluation() {
    const { id } = this;
    const found = await getJson(address("evaluation", { run: id })).catch(() => this.evaluated);
    if (this.id !== id) return;
    this.evaluated = found;
    if (!found.going && this.view === "evaluation") this.drawTable("evaluation");
  }

  // ---- the frame, built once for a run
  build() {
    const { page } = this;
    page.title(this.head.title);
    this.state = new RunState(this);
    this.wishes = el("span", { class: "wb-seg sm", role: "group", "aria-label": "Preference" });
    this.tabs = el("nav", { class: "wb-tabs tn-tabs", "aria-label": "Parts of the run" });
    this.pinned = el("span", { class: "tn-pinned" });
    this.simulated = el("span");
    this.alerts = el("div", { class: "tn-alerts" });
    this.body = el("div", { class: "tn-body" });
    page.fill(
      [
        page.link(OF_A_RUN, { class: "wb-btn ghost sm" }, icon("back", true), "All runs"),
        el("h1", {}, el("span", { class: "wb-sr", text: "Training run " }), plain(this.head.title)),
        this.state.told,
        this.simulated,
        el("span", { class: "wb-sp" }),
        this.wishes,
        this.state.orders,
      ],
      el("div", { class: "tn-bar" }, this.tabs, this.pinned),
      this.alerts,
      this.body,
    );
    this.drawn = null;
    this.curves.node = null;
  }

  draw({ live = false } = {}) {
    const { view } = this;
    this.state.draw();
    put(this.simulated, this.head.simulated ? simulatedBadge() : null);
    this.drawWishes();
    this.drawPinned();
    drawAlerts(this);
    put(
      this.tabs,
      Object.entries(VIEWS).map(([name, title]) => this.page.link({ view: name === "curves" ? null : name }, { "aria-current": name === view ? "true" : null }, title)),
    );
    const changed = this.drawn !== view;
    if (changed && this.drawn !== null) this.page.unsay();
    this.drawn = view;
    if (view === "curves") this.curves.draw(this.body, changed);
    else if (view === "rollouts") this.rollouts.show(this.body, changed);
    else if (!live || changed || view === "steps" || view === "log") this.drawTable(view);
  }

  drawTable(view) {
    const scrolled = this.body.querySelector(".tn-scroll")?.scrollTop ?? 0;
    const made = {
      steps: () => stepsTable(this),
      evaluation: () => this.evaluation.content(),
      settings: () => settingsView(this.head),
      log: () => logView(this.head),
    }[view]();
    put(this.body, made);
    const list = this.body.querySelector(".tn-scroll");
    if (list) list.scrollTop = scrolled;
  }

  drawWishes() {
    this.wishes.hidden = this.aims.length < 2 || this.view !== "curves";
    const had = this.wishes.contains(document.activeElement);
    put(
      this.wishes,
      this.aims.map((aim) => el("button", { type: "button", "aria-pressed": String(aim === this.aim), text: aimWords(aim), on: { click: () => this.page.go({ wish: aim }) } })),
    );
    if (had) this.wishes.querySelector("[aria-pressed=true]")?.focus({ preventScroll: true });
  }

  drawPinned() {
    put(
      this.pinned,
      this.at === null
        ? null
        : [el("span", { class: "wb-note", text: `Looking at step ${this.at}` }), this.page.link({ step: null }, { class: "wb-btn ghost sm" }, GOING.has(this.head.state) ? "Follow the run" : "Last steps")],
    );
  }

  // ---- keys
  step(by) {
    if (this.view === "rollouts") return this.rollouts.turn(by);
    if (!this.rows.length) return false;
    const from = this.at ?? (by < 0 ? this.rows.at(-1).step + 1 : 0);
    const next = by > 0 ? this.rows.find((row) => row.step > from) : this.rows.findLast((row) => row.step < from);
    if (next) this.page.go({ step: next.step });
    return true;
  }

  toRollouts() {
    if (document.activeElement?.closest?.("a, button, summary, input, select")) return false;
    return this.page.go({ view: "rollouts" });
  }

  nextAim() {
    if (this.aims.length < 2) return false;
    return this.page.go({ wish: this.aims[(this.aims.indexOf(this.aim) + 1) % this.aims.length] });
  }

  flipBefore() {
    const { curves } = this;
    curves.before = !curves.before;
    if (this.view === "curves") curves.draw(this.body, false);
    this.page.say(curves.before ? "First steps shown" : "First steps hidden");
  }

  turn(by) {
    const names = Object.keys(VIEWS);
    const next = names[(names.indexOf(this.view) + by + names.length) % names.length];
    return this.page.go({ view: next === "curves" ? null : next });
  }

  // ---- orders
  async evaluate() {
    const done = await this.page.trying("It was not evaluated.", () => postJson("/api/training/evaluation", { run: this.id }));
    if (!done) return;
    this.evaluated = { ...this.evaluated, going: true, problem: null };
    this.drawTable("evaluation");
    this.ticker.next(GOING_MS);
  }
}
