// How a run stands: state, step and pace, and the orders to stop it and to go on.

import { el, put } from "./dom.js";
import { icon } from "./icons.js";
import { postJson } from "./server.js";
import { GOING, paceWords, stateChip } from "./trainingwords.js";

export class RunState {
  /** `run` is the page of the run: its `head` and `rows` are shown, and `lost` while the workbench does not answer. */
  constructor(run) {
    this.run = run;
    this.waits = null; // "stopping" or "resuming" until the run's state tells that it has
    this.chip = el("span", { role: "status" });
    this.bar = el("i", {});
    this.prog = el("div", { class: "wb-prog tn-prog", role: "progressbar", "aria-valuemin": 0, "aria-valuemax": 100 }, this.bar);
    this.pace = el("span", { class: "wb-note" });
    this.stopButton = el("button", { class: "wb-btn danger sm", type: "button", on: { click: () => this.stop() } }, icon("stop", true), "Stop");
    this.resumeButton = el("button", { class: "wb-btn sm", type: "button", on: { click: () => this.resume() } }, icon("play", true), "Resume");
    this.told = [this.chip, this.prog, this.pace];
    this.orders = [this.resumeButton, this.stopButton];
  }

  draw() {
    const { head, rows, lost } = this.run;
    const going = GOING.has(head.state);
    const step = Math.max(head.step ?? 0, rows.at(-1)?.step ?? 0);
    const word = head.state === "running" && head.steps !== null ? `step ${step} of ${head.steps}` : null;
    const shown = this.waits && going ? this.waits : (word ?? head.state);
    if (this.chip.dataset.shown !== `${head.state} ${shown}`) put(this.chip, stateChip(head.state, shown));
    this.chip.dataset.shown = `${head.state} ${shown}`;
    const share = head.steps ? Math.min(1, step / head.steps) : 0;
    this.bar.style.width = `${100 * share}%`;
    this.prog.hidden = head.steps === null;
    this.prog.setAttribute("aria-valuenow", String(Math.round(100 * share)));
    this.prog.setAttribute("aria-label", `Step ${step} of ${head.steps}`);
    const stopped = !going && head.steps !== null && head.state !== "unreadable" ? `step ${step} of ${head.steps}` : "";
    this.pace.textContent = lost ? "the workbench does not answer; looking again" : [stopped, paceWords(rows, head.steps, going)].filter(Boolean).join(" · ");
    this.stopButton.hidden = !(going && head.pid !== null);
    this.stopButton.disabled = this.waits === "stopping";
    this.resumeButton.hidden = !(["stopped", "failed"].includes(head.state) && head.checkpoints.length && head.pid === null);
    this.resumeButton.disabled = this.waits === "resuming";
  }

  async stop() {
    this.waits = "stopping";
    this.draw();
    const done = await this.run.page.trying("The run was not stopped.", () => postJson("/api/training/stop", { run: this.run.id }));
    if (!done) this.waits = null;
    this.run.page.say(done ? "It ends after this step, with a checkpoint" : "The run was not stopped");
    this.draw();
    this.run.ticker.next(this.run.pause);
  }

  async resume() {
    this.waits = "resuming";
    this.draw();
    const done = await this.run.page.trying("The run was not resumed.", () => postJson("/api/training/resume", { run: this.run.id }));
    if (!done) this.waits = null;
    this.draw();
    if (done) await this.run.look();
  }
}
