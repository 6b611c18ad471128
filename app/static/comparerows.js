// The rows of a comparison: calls that belong together side by side, the same ones folded, what differs marked.

import { el, put } from "./dom.js";
import { icon } from "./icons.js";
import { cost, count, plain, seconds, unknown, usd } from "./format.js";
import { kindBox, simulatedBadge } from "./marks.js";
import { lasted } from "./times.js";

const WORDS = {
  arguments: "asked otherwise",
  result: "other result",
  only_a: "only A",
  only_b: "only B",
  same: "same",
};
const CHIPS = {
  ok: ["ok", "check", "done"],
  error: ["bad", "cross", "failed"],
  timeout: ["bad", "cross", "timed out"],
  rejected: ["bad", "cross", "rejected"],
  cancelled: ["warn", "warn", "cancelled"],
  running: ["run", null, "calling"],
};
const STEP = 150;
const [MANY_LINES, MANY_CHARS] = [8, 300]; // a text of less never has to be scrolled, also on a phone

export class CompareRows {
  constructor() {
    this.opened = new Set(); // groups of equal calls that are unfolded, by their first row
    this.shown = STEP;
  }

  /** Draw the rows of a comparison into `host`; `only` the differences, or all; `byTurn` names the turns. */
  draw(host, data, { only, byTurn }) {
    this.data = data;
    this.only = only;
    this.again = () => this.draw(host, data, { only, byTurn });
    const groups = grouped(data.rows, byTurn);
    const parts = groups.slice(0, this.shown).flatMap((group) => this.group(group));
    const left = groups.length - this.shown;
    const nothing = data.rows.length ? null : el("p", { class: "wb-note cp-wide", text: "Neither made a call." });
    put(host, parts, nothing, left > 0 ? this.more(left) : null, answers(data));
  }

  more(left) {
    const click = () => {
      this.shown += STEP;
      this.again();
    };
    return el("button", {
      class: "wb-btn sm cp-wide",
      type: "button",
      text: `Show more, ${count(left)} are left`,
      on: { click },
    });
  }

  group({ start, rows, turn }) {
    if (turn === undefined) return this.unfolded({ start, rows });
    return [el("h3", { class: "wb-cap cp-turn", text: `Turn ${turn}` }), this.unfolded({ start, rows })];
  }

  unfolded({ start, rows }) {
    if (rows[0].difference !== "same") return rows.flatMap((row, n) => this.row(row, start + n));
    const open = !this.only || this.opened.has(start);
    return [this.fold(start, rows, open), ...(open ? rows.flatMap((row, n) => this.row(row, start + n)) : [])];
  }

  /** The line that stands for calls that are the same in both. */
  fold(start, rows, open) {
    const titles = [...new Set(rows.map((row) => row.a.title))];
    const names =
      titles.length > 3 ? `${titles.slice(0, 3).join(", ")} and ${titles.length - 3} more` : titles.join(", ");
    const words =
      rows.length === 1 ? "1 call is the same in both: " : `${count(rows.length)} calls are the same in both: `;
    const click = () => {
      if (this.opened.has(start)) this.opened.delete(start);
      else this.opened.add(start);
      this.again();
      document.querySelector(`.cp-same[data-start="${start}"]`)?.focus(); // the line was drawn anew
    };
    return el(
      "button",
      { class: "cp-same", type: "button", "aria-expanded": String(open), "data-start": start, on: { click } },
      kindBox(rows[0].a.kind, rows[0].a.tool),
      el("span", { class: "lv-cut" }, words, el("b", { text: plain(names) })),
      el("span", { class: "wb-sp" }),
      el("span", { text: open ? "hide ▾" : "show ▸" }),
    );
  }

  row(row, place) {
    const differs = row.difference !== "same";
    return [
      this.card(row.a, "a", place, differs),
      el(
        "div",
        { class: differs ? "cp-mid d" : "cp-mid" },
        el("b", { text: WORDS[row.difference] }),
        row.usd ? el("span", { text: signed(row.usd, usd) }) : null,
        row.seconds === null || Math.abs(row.seconds) < 0.005
          ? null
          : el("span", { text: signed(row.seconds, seconds) }),
      ),
      this.card(row.b, "b", place, differs),
    ];
  }

