// The Bias page: whom each orchestrator calls, how far that is from the best choice, and what a choice follows.

import { showBehind } from "./biasbehind.js";
import { front, indices, rewrites, silent, swaps } from "./biasdots.js";
import { Drift } from "./biasdrift.js";
import { flow, transitions } from "./biasflow.js";
import { heat } from "./biasheat.js";
import { short } from "./biasmarks.js";
import { fill, panel, plot, state } from "./biaspanel.js";
import { domainsLeftOut, where } from "./biaswhere.js";
import { byId, el, put } from "./dom.js";
import { count, percent, plain, plural } from "./format.js";
import { icon } from "./icons.js";
import * as keys from "./keys.js";
import { simulatedBadge } from "./marks.js";
import { Place } from "./place.js";
import { Refused, getJson } from "./server.js";
import { again, alertOf } from "./toolmarks.js";

const MEASURES = ["calls", "usd", "seconds"];
const SLICES = ["kind", "difficulty", "domain"];
const TURNS = ["", "1", "2", "3", "4"];
const ALARMS = 3;
const WIDE = 8; // columns that fit beside the indices
const COMMAND = "orchestra bias --swap 40 --orchestrator strongest";
const REWRITE = "orchestra bias --swap descriptions --tool generalist --orchestrator free-loop";

class Bias extends Place {
  constructor() {
    super("/bias");
    this.report = null;
    this.names = new Set();
    this.intervals = true;
    this.drift = new Drift(this);
    this.asked = null;
    for (const id of ["orchestrator", "turn", ...SLICES]) byId(id).addEventListener("change", (event) => this.go({ [id]: event.target.value || null }));
    for (const button of byId("measures").children) button.addEventListener("click", () => this.go({ of: button.dataset.measure === "calls" ? null : button.dataset.measure }));
    let width = 0;
    new ResizeObserver(() => {
      if (width !== byId("bias").clientWidth && this.report) this.draw();
      width = byId("bias").clientWidth;
    }).observe(byId("bias"));
  }

  get measure() {
    return MEASURES.includes(this.query.get("of")) ? this.query.get("of") : "calls";
  }

  /** The part of the address that the server reads. */
  get scope() {
    return new URLSearchParams([...this.query].filter(([name]) => !["of", "scale", "flow", "steps", "training", "by"].includes(name)));
  }

  async show() {
    const asked = this.scope.toString();
    if (this.asked !== asked || !this.report) {
      this.asked = asked;
      try {
        const found = await getJson(`/api/bias?${asked}`);
        if (this.asked !== asked) return;
        this.report = found;
      } catch (error) {
        if (!(error instanceof Refused)) throw error;
        this.report = null;
        put(byId("told"), alertOf("This cannot be shown.", error.message));
        put(byId("bias"), el("p", { class: "lv-actions" }, again(error, () => this.show()), asked ? el("a", { class: "wb-btn", href: "/bias", text: "All runs" }) : null));
        return;
      }
      for (const line of this.report.lines) this.names.add(line.orchestrator);
    }
    this.draw();
    this.drift.show();
  }

