// The drift of a training run: its share of calls to the strongest tool, step by step.

import { drift } from "./biasdots.js";
import { between } from "./biasmarks.js";
import { fill, panel, plot } from "./biaspanel.js";
import { el, put } from "./dom.js";
import { plain, points } from "./format.js";
import { Refused, getJson } from "./server.js";
import { alertOf } from "./toolmarks.js";

export class Drift {
  /** `page` tells the query of the address and the report, whose figures of the paper stand beside it. */
  constructor(page) {
    this.page = page;
    this.found = null;
    this.host = null;
  }

  /** Its place, empty until the run is read. */
  place() {
    this.host = el("div", { class: "bi-drift" });
    return this.host;
  }

  async show() {
    const run = this.page.query.get("training") ?? "";
    if (this.found && (this.found.run === run || !run)) return this.draw();
    try {
      this.found = await getJson(`/api/bias/drift?${new URLSearchParams({ run })}`);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      const told = alertOf("This training run cannot be shown.", `${error.message}. `);
      told.lastElementChild.append(this.page.link({ training: null }, { class: "wb-link" }, "Show the latest"));
      put(this.host, told);
      return undefined;
    }
    return this.draw();
  }

  draw() {
    const { found, page } = this;
    if (!found) return undefined;
    if (!found.run || !found.steps.length) return put(this.host);
    const host = plot();
    const select = el("select", { "aria-label": "Training run", on: { change: (event) => page.go({ training: event.target.value }) } }, found.runs.map((one) => el("option", { value: one, text: plain(one) })));
    select.value = found.run;
    const { change } = found;
    const told = change.value === null ? "too few steps for a drift" : `last fifth less first fifth: ${points(change.value)} points ${between(change, points)}`;
    put(
      this.host,
      panel("Drift in training", `share of calls to the strongest tool, by step; ${told}`, [el("label", { class: "bi-pick wb-sel sm", style: { "margin-left": "auto" } }, select), el("a", { class: "wb-btn sm", href: `/training?${new URLSearchParams({ run: found.run })}`, text: "Open the run" })], host, el("p", { class: "wb-note", text: `Simulated experts. The band is 95 % with rollouts as units. Dashed: ${page.report?.paper.source ?? "the paper"}.` })),
    );
    const paper = (page.report?.paper.pilot ?? []).filter((one) => one.what === "strongest");
    fill(host, (width) => drift({ found, paper, width }));
    return undefined;
  }
}
