// Training: runs in a list, one run live, runs side by side, a new run. Which of them the address says.

import { byId, el, put } from "./dom.js";
import { plain } from "./format.js";
import { Place } from "./place.js";
import { Refused } from "./server.js";
import { again, alertOf } from "./toolmarks.js";
import { ComparedRuns } from "./trainingcompare.js";
import { RunList } from "./traininglist.js";
import { RunPage } from "./trainingrun.js";
import { StartForm } from "./trainingstart.js";
import { OF_A_RUN } from "./trainingwords.js";
import * as keys from "./keys.js";

const FOLDERS = "wb-training-folders";

class Training extends Place {
  constructor() {
    super("/training");
    this.views = { list: new RunList(this), run: new RunPage(this), compare: new ComparedRuns(this), start: new StartForm(this) };
    this.current = null;
  }

  /** Which view the address means. */
  get wanted() {
    const { query } = this;
    if (query.has("run")) return "run";
    if (query.getAll("compare").length > 1) return "compare";
    return query.has("new") ? "start" : "list";
  }

  /** Folders that the reader has opened besides the home folder's. */
  get folders() {
    try {
      const kept = JSON.parse(localStorage.getItem(FOLDERS) ?? "[]");
      return Array.isArray(kept) ? kept.filter((one) => typeof one === "string").slice(0, 12) : [];
    } catch {
      return [];
    }
  }

  set folders(some) {
    try {
      localStorage.setItem(FOLDERS, JSON.stringify(some));
    } catch {
      // storage is switched off: they are open until the page is left
    }
  }

  async show() {
    const { wanted } = this;
    if (this.current !== wanted) {
      this.views[this.current]?.leave();
      this.current = wanted;
      put(byId("problem"));
    }
    await this.views[wanted].show();
  }

  /** Put a view's head and body in place. */
  fill(head, ...body) {
    put(byId("tn-head"), head);
    put(byId("tn-view"), body);
  }

  say(text) {
    byId("tn-said").textContent = text;
  }

  /** Run something that the server may refuse; what it said is shown, with `retry` where that may help. Returns undefined then. */
  async trying(what, run, { host = byId("problem"), retry = null } = {}) {
    try {
      const found = await run();
      put(host);
      return found;
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      put(host, alertOf(what, error.message), retry ? again(error, retry) : null);
      byId("tn-view").querySelector(":scope > .wb-skel")?.remove();
      return undefined;
    }
  }

  /** What was said of another part no longer holds. */
  unsay() {
    put(byId("problem"));
  }

  title(...parts) {
    document.title = `${parts.map(plain).concat("Training").join(" · ")} · Orchestra Workbench`;
  }
}

export async function start() {
  const page = new Training();
  const { list, run } = page.views;
  const inRun = (work) => () => (page.current === "run" ? work() : false);
  const inList = (work) => () => (page.current === "list" ? work() : false);
  const waiting = setTimeout(() => put(byId("tn-view"), el("div", { class: "wb-skel", "aria-hidden": "true" })), 300);
  keys.start({
    ArrowRight: { words: "next step", shown: "← →", brief: "step", run: inRun(() => run.step(1)) },
    ArrowLeft: { words: "step before", shown: "←", run: inRun(() => run.step(-1)) },
    Enter: { words: "rollouts of this step", brief: "rollouts", run: inRun(() => run.toRollouts()) },
    p: { words: "next preference", brief: "preference", run: inRun(() => run.nextAim()) },
    w: { words: "first steps on, off", brief: "first steps", run: inRun(() => run.flipBefore()) },
    s: { words: "seeds together, this run alone", brief: "seeds", run: inRun(() => run.flipSeeds()) },
    v: { words: "next part of the run", brief: "part", run: inRun(() => run.turn(1)) },
    j: { words: "next run in the list", shown: "j k", brief: "run", run: inList(() => list.move(1)) },
    k: { words: "run before", run: inList(() => list.move(-1)) },
    c: { words: "compare the marked runs", brief: "compare", run: inList(() => list.compare()) },
    n: { words: "start a run", brief: "new run", run: () => (page.current === "start" ? false : page.go({ ...OF_A_RUN, new: "1" })) },
    Escape: {
      shown: "Esc",
      words: "leave the field, the step, the run",
      inFields: true,
      run: () => {
        if (document.activeElement?.matches?.("input, select, textarea")) document.activeElement.blur();
        else if (page.query.has("step")) page.go({ step: null });
        else if (page.current === "list") return false;
        else page.go(OF_A_RUN);
      },
    },
  });
  await page.show();
  clearTimeout(waiting);
}
