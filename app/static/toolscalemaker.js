// Making tasks: where there are none, the command that makes them, and the same in the background with its progress.

import { command } from "./command.js";
import { el, put } from "./dom.js";
import { plain } from "./format.js";
import { icon } from "./icons.js";
import { Refused, getJson, postJson } from "./server.js";

const AGAIN_MS = 1500;

export class Maker {
  /** `done()` hears that tasks were made. */
  constructor(done) {
    this.done = done;
    this.report = null;
    this.timer = 0;
    this.state = null;
    this.node = el("div", { class: "ts-maker" });
  }

  /** What stands in the place of a list without tasks. */
  empty(domain) {
    return el(
      "section",
      { class: "wb-panel wb-state", "aria-label": "No tasks" },
      el("h3", { text: "There are no tasks of this domain yet" }),
      el("p", {}, "Make them with ", command(`orchestra synth --domains ${plain(domain)} --n 20 --out DIR`), ", or here:"),
      this.form(domain, 20),
    );
  }

  form(domain, n) {
    const many = el("input", { type: "number", min: 1, max: 500, value: n, "aria-label": "How many tasks" });
    const seed = el("input", { type: "number", min: 0, value: 7, "aria-label": "Seed" });
    const said = el("span", { class: "wb-note", role: "status" });
    const submit = async (event) => {
      event.preventDefault();
      said.textContent = "";
      try {
        await postJson("/api/toolscale/synth", { domain, n: Number(many.value), seed: Number(seed.value) });
        this.watch();
      } catch (error) {
        if (!(error instanceof Refused)) throw error;
        said.textContent = error.message;
      }
    };
    return el(
      "form",
      { class: "ts-try", on: { submit } },
      el("label", { class: "wb-in sm ts-turns" }, el("small", { text: "tasks" }), many),
      el("label", { class: "wb-in sm ts-turns" }, el("small", { text: "seed" }), seed),
      el("button", { class: "wb-btn sm", type: "submit" }, icon("play", true), "Make tasks"),
      said,
    );
  }

  /** Look how far a making is, and again until it has ended. */
  async watch() {
    clearTimeout(this.timer);
    const was = this.state?.running;
    try {
      const found = await getJson("/api/toolscale/synth");
      this.state = found.job;
      this.report = found.report;
      this.draw();
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
    }
    if (this.state?.running) this.timer = setTimeout(() => this.watch(), AGAIN_MS);
    else if (was) this.done();
  }

  draw() {
    const { state } = this;
    if (!state) return put(this.node);
    const word = state.running ? "making tasks" : state.failed ? "it did not work" : "done";
    const look = state.running ? "run" : state.failed ? "bad" : "ok";
    const mark = state.running ? el("i", { class: "dot" }) : icon(state.failed ? "cross" : "check", true);
    return put(
      this.node,
      el(
        "section",
        { class: "wb-panel", "aria-label": "Making tasks" },
        el("header", {}, el("h2", { text: `Tasks of ${plain(state.domain)}` }), el("span", { class: `wb-chip ${look}`, role: "status" }, mark, word)),
        state.lines.length ? el("pre", { class: "wb-args ts-log", tabindex: "0", text: state.lines.map(plain).join("\n") }) : null,
      ),
    );
  }
}
