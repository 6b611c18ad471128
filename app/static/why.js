// Why this tool: what the orchestrator expected of each, in one line that opens to a table.

import { el } from "./dom.js";
import { plain, seconds, unknown, usd, weight } from "./format.js";

export function whyBox(timeline, turn, call, position) {
  const estimates = turn.generation?.estimates ?? [];
  if (estimates.length === 0) return null;
  const key = `why-${turn.index}`;
  const open = timeline.isOpen(key, false);
  const ranked = [...estimates].sort((a, b) => (b.score ?? -Infinity) - (a.score ?? -Infinity));
  const chosen = ranked.find((row) => row.tool === call?.tool) ?? (call ? null : ranked[0]);
  const second = ranked.find((row) => row !== chosen && row.score !== null);
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
    el("span", { class: "pv" }, whyLine(timeline.run, chosen, second)),
  );
  return el("div", { class: "lv-whybox" }, line, open ? estimateTable(timeline.run, ranked, chosen) : null);
}

function whyLine(run, chosen, second) {
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

function estimateTable(run, ranked, chosen) {
  const names = [
    ["Tool", null],
    ["Score", "n"],
    ["Chance", "n"],
    ["Cost", "n"],
    ["Seconds", "n"],
    ["Why", null],
  ];
  const cell = (value, shown) =>
    el("td", { class: "n" }, value === null || value === undefined ? unknown("not estimated") : shown(value));
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
          names.map(([text, look]) => el("th", { class: look, scope: "col", text })),
        ),
      ),
      el(
        "tbody",
        {},
        ranked.map((row) =>
          el(
            "tr",
            { "aria-selected": row === chosen ? "true" : null },
            el(
              "td",
              {},
              row === chosen ? el("b", { text: plain(run.tool(row.tool).title) }) : plain(run.tool(row.tool).title),
            ),
            row.score === null ? el("td", { class: "n wb-mut", text: "ruled out" }) : cell(row.score, weight),
            cell(row.chance, weight),
            cell(row.cost_usd, usd),
            cell(row.latency_s, seconds),
            el("td", { class: "lv-note", text: plain(row.note) }),
          ),
        ),
      ),
    ),
  );
}
