// The tabs of a trajectory beside its timeline: bill by attempt, messages as sent, raw texts, setting.

import { el, put } from "./dom.js";
import { cost, count, plain, plural, unknown, usd, weight } from "./format.js";
import { kindBox, nominalBadge } from "./marks.js";
import { getJson, runPath } from "./server.js";
import { lasted } from "./times.js";

export const TABS = { timeline: "Timeline", bill: "Bill", messages: "Messages", raw: "Raw", setting: "Setting" };
const MANY = 100;
const SHOWN_CHARS = 200_000;
const FLAGS = {
  unpriced: "no price row: its cost is unknown",
  usage_missing: "tokens not reported: its cost is unknown",
  usage_estimated: "tokens counted by us",
  cached_unknown: "cached input unknown: full rate",
  cached_above_input: "more cached than input reported: input counts",
  cache_writes_unknown: "stored prompts unknown: plain rate",
  reasoning_above_output: "more reasoning than output reported: output counts",
  reported_cost_differs: "the provider's figure differs",
};

/** The content of a tab; fetches what it needs. `style` is the call style of the messages, or null. */
export async function tabContent(tab, run, setStyle, style) {
  if (tab === "bill") return ledger(await getJson(runPath(run.id, "/ledger")));
  if (tab === "raw") return raw(await getJson(runPath(run.id, "/raw")));
  if (tab === "setting") return setting(run);
  return messages(await getJson(runPath(run.id, `/messages${style ? `?style=${style}` : ""}`)), setStyle);
}

/** Only the first of many at once; a button brings the next. */
function some(list, items, draw) {
  let shown = 0;
  const more = el("button", { class: "wb-btn sm", type: "button", on: { click: () => next() } });
  function next() {
    list.append(...items.slice(shown, shown + MANY).flatMap((item) => draw(item)));
    shown = Math.min(items.length, shown + MANY);
    more.hidden = shown >= items.length;
    more.textContent = `Show ${count(Math.min(MANY, items.length - shown))} more of ${count(items.length)}`;
  }
  next();
  return [list, more];
}

function ledger({ rows, table }) {
  const tokens = rows.some((row) => row.usage) ? ["In", "Out", "Cached"] : []; // nobody here is paid by the token
  const heads = ["Turn", "Payee", ...tokens, "Seconds", "Cost", "Price row"];
  const body = el("tbody");
  const numbers = new Set(["In", "Out", "Cached", "Seconds", "Cost"]);
  const head = heads.map((name) => el("th", { class: numbers.has(name) ? "n" : null, scope: "col", text: name }));
  const whole = el(
    "table",
    { class: "wb-tbl tight rc-ledger" },
    el("caption", { class: "wb-sr", text: "Every attempt, with the price row that it met" }),
    el("thead", {}, el("tr", {}, head)),
    body,
  );
  const [, more] = some(body, rows, (row) => attempt(row, tokens.length > 0));
  return el(
    "section",
    { class: "wb-panel", "aria-label": "Bill by attempt" },
    el(
      "header",
      {},
      el("h2", { text: "Bill by attempt" }),
      el("p", { text: `${plural(rows.length, "attempt")}, each billed by one price row` }),
    ),
    rows.length
      ? el("div", { class: "rc-wide", tabindex: "0", role: "group", "aria-label": "Bill by attempt" }, whole)
      : el("p", { class: "wb-note", text: "Nothing was paid for yet." }),
    more,
    el(
      "p",
      { class: "wb-note rc-source" },
      table.nominal ? nominalBadge() : null,
      ` Price table ${plain(table.name)} of ${table.dated}. Source: `,
      sourceLink(table.source),
    ),
  );
}

/** A source is a link only when it is one and nothing else. */
function sourceLink(source) {
  const text = plain(source ?? "");
  if (!/^https:\/\/\S+$/.test(text)) return text || unknown("the table does not say where its prices are from");
  return el("a", { class: "lv-link", href: text, target: "_blank", rel: "noopener noreferrer", text });
}

function attempt(row, tokens) {
  const number = (value, why = "not reported") =>
    el("td", { class: "n" }, value === null ? unknown(why) : count(value));
  const blank = () => el("td", { class: "n" });
  const usage = row.usage;
  const notes = [
    row.error ? `failed: ${plain(row.error)}` : null,
    ...row.flags.map((flag) => FLAGS[flag] ?? flag.replaceAll("_", " ")),
    row.reported_usd === null ? null : `provider: ${usd(row.reported_usd)}`,
  ].filter(Boolean);
  return [
    el(
      "tr",
      {},
      el("td", { text: row.turn === null ? "" : String(row.turn) }),
      el("td", {}, el("span", { class: "lv-payee-name" }, kindBox(row.kind, row.payee), plain(row.title))),
      tokens ? ["input_tokens", "output_tokens", "cached_tokens"].map((name) => (usage ? number(usage[name]) : blank())) : null,
      el("td", { class: "n" }, lasted(row.wall_s, (value) => value.toFixed(2))),
      el("td", { class: "n" }, cost(row.cost)),
      el(
        "td",
        { title: plain(row.source ?? "") },
        row.row === null ? unknown("the table has no row for it") : el("code", { text: plain(row.row) }),
        row.price ? ` ${row.price}` : "",
        row.row !== null && row.row !== row.priced_as ? el("small", { text: ` for ${plain(row.priced_as)}` }) : null,
      ),
    ),
    notes.length ? el("tr", { class: "rc-flag" }, el("td"), el("td", { colspan: tokens ? 7 : 4, text: notes.join(" · ") })) : null,
  ].filter(Boolean);
}

