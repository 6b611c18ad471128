// Why this tool: what the orchestrator said or expected, in one line that opens to all of it.

import { el } from "./dom.js";
import { firstLine, plain, seconds, unknown, usd, weight } from "./format.js";

const COLUMNS = [
  ["Tool", null],
  ["Score", "n"],
  ["Chance", "n"],
  ["Cost", "n"],
  ["Seconds", "n"],
  ["Why", null],
];

/** For a turn with a call, or (`call` null) one without; null when nothing was said and nothing estimated. */
export function whyBox(timeline, turn, call, position) {
  const estimates = turn.generation?.estimates ?? [];
  const said = call ? [turn.text.reasoning, turn.text.content].filter((text) => text.trim()) : [];
  if (estimates.length === 0 && said.length === 0) return null;
  const key = `why-${turn.index}`;
  const open = timeline.isOpen(key, false);
  const ranking = rank(estimates, call);
  const line = el(
    "button",
    {
      class: "lv-why",
      type: "button",
      "aria-expanded": String(open),
      "data-key": key,
      on: { click: () => timeline.toggle(key, false, position) },
    },
    el("span", { class: "tw", "aria-hidden": "true", text: open ? "▾" : "▸" }),
    el("span", { class: "pv" }, estimates.length ? whyLine(timeline.run, ranking) : firstLine(said[0])),
  );
  return el("div", { class: "lv-whybox" }, line, open ? whole(timeline.run, said, ranking) : null);
}

function rank(estimates, call) {
  const rows = [...estimates].sort((a, b) => (b.score ?? -Infinity) - (a.score ?? -Infinity));
  const chosen = rows.find((row) => row.tool === call?.tool) ?? (call ? null : rows[0]);
  return { rows, chosen, second: rows.find((row) => row !== chosen && row.score !== null) };
}

function whyLine(run, { chosen, second }) {
  if (!chosen) return "no estimate for this tool";
  const name = (row) => plain(run.tool(row.tool).title);
  const parts = [
    "why ",
    el("b", { text: chosen.score === null ? name(chosen) : `${name(chosen)} ${weight(chosen.score)}` }),
  ];
  if (second) parts.push(` over ${name(second)} ${weight(second.score)}`);
  if (chosen.chance !== null) parts.push(` · chance ${weight(chosen.chance)}`);
  if (chosen.note) parts.push(` · ${plain(chosen.note)}`);
  return parts;
}

function whole(run, said, ranking) {
  return [
    said.map((text) => el("p", { class: "lv-thought", text: plain(text) })),
    ranking.rows.length ? [margin(run, ranking), estimateTable(run, ranking)] : null,
  ];
}

/** The choice in a sentence: how far ahead it was, and of what. */
function margin(run, { chosen, second }) {
  if (!chosen || chosen.score === null || !second) return null;
  const lead = chosen.score - second.score;
  const name = plain(run.tool(second.tool).title);
  const words =
    lead < 0
      ? `It was called although ${name} scored ${weight(-lead)} more.`
      : `Ahead of the runner-up, ${name}, by ${weight(lead)}.`;
  return el("p", {
    class: "wb-note",
    text: `${words} A score weighs the chance of success, the cost and the seconds by your wishes.`,
  });
}

function estimateTable(run, { rows, chosen, second }) {
  const mark = (row) => (row === chosen ? "chosen" : row === second ? "runner-up" : null);
  return el(
    "div",
    { class: "lv-estimates", tabindex: "0", role: "region", "aria-label": "Estimates for every tool" },
    el(
      "table",
      { class: "wb-tbl tight" },
      el("caption", { class: "wb-sr", text: "What the orchestrator expected of each tool" }),
      el(
        "thead",
        {},
        el(
          "tr",
          {},
          COLUMNS.map(([text, look]) => el("th", { class: look, scope: "col", text })),
        ),
      ),
      el(
        "tbody",
        {},
        rows.map((row) => estimateRow(run, row, mark(row))),
      ),
    ),
  );
}

function estimateRow(run, row, mark) {
  const title = plain(run.tool(row.tool).title);
  const cell = (value, shown) =>
    el("td", { class: "n" }, value === null || value === undefined ? unknown("not estimated") : shown(value));
  return el(
    "tr",
    { "aria-selected": mark === "chosen" ? "true" : null },
    el(
      "td",
      {},
      mark === "chosen" ? el("b", { text: title }) : title,
      mark ? el("span", { class: "wb-tag lv-mark", text: mark }) : null,
    ),
    row.score === null ? el("td", { class: "n wb-mut", text: "ruled out" }) : cell(row.score, weight),
    cell(row.chance, weight),
    cell(row.cost_usd, usd),
    cell(row.latency_s, seconds),
    el("td", { class: "lv-note", text: plain(row.note) }),
  );
}