  card(call, side, place, differs) {
    if (!call) return el("div", { class: "cp-gap", text: "no such call" });
    const [look, sign, word] = CHIPS[call.status] ?? ["", "minus", call.status];
    const run = this.data[side].id;
    const failed = look === "bad" ? " bad" : "";
    return el(
      "article",
      {
        class: `wb-call${failed}`,
        tabindex: "-1",
        "data-row": place,
        "data-differs": differs ? "" : null,
        "aria-label": `${side.toUpperCase()}, call ${call.number}, ${plain(call.title)}, ${word}`,
      },
      el(
        "header",
        {},
        kindBox(call.kind, call.tool),
        el("span", { class: "wb-mut", text: String(call.number) }),
        el("b", { class: "lv-cut", text: plain(call.title) }),
        el("span", { class: `wb-chip ${look}` }, sign ? icon(sign, true) : el("i", { class: "dot" }), word),
        call.simulated ? simulatedBadge(true) : null,
        el(
          "span",
          { class: "wb-cost" },
          el("b", {}, cost(call.cost)),
          el("span", {}, call.status === "running" ? unknown("the call has not ended") : lasted(call.seconds)),
        ),
      ),
      el("div", { class: "wb-args cp-text", ...scrolled(call.arguments, "Arguments") }, marked(call.arguments, side)),
      el(
        "div",
        { class: "cp-result cp-text", ...scrolled(call.result, "Result") },
        call.result.length ? marked(call.result, side) : "(empty)",
      ),
      el("a", {
        class: "wb-sr cp-open",
        href: `/trajectories?run=${encodeURIComponent(run)}`,
        text: `Open ${plain(call.title)} in its trajectory`,
      }),
    );
  }
}

function answers({ a, b, answer }) {
  const box = (run, side) =>
    el(
      "div",
      { class: "cp-ans" },
      el("h3", { class: "wb-cap", text: "Answer" }),
      run.answered
        ? el("p", {}, marked(answer[side], side))
        : el("p", {
            class: "wb-note",
            text: `None: the run ended as ${plain(run.status).replaceAll("_", " ")}.`,
          }),
    );
  const words = answer.same ? "same answer" : a.answered && b.answered ? "other answer" : "answered once";
  return [box(a, "a"), el("div", { class: "cp-mid d" }, el("b", { text: words })), box(b, "b")];
}

/** Pieces of a text, those that the other side does not have marked. */
const marked = (pieces, side) =>
  pieces.map(([changed, text]) =>
    changed ? el(side === "a" ? "del" : "ins", { text: plain(text) }) : plain(text),
  );

const signed = (value, shown) => (value < 0 ? `\u2212${shown(-value)}` : `+${shown(value)}`);

/** What a text needs that may have to be scrolled by keyboard; short ones are no stop of the Tab key. */
function scrolled(pieces, name) {
  const text = pieces.map(([, part]) => part).join("");
  const isLong = text.length > MANY_CHARS || text.split("\n").length > MANY_LINES;
  return isLong ? { tabindex: "0", role: "group", "aria-label": name } : {};
}

/** Runs of equal calls, and each run of others, with the place of their first row; by turn also where a turn begins. */
function grouped(rows, byTurn) {
  const groups = [];
  let turn = null;
  rows.forEach((row, place) => {
    const last = groups.at(-1);
    const own = (row.a ?? row.b).turn;
    const begins = byTurn && own !== turn;
    if (last && !begins && row.difference === "same" && last.rows[0].difference === "same") last.rows.push(row);
    else groups.push({ start: place, rows: [row], turn: begins ? own : undefined });
    turn = own;
  });
  return groups;
}

// ---- keyboard

/** Put the focus on A's call of a row. */
export function focusRow(row) {
  const card = document.querySelector(`.wb-call[data-row="${row}"]`);
  card?.scrollIntoView({ block: "center" });
  card?.focus({ preventScroll: true });
}

/** Go to the difference after (1) or before (-1) the focused one; false where there is none. */
export function stepDifference(by) {
  const cards = [...document.querySelectorAll(".wb-call[data-differs]")];
  const places = [...new Set(cards.map((card) => Number(card.dataset.row)))];
  if (places.length === 0) return false;
  const here = document.activeElement?.closest?.("[data-row]")?.dataset.row;
  const next =
    here === undefined
      ? places[by > 0 ? 0 : places.length - 1]
      : by > 0
        ? (places.find((place) => place > Number(here)) ?? places.at(-1))
        : (places.findLast((place) => place < Number(here)) ?? places[0]);
  const card = cards.find((one) => Number(one.dataset.row) === next);
  card.focus({ preventScroll: true });
  card.scrollIntoView({ block: "center" });
  return true;
}

/** Open the trajectory of the focused call; false where none has the focus. */
export function openCall() {
  const link = document.activeElement?.closest?.(".wb-call")?.querySelector(".cp-open");
  if (!link) return false;
  location.assign(link.href);
  return true;
}
