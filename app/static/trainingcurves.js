// The curves of a run: whether it learns, why samples gave no gradient, whom it calls, before and after, its health.

import { el, put } from "./dom.js";
import { count, percent, plain, plural, unknown } from "./format.js";
import { Curve } from "./trainingcurve.js";
import { UNITS, mean } from "./trainingfigures.js";
import { Shares, dumbbells } from "./trainingshares.js";
import { Twice } from "./trainingtwice.js";
import { HEALTH, LEARNS, follows, sampleBands, spanWords, toolBands } from "./trainingwords.js";

const BELLS_MOST = 560; // pixels
const FIRST = 5; // steps that "before" and "after" are the mean of
const R_NOTE =
  "The reward is not drawn: it is normalised within each group of rollouts, so that its mean says nothing of learning.";
const NO_STEPS = {
  starting: "It is starting; the first step may take a minute.",
  running: "The first step is being made.",
  failed: "It failed before its first step.",
  unreadable: "There is nothing to draw.",
};

export class RunCurves {
  /** `run` is the page of a run: its rows, alarms, the step and the preference that the reader looks at. */
  constructor(run) {
    this.run = run;
    this.before = true;
    this.node = null;
  }

  build() {
    const pick = (step) => this.run.page.go({ step });
    const hover = (step) => this.hover(step);
    const curve = (figure, target = null) => new Curve({ ...figure, target, pick, hover });
    this.learns = LEARNS.map((figure) => curve(figure));
    this.follow = curve(follows(this.run.aim), 0.85);
    this.health = HEALTH.map((figure) => curve(figure));
    this.bandsOfSamples = sampleBands(this.run.rows);
    this.samples = new Shares({ title: "Why no gradient", words: "samples by step: kept, or left out and why", bars: true, bands: (row) => this.bandsOfSamples(row), pick, hover });
    this.tools = toolBands(this.run.rows, this.run.head.tool_kinds);
    this.calls = new Shares({ title: "Whom it calls", words: "share of calls by step", bars: false, bands: (row) => this.tools.bands(row), pick, hover });
    this.bells = el("div", {});
    new ResizeObserver(() => this.drawBells()).observe(this.bells);
    this.figures = el("div", { class: "tn-wide", tabindex: "0", role: "region", "aria-label": "First and last steps" });
    this.twice = new Twice(this.run);
    this.charts = [...this.learns, this.follow, ...this.health];
    this.seeds = el("div", { class: "tn-seeds", role: "group", "aria-label": "Seeds" });
    this.node = el(
      "div",
      { class: "tn-body" },
      this.seeds,
      el("div", { class: "tn-4" }, this.learns.map((one) => one.node), this.follow.node),
      el("div", { class: "tn-2" }, this.samples.node, this.calls.node),
      el(
        "div",
        { class: "tn-3" },
        el("section", { class: "wb-panel", "aria-label": "Before and after" }, el("header", {}, el("h2", { text: "Before and after" }), el("p", { text: `means of the first and the last ${FIRST} steps, of draws it trained on` })), this.figures, this.run.evaluated.evaluation ? this.run.page.link({ view: "evaluation" }, { class: "wb-link" }, "Held-out draws with intervals") : null),
        el(
          "div",
          { class: "tn-body" },
          el("section", { class: "wb-panel", "aria-label": "Tools before and after" }, el("header", {}, el("h2", { text: "Tools before and after" }), el("p", { text: "share of calls: hollow before, filled after" })), this.bells),
          this.twice.node,
        ),
      ),
      el("h2", { class: "wb-cap", text: "Health of the training" }),
      el("div", { class: "tn-4" }, this.health.map((one) => one.node)),
      el("p", { class: "wb-note", text: R_NOTE }),
    );
  }

  /** Draw into `host`; nothing is built anew while the run goes on. */
  draw(host, changed) {
    if (!this.run.rows.length) {
      this.node = null;
      put(host, this.noSteps());
      return;
    }
    if (!this.node) this.build();
    if (changed || host.firstChild !== this.node) put(host, this.node);
    const { rows, end } = this.run;
    const figure = follows(this.run.aim);
    if (this.follow.title !== figure.title) this.follow.retitle(figure.title, figure.get);
    this.bandsOfSamples = sampleBands(rows);
    this.tools = toolBands(rows, this.run.head.tool_kinds);
    this.drawSeeds();
    const { together, seeds } = this.run;
    for (const one of this.charts) {
      if (together) {
        one.draw([{ rows: seeds.rows }], end, this.before ? this.beforeOf(one, seeds.rows) : null);
        continue;
      }
      const lost = this.run.odd.filter((row) => row.odd.includes(one.key) || (one === this.follow && row.odd.includes(figure.key))).map((row) => row.step);
      one.draw([{ rows, odd: lost }], end, this.before ? this.beforeOf(one, rows) : null);
    }
    this.samples.draw(rows, end, this.run.spans.map((span, at) => ({ ...span, text: at === this.run.spans.length - 1 ? spanWords(span) : null })));
    this.calls.said.textContent = this.tools.many ? "share of calls by step; every exercise names its tools anew" : "share of calls by step";
    this.calls.draw(rows, end);
    this.drawBefore();
    if (!this.twice.found && !this.twice.waits) this.twice.draw(); // a run that has ended meanwhile has a policy
    this.hover(null);
  }

