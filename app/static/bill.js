// The bill beside a run: what is spent and held against the limit, the counters, cost and seconds by payee.

import { el, put } from "./dom.js";
import { icon } from "./icons.js";
import { cost, plain, seconds, tokenCount, unknown, usd } from "./format.js";
import { kindBox, nominalBadge, statusChip } from "./marks.js";

/** The whole right column of Live for a run, or the idle one when `run` is null. */
export function drawBill(host, run, table) {
  const parts = run?.setting ? running(run) : idle(table);
  put(host, parts);
}

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

function idle(table) {
  return [
    head(el("span", { class: "wb-chip" }, icon("minus", true), "idle"), table),
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
    el("div", {}, total(bill), meter(bill.known_usd, held.usd, limit), marks(held, limit, bill.cost_usd === null)),
    tiles(run.now.toFixed(1), setting.limits.time_s, tokenCount(bill.input_tokens), tokenCount(bill.output_tokens)),
    el("hr", { class: "wb-hr" }),
    bill.rows.length || runningCalls(run).length
      ? bars(run)
      : el("p", { class: "wb-note", text: "Nothing spent yet. The bill names every attempt." }),
  ];
}

function total(bill) {
  if (bill.cost_usd !== null) return el("div", { class: "wb-big", text: usd(bill.cost_usd) });
  return el(
    "div",
    { class: "wb-big" },
    unknown(bill.why),
    el("small", { class: "wb-note", text: ` at least ${usd(bill.known_usd)}` }),
  );
}

export function meter(spent, held, limit) {
  const full = limit ?? Math.max(spent + held, 0.000001);
  const share = (part) => `${Math.min(100, (part / full) * 100)}%`;
  const look =
    limit === null
      ? "wb-meter open"
      : spent > limit
        ? "wb-meter over"
        : spent > 0.8 * limit
          ? "wb-meter near"
          : "wb-meter";
  const words = `Spent ${usd(spent)}${limit === null ? ", no limit" : ` of ${usd(limit)}`}${held ? `, ${usd(held)} held for running calls` : ""}`;
  return el(
    "div",
    {
      class: look,
      role: "meter",
      "aria-valuemin": 0,
      "aria-valuemax": full,
      "aria-valuenow": Math.min(spent, full),
      "aria-label": words,
    },
    limit === null ? null : el("i", { class: "spent", style: { width: share(spent) } }),
    limit === null ? null : el("i", { class: "held", style: { width: share(held) } }),
  );
}

function marks(held, limit, partly) {
  const heldWord = held.unknown
    ? ["held ", unknown("a running call has no known worst case")]
    : [`held ${usd(held.usd)}`];
  return el(
    "div",
    { class: "wb-note lv-mk" },
    el("span", {}, el("i", { class: "sq spent" }), partly ? "spent, as far as known" : "spent"),
    held.usd || held.unknown ? el("span", {}, el("i", { class: "sq held" }), heldWord) : null,
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
    tile("Seconds", el("span", { "data-clock": true, text: time }), limit ? ` / ${limit}` : null),
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
        ? bar(
            { kind: "basic", payee: "", title: free.length === 1 ? free[0].title : `${free.length} free payees` },
            0,
            "free",
          )
        : null,
    ),
    el(
      "section",
      {},
      el("h3", { class: "wb-cap", text: "Seconds by tool" }),
      byTime.map((row) => bar(row, row.wall_s / longest, seconds(row.wall_s))),
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

/** The other runs that go on, each a link. */
export function drawRunning(host, runs, current) {
  const others = runs.filter((run) => run.id !== current);
  put(
    host,
    others.length === 0
      ? []
      : [
          el("hr", { class: "wb-hr" }),
          el("h3", { class: "wb-cap", text: "Also running" }),
          others.map((run) =>
            el(
              "a",
              { class: "lv-run", href: `/?run=${encodeURIComponent(run.id)}` },
              el("i", { class: "dot" }),
              el("span", { class: "lv-cut", text: plain(run.task) }),
              el("span", { class: "wb-num wb-mut" }, cost(run.cost)),
            ),
          ),
        ],
  );
}
