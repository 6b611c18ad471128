// The Live page: which run is shown, and every part of the page kept in step with it.

import { byId, el, put } from "./dom.js";
import { icon } from "./icons.js";
import { count, plain, seconds, unknown, usd } from "./format.js";
import { Refused, follow, getJson, postJson, runPath } from "./server.js";
import { Run } from "./run.js";
import { endCard } from "./endcard.js";
import { examples } from "./examples.js";
import { Finder } from "./finder.js";
import { Painter } from "./painter.js";
import { Rail } from "./rail.js";
import { Tail } from "./tail.js";
import { Timeline } from "./timeline.js";
import { drawScore } from "./score.js";
import { drawBill, drawOthers, tickClock } from "./bill.js";
import { meter } from "./meters.js";
import { statusChip } from "./marks.js";
import { share } from "./share.js";
import { weightsNotice } from "./weights.js";
import { Composer } from "./composer.js";
import { liveKeys } from "./livekeys.js";
import * as keys from "./keys.js";

const CLOCK_MS = 200;
const POLL_MS = { weights: 1500, running: 3000, idle: 8000 };
const BETWEEN_MS = 500; // so that the sliders of a demonstration are seen to move
const pageOf = (id) => (id ? `/?run=${encodeURIComponent(id)}` : "/");

class Live {
  constructor() {
    this.run = null;
    this.place = null; // of a run that waits
    this.unfollow = () => {};
    this.connection = null;
    this.weights = null;
    this.others = { running: [], queued: [], waiting: 0 };
    this.timeline = new Timeline(byId("timeline"));
    this.finder = new Finder(this.timeline);
    this.tail = new Tail(() => (this.run === null ? null : this.run.finished));
    this.painter = new Painter(() => this.paint());
    this.composer = new Composer({ onRun: (order) => this.start(order), onTable: () => this.painter.ask() });
    this.rail = new Rail({ onShow: (id) => this.go(id), onWaiting: (answer) => this.heard(answer) });
    byId("stop").addEventListener("click", () => this.stop());
    byId("share").addEventListener("click", () => this.share());
    addEventListener("popstate", () => this.open());
    new ResizeObserver(() => this.drawScore()).observe(byId("main"));
    setInterval(() => this.tick(), CLOCK_MS);
  }

