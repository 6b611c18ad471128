// The Compare page: two trajectories aligned by call or turn; what is the same folds away, what differs is marked.
// More than two stand in a matrix.

import { byId, el, put } from "./dom.js";
import { icon } from "./icons.js";
import { asSentence, cost, count, plain, plural, seconds, unknown, usd, when } from "./format.js";
import { kindBox, nominalBadge, outcomeChip, simulatedBadge, statusChip } from "./marks.js";
import { drawMany } from "./comparemany.js";
import { nowhere } from "./placards.js";
import { Refused, getJson } from "./server.js";
import { Staves } from "./staves.js";
import { lasted } from "./times.js";
import * as keys from "./keys.js";

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
const UNITS = { usd, seconds, count };
const STEP = 150;
const [MANY_LINES, MANY_CHARS] = [8, 300]; // a text of less never has to be scrolled, also on a phone
const HOW = "Pick one of the latest runs, or select two to eight in Trajectories and press c there.";

class Compare {
  constructor() {
    this.data = null;
    this.opened = new Set(); // groups of equal calls that are unfolded, by their first row
    this.shown = STEP;
    addEventListener("popstate", () => this.open());
  }

  get query() {
    return new URLSearchParams(location.search);
  }

  get onlyDifferences() {
    return this.query.get("all") === null;
  }

  go(changes, { replace = false } = {}) {
    const query = this.query;
    for (const [name, value] of Object.entries(changes)) {
      if (value === null) query.delete(name);
      else query.set(name, value);
    }
    history[replace ? "replaceState" : "pushState"](null, "", `/compare?${query}`);
    return this.open();
  }

  async open() {
    const runs = [...new Set(this.query.getAll("run"))];
    if (runs.length > 2) return this.several();
    if (runs.length) return this.go({ a: runs[0], b: runs[1] ?? null, run: null, base: null }, { replace: true });
    const [a, b] = [this.query.get("a"), this.query.get("b")];
    const by = this.by;
    const pair = `${a}\n${b}\n${by}`;
    if (!a || !b) return this.choose(a ?? b, a ? "b" : "a");
    if (this.pair !== pair) {
      this.pair = pair;
      this.opened.clear();
      this.shown = STEP;
      put(byId("compare"), el("div", { class: "wb-skel lv-late", "aria-hidden": "true" }));
      try {
        const data = await getJson(`/api/compare?${new URLSearchParams({ a, b, by })}`);
        if (this.pair !== pair) return null;
        this.data = data;
        this.frame();
      } catch (error) {
        if (!(error instanceof Refused)) throw error;
        if (this.pair === pair) this.gone(error);
        return null;
      }
    }
    this.drawRows();
    return null;
  }

  get by() {
    return this.query.get("by") === "turn" ? "turn" : "call";
  }

  /** Three and more: facts side by side, marked against a base. */
  async several() {
    const asked = new URLSearchParams([...this.query].filter(([name]) => name === "run" || name === "base")).toString();
    this.pair = asked;
    this.data = null;
    document.title = "Compare · Orchestra Workbench";
    try {
      const data = await getJson(`/api/compare?${asked}`);
      if (this.pair === asked) drawMany(byId("compare"), data, (base) => this.go({ base }, { replace: true }));
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      if (this.pair === asked) this.gone(error);
    }
    return null;
  }

  // ---- when there are not two
  gone(error) {
    this.data = null;
    const [a, b] = [this.query.get("a"), this.query.get("b")];
    const side = /^([AB]): /.exec(error.message)?.[1];
    const kept = side === "A" ? b : a;
    put(
      byId("compare"),
      el(
        "div",
        { class: "wb-state lv-empty" },
        el("h2", { text: side ? `${side} is not here` : this.query.size ? "These could not be compared" : "The runs could not be read" }),
        el("p", { text: side ? nowhere(side === "A" ? a : b) : asSentence(plain(error.message)) }),
        side
          ? el("a", { class: "wb-btn primary", href: `/compare?a=${encodeURIComponent(kept)}`, text: "Choose another" })
          : null,
        el("a", { class: "wb-btn", href: "/trajectories", text: "All trajectories" }),
      ),
    );
  }

  /** One is known, or none: offer the latest to choose from. */
  async choose(known, missing) {
    this.pair = null;
    this.data = null;
    let rows;
    try {
      rows = (await getJson("/api/trajectories")).rows.filter((row) => row.id !== known).slice(0, 20);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      return this.gone(error);
    }
    const head = known ? `Choose what to compare with ${plain(known)}` : "Compare two trajectories";
    const link = (row) => {
      const query = new URLSearchParams(known ? { a: known, b: known, [missing]: row.id } : { a: row.id });
      return el(
        "li",
        {},
        el(
          "a",
          { class: "cp-choice", href: `/compare?${query}` },
          el("b", { class: "lv-cut", text: plain(row.task) }),
          el("span", {
            class: "wb-note lv-cut",
            text: `${plain(row.orchestrator)} · ${row.wish} · ${when(row.started_at)}`,
          }),
          statusChip(row.status),
        ),
      );
    };
    const content = rows.length
      ? el("ul", { class: "cp-choices" }, rows.map(link))
      : el("p", { class: "wb-note", text: known ? "There is no other run yet." : "Nothing has been run yet." });
    return put(
      byId("compare"),
      el(
        "section",
        { class: "wb-panel cp-choose", "aria-label": "Choose" },
        el("header", {}, el("h2", { text: head })),
        rows.length ? el("p", { class: "wb-note", text: HOW }) : null,
        content,
        rows.length
          ? el("a", { class: "wb-btn", href: "/trajectories", text: "All trajectories" })
          : el("a", { class: "wb-btn primary", href: "/", text: "Give it a task" }),
      ),
    );
  }

