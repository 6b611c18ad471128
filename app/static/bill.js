// The bill beside a run: what is spent and held against the limit, the counters, cost and seconds by payee.

import { byId, el, put } from "./dom.js";
import { icon } from "./icons.js";
import { cost, count, figure, fineUsd, plain, tokenCount, unknown, usd } from "./format.js";
import { kindBox, nominalBadge, statusChip } from "./marks.js";
import { meter, timeMeter, warning } from "./meters.js";
import { lasted } from "./times.js";
import { skeleton } from "./placards.js";

const LINES = 8;
const tenths = (value) => value.toFixed(1); // while the clock goes on

/** The whole right column of Live for a run, which may still wait at a `place`, or the idle one when `run` is null. */
export function drawBill(host, run, table, place) {
  if (run?.setting) put(host, running(run));
  else if (run && place === null) put(host, loading());
  else put(host, idle(table, run ? "not begun" : "idle"));
}

const loading = () => [head(null, null), skeleton()];

function tableNote(table) {
  if (!table) return null;
  const title = `Price table ${plain(table.name)} of ${table.dated}: ${plain(table.source)}`;
  return el(
    "span",
    { class: "wb-note lv-table", title },
    table.nominal ? nominalBadge() : null,
    table.name === "nominal" ? table.dated : `${plain(table.name)} · ${table.dated}`,
  );
}

function head(chip, table) {
  return el(
    "div",
    { class: "lv-bill-head" },
    el("h2", { text: "Bill" }),
    chip,
    el("span", { class: "wb-sp" }),
    tableNote(table),
  );
}

function idle(table, word) {
  return [
    head(el("span", { class: "wb-chip" }, icon("minus", true), word), table),
    el("div", {}, el("div", { class: "wb-big", text: "$0.0000" }), meter(0, 0, null)),
    tiles("0.0", null, "0", "0"),
    el("hr", { class: "wb-hr" }),
    el("p", { class: "wb-note", text: "Nothing spent yet. The bill names every attempt." }),
  ];
}

function running(run) {
  const { setting, bill } = run;
  const limit = setting.limits.cost_usd;
  const chip = run.finished
    ? statusChip(run.stop ?? "fault")
    : statusChip("running", `turn ${run.turns.length} of ${setting.limits.max_turns}`);
  const held = run.held;
  return [
    head(chip, setting.prices),
    el("div", {}, total(bill), meter(bill.known_usd, held.usd, limit), marks(held, limit, bill)),
    tiles(lasted(run.timed ? run.took : null, run.finished ? figure : tenths), setting.limits.time_s, tokenCount(bill.input_tokens), tokenCount(bill.output_tokens)),
    clock(run),
    el("hr", { class: "wb-hr" }),
    bill.rows.length || runningCalls(run).length
      ? bars(run)
      : el("p", { class: "wb-note", text: "Nothing spent yet. The bill names every attempt." }),
  ];
}

function total(bill) {
  if (bill.cost_usd !== null) return el("div", { class: "wb-big", text: fineUsd(bill.cost_usd) });
  return el(
    "div",
    { class: "wb-big" },
    unknown(bill.why),
    el("small", { class: "wb-note", text: ` at least ${usd(bill.known_usd)}` }),
  );
}

/** The meter of the seconds, where they are limited; redrawn alone while the clock goes on. */
function clock(run) {
  const limit = run.setting.limits.time_s;
  if (limit === null) return null;
  return el("div", { id: "clock-meter" }, clockParts(run.now, limit));
}

const clockParts = (now, limit) => [timeMeter(now, limit), warning(now, limit, "time")];

export function tickClock(run) {
  const host = byId("clock-meter");
  if (host) put(host, clockParts(run.now, run.setting.limits.time_s));
}

function marks(held, limit, bill) {
  const heldWord = held.unknown
    ? ["held ", unknown("a running call has no known worst case")]
    : [`held ${usd(held.usd)}`];
  return el(
    "div",
    { class: "wb-note lv-mk" },
    el("span", {}, el("i", { class: "sq spent" }), bill.cost_usd === null ? "spent, as far as known" : "spent"),
    held.usd || held.unknown ? el("span", {}, el("i", { class: "sq held" }), heldWord) : null,
    warning(bill.known_usd, limit, "cost"),
    el("span", { class: "wb-sp" }),
    limit === null ? "no limit" : el("span", {}, "limit ", el("b", { text: usd(limit) })),
  );
}