  draw() {
    const { report } = this;
    this.controls();
    put(byId("told"), this.alarms());
    put(
      byId("say"),
      report.simulated_calls ? simulatedBadge() : null,
      report.simulated_calls ? ` experts in ${count(report.simulated_calls)} of ${plural(report.calls, "call")}` : `${plural(report.calls, "call")} in ${plural(report.runs, "run")}`,
    );
    if (!report.lines.length) {
      put(byId("bias"), this.empty(), this.drift.place());
      this.drift.draw();
      return;
    }
    const what = { report, measure: this.measure, intervals: this.intervals, behind: (mark, words) => this.behind(mark, words) };
    const plainly = this.query.get("scale") === "share" || (this.query.get("scale") !== "best" && !report.lines.some((one) => one.strongest_index.value !== null || one.own_index.value !== null));
    const plots = { index: plot(), flow: plot(), swaps: plot(), rewrites: plot(), front: plot() };
    const kin = this.query.get("by") === "family";
    const chosen = this.chosen = report.lines.find((one) => one.orchestrator === this.query.get("flow")) ?? [...report.lines].sort((a, b) => b.calls - a.calls)[0];
    put(
      byId("bias"),
      el(
        "div",
        { class: `bi-1${report.columns.length > WIDE && !kin ? " wide" : ""}` },
        panel("Who calls what", this.measure === "calls" ? "share of calls, % · ▲ at least 20 points over the best choice" : `share of ${this.measure === "usd" ? "cost" : "time"}, %; the first row is of calls`, [el("span", { class: "bi-key", "aria-hidden": "true" }, "0", el("i", {}), "75+ %"), this.columns(kin)], heat({ ...what, kin }), kin ? el("p", { class: "wb-note", text: this.unknown() }) : null),
        panel(
          plainly ? "Share of the strongest and of its own" : "Index against the best choice",
          plainly ? "share of calls, 95 %; dashed: the paper" : "share minus best, points, 95 %",
          [el("span", { class: "bi-key", "aria-hidden": "true" }, el("i", { class: "dot" }), "strongest", el("i", { class: "sq" }), "own family"), this.scales(plainly)],
          plots.index,
          silent(report, plainly) ? el("p", { class: "wb-note", text: `Own family: unknown of all here, ${silent(report, plainly)}.` }) : null,
          plainly ? el("p", { class: "wb-note", text: `Paper figure: ${report.paper.source}.` }) : null,
        ),
      ),
      this.where(what),
      el(
        "div",
        { class: "bi-2" },
        panel("What follows what", `${short(chosen.orchestrator, 24)}, ${plural(chosen.runs, "run")}`, [this.reach(), this.chooser(chosen)], plots.flow, (this.flowNote = el("p", { class: "wb-note" }))),
        panel("Accuracy against cost", "by task, 95 %; the line is the Pareto front", [], this.graded ? plots.front : state("Nothing is graded", "Grade runs, and accuracy is drawn against cost:", "orchestra grade --all"), this.left()),
        panel(
          "Name, place, price or description?",
          "points moved by a swap, 95 %",
          [],
          report.moves.length ? plots.swaps : state("No swaps were played", "The same tasks with names, order, prices and descriptions permuted:", COMMAND),
          report.moves.length ? el("p", { class: "wb-note", text: "Filled: the interval excludes 0. Under a wish for low cost the price should move a choice, a description may; name and place should not." }) : null,
        ),
        panel(
          "Does a description buy calls?",
          "shift of first calls, points, 95 %",
          [],
          report.effects.length ? plots.rewrites : state("No description was swapped", "The same tasks with two descriptions of one model:", REWRITE),
        ),
      ),
      this.drift.place(),
    );
    const kinds = new Map(report.columns.map((column) => [column.model, column.kind]));
    const steps = report.steps.filter((one) => one.orchestrator === chosen.orchestrator);
    fill(plots.index, (width) => indices({ ...what, plainly, width }));
    this.flows = { host: plots.flow, what: { ...what, steps, kinds, who: chosen.orchestrator } };
    this.drawFlow();
    if (report.effects.length) fill(plots.rewrites, (width) => rewrites({ ...what, width }));
    if (report.moves.length) fill(plots.swaps, (width) => swaps({ ...what, width }));
    if (this.graded) fill(plots.front, (width) => front({ ...what, width }));
    this.drift.draw();
  }

  /** The share of the strongest by kind, difficulty, domain and turn. */
  where(what) {
    const table = where(what);
    const left = domainsLeftOut(what.report);
    const body = table ?? state("Nobody is known to be the strongest", "Neither a profile nor a price ranks the experts of these runs. A simulated suite states it:", "orchestra eval simulated --orchestrator strongest --orchestrator cheapest");
    const note = left ? el("p", { class: "wb-note", text: `${plural(left, "more domain")}: choose one above.` }) : null;
    return panel("Where the strongest is called", "share of its calls, % · ▲ at least 20 points over the best choice there", [], body, note);
  }

