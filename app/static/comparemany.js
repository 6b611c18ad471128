// Three to eight trajectories: their scores on one time axis, and a matrix of facts held against the base.

import { el, put } from "./dom.js";
import { count, fineUsd, plain, seconds, unknown, usd } from "./format.js";
import { kindBox, nominalBadge, outcomeChip, simulatedBadge, statusChip } from "./marks.js";
import { drawScore } from "./score.js";
import { runOf } from "./staves.js";

const MINUS = "\u2212";
const number = (value) => value.toFixed(2);
const UNITS = { usd, seconds, count, number, signed: (value) => signed(value, number) };
const DIFFERENCES = { usd: fineUsd }; // two costs below what is shown may still differ
const signed = (value, shown) => (value < 0 ? `${MINUS}${shown(-value)}` : `+${shown(value)}`);

const path = (id) => `/trajectories?run=${encodeURIComponent(id)}`;

/** Draw all of it; `onBase(id)` is told which run the others are to be held against. */
export function drawMany(host, data, onBase) {
  const at = data.runs.findIndex((run) => run.id === data.base);
  const scores = data.runs.map((run, n) => [el("div", { class: "cp-stave" }), run, n]);
  put(
    host,
    el(
      "section",
      { class: "wb-panel cp-staves", role: "group", "aria-label": "All scores on one time axis" },
      scores.map(([node, run, n]) => el("div", { class: "cp-many-score" }, letter(n, n === at), node)),
    ),
    el("section", { class: "wb-panel cp-matrix", "aria-label": "Facts side by side", tabindex: "0" }, matrix(data, at, onBase)),
  );
  const draw = () => {
    const shared = {
      seconds: Math.max(...data.runs.map((run) => run.end)),
      kinds: new Set(data.runs.flatMap((run) => run.turns.flatMap((turn) => turn.calls.map((call) => runOf(run).tool(call.tool).kind)))),
    };
    for (const [node, run] of scores) if (node.clientWidth) drawScore(node, runOf(run), shared);
  };
  new ResizeObserver(draw).observe(host);
  draw();
}

const letter = (n, isBase) => el("span", { class: `cp-l ${isBase ? "cp-a" : "cp-b"}`, text: String(n + 1) });

function matrix(data, at, onBase) {
  const { runs, facts, tools } = data;
  const row = (head, cells) => el("tr", {}, el("th", { scope: "row" }, head), cells);
  const cells = (values, show) => values.map((value, n) => el("td", { class: n === at ? "base" : null }, show(value, n)));
  return el(
    "table",
    { class: "cp-many" },
    el("caption", { class: "wb-sr", text: `${runs.length} trajectories, held against number ${at + 1}` }),
    el(
      "thead",
      {},
      el("tr", {}, el("td"), runs.map((run, n) => el("th", { scope: "col", class: n === at ? "base" : null }, head(run, n, n === at, onBase)))),
    ),
    el(
      "tbody",
      {},
      facts.map((fact) => row(factHead(fact, data), cells(fact.values, (value, n) => figure(value, fact, at, n)))),
      tools.map((tool) =>
        row([kindBox(tool.kind, tool.name), plain(tool.title)], cells(tool.values, (value, n) => figure(value, { ...tool, unit: "count" }, at, n))),
      ),
      row(
        "First difference",
        cells(data.first, (words, n) =>
          words === null
            ? el("span", { class: "wb-note", text: "the base, A in these sentences" })
            : [
                el("p", { class: "cp-words", text: plain(words) }),
                el("a", { class: "wb-link", href: `/compare?${new URLSearchParams({ a: data.base, b: runs[n].id })}`, text: "Side by side" }),
              ],
        ),
      ),
      row(
        "Answer",
        cells(data.same_answer, (same, n) => [
          n === at ? null : el("b", { class: "wb-note", text: same ? "same answer" : "other answer" }),
          runs[n].answered
            ? el("p", { class: "cp-words", text: plain(runs[n].answer) })
            : el("p", { class: "wb-note", text: `None: the run ended as ${plain(runs[n].status).replaceAll("_", " ")}.` }),
        ]),
      ),
    ),
  );
}

function factHead({ name }, { reward, runs }) {
  if (name !== "Reward") return name;
  const query = reward.group
    ? new URLSearchParams({ group: reward.group })
    : new URLSearchParams(runs.map((run) => ["run", run.id]));
  const where = reward.group ? `in ${plain(reward.group)}, ${count(reward.size)} rollouts` : `of these ${runs.length}`;
  return [
    el("a", { class: "wb-link", href: `/reward?${query}`, text: "Reward" }),
    el("small", { text: where }),
    reward.wishes ? el("small", { text: "all by the base’s wishes" }) : null,
    reward.why ? el("small", { class: "why", text: plain(reward.why) }) : null,
  ];
}

function head(run, n, isBase, onBase) {
  return el(
    "div",
    { class: "cp-head" },
    el(
      "div",
      { class: "cp-headline" },
      letter(n, isBase),
      run.outcome === null ? statusChip(run.status) : outcomeChip(run.outcome),
      run.nominal ? nominalBadge(true) : null,
      run.simulated ? simulatedBadge(true) : null,
    ),
    el("a", { class: "cp-who", href: path(run.id), title: plain(run.id) }, el("b", { class: "lv-cut", text: plain(run.orchestrator) }), el("span", { class: "wb-note lv-cut", text: run.wish }), el("span", { class: "wb-note lv-cut", text: plain(run.id) })),
    el("button", {
      class: "wb-btn sm",
      type: "button",
      "aria-pressed": String(isBase),
      disabled: isBase,
      text: isBase ? "Base" : "Make it the base",
      on: { click: () => onBase(run.id) },
    }),
  );
}

/** A value, and how far it is from the base's. */
function figure(value, { unit, values }, at, n) {
  if (value === null) return unknown(unit === "count" ? "not on offer, or not counted" : "a part of it is unknown");
  const base = values[at];
  const shown = el("b", { text: UNITS[unit](value) });
  if (n === at || base === null || unit === "signed") return shown;
  const shift = value - base;
  const same = Math.abs(shift) < 1e-9;
  return [shown, el("small", { class: same ? "same" : "", text: same ? "same" : signed(shift, DIFFERENCES[unit] ?? UNITS[unit]) })];
}
