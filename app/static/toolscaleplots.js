// Figures of tasks: how many golden calls and of what difficulty, beside published sets; what the filters rejected.

import { el, put, svg } from "./dom.js";
import { count, percent, plain, plural, unknown } from "./format.js";

const SHARE = (value) => `${percent(value)} %`;
const FIGURES = [
  ["golden_mean", "golden calls, mean", (value) => value.toFixed(2)],
  ["golden_median", "golden calls, median", (value) => String(value)],
  ["golden_max", "golden calls, most", (value) => String(value)],
  ["write_share", "writes among them", SHARE],
  ["free", "passed by doing nothing", SHARE],
];

/** Our figures of a domain beside those of published sets. */
export function publishedTable({ ours, published }) {
  const sets = [{ name: "here", ...ours }, ...published];
  const cell = (set, [name, , words], at) =>
    el("td", { class: "n" }, set[name] === undefined || set[name] === null ? unknown(at ? "not measured for this set" : "run orchestra tasks verify; the filters let no such task through") : words(set[name]));
  return [
    el("h2", { class: "wb-cap", text: "Against published sets" }),
    el(
      "div",
      { class: "ts-scroll", tabindex: "0", role: "region", "aria-label": "Figures beside published sets" },
      el(
        "table",
        { class: "wb-tbl tight ts-pub" },
        el("caption", { class: "wb-sr", text: "Figures of the tasks beside published sets" }),
        el("thead", {}, el("tr", {}, el("th", { scope: "col", text: "Figure" }), sets.map((set) => el("th", { scope: "col", class: "n", text: plain(set.name).replace("tau2 ", "") })))),
        el(
          "tbody",
          {},
          el("tr", {}, el("th", { scope: "row", text: "tasks" }), sets.map((set) => el("td", { class: "n", text: count(set.tasks) }))),
          FIGURES.map((figure) => el("tr", {}, el("th", { scope: "row", text: figure[1] }), sets.map((set, at) => cell(set, figure, at)))),
        ),
      ),
    ),
    el("p", { class: "wb-note", text: "Retail, airline, telecom: tau2-bench, its golden calls replayed." }),
  ];
}

const PARTS = { calls: "golden calls", writes: "writes" };

/** A histogram of one part of the difficulty of `some` tasks; `task` is marked in it. */
export function difficultyPanel(some, found, task) {
  const names = [...new Set(found.tasks.flatMap((one) => Object.keys(one.difficulty)))].filter((name) => !(name in PARTS)).sort();
  const host = el("div", { class: "ts-scroll", tabindex: "0", role: "region", "aria-label": "Histogram of the difficulty" });
  const select = el("select", { "aria-label": "Which part of the difficulty", on: { change: () => draw() } });
  put(
    select,
    Object.entries(PARTS).map(([value, text]) => el("option", { value, text })),
    names.map((name) => el("option", { value: name, text: plain(name).replaceAll("_", " ") })),
  );
  const valueOf = (one) => (select.value in PARTS ? one[select.value] : (one.difficulty[select.value] ?? 0));
  const marked = task ? found.tasks.find((one) => one.id === task.id) : null;
  function draw() {
    const lines = select.value === "calls" ? (found.metrics?.published ?? []) : [];
    put(host, histogram(some.map(valueOf), select.selectedOptions[0].text, marked ? valueOf(marked) : null, lines));
  }
  draw();
  return el(
    "section",
    { class: "wb-panel", "aria-label": "Difficulty" },
    el("header", {}, el("h2", { text: "Difficulty" }), el("p", { text: plural(some.length, "task") }), el("span", { class: "wb-sp" }), el("label", { class: "wb-sel sm" }, select)),
    host,
  );
}

const [HIGH, LEFT, BASE, TOP, PITCH] = [220, 34, 180, 68, 14];
const NARROW = 760; // on a phone the chart is as wide as its panel, so that its letters keep their size
const LETTER = 5.6; // a letter at most, so that words which would leave the chart stand before their line

