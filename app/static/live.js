// The Live page: which run is shown, and every part of the page kept in step with it.

import { byId, el, put } from "./dom.js";
import { icon } from "./icons.js";
import { plain } from "./format.js";
import { Refused, follow } from "./server.js";
import { ServerState } from "./serverstate.js";
import { Run } from "./run.js";
import { endCard } from "./endcard.js";
import { examples } from "./examples.js";
import { Finder } from "./finder.js";
import { Painter } from "./painter.js";
import { Rail } from "./rail.js";
import { startRollouts } from "./rollouts.js";
import { Tail } from "./tail.js";
import { Timeline } from "./timeline.js";
import { drawBill, drawOthers } from "./bill.js";
import { loading, missing, nowhere, waiting } from "./placards.js";
import { drawStrip } from "./strip.js";
import { Composer } from "./composer.js";
import { Sharing, pageOf } from "./liveaddress.js";
import { LiveClock } from "./liveclock.js";
import { liveKeys } from "./livekeys.js";
import { endSpoken, turnSpoken } from "./livespoken.js";
import { Starter } from "./livestart.js";
import { readWeights } from "./rewardlink.js";
import * as keys from "./keys.js";

class Live {
  constructor() {
    this.run = null;
    this.place = null; // of a run that waits
    this.goal = null; // the turn that the address names, until it is there
    this.unfollow = () => {};
    this.server = new ServerState((state) => this.taken(state));
    this.began = false; // before that, the address has not been read
    this.others = { running: [], queued: [], waiting: 0 };
    this.timeline = new Timeline(byId("timeline"));
    this.finder = new Finder(this.timeline);
    this.tail = new Tail(() => (this.run === null ? null : this.run.finished));
    this.painter = new Painter(() => this.paint());
    this.composer = new Composer({ onRun: (order) => startRollouts(order, (one) => this.starter.start(one)), onTable: () => this.painter.ask() });
    this.starter = new Starter(this.composer, { start: (id) => this.begun(id), stop: () => this.rail.poll() });
    this.sharing = new Sharing(byId("shared"));
    this.rail = new Rail({ onShow: (id) => this.go(id), onWaiting: (answer) => this.heard(answer) });
    byId("stop").addEventListener("click", () => this.stop());
    byId("share").addEventListener("click", () => this.share());
    addEventListener("popstate", () => this.open());
    this.clock = new LiveClock({ run: () => this.run, going: () => this.going, painter: this.painter });
  }

  // ---- the server's state: pickers, other runs
  taken(state) {
    const first = this.composer.state === null;
    this.composer.setState(state);
    if (state.queued && !this.others.waiting) this.rail.poll();
    this.others.running = state.running;
    this.drawOthers();
    if (this.run === null) this.painter.ask();
    if (first && this.began && this.run === null) this.empty();
  }

  heard({ queued, waiting }) {
    this.others = { ...this.others, queued, waiting };
    this.drawOthers();
  }

  drawOthers() {
    drawOthers(byId("running"), this.others, this.rail.ids, (id) => this.starter.cancel(id));
  }

  // ---- which run is shown
  open() {
    this.began = true;
    const query = new URLSearchParams(location.search);
    this.show(query.get("run"));
    this.goal = query.has("turn") ? Number(query.get("turn")) : null;
    const again = query.get("again");
    if (again) this.prefill(again, readWeights(query));
  }

  /** Another run, by the reader's wish: the address follows. */
  go(id) {
    history.pushState(null, "", pageOf(id));
    this.show(id);
    if (id === null) byId("task").focus();
  }

  /** A run that was started here is the one to see. */
  begun(id) {
    this.go(id);
    this.server.poll();
  }

  /** The composer as it was for a run, with other weights where the Reward page sent some. */
  async prefill(id, weights) {
    try {
      await this.composer.prefill(id, weights);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      this.composer.refuse(error.message);
    }
    byId("task").focus();
  }

  show(id) {
    this.unfollow();
    this.place = null;
    this.goal = null;
    this.server.tell(null);
    this.tail.reset();
    this.finder.close();
    this.run = id ? new Run(id) : null;
    this.timeline.reset(this.run);
    for (const part of ["score", "strip", "share"]) byId(part).hidden = true;
    this.rail.select(id);
    if (id) {
      this.card(loading());
      this.follow(id);
    } else this.empty();
    this.painter.now();
  }

  empty() {
    document.title = "Live · Orchestra Workbench";
    if (!this.composer.state) {
      this.card(loading()); // the server has not answered yet; it is drawn when it does
      return;
    }
    const { tools, table } = this.composer;
    this.card(
      examples({
        tools,
        table: table?.name,
        onTask: (text) => {
          this.composer.setTask(text);
          byId("task").focus();
        },
        onShow: (runs) => this.starter.demonstrate(runs),
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
      lost: mine((pause) => this.server.tell(`The run goes on at the server; trying again in ${pause} s.`)),
      back: mine(() => this.server.tell(null)),
      unknown: mine(() => this.unknown(nowhere(id), "There is no such run here")),
    });
  }

  waits(where) {
    document.title = `Place ${where.place} · Orchestra Workbench`;
    this.place = where.place;
    this.card(waiting(where, () => this.starter.cancel(this.run.id)));
    this.painter.ask();
  }

  unknown(message, title) {
    this.unfollow();
    this.rail.forget(this.run.id);
    this.run = null;
    this.place = null;
    this.timeline.reset(null);
    document.title = `${title} · Orchestra Workbench`;
    this.card(missing(title, message));
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
    if (event.kind === "turn_finished") byId("spoken").textContent = turnSpoken(run, run.turns[position]);
    if (event.kind === "turn_finished" && event.turn === this.goal) this.toGoal();
    if (event.kind === "turn_started") this.tail.turn();
    this.painter.ask();
  }

  /** To the turn that a link names. */
  toGoal() {
    const { goal } = this;
    this.goal = null;
    this.tail.leave();
    if (!this.timeline.goTo(goal)) this.tail.toEnd();
  }

  started() {
    const { setting } = this.run;
    this.place = null;
    document.title = `${plain(setting.task.text).slice(0, 60)} · Orchestra Workbench`;
    if (!byId("task").value) this.composer.setTask(setting.task.text, setting.task.reference);
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
    if (this.goal !== null) this.toGoal();
    byId("timeline").append(endCard(run, actions));
    byId("spoken").textContent = endSpoken(run);
    this.painter.ask();
    this.server.poll();
  }

  // ---- stopping and sharing
  get going() {
    return this.run !== null && this.run.setting !== null && !this.run.finished;
  }

  async stop() {
    if (!this.going && this.place === null) return false;
    byId("stop").disabled = true;
    return this.starter.cancel(this.run.id);
  }

  share() {
    if (!this.run) return false;
    return this.sharing.copy(this.run.id, this.timeline.focusedTurn);
  }

  // ---- drawing, once a frame at most
  paint() {
    const active = this.going || this.place !== null;
    byId("stop").disabled = !active;
    byId("composer").toggleAttribute("data-going", active);
    drawBill(byId("bill"), this.run, this.composer.table, this.place);
    if (this.run?.setting) {
      drawStrip(this.run);
      this.rail.update(this.run);
    }
    this.clock.draw();
  }
}

export async function start() {
  const live = new Live();
  keys.start(liveKeys(live));
  live.card(loading());
  await live.server.poll();
  live.open();
}
