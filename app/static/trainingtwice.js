// The same simulated task, twice: by the policy as it began and as it was trained, on one time axis.

import { el, put } from "./dom.js";
import { asSentence, plain, seconds, unknown, usd } from "./format.js";
import { icon } from "./icons.js";
import { simulatedBadge } from "./marks.js";
import { drawScore } from "./score.js";
import { postJson } from "./server.js";
import { runOf } from "./staves.js";
import { toolWords } from "./trainingwords.js";

const WITHOUT = "tool"; // a wish for a tool names one of a drawn market, which these experts are not

export class Twice {
  constructor(run) {
    this.run = run;
    this.number = 0;
    this.found = null;
    this.host = el("div", { class: "tn-twice" });
    this.said = el("p", {});
    this.node = el("section", { class: "wb-panel", "aria-label": "The same task, twice" }, el("header", {}, el("h2", { text: "The same task, twice" }), this.said), this.host);
    new ResizeObserver(() => this.drawScores()).observe(this.host);
    this.draw();
  }

  get wish() {
    return this.run.aim === WITHOUT ? "cost" : this.run.aim;
  }

  async play(number) {
    this.number = number;
    this.waits = true;
    this.draw();
    const order = { run: this.run.id, number, wish: this.wish };
    const found = await this.run.page.trying("It was not played.", () => postJson("/api/training/twice", order));
    this.waits = false;
    if (found) this.found = found;
    this.draw();
  }

  draw() {
    const { found } = this;
    const why = this.run.head.no_twice;
    this.said.textContent = found ? `“${plain(found.task)}”` : "";
    if (why && !found) return put(this.host, el("p", { class: "wb-note", text: plain(asSentence(why)) }));
    const begin = (words, number, look) => el("button", { class: `wb-btn ${look}sm`, type: "button", disabled: this.waits, on: { click: () => this.play(number) } }, icon("play", true), words);
    const buttons = el(
      "div",
      { class: "tn-rollbar" },
      found ? [begin("Another task", this.number + 1, ""), begin("The same again", this.number, "ghost "), el("a", { class: "wb-link", href: `/compare?${new URLSearchParams({ a: found.sides[0].run.id, b: found.sides[1].run.id })}`, text: "Compare the two" })] : begin("Play one", this.number, "primary "),
      this.waits ? el("span", { class: "wb-note", role: "status", text: "The policies are loaded and play…" }) : null,
    );
    const words = "A held-out simulated task by the policy as it began and as it was trained: the same experts, wish and lots. Both runs are kept as trajectories.";
    put(
      this.host,
      found ? el("p", { class: "wb-note" }, simulatedBadge(true), ` ${plain(found.sentence)}`) : el("p", { class: "wb-note", text: words }),
      found ? found.sides.map((side) => this.side(side)) : null,
      buttons,
    );
    return this.drawScores();
  }

  side(side) {
    const solved = side.outcome === null ? "not graded" : side.outcome ? "solved" : "not solved";
    const told = side.calls.length ? side.calls.map(toolWords).join(", ") : "no call";
    side.host = el("div", {});
    return el(
      "div",
      { class: "tn-one" },
      el("span", { class: "wb-note", text: side.title === "before" ? "as it began" : "trained" }),
      side.host,
      el("p", { class: "wb-note" }, `${plain(told)}: `, side.cost_usd === null ? unknown("a price or a usage is unknown") : usd(side.cost_usd), ", ", side.latency_s === null ? unknown("it did not end") : seconds(side.latency_s), `, ${solved} `, el("a", { class: "wb-link", href: `/trajectories?run=${encodeURIComponent(side.run.id)}`, text: "open" })),
    );
  }

  drawScores() {
    if (!this.found || !this.host.clientWidth) return;
    const runs = this.found.sides.map((side) => runOf(side.run));
    const shared = {
      seconds: Math.max(...this.found.sides.map((side) => side.run.end)),
      kinds: new Set(runs.flatMap((run) => run.turns.flatMap((turn) => turn.calls.map((call) => run.tool(call.tool).kind)))),
    };
    for (const [at, side] of this.found.sides.entries()) drawScore(side.host, runs[at], shared);
  }
}