function histogram(values, what, marked, sets) {
  if (!values.length) return el("p", { class: "wb-note", text: "There is no task to count." });
  const whole = innerWidth <= NARROW ? Math.max(260, innerWidth - 64) : 520;
  const most = Math.max(...values, marked ?? 0, ...sets.map((set) => Math.ceil(set.golden_mean)));
  const step = Math.max(1, Math.ceil((most + 1) / 26));
  const bins = Array.from({ length: Math.floor(most / step) + 1 }, () => 0);
  for (const value of values) bins[Math.floor(value / step)] += 1;
  const top = Math.max(...bins);
  const wide = (whole - LEFT - 8) / bins.length;
  const x = (value) => LEFT + (value / step) * wide;
  const y = (n) => BASE - (n / top) * (BASE - TOP);
  const every = Math.ceil(bins.length / 10);
  const bar = (n, at) => {
    const here = marked !== null && Math.floor(marked / step) === at;
    return [
      svg("rect", { class: here ? "ts-col here" : "ts-col", x: x(at * step) + 1, y: y(n), width: Math.max(1, wide - 2), height: BASE - y(n), rx: 1 }, svg("title", { text: `${count(n)} with ${step === 1 ? at : `${at * step} to ${at * step + step - 1}`}` })),
      at % every === 0 ? svg("text", { x: x(at * step) + wide / 2, y: BASE + 14, "text-anchor": "middle", text: String(at * step) }) : null,
    ];
  };
  // From left to right and downwards: no line runs through the words of another set.
  const inOrder = [...sets].sort((a, b) => a.golden_mean - b.golden_mean);
  const middle = (set) => x(set.golden_mean) + wide / 2;
  const line = (set, at) => svg("line", { class: "ts-ref", x1: middle(set), x2: middle(set), y1: 17 + at * PITCH, y2: BASE });
  const named = (set, at) => {
    const words = `${plain(set.name)} mean ${set.golden_mean.toFixed(1)}`;
    const fits = middle(set) + 4 + LETTER * words.length < whole;
    return svg("text", { class: "ts-refname", x: middle(set) + (fits ? 4 : -4), y: 26 + at * PITCH, "text-anchor": fits ? "start" : "end", text: words });
  };
  const mean = values.reduce((all, n) => all + n, 0) / values.length;
  const words = `${what} per task: ${count(values.length)} tasks, mean ${mean.toFixed(1)}, most ${Math.max(...values)}`;
  return svg(
    "svg",
    { class: "wb-chart ts-hist", viewBox: `0 0 ${whole} ${HIGH}`, role: "img", "aria-label": plain(words) },
    svg("line", { class: "g", x1: LEFT, x2: whole - 8, y1: y(top), y2: y(top) }),
    svg("text", { x: LEFT - 6, y: y(top) + 4, "text-anchor": "end", text: count(top) }),
    bins.map(bar),
    inOrder.map(line),
    inOrder.map(named),
    svg("line", { class: "ax", x1: LEFT, x2: whole - 8, y1: BASE, y2: BASE }),
    marked === null ? null : svg("text", { class: "ink b", x: Math.min(whole - 70, Math.max(LEFT, x(Math.floor(marked / step) * step))), y: 10, text: `this task ${marked}` }),
    svg("text", { x: LEFT, y: HIGH - 8, text: plain(words) }),
  );
}

const STAGES = {
  drawn: "could be drawn",
  golden: "golden calls run twice",
  solvable: "solvable",
  "not free": "not without acting",
  discriminative: "no wrong call passes",
  quota: "within the quotas",
};