  // ---- the server's state: pickers, weights, other runs
  async poll() {
    let next = POLL_MS.idle;
    try {
      const state = await getJson("/api/state");
      const first = this.composer.state === null;
      this.composer.setState(state);
      this.weights = weightsNotice(state.weights);
      byId("count").textContent = `${count(state.trajectories)} trajector${state.trajectories === 1 ? "y" : "ies"}`;
      if (state.queued && !this.others.waiting) this.rail.poll();
      this.others.running = state.running;
      this.drawOthers();
      if (this.run === null) this.painter.ask();
      if (first && this.run === null && byId("timeline").childElementCount) this.empty();
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

  heard({ queued, waiting }) {
    this.others = { ...this.others, queued, waiting };
    this.drawOthers();
  }

  drawOthers() {
    drawOthers(byId("running"), this.others, this.rail.ids, (id) => this.cancel(id));
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

  /** Another run, by the reader's wish: the address follows. */
  go(id) {
    history.pushState(null, "", pageOf(id));
    this.show(id);
    if (id === null) byId("task").focus();
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
    this.place = null;
    this.tail.reset();
    this.finder.close();
    this.run = id ? new Run(id) : null;
    this.timeline.reset(this.run);
    for (const part of ["score", "strip", "share"]) byId(part).hidden = true;
    this.rail.select(id);
    if (id) this.follow(id);
    else this.empty();
    this.painter.now();
    this.notices();
  }

  empty() {
    document.title = "Live · Orchestra Workbench";
    if (!this.composer.state) return;
    const { tools, table } = this.composer;
    this.card(
      examples({
        tools,
        table: table?.name,
        onTask: (text) => {
          this.composer.setTask(text);
          byId("task").focus();
        },
        onShow: (runs) => this.demonstrate(runs),
      }),
    );
  }

  card(...parts) {
    put(byId("timeline"), el("li", {}, parts));
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
      queued: mine((where) => this.waits(where)),
      never: mine((message) => this.unknown(message, "This run never began")),
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
      unknown: mine((message) => this.unknown(message, "There is no such run here")),
    });
  }

  /** The run waits for its turn. */
  waits({ place, waiting }) {
    document.title = `Place ${place} · Orchestra Workbench`;
    this.place = place;
    const ahead = place === 1 ? "It is the next to begin." : `${count(place - 1)} before it.`;
    this.card(
      el(
        "div",
        { class: "wb-state lv-empty" },
        el("h2", { text: `Place ${count(place)} of ${count(waiting)} in the queue` }),
        el("p", { text: `${ahead} Sixteen runs go on at once; this one begins by itself, also when you leave.` }),
        el(
          "div",
          { class: "lv-ex" },
          el("button", {
            class: "wb-btn danger",
            type: "button",
            text: "Cancel it",
            on: { click: () => this.cancel(this.run.id) },
          }),
        ),
      ),
    );
    this.painter.ask();
  }

  unknown(message, title) {
    this.unfollow();
    this.rail.forget(this.run.id);
    this.run = null;
    this.place = null;
    this.timeline.reset(null);
    document.title = `${title} · Orchestra Workbench`;
    this.card(
      el(
        "div",
        { class: "wb-state lv-empty" },
        el("h2", { text: title }),
        el("p", { text: plain(message) }),
        el(
          "div",
          { class: "lv-ex" },
          el("a", { class: "wb-btn", href: "/trajectories", text: "All trajectories" }),
          el("a", { class: "wb-btn", href: "/", text: "New task" }),
        ),
      ),
    );
    this.painter.ask();
  }

  // ---- frames
  take(event) {
    const run = this.run;
    const position = run.feed(event);
    const callId = event.call_id ?? event.observation?.call_id;
    if (event.kind === "run_started") this.started();
    else if (event.kind === "streamed") this.timeline.stream(position);
    else if (event.kind === "run_finished") this.timeline.updateAll();
    else if (position !== null) this.timeline.update(position, callId);
    if (event.kind === "turn_finished") this.speak(run.turns[position]);
    if (event.kind === "turn_started") this.tail.turn();
    this.painter.ask();
  }

  started() {
    const { setting } = this.run;
    this.place = null;
    document.title = `${plain(setting.task.text).slice(0, 60)} · Orchestra Workbench`;
    if (!byId("task").value) this.composer.setTask(setting.task.text);
    this.timeline.reset(this.run);
    for (const part of ["score", "strip", "share"]) byId(part).hidden = false;
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
    this.painter.ask();
    this.poll();
  }

  speak(turn) {
    const states = [...turn.states].filter(([, n]) => n > 0);
    const one = turn.calls.length === 1 ? `${plain(this.run.tool(turn.calls[0].tool).title)} ${turn.calls[0].state}` : null;
    const words = one ?? states.map(([state, n]) => `${n} ${state}`).join(", ");
    byId("spoken").textContent = `Turn ${turn.index} finished${words ? `: ${words}` : ""}`;
  }

  // ---- starting and stopping
  /** Start a run and show it; returns its id, or null when it was refused. */
  async start(order) {
    byId("run").disabled = true;
    try {
      const { id } = await postJson("/api/runs", order);
      byId("task").blur(); // from here on the keys are for the turns
      this.go(id);
      this.poll();
      return id;
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      this.composer.refuse(error.message);
      return null;
    } finally {
      this.composer.drawNote();
    }
  }

  /** Play a demonstration: set the sliders, run, and the same for the next. */
  async demonstrate(runs) {
    for (const [n, wanted] of runs.entries()) {
      if (n) await new Promise((resolve) => setTimeout(resolve, BETWEEN_MS));
      this.composer.take(wanted);
      if ((await this.start(this.composer.order())) === null) return;
    }
  }

  get going() {
    return this.run !== null && this.run.setting !== null && !this.run.finished;
  }

  async stop() {
    if (!this.going && this.place === null) return false;
    byId("stop").disabled = true;
    return this.cancel(this.run.id);
  }

  async cancel(id) {
    try {
      await postJson(runPath(id, "/stop"), {});
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      this.composer.refuse(error.message);
      byId("stop").disabled = false;
    }
    this.rail.poll();
    return true;
  }

  async share() {
    if (!this.run) return false;
    byId("shared").textContent = await share(new URL(pageOf(this.run.id), location.href).href);
    clearTimeout(this.unshare);
    this.unshare = setTimeout(() => {
      byId("shared").textContent = "";
    }, 6000);
    return true;
  }

  // ---- drawing, once a frame at most
  paint() {
    const active = this.going || this.place !== null;
    byId("stop").disabled = !active;
    byId("composer").toggleAttribute("data-going", active);
    drawBill(byId("bill"), this.run, this.composer.table);
    if (this.run?.setting) {
      this.drawStrip();
      this.rail.update(this.run.id, entryOf(this.run));
    }
    this.drawScore();
    this.tail.changed();
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
    if (!this.going || document.hidden || !this.painter.isFree) return;
    this.painter.measure(() => this.drawScore());
    tickClock(this.run);
    for (const node of document.querySelectorAll("[data-clock]")) node.textContent = this.run.now.toFixed(1);
    for (const node of document.querySelectorAll("[data-since]"))
      node.textContent = seconds(Math.max(0, this.run.now - Number(node.dataset.since)));
  }
}

/** The tab of a run, from what the page knows of it. */
function entryOf(run) {
  const { bill, setting } = run;
  const kind = bill.cost_usd === null ? "unknown" : "known";
  return {
    task: setting.task.text.slice(0, 200),
    status: run.finished ? (run.stop ?? "fault") : "running",
    cost: { kind, usd: bill.cost_usd, why: bill.why },
    seconds: run.now,
  };
}

export async function start() {
  const live = new Live();
  keys.start(liveKeys(live));
  await live.poll();
  live.open();
}