  /** All transitions are asked for once they are looked at. */
  async drawFlow() {
    const { host, what } = this.flows;
    if (this.query.get("steps") !== "all") {
      fill(host, (width) => flow({ ...what, width }));
      return;
    }
    const asked = new URLSearchParams([...this.scope, ["who", what.who]]).toString();
    if (this.moved?.asked !== asked) {
      try {
        this.moved = { asked, found: await getJson(`/api/bias/flow?${asked}`) };
      } catch (error) {
        if (!(error instanceof Refused)) throw error;
        put(host, alertOf("The transitions could not be read.", error.message));
        return;
      }
    }
    if (host !== this.flows.host) return;
    const { found } = this.moved;
    fill(host, (width) => transitions({ ...what, found, width }));
    put(this.flowNote, found.cut ? `Of ${plural(found.cut, "run")} of older partitions only the first calls are known in order.` : null);
  }

  reach() {
    const all = this.query.get("steps") === "all";
    const button = (steps, words) => el("button", { type: "button", "aria-pressed": String(all === (steps === "all")), text: words, on: { click: () => this.go({ steps }) } });
    return el("span", { class: "wb-seg sm", role: "group", "aria-label": "Which calls" }, button(null, "first three"), button("all", "all calls"));
  }

  get graded() {
    return this.report.results.some((one) => one.accuracy.value !== null && one.usd.value > 0);
  }

  /** What the Pareto chart leaves out, and why. */
  left() {
    const some = this.report.results.filter((one) => one.accuracy.value === null || !(one.usd.value > 0));
    const made = this.graded && this.report.results.some((one) => one.simulated) ? el("p", { class: "wb-note", text: "Simulated experts: what they cost and know is stated by profiles." }) : null;
    if (!some.length || !this.graded) return made;
    const words = some.slice(0, 4).map((one) => `${short(one.orchestrator)}: ${one.accuracy.value === null ? "ungraded" : one.usd.value === null ? "cost unknown" : "free"}`);
    return [made, el("p", { class: "wb-note", text: `Not drawn: ${words.join(", ")}${some.length > 4 ? ` and ${some.length - 4} more` : ""}.` })];
  }

  controls() {
    const { report, query } = this;
    const chosen = (name) => query.get(name) ?? "";
    const options = (id, pairs, hidden) => {
      const select = byId(id);
      put(select, pairs.map(([value, words]) => el("option", { value, text: words })));
      select.value = chosen(id);
      select.closest("label").hidden = hidden && !chosen(id);
    };
    const names = new Set([...this.names, ...(chosen("orchestrator") ? [chosen("orchestrator")] : [])]);
    options("orchestrator", [["", "all"], ...[...names].sort().map((name) => [name, plain(name)])], false);
    for (const name of SLICES) {
      const values = Object.entries(report.values[name]);
      options(name, [["", "all"], ...(values.length ? values.map(([value, runs]) => [value, `${plain(value)} (${count(runs)})`]) : chosen(name) ? [[chosen(name), plain(chosen(name))]] : [])], !values.length);
    }
    options("turn", TURNS.map((turn) => [turn, turn === "" ? "all" : turn === "4" ? "4 and later" : turn]), false);
    for (const button of byId("measures").children) button.setAttribute("aria-pressed", String(button.dataset.measure === this.measure));
  }

  alarms() {
    const some = this.report.lines.filter((one) => one.alarm);
    return [
      ...some.slice(0, ALARMS).map((one) => {
        const { share, best, model } = one.alarm;
        const words = `${plain(one.orchestrator)} to ${plain(model)}`;
        return el(
          "div",
          { class: "wb-alert bad" },
          icon("warn"),
          el("span", {}, el("b", { text: `Collapse alarm: ${plain(one.orchestrator)}` }), ` sends ${percent(share.value)} % of its calls to ${plain(model)} (95 % interval ${percent(share.low)} to ${percent(share.high)}). ${best === null ? "What would be best is unknown, so this may be right." : `The best choice per task would send ${percent(best)} %.`}`),
          el("button", { type: "button", text: `${plural(share.n, "call")} behind it`, on: { click: () => this.behind({ who: one.orchestrator, model: [model] }, words) } }),
        );
      }),
      some.length > ALARMS ? el("p", { class: "wb-note", text: `and ${some.length - ALARMS} more: ${some.slice(ALARMS).map((one) => plain(one.orchestrator)).join(", ")}` }) : null,
    ];
  }

