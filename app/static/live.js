// The Live page: starts, follows and stops a run, and keeps every part of the page in step with it.

import { byId, el, put } from "./dom.js";
import { icon } from "./icons.js";
import { count, plain, seconds, unknown, usd } from "./format.js";
import { Refused, follow, getJson, postJson, runPath } from "./server.js";
import { Run } from "./run.js";
import { endCard } from "./endcard.js";
import { Tail } from "./tail.js";
import { Timeline } from "./timeline.js";
import { drawScore } from "./score.js";
import { drawBill, drawRunning, meter } from "./bill.js";
import { statusChip } from "./marks.js";
import { weightsNotice } from "./weights.js";
import { moveCard, openObservation } from "./cards.js";
import { Composer } from "./composer.js";
import * as keys from "./keys.js";

const EXAMPLES = [
  "What is 48213 × 977?",
  "What is the capital of Mongolia?",
  "Which has more people, Kenya or Poland?",
  "Write a function that reverses the words of a sentence",
];
const CLOCK_MS = 200;
const POLL_MS = { weights: 1500, running: 3000, idle: 8000 };

class Live {
  constructor() {
    this.run = null;
    this.unfollow = () => {};
    this.connection = null;
    this.weights = null;
    this.timeline = new Timeline(byId("timeline"));
    this.tail = new Tail(() => (this.run === null ? null : this.run.finished));
    this.composer = new Composer({ onRun: (order) => this.start(order), onTable: () => this.drawBill() });
    byId("stop").addEventListener("click", () => this.stop());
    addEventListener("popstate", () => this.open());
    new ResizeObserver(() => this.drawScore()).observe(byId("main"));
    setInterval(() => this.tick(), CLOCK_MS);
  }

  // ---- the server's state: pickers, weights, other runs
  async poll() {
    let next = POLL_MS.idle;
    try {
      const state = await getJson("/api/state");
      this.composer.setState(state);
      this.weights = weightsNotice(state.weights);
      byId("count").textContent = `${count(state.trajectories)} trajector${state.trajectories === 1 ? "y" : "ies"}`;
      drawRunning(byId("running"), state.running, this.run?.id);
      if (this.run === null) this.drawBill();
      next = this.weights ? POLL_MS.weights : state.running.length ? POLL_MS.running : POLL_MS.idle;
      if (this.connection?.kind === "state") this.connection = null;
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      this.connection ??= { kind: "state", words: `${error.message} Trying again.` };
    } finally {
      this.notices();
      clearTimeout(this.poller);
      this.poller = setTimeout(() => this.poll(), document.hidden ? 4 * next : next);
    }
  }

  notices() {
    const lost = this.connection
      ? el(
          "div",
          { class: "wb-alert warn" },
          icon("warn"),
          el("p", {}, el("b", { text: "Connection lost. " }), plain(this.connection.words)),
        )
      : null;
    put(byId("notices"), lost, this.weights);
  }

  // ---- which run is shown
  open() {
    const query = new URLSearchParams(location.search);
    this.show(query.get("run"));
    const again = query.get("again");
    if (again) this.prefill(again);
  }

  async prefill(id) {
    try {
      await this.composer.prefill(id);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      this.composer.refuse(error.message);
    }
    byId("task").focus();
  }

  show(id) {
    this.unfollow();
    this.connection = null;
    this.tail.reset();
    this.run = id ? new Run(id) : null;
    this.timeline.reset(this.run);
    byId("score").hidden = true;
    byId("strip").hidden = true;
    if (id) this.follow(id);
    else this.empty();
    this.changed();
  }

  empty() {
    document.title = "Live · Orchestra Workbench";
    const examples = EXAMPLES.map((text) =>
      el("button", {
        class: "wb-btn",
        type: "button",
        text,
        on: {
          click: () => {
            this.composer.setTask(text);
            byId("task").focus();
          },
        },
      }),
    );
    put(
      byId("timeline"),
      el(
        "li",
        {},
        el(
          "div",
          { class: "wb-state lv-empty" },
          el("h2", { text: "Give the orchestrator a task" }),
          el("p", { text: "Each turn appears here as it happens: why, which tool, what came back, and what it cost." }),
          el("div", { class: "lv-ex" }, examples),
        ),
      ),
    );
  }

  follow(id) {
    const run = this.run;
    const mine =
      (act) =>
      (...given) => {
        if (this.run === run) act(...given);
      };
    this.unfollow = follow(id, {
      frame: mine((event) => this.take(event)),
      clock: mine((t) => run.setClock(t)),
      broken: mine((message) => {
        run.broken = message;
        run.endedAt = run.now;
      }),
      end: mine(() => this.ended()),
      lost: mine((pause) => {
        this.connection = { kind: "run", words: `The run goes on at the server; trying again in ${pause} s.` };
        this.notices();
      }),
      back: mine(() => {
        this.connection = null;
        this.notices();
      }),
      unknown: mine((message) => this.unknown(message)),
    });
  }

  unknown(message) {
    this.run = null;
    this.timeline.reset(null);
    document.title = "No such run · Orchestra Workbench";
    put(
      byId("timeline"),
      el(
        "li",
        {},
        el(
          "div",
          { class: "wb-state lv-empty" },
          el("h2", { text: "There is no such run here" }),
          el("p", { text: plain(message) }),
          el(
            "div",
            { class: "lv-ex" },
            el("a", { class: "wb-btn", href: "/trajectories", text: "All trajectories" }),
            el("a", { class: "wb-btn", href: "/", text: "New task" }),
          ),
        ),
      ),
    );
    this.changed();
  }

