// A row of the reward table: a rollout from its raw numbers to its advantage. It is built once for a group; then its texts,
// colours and bars change, each only when it is another than before.

import { el, svg } from "./dom.js";
import { fineUsd, plain, seconds } from "./format.js";
import { fixed, short as brief } from "./rewardwhy.js";

/** The height of a row in px. */
export const ROW = 30;

const BAR = 150; // px
const ADVANTAGE = 18; // px for an advantage of 1
const MOST = 38; // px, an advantage of about 2

export class RewardRow {
  /**
   * A row of `rollout`: `raw` are the components of which it has raw numbers, `names` all of them; `short(rollout)` is
   * what it is called, `address` where it is opened or null.
   */
  constructor(rollout, { raw, names, data, short, address }) {
    this.rollout = rollout;
    this.names = names;
    this.address = address;
    this.text = new Map(); // what stands in each cell now
    const number = (key, name = "") =>
      el("a", { class: "rw-n", href: address, tabindex: "-1", "data-k": key, "data-name": name });
    const cells = { raw: raw.map((name) => number("raw", name)), parts: names.map((name) => number("normalised", name)) };
    for (const key of ["weighted", "gate", "reward", "rank", "advantage", "kept"]) cells[key] = number(key);
    cells.parts.forEach((cell) => cell.classList.add("cell"));
    const bars = names.map((name, at) => svg("polygon", { class: barClass(name, at, data) }));
    cells.weighted.append(svg("svg", { viewBox: `0 0 ${BAR} 22`, preserveAspectRatio: "none", height: 22, "aria-hidden": "true" }, bars), srText());
    const mark = el("i");
    const value = el("span");
    cells.advantage.classList.add("rw-adv");
    cells.advantage.append(el("span", { class: "rw-ab", "aria-hidden": "true" }, mark), value);
    const td = (cell, look = null) => el("td", { class: look }, cell);
    this.tr = el(
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
    Object.assign(this, { cells, bars, mark, value });
  }

  /** What was measured of the rollout as it is now: under other prices its cost is another. */
  drawRaw(rollout) {
    this.rollout = rollout;
    const { cells } = this;
    this.names
      .filter((name) => name !== "outcome")
      .forEach((name, n) => {
        if (name === "cost") this.write(`raw.${n}`, cells.raw[n], rollout.cost_usd === null ? null : fineUsd(rollout.cost_usd));
        else if (name === "latency")
          this.write(`raw.${n}`, cells.raw[n], rollout.latency_s === null ? null : seconds(rollout.latency_s));
        else {
          const calls = rollout.tool_counts[name.slice(5)] ?? 0;
          this.write(`raw.${n}`, cells.raw[n], String(calls), calls ? "" : "none");
        }
      });
  }

  /** What the report says of it at `at`; bars are drawn as wide as `scale` asks, their sum is told once `settled`. */
  draw(at, { report, mode, before }, scale, settled) {
    const { rollout, cells } = this;
    report.parts.forEach((part, n) => {
      const value = part.normalised[at];
      const filled = Math.max(0, Math.min(1, mode === "paper" ? value : Math.abs(value) / 2.5));
      const look =
        part.weight === 0 ? " z" : value < 0 ? " neg" : filled * 0.86 >= 0.72 ? " hi" : " lo";
      this.write(`part.${n}`, cells.parts[n], brief(value), `cell${look}`);
      if (this.text.get(`fill.${n}`) !== filled) {
        this.text.set(`fill.${n}`, filled);
        cells.parts[n].style.setProperty("--n", `${Math.round(filled * 86)}%`);
      }
    });
    this.drawBars(at, report, scale, settled);
    this.write("gate", cells.gate, rollout.outcome ? "open" : "closed", rollout.outcome ? "" : "dn");
    this.write("reward", cells.reward, fixed(report.reward[at]), "R");
    const moved = before ? (before.get(rollout.id) ?? report.rank[at]) - report.rank[at] : 0;
    const sign = moved > 0 ? ` ▲${moved}` : moved < 0 ? ` ▼${-moved}` : "";
    this.write("rank", cells.rank, `${report.rank[at]}${sign}`, moved > 0 ? "up" : moved < 0 ? "dn" : "");
    const advantage = report.advantage[at];
    const width = Math.min(MOST, Math.abs(advantage) * ADVANTAGE);
    this.mark.style.setProperty("left", `${advantage < 0 ? MOST - width : MOST}px`);
    this.mark.style.setProperty("width", `${width}px`);
    this.mark.className = advantage < 0 ? "neg" : "";
    this.write("advantage", this.value, (advantage > 0 ? "+" : "") + fixed(advantage));
    this.drawKept(report.kept[at]);
  }

  drawKept(why) {
    const out = this.rollout.malformed_turns;
    const words = why ? "not in the loss" : out.length ? `turn ${out.slice(0, 2).join(", ")}${out.length > 2 ? " …" : ""} out` : "kept";
    this.write("kept", this.cells.kept, words, `wb-chip ${why ? "" : out.length ? "warn" : "ok"}`);
  }

  drawBars(at, report, scale, settled) {
    let [right, below] = [0, 0];
    const unit = scale > 0 ? BAR / scale : 0;
    report.parts.forEach((part, n) => {
      const width = Math.abs(part.contribution[at]) * unit;
      const negative = part.contribution[at] < 0;
      const now = width ? `${negative} ${(negative ? below : right).toFixed(1)} ${width.toFixed(1)}` : "";
      if (this.text.get(`bar.${n}`) !== now) {
        this.text.set(`bar.${n}`, now);
        const [x, y, height] = negative ? [below, 17, 4] : [right, 3, 12];
        const [from, to] = [x.toFixed(1), (x + Math.max(0, width - 0.8)).toFixed(1)];
        this.bars[n].setAttribute("points", `${from},${y} ${to},${y} ${to},${y + height} ${from},${y + height}`);
        this.bars[n].classList.toggle("minus", negative);
        this.bars[n].classList.toggle("zero", width === 0);
      }
      if (negative) below += width;
      else right += width;
    });
    this.cells.weighted.classList.toggle("shut", !this.rollout.outcome);
    this.cells.weighted.classList.remove("left");
    if (settled) this.cells.weighted.lastChild.textContent = fixed(report.weighted[at]);
  }

  /** It is left out of the group, for the reason that the lab gives. */
  drawLeft(lab) {
    const { rollout, cells } = this;
    cells.parts.forEach((cell, n) => this.write(`part.${n}`, cell, "—", "cell none"));
    this.cells.weighted.classList.add("left");
    this.cells.weighted.lastChild.textContent = "left out";
    for (const key of ["gate", "reward", "rank"]) this.write(key, cells[key], "—", "none");
    this.mark.style.setProperty("width", "0");
    this.write("advantage", this.value, "—");
    const words = lab.whyLeft(rollout);
    const ungraded = rollout.outcome === null && rollout.no_reward === null;
    this.write("kept", cells.kept, ungraded && this.address ? "grade it" : "left out", ungraded ? "wb-link" : "wb-chip");
    cells.kept.title = words;
  }

  /** Show it so many places below where it stands. */
  shift(places) {
    if (this.shifted === places) return;
    this.shifted = places;
    this.tr.style.setProperty("transform", places ? `translateY(${places * ROW}px)` : "none");
  }

  /** From so many places away to where it stands now, which may be shifted itself. */
  glide(places, shifted = 0) {
    if (!places) return;
    for (const old of this.tr.getAnimations()) old.cancel();
    const to = `translateY(${shifted * ROW}px)`;
    this.tr.animate([{ transform: `translateY(${(shifted + places) * ROW}px)` }, { transform: to }], { duration: 180, easing: "cubic-bezier(.2,.7,.3,1)" });
  }

  /** A text into a cell, with the class of its look, if either has changed; null is what nobody knows. */
  write(key, cell, text, look) {
    const now = `${text}\n${look}`;
    if (this.text.get(key) === now) return;
    this.text.set(key, now);
    cell.textContent = text ?? "—";
    if (look !== undefined) cell.className = `rw-n ${look}`;
  }
}

/** Tools by kind, in two strengths where a kind has several; goals by strength. */
export function barClass(name, at, data) {
  const goal = { outcome: "rw-b o1", cost: "rw-b o2", latency: "rw-b o3" }[name];
  if (goal) return goal;
  const { kind } = data.tools.find((tool) => `tool.${tool.name}` === name);
  return `rw-b wb-f-${kind}${at % 2 ? " o2" : ""}`;
}

const srText = () => el("span", { class: "rw-sum" });

function idLink(rollout, address, name) {
  const title = [rollout.id, rollout.orchestrator].filter(Boolean).map(plain).join(" · ");
  return el(
    "a",
    { href: address, title, tabindex: address ? null : "0" },
    el("b", { class: "lv-cut", text: plain(name) }),
    rollout.simulated ? el("span", { class: "rw-sim", title: "a tool on offer answers from a stated profile", text: "sim" }) : null,
  );
}
