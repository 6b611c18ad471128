// A row of the trajectories list: task and state, then what the reader chose to see of it.

import { el } from "./dom.js";
import { cost, count, plain, unknown, when } from "./format.js";
import { nominalBadge, outcomeChip, simulatedBadge, statusChip, trainingBadge } from "./marks.js";
import { glyph } from "./score.js";
import { keep, kept } from "./keeping.js";
import { lasted } from "./times.js";

const tokens = (row) =>
  row.input_tokens === null || row.output_tokens === null
    ? unknown("a model did not report its tokens")
    : counted(row.input_tokens + row.output_tokens, "token");

/** A number with what it counts, which is shown where the list has no head. */
const counted = (n, word, words = `${word}s`) => [count(n), el("span", { class: "rc-unit", text: ` ${n === 1 ? word : words}` })];

/** Every column by its name: head, width in pixels, cell. */
export const COLUMNS = {
  calls_by_kind: { title: "Calls by kind", width: 92, cell: (row) => (row.glyph ? glyph(row.glyph) : lasted(null)), look: "g" },
  turns: { title: "Turns", width: 40, cell: (row) => counted(row.turns, "turn") },
  calls: { title: "Calls", width: 40, cell: (row) => counted(row.calls, "call") },
  failed: { title: "Failed", width: 44, cell: (row) => counted(row.failed_calls, "failed", "failed") },
  tokens: { title: "Tokens", width: 62, cell: tokens },
  cost: { title: "Cost", width: 66, cell: (row) => el("b", {}, cost(row.cost)) },
  time: {
    title: "Time",
    width: 56,
    cell: (row) => (row.status === "running" ? unknown("the run has not ended") : lasted(row.seconds)),
  },
  started: { title: "Started", width: 112, cell: (row) => when(row.started_at).slice(0, 16) },
};
const USUAL = ["calls_by_kind", "turns", "cost", "time"];
const KEY = "wb-columns";

/** The chosen columns in the order in which they stand. */
export function chosenColumns() {
  const names = kept(KEY, USUAL);
  const known = Array.isArray(names) ? Object.keys(COLUMNS).filter((name) => names.includes(name)) : [];
  return known.length ? known : USUAL;
}

export const chooseColumns = (names) => keep(KEY, names.length ? names : USUAL);

/** The widths of the chosen columns as a grid. */
export const template = (names) => `minmax(0,1fr) ${names.map((name) => `${COLUMNS[name].width}px`).join(" ")}`;

export function headCells(names) {
  return [
    el("span", { text: "Task" }),
    ...names.map((name) => el("span", { class: COLUMNS[name].look ?? "n", text: COLUMNS[name].title })),
  ];
}

/** A row. `picked` says whether it is selected; `on` has click(event, row) and pick(row, picked). */
export function runRow(row, names, href, picked, on) {
  const box = el("input", {
    type: "checkbox",
    checked: picked,
    "aria-label": `Select ${plain(row.task).slice(0, 80)}`,
    on: { change: (event) => on.pick(row, event.target.checked) },
  });
  const link = el(
    "a",
    { class: "tr-row", href, "data-id": row.id, on: { click: (event) => on.click(event, row) } },
    el(
      "span",
      { class: "rc-l1" },
      el("span", { class: "t", text: plain(row.task) }),
      row.outcome === null ? statusChip(row.status) : outcomeChip(row.outcome),
    ),
    el(
      "span",
      { class: "m", title: row.wish },
      el("span", { class: "lv-cut", text: `${plain(row.orchestrator)} · ${row.wish}` }),
      row.nominal ? nominalBadge(true) : null,
      row.simulated ? simulatedBadge(true) : null,
      row.training ? trainingBadge(row.training) : null,
      row.tags.map((tag) => el("span", { class: "wb-tag", text: plain(tag) })),
    ),
    names.map((name) => el("span", { class: COLUMNS[name].look ?? "n" }, COLUMNS[name].cell(row))),
  );
  return el("div", { class: "rc-line" }, el("label", { class: "rc-pick" }, box), link);
}
