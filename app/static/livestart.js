// Starting runs from Live, one or those of a demonstration, and stopping them.

import { byId } from "./dom.js";
import { Refused, postJson, runPath } from "./server.js";

const LOADING_MS = 400; // a policy that is in memory already needs no word
const BETWEEN_MS = 500; // so that the sliders of a demonstration are seen to move

export class Starter {
  /** `composer` makes the orders and says what was refused; `on`: start(id) hears that a run began, stop() of a stop. */
  constructor(composer, on) {
    Object.assign(this, { composer, on });
  }

  /** Start a run; returns its id, or null when it was refused. */
  async start(order) {
    byId("run").disabled = true;
    const loading = setTimeout(() => {
      const words = "Loading the policy… The run and its clock begin when it is there.";
      if (order.orchestrator?.startsWith("trained:")) byId("orchestrator-note").textContent = words;
    }, LOADING_MS);
    try {
      const { id } = await postJson("/api/runs", order);
      byId("task").blur(); // from here on the keys are for the turns
      this.on.start(id);
      return id;
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      this.composer.refuse(error.message);
      return null;
    } finally {
      clearTimeout(loading);
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

  /** Stop a run, or take it out of the queue. */
  async cancel(id) {
    try {
      await postJson(runPath(id, "/stop"), {});
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      this.composer.refuse(error.message);
      byId("stop").disabled = false;
    }
    this.on.stop();
    return true;
  }
}