function tiles(time, limit, input, output) {
  const tile = (name, value, more) =>
    el(
      "div",
      { class: "wb-tile" },
      el("span", { class: "l", text: name }),
      el("b", {}, value, more ? el("small", { text: more }) : null),
    );
  return el(
    "div",
    { class: "lv-tiles" },
    tile("Seconds", el("span", { "data-clock": true }, time), limit ? ` / ${limit}` : null),
    tile("Tokens in", input),
    tile("Tokens out", output),
  );
}

const runningCalls = (run) => run.turns.flatMap((turn) => turn.calls.filter((call) => call.state === "running"));

function bars(run) {
  const rows = run.bill.rows;
  const running = runningCalls(run);
  const paid = rows.filter((row) => row.cost.kind !== "free");
  const free = rows.filter((row) => row.cost.kind === "free");
  const most = Math.max(...rows.map((row) => row.cost.usd ?? 0), 1e-12);
  const longest = Math.max(...rows.map((row) => row.wall_s), 1e-12);
  const byCost = [...paid].sort((a, b) => (b.cost.usd ?? 0) - (a.cost.usd ?? 0));
  const byTime = [...rows].sort((a, b) => b.wall_s - a.wall_s);
  return el(
    "div",
    { class: "lv-bars" },
    el(
      "section",
      {},
      el("h3", { class: "wb-cap", text: "Cost by tool" }),
      byCost.map((row) => bar(row, (row.cost.usd ?? 0) / most, cost(row.cost))),
      running
        .filter((call) => !rows.some((row) => row.payee === call.tool))
        .map((call) => bar({ ...run.tool(call.tool), payee: call.tool }, 0, "running")),
      free.length
        ? bar(free.length === 1 ? free[0] : { kind: "basic", payee: "", title: `${free.length} free payees` }, 0, "free")
        : null,
    ),
    el(
      "section",
      {},
      el("h3", { class: "wb-cap", text: "Seconds by tool" }),
      byTime.map((row) => bar(row, row.wall_s / longest, lasted(row.wall_s))),
    ),
  );
}

function bar(row, share, value) {
  return el(
    "div",
    { class: `wb-hb k-${row.kind}` },
    el(
      "span",
      { title: plain(row.priced_as ?? row.title) },
      kindBox(row.kind, row.payee),
      el("span", { class: "lv-cut", text: plain(row.title) }),
    ),
    el("u", {}, el("i", { style: { width: `${share * 100}%` } })),
    el("span", { class: "wb-num" }, value),
  );
}

/** What else goes on or waits at this server; `answer` is of /api/rail, `open` the ids that have a tab. */
export function drawOthers(host, { running, queued, waiting }, open, onCancel) {
  const others = running.filter((run) => !open.includes(run.id));
  put(
    host,
    others.length
      ? [
          el("hr", { class: "wb-hr" }),
          el("h3", { class: "wb-cap", text: "Also running" }),
          others.slice(0, LINES).map((run) => line(run, el("i", { class: "dot" }), cost(run.cost))),
          others.length > LINES
            ? el("p", { class: "wb-note", text: `and ${count(others.length - LINES)} more` })
            : null,
        ]
      : null,
    waiting
      ? [
          el("hr", { class: "wb-hr" }),
          el("h3", { class: "wb-cap", text: `In the queue: ${count(waiting)}` }),
          queued.slice(0, LINES).map((run) => waitingLine(run, onCancel)),
          waiting > LINES
            ? el("p", { class: "wb-note", text: `and ${count(waiting - LINES)} more after these` })
            : null,
        ]
      : null,
  );
}

function line(run, mark, value) {
  return el(
    "a",
    { class: "lv-run", href: `/?run=${encodeURIComponent(run.id)}`, title: plain(run.task) },
    mark,
    el("span", { class: "lv-cut", text: plain(run.task) }),
    el("span", { class: "wb-num wb-mut" }, value),
  );
}

function waitingLine(run, onCancel) {
  return el(
    "div",
    { class: "lv-waiting" },
    line(run, el("span", { class: "wb-mut", text: `${run.place}` }), ""),
    el("button", {
      class: "wb-btn ghost sm",
      type: "button",
      text: "Cancel",
      "aria-label": `Cancel ${plain(run.task).slice(0, 60)}, place ${run.place} in the queue`,
      on: { click: () => onCancel(run.id) },
    }),
  );
}
