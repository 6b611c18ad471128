// A run in a domain, in its detail: conditions judged anew from its record, its conduct, and its changes beside the golden.

import { el, put } from "./dom.js";
import { plain } from "./format.js";
import { Refused, getJson, runPath } from "./server.js";
import { beside, conditions } from "./toolscalejudged.js";

export class DomainCard {
  constructor(run) {
    this.run = run;
    const { domain, assignment } = run.setting.assigned;
    const query = new URLSearchParams({ domain, task: assignment.id });
    this.body = el("div", { class: "ts-judged", role: "status" }, el("p", { class: "wb-note", text: "Judged when the run has ended." }));
    this.node = el(
      "section",
      { class: "wb-panel", "aria-label": "Judged in its domain" },
      el(
        "header",
        {},
        el("h2", { text: "In its domain" }),
        el("p", {}, el("a", { class: "wb-link", href: `/toolscale?${query}`, text: plain(`${domain}/${assignment.id}`) })),
      ),
      this.body,
    );
  }

  async load() {
    try {
      const judged = await getJson(runPath(this.run.id, "/domain"));
      put(this.body, conditions(judged), beside(judged));
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      put(this.body, el("p", { class: "wb-note", text: plain(error.message) }));
    }
  }
}