  // ---- the whole
  frame() {
    const { data } = this;
    document.title = "Compare · Orchestra Workbench";
    const swap = el(
      "button",
      { class: "wb-btn sm", type: "button", on: { click: () => this.swap() } },
      "Swap ",
      el("kbd", { text: "x" }),
    );
    put(
      byId("compare"),
      el("div", { class: "cp-heads" }, this.side("a"), el("div", { class: "cp-mid" }, swap), this.side("b")),
      el("div", { class: "cp-deltas" }, data.deltas.map(delta), this.reward(), this.first()),
      el("section", {
        class: "wb-panel cp-staves",
        id: "staves",
        role: "group",
        "aria-label": "Both scores on one time axis",
      }),
      el("div", { class: "cp-tools", id: "cp-tools" }),
      el("section", { class: "cp-grid", id: "rows", "aria-label": "Calls side by side" }),
    );
    new Staves(byId("staves")).show(data);
  }

  side(name) {
    const side = this.data[name];
    const address = `/trajectories?run=${encodeURIComponent(side.id)}`;
    return el(
      "div",
      { class: "wb-panel cp-h" },
      el("span", { class: `cp-l cp-${name}`, text: name.toUpperCase() }),
      el(
        "a",
        { class: "cp-who", href: address, title: plain(side.task) },
        el("b", { class: "lv-cut", text: plain(side.task) }),
        el("span", { class: "wb-note lv-cut", text: `${plain(side.orchestrator)} · ${side.wish} · ${side.id}` }),
      ),
      side.nominal ? nominalBadge(true) : null,
      side.simulated ? simulatedBadge(true) : null,
      side.outcome === null ? statusChip(side.status) : outcomeChip(side.outcome),
    );
  }

