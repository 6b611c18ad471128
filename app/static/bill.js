// The bill: what is spent and held against the limit, the counters, cost and seconds by payee; and as a table.

import { el, put } from "./dom.js";
import { icon, toolIcon } from "./icons.js";
import { bytes, cost, count, plain, seconds, unknown, usd, wait } from "./format.js";

const STATUS = {
  running: ["run", null, "running"],
  answered: ["ok", "check", "answered"],
  cancelled: ["warn", "warn", "stopped"],
  max_turns: ["warn", "warn", "turn limit"],
  cost_limit: ["warn", "warn", "cost limit"],
  time_limit: ["warn", "warn", "time limit"],
  token_limit: ["warn", "warn", "token limit"],
  loop: ["warn", "warn", "loop"],
  fault: ["bad", "cross", "fault"],
  interrupted: ["warn", "warn", "interrupted"],
};

/** The chip of a run's status: icon and word. */
export function statusChip(status, word) {
  const [look, sign, usual] = STATUS[status] ?? ["", "minus", status];
  const mark = status === "running" ? el("i", { class: "dot" }) : icon(sign, true);
  return el("span", { class: `wb-chip ${look}` }, mark, word ?? usual);
}

export const kindBox = (kind, name = "") => el("span", { class: `wb-kind k-${kind}`, "aria-hidden": "true" }, icon(toolIcon(kind, name)));

export function nominalBadge(short = false) {
  const title = "Nominal prices: what hosted equivalents of these models would cost. Nobody is billed.";
  return el("span", { class: "wb-badge", tabindex: "0", title, text: short ? "nom" : "nominal" });
}

export function simulatedBadge(short = false) {
  return el("span", { class: "wb-badge", tabindex: "0", title: "Simulated: a stated profile answers, not the thing it names.", text: short ? "sim" : "simulated" });
}

/** The whole right column of Live for a run, or the idle one when `run` is null. */
export function drawBill(host, run, table) {
  const parts = run?.setting ? running(run) : idle(table);
  put(host, parts);
}

function tableNote(table) {
  if (!table) return null;
  const title = `Price table ${plain(table.name)} of ${table.dated}: ${plain(table.source)}`;
  return el("span", { class: "wb-note lv-table", title }, table.nominal ? nominalBadge() : null, table.name === "nominal" ? table.dated : `${plain(table.name)} · ${table.dated}`);
}

function head(chip, table) {
  return el("div", { class: "lv-bill-head" }, el("h2", { text: "Bill" }), chip, el("span", { class: "wb-sp" }), tableNote(table));
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
  const chip = run.finished ? statusChip(run.stop ?? "fault") : statusChip("running", `turn ${run.turns.length} of ${setting.limits.max_turns}`);
  const held = run.held;
  return [
    head(chip, setting.prices),
    el("div", {}, total(bill), meter(bill.known_usd, held.usd, limit), marks(held, limit, bill.cost_usd === null)),
    tiles(run.now.toFixed(1), setting.limits.time_s, tokens(bill.input_tokens), tokens(bill.output_tokens)),
    el("hr", { class: "wb-hr" }),
    bill.rows.length ? bars(run) : el("p", { class: "wb-note", text: "Nothing spent yet. The bill names every attempt." }),
  ];
}

function total(bill) {
  if (bill.cost_usd !== null) return el("div", { class: "wb-big", text: usd(bill.cost_usd) });
  return el("div", { class: "wb-big" }, unknown(bill.why), el("small", { class: "wb-note", text: ` at least ${usd(bill.known_usd)}` }));
}

const tokens = (value) => (value === null ? unknown("a model did not report its tokens") : count(value));

export function meter(spent, held, limit) {
  const full = limit ?? Math.max(spent + held, 0.000001);
  const share = (part) => `${Math.min(100, (part / full) * 100)}%`;
  const look = limit === null ? "wb-meter open" : spent > limit ? "wb-meter over" : spent > 0.8 * limit ? "wb-meter near" : "wb-meter";
  const words = `Spent ${usd(spent)}${limit === null ? ", no limit" : ` of ${usd(limit)}`}${held ? `, ${usd(held)} held for running calls` : ""}`;
  return el("div", { class: look, role: "meter", "aria-valuemin": 0, "aria-valuemax": full, "aria-valuenow": Math.min(spent, full), "aria-label": words },
    limit === null ? null : el("i", { class: "spent", style: { width: share(spent) } }),
    limit === null ? null : el("i", { class: "held", style: { width: share(held) } }));
}

function marks(held, limit, partly) {
  const heldWord = held.unknown ? ["held ", unknown("a running call has no known worst case")] : [`held ${usd(held.usd)}`];
  return el("div", { class: "wb-note lv-mk" },
    el("span", {}, el("i", { class: "sq spent" }), partly ? "spent, as far as known" : "spent"),
    held.usd || held.unknown ? el("span", {}, el("i", { class: "sq held" }), heldWord) : null,
    el("span", { class: "wb-sp" }),
    limit === null ? "no limit" : el("span", {}, "limit ", el("b", { text: usd(limit) })));
}

function tiles(time, limit, input, output) {
  const tile = (name, value, more) => el("div", { class: "wb-tile" }, el("span", { class: "l", text: name }), el("b", {}, value, more ? el("small", { text: more }) : null));
  return el("div", { class: "lv-tiles" }, tile("Seconds", el("span", { "data-clock": true, text: time }), limit ? ` / ${limit}` : null), tile("Tokens in", input), tile("Tokens out", output));
}

