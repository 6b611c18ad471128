// The reward table: a row per rollout, from raw numbers over the faders to the advantage. It is built once for a group;
// a drag then changes texts, colours and bars, and where the rows stand. Each row is a grid of its own (reward.css), so
// that what changes in one is laid out there alone, and rows out of sight are neither laid out nor painted.

import { el, put, svg } from "./dom.js";
import { fineUsd, plain } from "./format.js";
import { kindBox } from "./marks.js";
import { faders } from "./rewardfaders.js";
import { ROW, RewardRow, barClass } from "./rewardrow.js";
import { titleOf } from "./rewardwhy.js";

const KEYS = 7;
const FINE = 8; // characters; a longer cost needs a wider column
const NEAR = 2; // rows
const MANY = 24; // rows; more of them change places only when the fader rests, and without gliding
const calm = matchMedia("(prefers-reduced-motion: reduce)");

export class RewardTable {
  /** `on`: weight(name, value, settled), explain(key, name, id) or explain(null), address(id) or null. */
  constructor(host, on) {
    this.on = on;
    this.table = el("table", { class: "rw-t" });
    this.body = el("tbody");
    put(host, this.table);
    // Where the rows are is asked once for a drag: the answer costs a layout.
    for (const event of ["scroll", "resize"]) addEventListener(event, () => (this.sight = null), { passive: true });
    for (const event of ["mouseover", "focusin"]) this.body.addEventListener(event, (one) => this.tell(one));
    this.body.addEventListener("mouseleave", () => this.on.explain(null));
    this.body.addEventListener("keydown", (event) => this.walk(event));
  }

  /** A group anew, with a column for each component that the lab names. Where it is narrow the faders lie elsewhere. */
  show(lab, narrow) {
    const { data, rollouts, names, weights } = lab;
    this.names = names;
    this.rows = new Map();
    this.shown = [...this.rows.keys()];
    this.placed = [];
    this.scale = 0;
    this.key = el("td", { class: "gapl stage rw-key" });
    this.faders = faders(names, weights, data, (name, value, settled) => this.on.weight(name, value, settled));
    const raw = names.filter((name) => name !== "outcome");
    for (const rollout of rollouts) {
      const address = this.on.address(rollout.id);
      this.rows.set(rollout.id, new RewardRow(rollout, { raw, names, data, short: lab.short, address }));
    }
    const tools = raw.length - 2;
    this.table.classList.toggle("wide", !narrow);
    this.table.style.setProperty("--rw-tools", tools ? `repeat(${tools},minmax(24px,28fr))` : " ");
    this.table.style.setProperty("--rw-parts", names.length);
    const fine = rollouts.some(({ cost_usd }) => cost_usd !== null && fineUsd(cost_usd).length > FINE);
    this.table.style.setProperty("--rw-cost", fine ? "74px" : "58px");
    put(
      this.table,
      el("caption", { class: "wb-sr", text: "Reward of every rollout, stage by stage" }),
      this.head(raw, data, narrow),
      put(this.body),
    );
    this.body.append(...[...this.rows.values()].map((row) => row.tr));
  }

  head(raw, data, narrow) {
    const stage = (number, title, span, more = {}, after = null) =>
      el("th", { colspan: span, scope: "colgroup", style: { "grid-column": `span ${span}` }, ...more }, number ? el("b", { text: number }) : null, title, after);
    const mark = (name) => {
      const tool = data.tools.find((one) => `tool.${one.name}` === name);
      if (tool) return el("th", { scope: "col", class: "stage", title: plain(tool.title) }, kindBox(tool.kind, tool.name), srName(tool));
      return el("th", { scope: "col", class: "stage", text: name === "cost" ? "cost" : "time" });
    };
    const faded = this.names.map((name, at) =>
      el("th", { scope: "col", class: `rw-f stage${at === 0 ? " gapl" : ""}` }, narrow ? titleOf(name, data) : this.faders.head(name)),
    );
    const gap = { class: "gapl" };
    const staged = { class: "gapl stage" };
    const small = (text, more = {}) => el("td", more, el("span", { class: "rw-small", text }));
    return el(
      "thead",
      {},
      el(
        "tr",
        { class: "st" },
        el("td"),
        stage("1", "raw", raw.length, { class: "stage" }),
        stage("2", "min-max over the group", this.names.length, staged, el("small", { text: " × weight" })),
        stage("3", "weighted", 1, staged),
        stage("4", "gate", 1, gap),
        stage("5", "sum R", 1),
        stage("", "rank", 1),
        stage("6", "advantage", 1, gap),
        stage("", "kept", 1),
      ),
      el(
        "tr",
        { class: "hd" },
        el("th", { class: "l", scope: "col", text: "rollout" }),
        raw.map(mark),
        faded,
        this.key,
        small("gate", gap),
        small("R"),
        small("rank"),
        small("A", gap),
        small("kept"),
      ),
    );
  }