function messages(view, setStyle) {
  const note = !view.asked
    ? "This orchestrator is no model and was sent nothing: these are the messages that a model in its place would have read."
    : view.style
      ? "Rebuilt from the record. The record does not name the call style; the one shown is read off the replies."
      : "Rebuilt from the record: protocol toolorchestra asks anew in each turn. Evidence is cut by an approximate count.";
  const styles = view.styles.map((name) =>
    el("button", {
      type: "button",
      "aria-pressed": String(name === view.style),
      text: name,
      on: { click: () => setStyle(name) },
    }),
  );
  const all = view.requests.flatMap((request) => [
    ...(request.turn === null ? [] : [{ turn: request.turn }]),
    ...request.messages,
  ]);
  const [list, more] = some(el("ol", { class: "rc-messages" }), all, message);
  return el(
    "section",
    { class: "rc-tab", "aria-label": "Messages as sent" },
    el(
      "div",
      { class: "rc-tabhead" },
      el("p", { class: "wb-note", text: note }),
      el("span", { class: "wb-sp" }),
      styles.length ? el("span", { class: "wb-seg sm", role: "group", "aria-label": "Call style" }, styles) : null,
    ),
    list,
    more,
    view.tools.length
      ? el(
          "details",
          { class: "rc-more" },
          el("summary", { text: `${plural(view.tools.length, "tool")} sent with every request` }),
          text(JSON.stringify(view.tools, null, 2), "Tools"),
        )
      : null,
  );
}

function message(one) {
  if (one.turn !== undefined) return [el("li", { class: "wb-cap", text: `Turn ${one.turn}` })];
  const calls = (one.tool_calls ?? []).map((call) => `${call.function.name} ${call.function.arguments}`);
  return [
    el(
      "li",
      { class: `rc-message ${["system", "user", "assistant", "tool"].includes(one.role) ? one.role : ""}` },
      el("b", { class: "wb-cap", text: plain(one.role) }),
      one.tool_call_id ? el("code", { text: plain(one.tool_call_id) }) : null,
      one.content ? text(one.content, `${one.role} message`) : null,
      calls.map((call) => text(call, "call")),
    ),
  ];
}

function raw({ turns }) {
  const draw = (turn) => [
    el(
      "li",
      { class: "rc-message" },
      el("b", { class: "wb-cap", text: `Turn ${turn.turn}` }),
      turn.tokens === null ? null : el("code", { text: `${count(turn.tokens)} token ids kept` }),
      turn.text === null
        ? el("p", { class: "wb-note", text: "Cut off before anything was written." })
        : turn.text === ""
          ? el("p", { class: "wb-note", text: "Nothing: a policy of rules writes no text." })
          : text(turn.text, `Raw text of turn ${turn.turn}`),
      turn.recovered.map((words) => el("p", { class: "wb-note", text: `read as: ${plain(words)}` })),
    ),
  ];
  const [list, more] = some(el("ol", { class: "rc-messages" }), turns, draw);
  return el(
    "section",
    { class: "rc-tab", "aria-label": "Raw texts" },
    el("p", { class: "wb-note", text: "What the orchestrator wrote in each turn, before it was read." }),
    list,
    more,
  );
}

function text(content, label) {
  const whole = String(content);
  const cut = whole.length > SHOWN_CHARS ? `\n… ${count(whole.length - SHOWN_CHARS)} more characters, in the JSON` : "";
  const shown = plain(whole.slice(0, SHOWN_CHARS)) + cut;
  return el("pre", { class: "wb-mono lv-text", tabindex: "0", "aria-label": label, text: shown });
}

function setting(run) {
  const { preference, limits, ...rest } = run.setting;
  const wishes = Object.entries(preference.tools)
    .filter(([, value]) => value !== 0)
    .map(([name, value]) => `${plain(run.tool(name).title)} ${weight(value)}`);
  const known = [
    ["cost_usd", usd],
    ["time_s", (v) => `${v} s`],
    ["max_turns", (v) => plural(v, "turn")],
    ["tokens", (v) => `${count(v)} tokens`],
  ]
    .filter(([name]) => limits[name] !== null)
    .map(([name, shown]) => shown(limits[name]));
  const goals = `quality ${weight(preference.outcome)} · cost ${weight(preference.cost)} · latency ${weight(preference.latency)}`;
  const rows = [
    ["Goals", goals],
    ["Tool wishes", wishes.join(" · ") || "none"],
    ["The model read", rest.sentence ? `“${plain(rest.sentence)}”` : "nothing"],
    ["Limits", known.join(" · ") || "none"],
    ["Protocol", rest.protocol],
    ["Prices", `${plain(rest.prices.name)} of ${rest.prices.dated}`],
    ["Seed", rest.seed === null ? "none" : String(rest.seed)],
    ["Reference", rest.task.reference ? plain(rest.task.reference) : unknown("the task has no known answer")],
  ];
  const tool = (spec) =>
    el(
      "li",
      {},
      el("span", { class: "lv-payee-name" }, kindBox(spec.kind, spec.name), el("b", { text: plain(spec.title) })),
      el("code", { text: plain(spec.model ?? spec.name) }),
      el("p", { class: "wb-note", text: plain(spec.description) }),
    );
  return el(
    "div",
    { class: "rc-two" },
    el(
      "section",
      { class: "wb-panel", "aria-label": "Setting" },
      el("header", {}, el("h2", { text: "Setting" })),
      put(
        el("dl", { class: "tr-setting" }),
        rows.map(([name, value]) => [el("dt", { text: name }), el("dd", {}, value)]),
      ),
    ),
    el(
      "section",
      { class: "wb-panel", "aria-label": "Tools on offer" },
      el("header", {}, el("h2", { text: "Tools on offer" }), el("p", { text: plural(rest.tools.length, "tool") })),
      el("ul", { class: "rc-toollist" }, rest.tools.map(tool)),
    ),
  );
}