function bars(run) {
  const rows = run.bill.rows;
  const running = run.turns.flatMap((turn) => turn.calls.filter((call) => call.state === "running"));
  const paid = rows.filter((row) => row.cost.kind !== "free");
  const free = rows.filter((row) => row.cost.kind === "free");
  const most = Math.max(...rows.map((row) => row.cost.usd ?? 0), 1e-12);
  const longest = Math.max(...rows.map((row) => row.wall_s), 1e-12);
  const byCost = [...paid].sort((a, b) => (b.cost.usd ?? 0) - (a.cost.usd ?? 0));
  const byTime = [...rows].sort((a, b) => b.wall_s - a.wall_s);
  return el("div", { class: "lv-bars" },
    el("section", {}, el("h3", { class: "wb-cap", text: "Cost by tool" }),
      byCost.map((row) => bar(row, (row.cost.usd ?? 0) / most, cost(row.cost))),
      running.filter((call) => !rows.some((row) => row.payee === call.tool)).map((call) => bar({ ...run.tool(call.tool), payee: call.tool }, 0, "running")),
      free.length ? bar({ kind: "basic", payee: "", title: free.length === 1 ? free[0].title : `${free.length} free payees` }, 0, "free") : null),
    el("section", {}, el("h3", { class: "wb-cap", text: "Seconds by tool" }),
      byTime.map((row) => bar(row, row.wall_s / longest, seconds(row.wall_s)))));
}

function bar(row, share, value) {
  return el("div", { class: `wb-hb k-${row.kind}` },
    el("span", { title: plain(row.priced_as ?? row.title) }, kindBox(row.kind, row.payee), el("span", { class: "lv-cut", text: plain(row.title) })),
    el("u", {}, el("i", { style: { width: `${share * 100}%` } })),
    el("span", { class: "wb-num" }, value));
}

/** The bill as a table, a row per payee and priced name, with the price row behind each sum. */
export function billTable(run) {
  const { bill, setting } = run;
  const header = [["Payee"], ["Tries", "n"], ["Tok in", "n"], ["out", "n"], ["Cost", "n"], ["Sec", "n"]];
  const rows = bill.rows.flatMap((row) => [
    el("tr", { class: "lv-payee" }, el("td", {}, el("span", { class: "lv-payee-name" }, kindBox(row.kind, row.payee), el("span", { class: "lv-cut", text: plain(row.title) }))),
      number(count(row.attempts)), number(row.uses_tokens ? tokens(row.input_tokens) : ""), number(row.uses_tokens ? tokens(row.output_tokens) : ""),
      number(cost(row.cost)), number(row.wall_s.toFixed(1))),
    el("tr", { class: "lv-price" }, el("td", { colspan: 6, title: plain(row.source ?? "") }, row.price ? `${plain(row.priced_as)}: ${row.price}` : [`${plain(row.priced_as)}: `, unknown(`no row in ${setting.prices.name}`)])),
  ]);
  const sum = bill.cost_usd === null ? unknown(bill.why) : usd(bill.cost_usd);
  return el("table", { class: "wb-tbl tight lv-bill-table" },
    el("caption", { class: "wb-sr", text: "Bill by payee" }),
    el("thead", {}, el("tr", {}, header.map(([name, look]) => el("th", { class: look ?? null, scope: "col", text: name })))),
    el("tbody", {}, rows),
    el("tfoot", {}, el("tr", {}, el("td", { text: "Total" }), number(count(bill.attempts)), number(tokens(bill.input_tokens)), number(tokens(bill.output_tokens)), number(sum), number(bill.wall_s.toFixed(1)))));
}

const number = (...value) => el("td", { class: "n" }, value);

/** The other runs that go on, each a link. */
export function drawRunning(host, runs, current) {
  const others = runs.filter((run) => run.id !== current);
  put(host, others.length === 0 ? [] : [
    el("hr", { class: "wb-hr" }),
    el("h3", { class: "wb-cap", text: "Also running" }),
    others.map((run) => el("a", { class: "lv-run", href: `/?run=${encodeURIComponent(run.id)}` }, el("i", { class: "dot" }),
      el("span", { class: "lv-cut", text: plain(run.task) }), el("span", { class: "wb-num wb-mut" }, cost(run.cost)))),
  ]);
}

/** What still arrives: bytes, rate and time left of each weight file. */
export function weightsNotice(weights) {
  const coming = weights.filter((item) => item.state !== "ready");
  if (coming.length === 0) return null;
  const bad = coming.some((item) => item.state === "failed");
  return el("div", { class: `wb-alert ${bad ? "warn" : ""}` }, icon(bad ? "warn" : "down"), el("div", { class: "lv-weights" },
    el("p", {}, el("b", { text: bad ? "Some model weights could not be fetched. " : "Model weights are arriving. " }), "You can run everything that does not need them."),
    coming.map(weightLine)));
}

const WEIGHTS_WORDS = { absent: "waiting,", partial: "waiting,", fetching: "", checking: "checking," };

function weightLine(item) {
  const share = item.total_bytes ? item.done_bytes / item.total_bytes : 0;
  const parts = [`${WEIGHTS_WORDS[item.state] ?? plain(item.state)} ${count(Math.floor(item.done_bytes / 1e6))} of ${count(Math.round(item.total_bytes / 1e6))} MB`.trim()];
  if (item.rate_bps) parts.push(`${bytes(Math.round(item.rate_bps))}/s`);
  if (item.eta_s !== null && item.eta_s !== undefined) parts.push(`${wait(item.eta_s)} left`);
  return el("div", { class: "lv-weight" }, el("span", { class: "lv-cut", text: plain(item.name) }),
    el("span", { class: "wb-note", text: item.error ? plain(item.error) : parts.join(" · ") }),
    el("div", { class: "wb-prog" }, el("i", { style: { width: `${share * 100}%` } })));
}