  /** Draw what the lab has found; `settled` fits the bars' scale, which holds while a fader is dragged. */
  draw(lab, settled) {
    const { report } = lab;
    const reach = report ? reachOf(report) : 0;
    this.scale = settled ? reach : Math.max(this.scale, reach);
    const places = new Map(lab.counted.map((rollout, at) => [rollout.id, at]));
    const order = inOrder(lab, places);
    const moves = settled || order.length <= MANY;
    const standing = new Map((moves ? order : this.placed).map((id, at) => [id, at]));
    if (settled) this.sight = null;
    else this.sight ??= this.inSight();
    const seen = this.sight;
    for (const rollout of lab.rollouts) {
      const row = this.rows.get(rollout.id);
      const at = report ? places.get(rollout.id) : undefined;
      if (seen && at !== undefined && !seen(standing.get(rollout.id))) continue; // drawn when the fader rests
      row.drawRaw(rollout);
      row.tr.classList.toggle("off", at === undefined);
      if (at === undefined) row.drawLeft(lab);
      else row.draw(at, lab, this.scale, settled);
    }
    this.faders.draw(lab.weights);
    if (settled) this.drawKey(lab);
    if (moves) this.sort(order, settled);
  }

  /** Whether a place in the order is on the screen, or close to it: nobody sees the others move. */
  inSight() {
    const { top } = this.body.getBoundingClientRect();
    const first = -top / ROW - NEAR;
    const last = (innerHeight - top) / ROW + NEAR;
    return (place) => place >= first && place <= last;
  }

  /** The colours of the bars, of what weighs something. */
  drawKey({ weights, data }) {
    const weighed = this.names.map((name, at) => [name, at]).filter(([name]) => weights[name]);
    const line = ([name, at]) => {
      const swatch = svg("svg", { "aria-hidden": "true" }, svg("rect", { class: barClass(name, at, data), width: 9, height: 9 }));
      return el("span", {}, swatch, titleOf(name, data), weights[name] < 0 ? " avoided" : "");
    };
    const rest = weighed.length - KEYS;
    put(this.key, weighed.slice(0, KEYS).map(line), rest > 0 ? el("span", { text: `and ${rest} more` }) : null);
  }

  /**
   * The highest reward first, what is left out last. While a fader moves rows are only shifted, which costs no layout,
   * or stay where they are when they are many; once it rests they stand in that order.
   */
  sort(order, settled) {
    const former = new Map(this.shown.map((id, at) => [id, at]));
    this.shown = order;
    if (!settled) {
      const standing = new Map(this.placed.map((id, at) => [id, at]));
      order.forEach((id, at) => {
        const places = at - standing.get(id);
        const row = this.rows.get(id);
        row.shift(places);
        if (!calm.matches) row.glide(former.get(id) - at, places);
      });
      return;
    }
    if (order.every((id, at) => id === this.placed[at])) {
      for (const id of order) this.rows.get(id).shift(0);
      return;
    }
    const focused = this.body.contains(document.activeElement) ? document.activeElement : null;
    order.forEach((id, at) => {
      const row = this.rows.get(id);
      if (this.body.children[at] !== row.tr) this.body.insertBefore(row.tr, this.body.children[at] ?? null);
      row.shift(0);
    });
    focused?.focus({ preventScroll: true });
    const first = this.placed.length === 0;
    this.placed = order;
    if (calm.matches || first || order.length > MANY) return;
    order.forEach((id, at) => this.rows.get(id).glide(former.get(id) - at));
  }

  // ---- formulas and keyboard
  tell({ target }) {
    const cell = target.closest("[data-k]");
    const id = target.closest("tr")?.dataset.run;
    if (cell && id) this.on.explain(cell.dataset.k, cell.dataset.name, id);
  }

  /** Arrow keys walk through the numbers once one of them, or a rollout's name, has the focus. */
  walk(event) {
    const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    const row = event.target.closest("tr");
    if (!step || !row) return;
    const cells = (tr) => [...tr.querySelectorAll("a")];
    const to = this.body.rows[[...this.body.rows].indexOf(row) + step[0]];
    if (to) cells(to)[cells(row).indexOf(event.target.closest("a")) + step[1]]?.focus();
    event.preventDefault();
  }
}

/** The ids of the rollouts, the highest reward first, equal ones as they started, what is left out last. */
function inOrder({ rollouts, report }, places) {
  const key = (rollout) => (report && places.has(rollout.id) ? report.rank[places.get(rollout.id)] : Infinity);
  return rollouts
    .map((rollout, at) => ({ id: rollout.id, rank: key(rollout), at }))
    .sort((one, other) => one.rank - other.rank || one.at - other.at || 0)
    .map((one) => one.id);
}

function reachOf(report) {
  return Math.max(
    ...report.weighted.map((_, at) => {
      const parts = report.parts.map((part) => part.contribution[at]);
      const sum = (sign) => parts.reduce((all, value) => all + Math.max(0, sign * value), 0);
      return Math.max(sum(1), sum(-1));
    }),
  );
}

const srName = (tool) => el("span", { class: "wb-sr", text: plain(tool.title) });