  noSteps() {
    return el("section", { class: "wb-panel wb-state", "aria-label": "No steps" }, el("h2", { text: "No step was made yet" }), el("p", { text: NO_STEPS[this.run.head.state] ?? "It ended before its first step." }), this.run.head.log.length ? el("pre", { class: "wb-args tn-log", tabindex: "0", "aria-label": "What it wrote", text: this.run.head.log.slice(-8).map(plain).join("\n") }) : null);
  }

  /** What a curve is held against. */
  beforeOf({ get }, rows) {
    if (rows.length < 2 * FIRST) return null;
    // Of seeds together a row is the mean of the steps up to it already.
    return { name: `first ${FIRST} steps`, value: rows[0].low ? get(rows[FIRST - 1]) : mean(rows.slice(0, FIRST).map(get)) };
  }

  /** Which runs differ by their seed alone, and whether the curves are theirs together. */
  drawSeeds() {
    const { seeds, together, page } = this.run;
    const many = seeds.seeds.length;
    this.seeds.hidden = many < 2;
    if (many < 2) return;
    const last = seeds.rows.at(-1)?.step;
    const words = together
      ? `Curves: the mean of ${many} seeds with its 95 % interval (Student's), each the mean of ${seeds.window} steps, to step ${last}, which all have come to. The rest is this run's.`
      : seeds.rows.length
        ? "Curves: this run alone."
        : "No step is there yet that all seeds have come to.";
    put(
      this.seeds,
      el("button", { class: "wb-btn sm", type: "button", "aria-pressed": String(together), disabled: !seeds.rows.length, on: { click: () => this.run.flipSeeds() } }, `${many} seeds together`, el("kbd", { text: "s" })),
      el("span", { class: "wb-note", text: words }),
      el("span", { class: "wb-note" }, "Seeds: ", seeds.seeds.map(({ seed, id, this: here }, at) => [at ? ", " : "", here ? el("b", { text: `${seed} (this run)` }) : page.link({ run: id, step: null }, { class: "wb-link", "aria-label": `Run of seed ${seed}` }, String(seed))])),
    );
  }

  /** As wide as its place, so that its letters keep their size. */
  drawBells() {
    if (!this.pairs?.length || !this.bells.clientWidth) return;
    const words = this.pairs.map((one) => `${one.name} from ${percent(one.before)} to ${percent(one.after)} %`).join(", ");
    put(this.bells, dumbbells(this.pairs, `Share of calls before and after: ${words}`, Math.min(BELLS_MOST, this.bells.clientWidth)));
  }

  drawBefore() {
    const { rows } = this.run;
    const [first, last] = [rows.slice(0, FIRST), rows.slice(-FIRST)];
    const enough = rows.length >= 2 * FIRST;
    const few = () => el("p", { class: "wb-note", text: `${plural(2 * FIRST, "step")} are needed; there ${rows.length === 1 ? "is" : "are"} ${count(rows.length)}.` });
    const pairs = enough ? this.tools.bands(first[0]).map((band, at) => ({ name: band.name, look: band.look, before: mean(first.map((row) => this.tools.bands(row)[at]?.share ?? null)), after: mean(last.map((row) => this.tools.bands(row)[at]?.share ?? null)) })).reverse() : [];
    this.pairs = pairs;
    if (pairs.length) this.drawBells();
    else put(this.bells, enough ? el("p", { class: "wb-note", text: "Nothing is known of the calls." }) : few());
    const figures = [...LEARNS, ...this.run.aims.map(follows), HEALTH[0], HEALTH[1], HEALTH[3]];
    const line = ({ title, unit, get }) => {
      const [a, b] = [mean(first.map(get)), mean(last.map(get))];
      const { text } = UNITS[unit];
      const cell = (value, look) => el("td", { class: look }, value === null ? unknown("not known in these steps") : text(value));
      return el("tr", {}, el("th", { scope: "row", text: title }), cell(a, "n wb-mut"), cell(b, "n tn-now"), el("td", { class: "n" }, a === null || b === null ? "" : changeWords(a, b, unit)));
    };
    if (!enough) {
      put(this.figures, few());
      return;
    }
    put(
      this.figures,
      el(
        "table",
        { class: "wb-tbl tight" },
        el("caption", { class: "wb-sr", text: "First and last steps" }),
        el("thead", {}, el("tr", {}, el("th", { scope: "col", text: "Figure" }), ["First", "Last", "Change"].map((text) => el("th", { scope: "col", class: "n", text })))),
        el("tbody", {}, figures.map(line)),
      ),
    );
  }

  hover(step) {
    if (!this.node) return;
    const shown = step ?? this.run.at;
    for (const one of [...this.charts, this.samples, this.calls]) one.setCursor(shown);
  }
}

/** How far it went from `a` to `b`: in points for shares, in per cent for the rest. */
export function changeWords(a, b, unit) {
  const signed = (value, tail) => `${value > 0 ? "+" : value < 0 ? "\u2212" : ""}${Math.abs(value)}${tail}`;
  if (unit === "share") return signed(Math.round(100 * b) - Math.round(100 * a), " pts");
  return a ? signed(Math.round((100 * (b - a)) / Math.abs(a)), " %") : "";
}
