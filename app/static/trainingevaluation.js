// What a policy came to on held-out draws, with intervals: against its warm start, and beside rules and the oracle.

import { el, put } from "./dom.js";
import { asSentence, count, percent, plain, unknown, when } from "./format.js";
import { icon } from "./icons.js";
import { simulatedBadge } from "./marks.js";
import { UNITS } from "./trainingfigures.js";
import { AIMS, aimWords } from "./trainingwords.js";

const [TRAINED, BEFORE, SEEN] = ["trained", "warm start", "seen"];
const kindWords = (kind) => plain(kind).replaceAll("_", " ");

/** The claims of learning: figure, unit, and what the ratio or the figure itself must keep to. */
const CLAIMS = [
  { title: "Accuracy", key: "all accuracy", unit: "share", words: "no lower", ratio: true, least: 1 },
  { title: "Cost, cost wish", key: "cost cost_usd", unit: "usd", words: "at least \u221240 %", ratio: true, most: 0.6 },
  { title: "Time, time wish", key: "latency latency_s", unit: "seconds", words: "at least \u221240 %", ratio: true, most: 0.6 },
  { title: "Follows a cost wish", key: "cost compliance", unit: "share", words: "at least 85 %", least: 0.85 },
  { title: "Follows a time wish", key: "latency compliance", unit: "share", words: "at least 85 %", least: 0.85 },
  { title: "Follows a tool wish", key: "tool compliance", unit: "share", words: "at least 85 %", least: 0.85 },
  { title: "Malformed", key: "all malformed", unit: "share", words: "under 5 %", most: 0.05 },
  { title: "Calls to the strongest", key: "all strongest_share", unit: "share", words: "cut by a third", ratio: true, most: 2 / 3 },
  { title: "Preference reward", key: "reward", unit: "number", words: "" },
];

/** Of a claim: true when its whole interval clears the target, false when none of it does, null when that is not sure. */
export function verdict({ low, high }, { least = -Infinity, most = Infinity }) {
  if (low === null || high === null) return null;
  if (low >= least && high <= most) return true;
  return high < least || low > most ? false : null;
}

/** A ratio of two figures; its interval is the widest that theirs allow. */
export function ratioOf(a, b) {
  const known = [a.low, a.high, b.low, b.high].every((value) => value !== null) && b.low > 0;
  return { mean: b.mean ? a.mean / b.mean : null, low: known ? a.low / b.high : null, high: known ? a.high / b.low : null };
}

const CHIPS = new Map([
  [true, ["ok", "check", "holds"]],
  [null, ["warn", "warn", "not yet sure"]],
  [false, ["bad", "cross", "does not hold"]],
]);

function figure(value, unit, strong = false) {
  if (!value || value.mean === null) return unknown("not measured");
  const { text } = UNITS[unit];
  const between = value.low === null ? null : el("small", { class: "tn-between", text: unit === "share" ? `[${percent(value.low)}, ${percent(value.high)}]` : `[${text(value.low)}, ${text(value.high)}]` });
  return [el(strong ? "b" : "span", { text: text(value.mean) }), between];
}

/** The evaluation of a run: its tables, or how one is made. */
export class Evaluation {
  constructor(run) {
    this.run = run;
    this.aim = "cost";
    this.kind = SEEN;
  }

  content() {
    const { evaluation, going, problem, can } = this.run.evaluated;
    const begin = el("button", { class: evaluation ? "wb-btn sm" : "wb-btn primary sm", type: "button", disabled: going, on: { click: () => this.run.evaluate() } }, icon("play", true), evaluation ? "Evaluate again" : "Evaluate");
    const bar = [
      going ? el("span", { class: "wb-chip run", role: "status" }, el("i", { class: "dot" }), "being evaluated") : null,
      problem ? el("div", { class: "wb-alert bad" }, icon("warn"), el("p", {}, el("b", { text: "The evaluation failed. " }), asSentence(plain(problem)))) : null,
    ];
    const figures = evaluation?.figures;
    if (!figures || !Object.keys(figures).length)
      return el(
        "section",
        { class: "wb-panel wb-state", "aria-label": "No evaluation" },
        el("h2", { text: "It was not evaluated yet" }),
        el("p", { text: "Held-out draws, of the seen and of unseen kinds, are played by the policy and its warm start, beside who always asks the strongest or the cheapest, who asks at random, and who knows everything." }),
        bar,
        can && !going ? begin : null,
        can ? null : el("p", { class: "wb-note", text: "A trained tiny policy can be evaluated here once it is there; others write evaluation.json by themselves." }),
      );
    this.host = el("div", { class: "tn-body" });
    this.draw(evaluation);
    return [el("div", { class: "tn-rollbar" }, el("p", { class: "wb-note", text: this.said(evaluation) }), evaluation.simulated && !this.run.head.simulated ? simulatedBadge() : null, el("span", { class: "wb-sp" }), bar, can ? begin : null), this.host];
  }

  said({ markets, over, seeds, made }) {
    const what = over === "markets" ? "of this one policy over draws; other seeds may come to something else" : `over ${seeds?.length ?? "several"} seeds`;
    return `Held-out draws, ${markets ? `${count(markets)} of each kind` : "of every kind"}; 95 % intervals ${what}.${made ? ` Made by ${plain(made.command)} on ${when(made.at)}${made.commit ? `, commit ${plain(made.commit)}` : ""}.` : ""}`;
  }

  draw(evaluation) {
    put(this.host, this.claims(evaluation), this.byKind(evaluation), this.contestants(evaluation));
  }

