// The head of a comparison: both runs, what they cost and took, the first difference that matters.

import { el } from "./dom.js";
import { count, plain, plural, seconds, unknown, usd } from "./format.js";
import { nominalBadge, outcomeChip, simulatedBadge, statusChip } from "./marks.js";
import { focusRow } from "./comparerows.js";

const UNITS = { usd, seconds, count };

/** The nodes of the head; `onSwap` is told that A and B shall change places. */
export function compareHead(data, onSwap) {
  const swap = el(
    "button",
    { class: "wb-btn sm", type: "button", on: { click: onSwap } },
    "Swap ",
    el("kbd", { text: "x" }),
  );
  return [
    el("div", { class: "cp-heads" }, side(data.a, "a"), el("div", { class: "cp-mid" }, swap), side(data.b, "b")),
    el("div", { class: "cp-deltas" }, data.deltas.map(delta), reward(data), first(data.first)),
  ];
}

function side(run, name) {
  return el(
    "div",
    { class: "wb-panel cp-h" },
    el("span", { class: `cp-l cp-${name}`, text: name.toUpperCase() }),
    el(
      "a",
      { class: "cp-who", href: `/trajectories?run=${encodeURIComponent(run.id)}`, title: plain(run.task) },
      el("b", { class: "lv-cut", text: plain(run.task) }),
      el("span", { class: "wb-note lv-cut", text: `${plain(run.orchestrator)} · ${run.wish} · ${run.id}` }),
    ),
    run.nominal ? nominalBadge(true) : null,
    run.simulated ? simulatedBadge(true) : null,
    run.outcome === null ? statusChip(run.status) : outcomeChip(run.outcome),
  );
}

function delta({ name, unit, a, b, words }) {
  const value = (number) => el("b", {}, number === null ? unknown("a part of it is unknown") : UNITS[unit](number));
  return el(
    "div",
    { class: "wb-tile cp-d" },
    el("span", { class: "l", text: name }),
    el("span", { class: "v" }, value(a), el("i", { text: "→" }), value(b)),
    el("small", { text: words ?? "cannot be told" }),
  );
}

/** R of both: in the group that they share, else among the two. */
function reward({ a, b, reward: { rewards, group, size, wishes, why } }) {
  const query = group ? new URLSearchParams({ group }) : new URLSearchParams([a, b].map((run) => ["run", run.id]));
  const value = (number) => el("b", {}, number === null ? unknown(why ?? "it has no reward") : number.toFixed(2));
  const where = group ? `in ${plain(group)}, ${plural(size, "rollout")}` : "among these two";
  return el(
    "div",
    { class: "wb-tile cp-d" },
    el("a", { class: "l wb-link", href: `/reward?${query}`, text: "Reward" }),
    el("span", { class: "v" }, value(rewards[0]), el("i", { text: "→" }), value(rewards[1])),
    el("small", { title: why ? plain(why) : null, text: `${where}${wishes ? ", by A’s wishes" : ""}` }),
  );
}

function first({ where, words, row }) {
  const show = { class: "wb-btn ghost sm", type: "button", text: "Show it", on: { click: () => focusRow(row) } };
  return el(
    "div",
    { class: "cp-why" },
    el("h2", { class: "wb-cap", text: "First difference that matters" }),
    el("p", {}, where ? el("b", { text: `${where}: ` }) : null, plain(words)),
    row === null ? null : el("button", show),
  );
}
