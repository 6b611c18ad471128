// The reward table: a row per rollout, from raw numbers over the faders to the advantage. It is built once for a group;
// a drag then changes texts, colours and bars, and where the rows stand. Each row is a grid of its own (reward.css), so
// that what changes in one is laid out there alone, and rows out of sight are neither laid out nor painted.

import { el, put, svg } from "./dom.js";
import { fineUsd, plain, seconds } from "./format.js";
import { kindBox } from "./marks.js";
import { faders } from "./rewardfaders.js";
import { fixed, short as brief, titleOf } from "./rewardwhy.js";

const BAR = 150; // px
const ADVANTAGE = 18; // px for an advantage of 1
const KEYS = 7;
const FINE = 8; // characters; a longer cost needs a wider column
const ROW = 30; // px, the height of a row
const NEAR = 2; // rows
const MANY = 24; // rows; more of them change places only when the fader rests, and without gliding
const MOST = 38; // px, an advantage of about 2
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
    for (const rollout of rollouts) this.rows.set(rollout.id, this.row(rollout, raw, lab));
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

  row(rollout, raw, { data, short }) {
    const address = this.on.address(rollout.id);
    const number = (key, name = "") =>
      el("a", { class: "rw-n", href: address, tabindex: "-1", "data-k": key, "data-name": name });
    const cells = { raw: raw.map((name) => number("raw", name)), parts: this.names.map((name) => number("normalised", name)) };
    for (const key of ["weighted", "gate", "reward", "rank", "advantage", "kept"]) cells[key] = number(key);
    cells.parts.forEach((cell) => cell.classList.add("cell"));
    const bars = this.names.map((name, at) => svg("polygon", { class: barClass(name, at, data) }));
    cells.weighted.append(svg("svg", { viewBox: `0 0 ${BAR} 22`, preserveAspectRatio: "none", height: 22, "aria-hidden": "true" }, bars), srText());
    const mark = el("i");
    const value = el("span");
    cells.advantage.classList.add("rw-adv");
    cells.advantage.append(el("span", { class: "rw-ab", "aria-hidden": "true" }, mark), value);
    const td = (cell, look = null) => el("td", { class: look }, cell);
    const tr = el(
      "tr",
      { "data-run": rollout.id },
      el("th", { scope: "row", class: "id" }, idLink(rollout, address, short(rollout))),
      cells.raw.map((cell) => td(cell, "stage")),
      cells.parts.map((cell, at) => td(cell, at ? "stage" : "gapl stage")),
      td(cells.weighted, "gapl stage"),
      td(cells.gate, "gapl"),
      td(cells.reward),
      td(cells.rank),
      td(cells.advantage, "gapl"),
      td(cells.kept),
    );
    return { tr, cells, bars, mark, value, text: new Map() };
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
      this.drawRaw(row, rollout);
      row.tr.classList.toggle("off", at === undefined);
      if (at === undefined) this.drawLeft(row, rollout, lab);
      else this.drawRow(row, rollout, at, lab, settled);
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

  drawRaw(row, rollout) {
    this.names
      .filter((name) => name !== "outcome")
      .forEach((name, n) => {
        if (name === "cost") write(row, `raw.${n}`, row.cells.raw[n], rollout.cost_usd === null ? null : fineUsd(rollout.cost_usd));
        else if (name === "latency")
          write(row, `raw.${n}`, row.cells.raw[n], rollout.latency_s === null ? null : seconds(rollout.latency_s));
        else {
          const calls = rollout.tool_counts[name.slice(5)] ?? 0;
          write(row, `raw.${n}`, row.cells.raw[n], String(calls), calls ? "" : "none");
        }
      });
  }

  drawRow(row, rollout, at, lab, settled) {
    const { report, mode } = lab;
    const { cells } = row;
    report.parts.forEach((part, n) => {
      const value = part.normalised[at];
      const filled = Math.max(0, Math.min(1, mode === "paper" ? value : Math.abs(value) / 2.5));
      const look =
        part.weight === 0 ? " z" : value < 0 ? " neg" : filled * 0.86 >= 0.72 ? " hi" : " lo";
      write(row, `part.${n}`, cells.parts[n], brief(value), `cell${look}`);
      if (row.text.get(`fill.${n}`) !== filled) {
        row.text.set(`fill.${n}`, filled);
        cells.parts[n].style.setProperty("--n", `${Math.round(filled * 86)}%`);
      }
    });
    this.drawBars(row, rollout, at, report, settled);
    write(row, "gate", cells.gate, rollout.outcome ? "open" : "closed", rollout.outcome ? "" : "dn");
    write(row, "reward", cells.reward, fixed(report.reward[at]), "R");
    const moved = lab.before ? (lab.before.get(rollout.id) ?? report.rank[at]) - report.rank[at] : 0;
    const sign = moved > 0 ? ` ▲${moved}` : moved < 0 ? ` ▼${-moved}` : "";
    write(row, "rank", cells.rank, `${report.rank[at]}${sign}`, moved > 0 ? "up" : moved < 0 ? "dn" : "");
    const advantage = report.advantage[at];
    const width = Math.min(MOST, Math.abs(advantage) * ADVANTAGE);
    row.mark.style.setProperty("left", `${advantage < 0 ? MOST - width : MOST}px`);
    row.mark.style.setProperty("width", `${width}px`);
    row.mark.className = advantage < 0 ? "neg" : "";
    write(row, "advantage", row.value, (advantage > 0 ? "+" : "") + fixed(advantage));
    this.drawKept(row, rollout, report.kept[at]);
  }

  drawKept(row, rollout, why) {
    const out = rollout.malformed_turns;
    const words = why ? "not in the loss" : out.length ? `turn ${out.slice(0, 2).join(", ")}${out.length > 2 ? " …" : ""} out` : "kept";
    write(row, "kept", row.cells.kept, words, `wb-chip ${why ? "" : out.length ? "warn" : "ok"}`);
  }

  drawBars(row, rollout, at, report, settled) {
    let [right, below] = [0, 0];
    const unit = this.scale > 0 ? BAR / this.scale : 0;
    report.parts.forEach((part, n) => {
      const width = Math.abs(part.contribution[at]) * unit;
      const negative = part.contribution[at] < 0;
      const now = width ? `${negative} ${(negative ? below : right).toFixed(1)} ${width.toFixed(1)}` : "";
      if (row.text.get(`bar.${n}`) !== now) {
        row.text.set(`bar.${n}`, now);
        const [x, y, height] = negative ? [below, 17, 4] : [right, 3, 12];
        const [from, to] = [x.toFixed(1), (x + Math.max(0, width - 0.8)).toFixed(1)];
        row.bars[n].setAttribute("points", `${from},${y} ${to},${y} ${to},${y + height} ${from},${y + height}`);
        row.bars[n].classList.toggle("minus", negative);
        row.bars[n].classList.toggle("zero", width === 0);
      }
      if (negative) below += width;
      else right += width;
    });
    row.cells.weighted.classList.toggle("shut", !rollout.outcome);
    row.cells.weighted.classList.remove("left");
    if (settled) row.cells.weighted.lastChild.textContent = fixed(report.weighted[at]);
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

  drawLeft(row, rollout, lab) {
    const { cells } = row;
    cells.parts.forEach((cell, n) => write(row, `part.${n}`, cell, "—", "cell none"));
    row.cells.weighted.classList.add("left");
    row.cells.weighted.lastChild.textContent = "left out";
    for (const key of ["gate", "reward", "rank"]) write(row, key, cells[key], "—", "none");
    row.mark.style.setProperty("width", "0");
    write(row, "advantage", row.value, "—");
    const words = lab.whyLeft(rollout);
    const ungraded = rollout.outcome === null && rollout.no_reward === null;
    write(row, "kept", cells.kept, ungraded && this.on.address(rollout.id) ? "grade it" : "left out", ungraded ? "wb-link" : "wb-chip");
    cells.kept.title = words;
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
        this.shift(id, places);
        if (!calm.matches) this.glide(this.rows.get(id).tr, former.get(id) - at, places);
      });
      return;
    }
    if (order.every((id, at) => id === this.placed[at])) {
      for (const id of order) this.shift(id, 0);
      return;
    }
    const focused = this.body.contains(document.activeElement) ? document.activeElement : null;
    order.forEach((id, at) => {
      const { tr } = this.rows.get(id);
      if (this.body.children[at] !== tr) this.body.insertBefore(tr, this.body.children[at] ?? null);
      this.shift(id, 0);
    });
    focused?.focus({ preventScroll: true });
    const first = this.placed.length === 0;
    this.placed = order;
    if (calm.matches || first || order.length > MANY) return;
    order.forEach((id, at) => this.glide(this.rows.get(id).tr, former.get(id) - at));
  }

  shift(id, places) {
    const row = this.rows.get(id);
    if (row.shifted === places) return;
    row.shifted = places;
    row.tr.style.setProperty("transform", places ? `translateY(${places * ROW}px)` : "none");
  }

  /** From so many places away to where it stands now, which may be shifted itself. */
  glide(tr, places, shifted = 0) {
    if (!places) return;
    for (const old of tr.getAnimations()) old.cancel();
    const to = `translateY(${shifted * ROW}px)`;
    tr.animate([{ transform: `translateY(${(shifted + places) * ROW}px)` }, { transform: to }], { duration: 180, easing: "cubic-bezier(.2,.7,.3,1)" });
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

/** A text into a cell, with the class of its look, if either has changed; null is what nobody knows. */
function write(row, key, cell, text, look) {
  const now = `${text}\n${look}`;
  if (row.text.get(key) === now) return;
  row.text.set(key, now);
  cell.textContent = text ?? "—";
  if (look !== undefined) cell.className = `rw-n ${look}`;
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

/** Tools by kind, in two strengths where a kind has several; goals by strength. */
function barClass(name, at, data) {
  const goal = { outcome: "rw-b o1", cost: "rw-b o2", latency: "rw-b o3" }[name];
  if (goal) return goal;
  const { kind } = data.tools.find((tool) => `tool.${tool.name}` === name);
  return `rw-b wb-f-${kind}${at % 2 ? " o2" : ""}`;
}

const srText = () => el("span", { class: "rw-sum" });
const srName = (tool) => el("span", { class: "wb-sr", text: plain(tool.title) });

function idLink(rollout, address, name) {
  const title = [rollout.id, rollout.orchestrator].filter(Boolean).map(plain).join(" · ");
  return el(
    "a",
    { href: address, title, tabindex: address ? null : "0" },
    el("b", { class: "lv-cut", text: plain(name) }),
    rollout.simulated ? el("span", { class: "rw-sim", title: "a tool on offer answers from a stated profile", text: "sim" }) : null,
  );
}