  columns(kin) {
    const button = (by, words) => el("button", { type: "button", "aria-pressed": String(kin === (by === "family")), text: words, on: { click: () => this.go({ by }) } });
    return el("span", { class: "wb-seg sm", role: "group", "aria-label": "Columns" }, button(null, "experts"), button("family", "families"));
  }

  /** How much of it is of no known family, and where the others stand. */
  unknown() {
    const calls = this.report.lines.flatMap((one) => one.families).filter((one) => one.name === "unknown").reduce((sum, one) => sum + one.share.n, 0);
    const nobody = this.report.lines.filter((one) => one.family === null).length;
    const sources = [...new Set(this.report.columns.map((one) => one.source).filter(Boolean))];
    const stated = sources.length ? ` Families as stated at ${sources.join(", ")}.` : "";
    return `${plural(calls, "call")} to models of an unknown family; ${plural(nobody, "orchestrator")} of an unknown family.${stated} families.toml in your home folder overrules them.`;
  }

  scales(plainly) {
    const button = (scale, words, on) => el("button", { type: "button", "aria-pressed": String(on), text: words, on: { click: () => this.go({ scale }) } });
    return el("span", { class: "wb-seg sm", role: "group", "aria-label": "Scale" }, button("best", "against best", !plainly), button("share", "share", plainly));
  }

  chooser(chosen) {
    if (this.report.lines.length < 2) return null;
    const select = el("select", { "aria-label": "Whose calls", on: { change: (event) => this.go({ flow: event.target.value }) } }, this.report.lines.map((one) => el("option", { value: one.orchestrator, text: plain(one.orchestrator) })));
    select.value = chosen.orchestrator;
    return el("label", { class: "bi-pick wb-sel sm", style: { "margin-left": "auto" } }, select);
  }

  empty() {
    const narrowed = this.scope.size > 0;
    return el("section", { class: "wb-panel" }, narrowed ? el("div", { class: "wb-state" }, el("h2", { text: "No run is in this slice" }), el("p", { text: "Drop a filter, and its runs come back." }), el("a", { class: "wb-btn primary", href: "/bias", text: "All runs" })) : state("No trajectory yet", "Run a task, or play simulated tasks with permuted offers:", COMMAND, "h2"));
  }

  behind(mark, words) {
    return showBehind(this.scope, mark, words, this.report.columns);
  }

  turn(by) {
    const at = TURNS.indexOf(this.query.get("turn") ?? "");
    return this.go({ turn: TURNS[(at + by + TURNS.length) % TURNS.length] || null });
  }
}

export async function start() {
  const page = new Bias();
  const waiting = setTimeout(() => put(byId("bias"), el("div", { class: "wb-skel", "aria-hidden": "true" })), 300);
  keys.start({
    s: { words: "share of calls, cost, time", brief: "share", run: () => page.go({ of: MEASURES[(MEASURES.indexOf(page.measure) + 1) % 3] }) },
    i: {
      words: "intervals on, off",
      brief: "intervals",
      run: () => {
        page.intervals = !page.intervals;
        if (page.report) page.draw();
      },
    },
    ArrowRight: { words: "next turn", shown: "← →", brief: "slice", run: () => page.turn(1) },
    ArrowLeft: { words: "turn before", shown: "←", run: () => page.turn(-1) },
    Enter: { words: "trajectories behind the mark", brief: "trajectories behind the mark", run: () => false },
  });
  await page.show();
  clearTimeout(waiting);
}
