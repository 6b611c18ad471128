// What the server offers and how it is, asked for again and again; what is wrong with it, told above the turns.

import { byId, el, put } from "./dom.js";
import { icon } from "./icons.js";
import { fullSentence, plain } from "./format.js";
import { Refused, getJson } from "./server.js";
import { showCount } from "./topbar.js";
import { weightsNotice } from "./weights.js";

const POLL_MS = { weights: 1500, running: 3000, idle: 8000 };

export class ServerState {
  /** `onState(state)` hears every answer. */
  constructor(onState) {
    this.onState = onState;
    this.problem = null; // `{ kind, title, words }`: "state" when the server does not answer, "run" when a stream is lost
    this.weights = null;
    this.timer = 0;
  }

  async poll() {
    let next = POLL_MS.idle;
    try {
      const state = await getJson("/api/state");
      this.weights = weightsNotice(state.weights);
      showCount(state.trajectories);
      this.onState(state);
      next = this.weights ? POLL_MS.weights : state.running.length ? POLL_MS.running : POLL_MS.idle;
      if (this.problem?.kind === "state") this.problem = null;
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      const title = error.status === 0 ? "Connection lost." : "The workbench failed.";
      this.problem ??= { kind: "state", title, words: `${fullSentence(error.message)} Trying again.` };
    } finally {
      this.draw();
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.poll(), document.hidden ? 4 * next : next);
    }
  }

  /** The stream of the shown run is lost (words) or back (null). */
  tell(words) {
    if (words) this.problem = { kind: "run", title: "Connection lost.", words };
    else if (this.problem?.kind === "run") this.problem = null;
    this.draw();
  }

  draw() {
    const lost = this.problem
      ? el(
          "div",
          { class: "wb-alert warn" },
          icon("warn"),
          el("p", {}, el("b", { text: `${this.problem.title} ` }), plain(this.problem.words)),
        )
      : null;
    put(byId("notices"), lost, this.weights);
  }
}
