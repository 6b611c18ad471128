// Where the strongest is called: its share by kind of task, difficulty, domain and turn, every cell with its runs.

import { el } from "./dom.js";
import { percent, plain, plural, unknown } from "./format.js";
import { cell } from "./biasheat.js";
import { between } from "./biasmarks.js";

const OVER = 0.2;
const DOMAINS = 6;
const PARTS = [
  ["kind", "by task"],
  ["difficulty", "by difficulty"],
  ["domain", "by domain"],
  ["turn", "by turn"],
];

/** The table; `null` where no part is told of any run. */
export function where({ report, intervals, behind }) {
  const parts = PARTS.map(([by, title]) => ({ by, title, values: valuesOf(report.slices, by) })).filter((one) => one.values.length);
  if (!parts.length) return null;
  const found = new Map(report.slices.map((one) => [JSON.stringify([one.orchestrator, one.by, one.value]), one]));
  const rows = report.lines.filter((line) => report.slices.some((one) => one.orchestrator === line.orchestrator));
  const edge = (at) => (at ? "" : " bi-edge");
  return el(
    "div",
    { class: "bi-scroll", role: "region", tabindex: "0", "aria-label": "Share of the strongest by part" },
    el(
      "table",
      { class: "bi-heat bi-where" },
      el("caption", { class: "bi-hide", text: "Share of calls to the strongest by task, difficulty, domain and turn, per cent" }),
      el(
        "thead",
        {},
        el("tr", {}, el("td", {}), parts.map(({ title, values }) => el("th", { scope: "colgroup", colspan: values.length, class: "bi-part bi-edge", text: title }))),
        el("tr", {}, el("td", {}), parts.flatMap(({ by, values }) => values.map((value, at) => el("th", { scope: "col", class: edge(at), title: named(by, value) }, el("span", { text: by === "turn" && value === "4" ? "4+" : plain(value) }))))),
      ),
      el(
        "tbody",
        {},
        rows.map((line) =>
          el(
            "tr",
            {},
            el("th", { scope: "row", title: plain(line.orchestrator), text: plain(line.orchestrator) }),
            parts.flatMap(({ by, values }) => values.map((value, at) => el("td", { class: edge(at) }, of(line, by, value)))),
          ),
        ),
      ),
    ),
  );

  function of(line, by, value) {
    const one = found.get(JSON.stringify([line.orchestrator, by, value]));
    if (!one || one.strongest.value === null) return el("span", { class: "bi-cell none" }, unknown("no call here of which the strongest is known"));
    const share = one.strongest.value;
    const over = one.best !== null && share >= one.best + OVER;
    const range = intervals ? between(one.strongest) : "";
    const best = one.best === null ? "the best choice is unknown" : `the best choice: ${percent(one.best)} %`;
    const words = `${plain(line.orchestrator)}, ${named(by, value)}: ${percent(share)} % to the strongest ${between(one.strongest)}, ${plural(one.strongest.n, "call")}; ${best}`;
    const slice = by === "turn" ? { turn: value, model: report.columns.map((column) => column.model) } : { [by]: value };
    return el("button", { class: "bi-open", type: "button", "aria-label": words, title: words, on: { click: () => behind({ who: line.orchestrator, ...slice }, words) } }, cell(share, { words: `${percent(share)}${over ? " ▲" : ""}`, range, bold: over }));
  }
}

/** How many domains the table leaves out. */
export const domainsLeftOut = (report) => Math.max(0, new Set(report.slices.filter((one) => one.by === "domain").map((one) => one.value)).size - DOMAINS);

function valuesOf(slices, by) {
  const calls = new Map();
  for (const one of slices) if (one.by === by) calls.set(one.value, (calls.get(one.value) ?? 0) + one.strongest.n);
  const values = [...calls.keys()];
  if (by !== "domain" || values.length <= DOMAINS) return values;
  const most = new Set([...calls].sort((a, b) => b[1] - a[1]).slice(0, DOMAINS).map(([value]) => value));
  return values.filter((value) => most.has(value));
}

const named = (by, value) => (by === "turn" ? `turn ${value === "4" ? "4 and later" : value}` : by === "domain" ? `domain ${plain(value)}` : plain(value));