  /** R of both: in the group that they share, else among the two. */
  reward() {
    const { rewards, group, size, wishes, why } = this.data.reward;
    const query = group ? new URLSearchParams({ group }) : new URLSearchParams([this.data.a, this.data.b].map((run) => ["run", run.id]));
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

  first() {
    const { where, words, row } = this.data.first;
    const sentence = el("p", {}, where ? el("b", { text: `${where}: ` }) : null, plain(words));
    const go =
      row === null
        ? null
        : el("button", {
            class: "wb-btn ghost sm",
            type: "button",
            text: "Show it",
            on: { click: () => this.focusFirst() },
          });
    return el(
      "div",
      { class: "cp-why" },
      el("h2", { class: "wb-cap", text: "First difference that matters" }),
      sentence,
      go,
    );
  }

  swap() {
    const query = this.query;
    if (!this.data) return false;
    this.go({ a: query.get("b"), b: query.get("a") });
    return true;
  }

  // ---- the rows
  drawTools() {
    const { rows, differences, pairs } = this.data;
    const only = this.onlyDifferences;
    const button = (text, pressed, all) =>
      el("button", {
        type: "button",
        "aria-pressed": String(pressed),
        text,
        on: { click: () => this.go({ all }, { replace: true }) },
      });
    put(
      byId("cp-tools"),
      el("h2", { class: "wb-cap", text: "Aligned by" }),
      el(
        "span",
        { class: "wb-seg sm", role: "group", "aria-label": "What belongs together" },
        ["call", "turn"].map((by) =>
          el("button", {
            type: "button",
            "aria-pressed": String(this.by === by),
            text: by,
            on: { click: () => this.go({ by: by === "call" ? null : by }, { replace: true }) },
          }),
        ),
      ),
      el(
        "span",
        { class: "wb-seg sm", role: "group", "aria-label": "Which calls" },
        button(`all ${count(pairs)}`, !only, "1"),
        button(`differences ${count(differences)}`, only, null),
      ),
      el("kbd", { text: "d" }),
      pairs > rows.length
        ? el("span", { class: "wb-note", text: `The first ${count(rows.length)} of ${count(pairs)} are here.` })
        : null,
      el("span", { class: "wb-sp" }),
      el("span", { class: "wb-note" }, el("del", { text: "only in A" }), " ", el("ins", { text: "only in B" })),
    );
  }

  drawRows() {
    if (!this.data) return;
    this.drawTools();
    const groups = grouped(this.data.rows, this.by === "turn");
    const parts = groups.slice(0, this.shown).flatMap((group) => this.group(group));
    const more =
      groups.length > this.shown
        ? el("button", {
            class: "wb-btn sm cp-wide",
            type: "button",
            text: `Show more, ${count(groups.length - this.shown)} are left`,
            on: {
              click: () => {
                this.shown += STEP;
                this.drawRows();
              },
            },
          })
        : null;
    const nothing = this.data.rows.length ? null : el("p", { class: "wb-note cp-wide", text: "Neither made a call." });
    put(byId("rows"), parts, nothing, more, this.answers());
  }

  group({ start, rows, turn }) {
    if (turn === undefined) return this.unfolded({ start, rows });
    return [el("h3", { class: "wb-cap cp-turn", text: `Turn ${turn}` }), this.unfolded({ start, rows })];
  }

  unfolded({ start, rows }) {
    if (rows[0].difference !== "same") return rows.flatMap((row, n) => this.row(row, start + n));
    const open = !this.onlyDifferences || this.opened.has(start);
    const titles = [...new Set(rows.map((row) => row.a.title))];
    const names =
      titles.length > 3 ? `${titles.slice(0, 3).join(", ")} and ${titles.length - 3} more` : titles.join(", ");
    const words =
      rows.length === 1 ? "1 call is the same in both: " : `${count(rows.length)} calls are the same in both: `;
    const line = el(
      "button",
      {
        class: "cp-same",
        type: "button",
        "aria-expanded": String(open),
        on: {
          click: () => {
            if (this.opened.has(start)) this.opened.delete(start);
            else this.opened.add(start);
            this.drawRows();
          },
        },
      },
      kindBox(rows[0].a.kind, rows[0].a.tool),
      el("span", { class: "lv-cut" }, words, el("b", { text: plain(names) })),
      el("span", { class: "wb-sp" }),
      el("span", { text: open ? "hide ▾" : "show ▸" }),
    );
    return [line, ...(open ? rows.flatMap((row, n) => this.row(row, start + n)) : [])];
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
    const tag = side === "a" ? "del" : "ins";
    const marked = (pieces) =>
      pieces.map(([changed, text]) => (changed ? el(tag, { text: plain(text) }) : plain(text)));
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
      el("div", { class: "wb-args cp-text", ...scrolled(call.arguments, "Arguments") }, marked(call.arguments)),
      el(
        "div",
        { class: "cp-result cp-text", ...scrolled(call.result, "Result") },
        call.result.length ? marked(call.result) : "(empty)",
      ),
      el("a", {
        class: "wb-sr cp-open",
        href: `/trajectories?run=${encodeURIComponent(run)}`,
        text: `Open ${plain(call.title)} in its trajectory`,
      }),
    );
  }

  answers() {
    const { a, b, answer } = this.data;
    const box = (side, tag) =>
      el(
        "div",
        { class: "cp-ans" },
        el("h3", { class: "wb-cap", text: "Answer" }),
        this.data[side].answered
          ? el(
              "p",
              {},
              answer[side].map(([changed, text]) => (changed ? el(tag, { text: plain(text) }) : plain(text))),
            )
          : el("p", {
              class: "wb-note",
              text: `None: the run ended as ${plain(this.data[side].status).replaceAll("_", " ")}.`,
            }),
      );
    const words = answer.same ? "same answer" : a.answered && b.answered ? "other answer" : "answered once";
    return [box("a", "del"), el("div", { class: "cp-mid d" }, el("b", { text: words })), box("b", "ins")];
  }

  // ---- keyboard
  focusFirst() {
    const { row } = this.data.first;
    const card = document.querySelector(`.wb-call[data-row="${row}"]`);
    card?.scrollIntoView({ block: "center" });
    card?.focus({ preventScroll: true });
  }

  /** The difference after or before the focused one. */
  step(by) {
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

  enter() {
    const link = document.activeElement?.closest?.(".wb-call")?.querySelector(".cp-open");
    if (!link) return false;
    location.assign(link.href);
    return true;
  }
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

export async function start() {
  const compare = new Compare();
  keys.start({
    ArrowDown: {
      shown: "↓ ↑",
      words: "next difference",
      brief: "next, previous difference",
      run: () => compare.step(1),
    },
    ArrowUp: { shown: "↑", words: "difference before", run: () => compare.step(-1) },
    x: { words: "swap A and B", brief: "swap A and B", run: () => compare.swap() },
    a: {
      words: "aligned by call or by turn",
      brief: "by call, by turn",
      run: () => compare.data && compare.go({ by: compare.by === "turn" ? null : "turn" }, { replace: true }),
    },
    d: {
      words: "differences only, or all calls",
      brief: "differences only",
      run: () => compare.data && compare.go({ all: compare.onlyDifferences ? "1" : null }, { replace: true }),
    },
    Enter: { words: "open the call's trajectory", brief: "open trajectory", run: () => compare.enter() },
  });
  await compare.open();
}
