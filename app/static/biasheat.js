// Who calls what: a table whose cells are shaded by share, under the row of the best choice.

import { el } from "./dom.js";
import { count, percent, plain, plural, unknown } from "./format.js";
import { icon, toolIcon } from "./icons.js";
import { between, short } from "./biasmarks.js";

const MOST = 14; // columns; the rest are one
const OVER = 0.2;
const FULL = 0.75;
const TURNS = 0.72; // from here on the text is that of a dark cell

export function heat({ report, measure, intervals, behind, kin = false }) {
  const columns = kin ? kinds(report) : shown(report);
  const row = (lead, cells, total) => el("tr", {}, lead, cells, el("td", { class: "num", text: total }));
  const best = columns.some((column) => column.best !== null);
  return el(
    "div",
    { class: "bi-scroll", role: "region", tabindex: "0", "aria-label": "Share by orchestrator and expert" },
    el(
      "table",
      { class: "bi-heat" },
      el("caption", { class: "bi-hide", text: `${WORDS[measure]} by orchestrator and expert, per cent` }),
      el(
        "thead",
        {},
        el("tr", {}, el("td", {}), columns.map(head), el("th", { scope: "col", class: "num", text: "calls" })),
      ),
      el(
        "tbody",
        {},
        row(
          el("th", { scope: "row" }, el("b", { text: "best choice per task" })),
          columns.map((column) =>
            column.best !== null
              ? el("td", {}, cell(column.best, { dashed: true, words: percent(column.best) }))
              : el("td", {}, el("span", { class: "bi-cell none" }, unknown("only simulated experts state who is best at a task"))),
          ),
          best ? "oracle" : "",
        ),
        report.lines.map((line) => row(el("th", { scope: "row" }, name(line, behind)), columns.map((column) => el("td", {}, of(line, column))), count(line.calls))),
      ),
    ),
  );

  function of(one, column) {
    const cells = one.cells.filter((found) => column.models.includes(found.name));
    const share = shareOf(one, cells, measure);
    if (share === null) {
      const why = one.calls === 0 ? "no call of its counts here" : `of some calls the ${measure === "usd" ? "cost" : "time"} is unknown`;
      return el("span", { class: "bi-cell none" }, unknown(why));
    }
    const [single] = cells.length === 1 ? cells : [null];
    const bestShare = cells.some((found) => found.best === null) ? null : cells.reduce((sum, found) => sum + found.best, 0);
    const over = measure === "calls" && bestShare !== null && share >= bestShare + OVER;
    const told = column.kin ? one.families.find((found) => found.name === column.kin) : single;
    const range = intervals && measure === "calls" && told ? between(told.share) : "";
    const calls = cells.reduce((sum, found) => sum + found.share.n, 0);
    const words = `${plain(one.orchestrator)}, ${plain(column.title)}: ${percent(share)} % ${range}, ${plural(calls, "call")}${over ? ", at least 20 points over the best choice" : ""}`;
    const shaded = cell(share, { words: `${percent(share)}${over ? " ▲" : ""}`, range, bold: over });
    if (!calls) return shaded;
    return el("button", { class: "bi-open", type: "button", "aria-label": words, title: words, on: { click: () => behind({ who: one.orchestrator, model: column.models }, words) } }, shaded);
  }
}

const WORDS = { calls: "share of calls", usd: "share of cost", seconds: "share of time" };

/** A part of an orchestrator's calls, cost or seconds; null where a part of that is unknown. */
export function shareOf(one, cells, measure) {
  const value = (found) => (measure === "calls" ? found.share.n : found[measure]);
  if ([...one.cells].some((found) => value(found) === null)) return null;
  const sum = (some) => some.reduce((total, found) => total + value(found), 0);
  const whole = sum(one.cells);
  return whole ? sum(cells) / whole : null;
}

/** A cell shaded by a share. */
export function cell(share, { words, range = "", dashed = false, bold = false }) {
  const part = Math.min(1, share / FULL);
  return el(
    "span",
    { class: `bi-cell${dashed ? " best" : ""}${bold ? " b" : ""}${part >= TURNS ? " hi" : ""}`, style: { "--n": `${Math.round(100 * part)}%` } },
    words,
    range ? el("small", { text: range }) : null,
  );
}

function head(column) {
  const mark = el("span", { class: `bi-kind k-${column.kind}` }, icon(column.models.length > 1 ? "layers" : toolIcon(column.kind, column.tool ?? "")));
  return el("th", { scope: "col", class: `k-${column.kind}`, title: column.title }, mark, el("span", { text: short(column.title, 12) }), column.simulated ? el("small", { class: "bi-sim", text: "sim" }) : null);
}

function name(line, behind) {
  const words = plain(line.orchestrator);
  return el("button", { class: "bi-name", type: "button", title: words, text: words, on: { click: () => behind({ who: line.orchestrator }, words) } });
}

/** The columns: the most called where there are too many, in the order of the kinds, and the rest as one. */
function shown(report) {
  const calls = new Map();
  for (const one of report.lines) for (const cell_ of one.cells) calls.set(cell_.name, (calls.get(cell_.name) ?? 0) + cell_.share.n);
  const all = report.columns.map((column) => ({ ...column, title: column.model, models: [column.model] }));
  if (all.length <= MOST) return all;
  const ranked = [...all].sort((a, b) => (calls.get(b.model) ?? 0) - (calls.get(a.model) ?? 0));
  const kept = new Set(ranked.slice(0, MOST - 1));
  const rest = all.filter((column) => !kept.has(column)).map((column) => column.model);
  return [...all.filter((column) => kept.has(column)), { kind: "orch", tool: null, simulated: false, best: null, title: `${rest.length} others`, models: rest }];
}

/** The columns by family of models: what is no model, simulated or of an unknown family stands last. */
function kinds(report) {
  const groups = new Map();
  for (const column of report.columns) {
    const kin = column.family ?? (column.simulated ? "simulated" : ["basic", "domain"].includes(column.kind) ? "no model" : "unknown");
    groups.set(kin, [...(groups.get(kin) ?? []), column]);
  }
  const last = ["simulated", "no model", "unknown"];
  const order = [...groups].sort(([a], [b]) => last.indexOf(a) - last.indexOf(b) || (a < b ? -1 : 1));
  return order.map(([kin, some]) => ({
    kin,
    title: kin,
    kind: last.includes(kin) ? "orch" : "generalist",
    tool: null,
    simulated: kin === "simulated",
    models: some.map((one) => one.model),
    best: some.some((one) => one.best === null) ? null : some.reduce((sum, one) => sum + one.best, 0),
  }));
}