/** What became of every candidate: a bar a filter, what it dropped dashed and named. Null without a report. */
export function funnelPanel(report, domain) {
  const funnel = report?.funnels.find((one) => one.domain === domain);
  if (!funnel) return null;
  const most = funnel.proposed || 1;
  const share = (n) => `${((100 * n) / most).toFixed(2)}%`;
  const ofMost = (reasons) => Object.entries(reasons).sort((a, b) => b[1] - a[1]);
  const stages = [{ name: "proposed", left: funnel.proposed, dropped: 0, reasons: {} }, ...funnel.stages];
  const row = ({ name, left, dropped, reasons }, at) => {
    const [first, ...others] = ofMost(reasons);
    const why = first ? `${count(first[1])} ${plain(first[0])}${others.length ? `, and ${plural(others.length, "more reason")}` : ""}` : "";
    const last = at === stages.length - 1;
    return el(
      "li",
      {},
      el("span", { class: "ts-fname", text: plain(STAGES[name] ?? name) }),
      el("span", { class: "ts-track", "aria-hidden": "true" }, el("i", { class: last ? "ts-pass last" : "ts-pass", style: { width: share(left) } }), dropped ? el("i", { class: "ts-drop", style: { width: share(dropped) } }) : null),
      el("b", { class: "n", text: count(left) }),
      el("span", { class: "ts-why", text: at ? (dropped ? `− ${count(dropped)}: ${why}` : "− 0") : "" }),
    );
  };
  const reasons = funnel.stages.flatMap((stage) => ofMost(stage.reasons).map(([reason, n]) => [STAGES[stage.name] ?? stage.name, reason, n]));
  const line = (cells) => el("tr", {}, el("th", { scope: "row", text: plain(cells[0]) }), el("td", { class: "ts-wide", text: plain(cells[1]) }), el("td", { class: "n", text: count(cells[2]) }));
  const accepted = stages.at(-1).left;
  return el(
    "section",
    { class: "wb-panel", "aria-label": "What the filters reject" },
    el("header", {}, el("h2", { text: "What the filters reject" }), el("p", { text: `${count(accepted)} of ${plural(funnel.proposed, "candidate")} accepted; every filter is executed` })),
    el("ol", { class: "ts-funnel", "aria-label": `Of ${count(funnel.proposed)} candidates ${count(accepted)} were accepted` }, stages.map(row)),
    reasons.length
      ? el(
          "details",
          { class: "ts-result" },
          el("summary", { text: "Every reason" }),
          el("table", { class: "wb-tbl tight" }, el("caption", { class: "wb-sr", text: "Reasons of rejection" }), el("thead", {}, el("tr", {}, ["Filter", "Reason"].map((text) => el("th", { scope: "col", text })), el("th", { scope: "col", class: "n", text: "Tasks" }))), el("tbody", {}, reasons.map(line))),
        )
      : null,
  );
}

const figure = (value, why) =>
  value === null || value === undefined ? unknown(why) : Number.isInteger(value) || Math.abs(value) >= 100 ? count(Math.round(value)) : String(Number(value.toPrecision(3))).replace(/^0\./, ".");

/** Every figure of all tasks made here beside published sets; where a published one is better it is marked. */
export function metricsPanel(report) {
  const metrics = report?.metrics;
  if (!metrics) return null;
  const row = ({ what, ours, theirs, worse }) =>
    el(
      "tr",
      {},
      el("th", { scope: "row", text: plain(what) }),
      el("td", { class: "n" }, worse ? el("span", { class: "wb-chip warn ts-worse", title: "A published set has the better value", text: "worse" }) : null, el("b", {}, figure(ours, "not measured here"))),
      theirs.map((value) => el("td", { class: "n" }, figure(value, "not measured for this set"))),
    );
  return el(
    "section",
    { class: "wb-panel ts-metrics", "aria-label": "Metrics" },
    el("header", {}, el("h2", { text: "Metrics of all domains" }), el("p", { text: "shares between 0 and 1; where a published set is better it is said" })),
    el(
      "div",
      { class: "ts-scroll ts-tasks", tabindex: "0", role: "region", "aria-label": "Metrics beside published sets" },
      el(
        "table",
        { class: "wb-tbl tight" },
        el("caption", { class: "wb-sr", text: "Metrics of all tasks beside published sets" }),
        el("thead", {}, el("tr", {}, el("th", { scope: "col", text: "Metric" }), ["here", ...metrics.sets].map((name) => el("th", { scope: "col", class: "n", text: plain(name) })))),
        el("tbody", {}, metrics.rows.map(row)),
      ),
    ),
  );
}