  claims({ figures, changes: of }) {
    const changes = of?.[SEEN];
    const seen = figures[SEEN] ?? Object.values(figures)[0];
    const [after, before] = [seen[TRAINED] ?? {}, seen[BEFORE] ?? {}];
    const row = (claim) => {
      const [a, b] = [after[claim.key], before[claim.key]];
      if (!a) return null;
      const judged = claim.ratio && b ? (changes?.[claim.key] ?? ratioOf(a, b)) : a;
      const [look, sign, word] = CHIPS.get(verdict(judged, claim));
      const less = (value) => `${value > 1 ? "+" : "\u2212"}${Math.abs(Math.round(100 * (value - 1)))}`;
      const change = !b || !claim.ratio || judged.mean === null ? "" : `${less(judged.mean)} %${judged.low === null ? "" : ` [${less(judged.low)}, ${less(judged.high)}]`}`;
      return el(
        "tr",
        {},
        el("th", { scope: "row", text: claim.title }),
        el("td", { class: "n wb-mut" }, figure(b, claim.unit)),
        el("td", { class: "n" }, figure(a, claim.unit, true)),
        el("td", { class: "n", text: change }),
        el("td", { text: claim.words }),
        el("td", {}, claim.words ? el("span", { class: `wb-chip ${look}` }, icon(sign, true), word) : null),
      );
    };
    const heads = [["Held-out draws of the seen kind", ""], ["Warm start", "n"], ["Trained", "n"], ["Change", "n"], ["Claim", ""], ["Verdict", ""]];
    return this.panel("Before and after", `a claim holds only when its whole 95 % interval clears the target; ${changes ? "a change is that of each seed to its own warm start" : "the interval of a change is the widest that both allow"}`, heads, CLAIMS.map(row));
  }

  byKind({ figures }) {
    const names = Object.keys(Object.values(figures)[0]);
    const order = [TRAINED, BEFORE, ...names.filter((name) => name !== TRAINED && name !== BEFORE)].filter((name) => names.includes(name));
    const key = `${this.aim} compliance`;
    const seen = figures[SEEN]?.[TRAINED]?.[key]?.mean ?? null;
    const row = ([kind, contestants]) => {
      const own = contestants[TRAINED]?.[key]?.mean ?? null;
      const lost = seen === null || own === null || kind === SEEN ? null : Math.round(100 * own) - Math.round(100 * seen);
      return el(
        "tr",
        {},
        el("th", { scope: "row" }, kindWords(kind), kind === SEEN ? null : el("small", { class: "tn-unseen", text: "unseen" })),
        order.map((name) => el("td", { class: "n" }, figure(contestants[name]?.[key], "share", name === TRAINED))),
        el("td", { class: "n" }, lost === null ? "" : el("span", { class: lost < -5 ? "tn-nan" : null, text: `${lost > 0 ? "+" : lost < 0 ? "\u2212" : ""}${Math.abs(lost)} pts` })),
      );
    };
    const pick = (aim) => el("button", { type: "button", "aria-pressed": String(aim === this.aim), text: aimWords(aim), on: { click: () => this.choose({ aim }) } });
    const heads = [["Kind of draw", ""], ...order.map((name) => [name, "n"]), ["to seen", "n"]];
    return this.panel("Follows its wish, by kind of draw", "the first call is what the wish asks for", heads, Object.entries(figures).map(row), el("span", { class: "wb-seg sm", role: "group", "aria-label": "Wish of the table" }, Object.keys(AIMS).map(pick)));
  }

  contestants({ figures }) {
    const columns = [["Accuracy", "all accuracy", "share"], ["Cost", "all cost_usd", "usd"], ["Time", "all latency_s", "seconds"], ["Cost, cost wish", "cost cost_usd", "usd"], ["Time, time wish", "latency latency_s", "seconds"], ["Malformed", "all malformed", "share"], ["Strongest", "all strongest_share", "share"], ["Preference reward", "reward", "number"]];
    const row = ([name, one]) => el("tr", {}, el("th", { scope: "row", text: plain(name) }), columns.map(([, key, unit]) => el("td", { class: "n" }, figure(one[key], unit, name === TRAINED))));
    const pick = (kind) => el("button", { type: "button", "aria-pressed": String(kind === this.kind), text: kindWords(kind), on: { click: () => this.choose({ kind }) } });
    return this.panel("Everybody on the same draws", "the reward compares those of one draw with one another", [["", ""], ...columns.map(([title]) => [title, "n"])], Object.entries(figures[this.kind] ?? Object.values(figures)[0]).map(row), el("span", { class: "wb-seg sm tn-kinds", role: "group", "aria-label": "Kind of draw" }, Object.keys(figures).map(pick)));
  }

  choose(change) {
    Object.assign(this, change);
    const had = document.activeElement?.textContent;
    this.draw(this.run.evaluated.evaluation);
    [...this.host.querySelectorAll("button")].find((one) => one.textContent === had)?.focus({ preventScroll: true });
  }

  panel(title, words, heads, rows, actions = null) {
    return el(
      "section",
      { class: "wb-panel", "aria-label": title },
      el("header", { class: "tn-evalhead" }, el("h2", { text: title }), el("p", { text: words }), el("span", { class: "wb-sp" }), actions),
      el(
        "div",
        { class: "tn-wide", tabindex: "0", role: "region", "aria-label": `${title}, table` },
        el("table", { class: "wb-tbl tight" }, el("caption", { class: "wb-sr", text: title }), el("thead", {}, el("tr", {}, heads.map(([text, look]) => (text ? el("th", { scope: "col", class: look || null, text }) : el("td", {}))))), el("tbody", {}, rows)),
      ),
    );
  }
}