  // ---- frames
  take(event) {
    const run = this.run;
    const position = run.feed(event);
    if (event.kind === "run_started") this.started();
    else if (event.kind === "streamed") this.timeline.stream(position);
    else if (event.kind === "run_finished") this.timeline.updateAll();
    else if (position !== null) this.timeline.update(position);
    if (event.kind === "turn_finished") this.speak(run.turns[position]);
    if (event.kind === "turn_started") this.tail.turn();
    if (event.kind !== "streamed") this.changed();
    this.tail.changed();
  }

  started() {
    const { setting } = this.run;
    document.title = `${plain(setting.task.text).slice(0, 60)} · Orchestra Workbench`;
    if (!byId("task").value) this.composer.setTask(setting.task.text);
    byId("score").hidden = false;
    byId("strip").hidden = false;
  }

  ended() {
    const { run } = this;
    if (!run.finished && this.reread !== run.id) {
      this.reread = run.id;
      this.show(run.id); // the record was closed while we could not see it: read it whole, once
      return;
    }
    const link = `/trajectories?run=${encodeURIComponent(run.id)}`;
    const actions = el(
      "div",
      { class: "lv-actions" },
      el("a", { class: "wb-btn sm", href: link, text: "Open trajectory" }),
      el("a", { class: "wb-btn sm", href: `/?again=${encodeURIComponent(run.id)}` }, icon("again", true), "Run again"),
    );
    this.timeline.updateAll();
    byId("timeline").append(
      endCard(run, statusChip(run.stop ?? "fault", run.stop === "cancelled" ? "cancelled" : undefined), actions),
    );
    byId("spoken").textContent =
      run.stop === "answered" ? `Answer: ${plain(run.answer).slice(0, 300)}` : `The run ended: ${run.stop}`;
    this.changed();
    this.tail.changed();
    this.poll();
  }

  speak(turn) {
    const words = turn.calls.map((call) => `${plain(this.run.tool(call.tool).title)} ${call.state}`).join(", ");
    byId("spoken").textContent = `Turn ${turn.index} finished${words ? `: ${words}` : ""}`;
  }

  // ---- starting and stopping
  async start(order) {
    byId("run").disabled = true;
    try {
      const { id } = await postJson("/api/runs", order);
      history.pushState(null, "", `/?run=${encodeURIComponent(id)}`);
      byId("task").blur(); // from here on the keys are for the turns
      this.show(id);
      this.poll();
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      this.composer.refuse(error.message);
      byId("run").disabled = false;
    }
  }

  get going() {
    return this.run !== null && this.run.setting !== null && !this.run.finished;
  }

  async stop() {
    if (!this.going) return false;
    byId("stop").disabled = true;
    try {
      await postJson(runPath(this.run.id, "/stop"), {});
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      this.composer.refuse(error.message);
      byId("stop").disabled = false;
    }
    return true;
  }

  // ---- drawing
  changed() {
    byId("stop").disabled = !this.going;
    byId("composer").toggleAttribute("data-going", this.going);
    this.composer.busy = this.going;
    if (this.composer.state) this.composer.drawNote();
    this.drawBill();
    this.drawScore();
  }

  drawBill() {
    drawBill(byId("bill"), this.run, this.composer.table);
    if (this.run?.setting) this.drawStrip();
  }

  drawStrip() {
    const { run } = this;
    const limit = run.setting.limits.cost_usd;
    const sum = run.bill.cost_usd === null ? unknown(run.bill.why) : usd(run.bill.cost_usd);
    put(
      byId("strip"),
      el(
        "div",
        {},
        el("b", { class: "lv-sum" }, sum),
        limit === null ? null : el("span", { class: "wb-note", text: ` of ${usd(limit)}` }),
      ),
      meter(run.bill.known_usd, run.held.usd, limit),
      el("span", { class: "wb-note", "data-clock": true, text: run.now.toFixed(1) }),
      run.finished ? statusChip(run.stop ?? "fault") : null,
    );
  }

  drawScore() {
    if (this.run?.setting) drawScore(byId("score"), this.run);
  }

  tick() {
    if (!this.going || document.hidden) return;
    this.drawScore();
    for (const node of document.querySelectorAll("[data-clock]")) node.textContent = this.run.now.toFixed(1);
    for (const node of document.querySelectorAll("[data-since]"))
      node.textContent = seconds(Math.max(0, this.run.now - Number(node.dataset.since)));
  }
}

export async function start() {
  const live = new Live();
  const onSlider = (event) => event.target.matches?.("input[type=range]");
  keys.start({
    "Ctrl+Enter": { shown: "Ctrl+↵", words: "run the task", inFields: true, run: () => live.composer.run() },
    Escape: {
      shown: "Esc",
      words: "stop the run, close what is open",
      inFields: true,
      run: () => {
        if (byId("wishes").classList.contains("open")) live.composer.sheet(false);
        else live.stop();
      },
    },
    ArrowDown: { shown: "↓", words: "next turn", run: (event) => !onSlider(event) && moveCard(1) },
    ArrowUp: { shown: "↑", words: "turn before", run: (event) => !onSlider(event) && moveCard(-1) },
    Enter: { words: "open the observation of the turn", run: openObservation },
    p: {
      words: "preferences",
      run: () => {
        live.composer.sheet(true);
        byId("goals").querySelector("input")?.focus();
      },
    },
    "/": { words: "write a task", run: () => byId("task").focus() },
  });
  await live.poll();
  live.open();
}
