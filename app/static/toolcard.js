// The card of one entry: what an orchestrator reads of it beside what was measured, and trying it out.

import { byId, el, put } from "./dom.js";
import { bytes, count, plain } from "./format.js";
import { DescriptionCard } from "./description.js";
import { EndpointTest } from "./endpointtest.js";
import { icon } from "./icons.js";
import { kindBox, simulatedBadge } from "./marks.js";
import { Refused, getJson } from "./server.js";
import { BUSY, again, alertOf, reasonOf, status, weightsWords } from "./toolmarks.js";
import { distribution, figures, whoCalls } from "./toolfigures.js";
import { TryOut } from "./tryout.js";

const ASK_ABOVE_BYTES = 2e9;
const MODELS = new Set(["specialist", "generalist"]);

export class ToolCard {
  /**
   * `changed` reloads the catalogue, `fetch(name)` begins a download, `prices()` names the table in use; `edit(own)`
   * and `remove(own)` change an endpoint of the user's own.
   */
  constructor({ changed, fetch, prices, edit, remove }) {
    this.changed = changed;
    this.edit = edit;
    this.remove = remove;
    this.fetch = fetch;
    this.prices = prices;
    this.key = null;
  }

  show(row, picked, weights) {
    if (row === null) {
      this.key = null;
      put(byId("card"), picked === null ? invitation() : missing(picked));
      return;
    }
    const key = `${row.role}:${row.id}`;
    if (key !== this.key) this.begin(row, key);
    this.row = row;
    put(this.head, this.header(row, weights));
    put(this.state, this.states(row, weights));
    if (this.words) put(this.words, reading(row));
    if (this.figures) put(this.figures, figures(row));
    this.tryOut?.setRow(row);
    const own = JSON.stringify(row.own);
    if (own === this.ownKey) return; // buttons that have the focus must not be redrawn
    this.ownKey = own;
    put(this.own, row.own ? this.owned(row.own) : null);
  }

  /** The parts that stay while figures change under them: a form half filled in must not be redrawn. */
  begin(row, key) {
    this.key = key;
    this.head = el("div", {});
    this.state = el("div", { class: "tp-state" });
    this.own = el("div", {});
    this.ownKey = null;
    this.words = row.reads ? el("div", {}) : null;
    const model = row.role === "tool" && MODELS.has(row.kind);
    this.description = model ? new DescriptionCard(row, () => this.changed()) : null;
    this.figures = row.role === "tool" ? el("div", {}) : null;
    this.more = row.role === "tool" ? el("div", {}) : null;
    this.tryOut = row.role === "tool" ? new TryOut(row, this.prices, () => this.tried(row, key)) : null;
    this.test = row.endpoint ? new EndpointTest(row.id) : null;
    put(byId("card"), this.head, this.state, this.own, this.words, this.description?.node, this.figures, this.more, this.tryOut?.node, this.test?.node);
    if (this.more) this.measured(row, key);
  }

  async measured(row, key) {
    try {
      const found = await getJson(`/api/tools/${encodeURIComponent(row.id)}/measured`);
      if (this.key === key) put(this.more, distribution(row, found.latency), whoCalls(found.callers));
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      if (this.key === key) put(this.more, alertOf("The measurements could not be read.", error.message), again(error, () => this.measured(row, key)));
    }
  }

  async tried(row, key) {
    await this.changed();
    if (this.key === key) await this.measured(row, key);
  }

  header(row, weights) {
    const chip = row.off ? el("span", { class: "wb-chip" }, icon("minus", true), "off") : status(row, null);
    return el(
      "header",
      { class: "tp-head" },
      kindBox(row.kind, row.id),
      el("h2", { text: plain(row.title) }),
      row.simulated ? simulatedBadge() : null,
      chip,
      el("span", { class: "wb-sp" }),
      el("code", { class: "wb-mut wb-mono lv-cut", title: plain(row.id), text: plain(row.id) }),
    );
  }

  states(row, weights) {
    return [
      row.note ? el("p", { class: "wb-note", text: plain(row.note) }) : null,
      row.endpoint
        ? el("p", {
            class: "wb-note",
            text: `model ${plain(row.endpoint.model)} · ${count(row.endpoint.context)} tokens of context`,
          })
        : null,
      row.off && !weights
        ? el("div", { class: "wb-alert" }, icon("minus"), el("p", {}, el("b", { text: "Off. " }), reasonOf(row.off)))
        : null,
      weights ? this.weights(weights) : null,
    ];
  }

  /** What can be done with an endpoint of the user's own. */
  owned(own) {
    const refused = el("div", { role: "status" });
    const remove = async () => {
      try {
        await this.remove(own);
      } catch (error) {
        if (!(error instanceof Refused)) throw error;
        put(refused, alertOf("It was not removed.", error.message));
      }
    };
    const button = (id, text, act) => el("button", { class: "wb-btn sm", id, text, on: { click: act } });
    return el(
      "div",
      { class: "tp-own" },
      el("span", { class: "wb-note", text: "Of your own, in endpoints.toml" }),
      el("span", { class: "wb-sp" }),
      button("edit-endpoint", "Edit", () => this.edit(own)),
      button("remove-endpoint", "Remove", remove),
      refused,
    );
  }

  weights(weights) {
    const busy = BUSY.has(weights.state);
    const share = weights.total_bytes ? weights.done_bytes / weights.total_bytes : 0;
    const memory = weights.memory_bytes ? `about ${bytes(weights.memory_bytes)} of memory` : "memory unknown";
    return el(
      "div",
      { class: `wb-alert ${weights.state === "failed" ? "warn" : ""}` },
      icon(weights.state === "failed" ? "warn" : "down"),
      el(
        "div",
        { class: "tp-weights" },
        el(
          "p",
          {},
          el("b", { text: busy ? "Its weights are arriving. " : "Its weights are not here. " }),
          plain(weights.title),
        ),
        el("p", { class: "wb-note", text: `${memory} · ${plain(weights.licence)}` }),
        busy || weights.done_bytes
          ? el("div", { class: "wb-prog" }, el("i", { style: { width: `${share * 100}%` } }))
          : null,
        el("p", { class: "wb-note", text: weightsWords(weights) }),
        weights.error ? el("p", { class: "tp-bad", text: plain(weights.error) }) : null,
        busy ? null : this.fetchButton(weights),
      ),
    );
  }

  fetchButton(weights) {
    const big = weights.total_bytes > ASK_ABOVE_BYTES;
    const word = weights.state === "failed" || weights.state === "partial" ? "Go on fetching" : "Fetch";
    return el("button", {
      class: "wb-btn sm",
      text: `${word} ${bytes(weights.total_bytes - weights.done_bytes)}`,
      "data-fetch": weights.name,
      on: {
        click: async (event) => {
          const button = event.currentTarget;
          if (big && !button.dataset.sure) {
            button.dataset.sure = "yes";
            button.textContent = `Yes, download ${bytes(weights.total_bytes - weights.done_bytes)}`;
            return;
          }
          button.disabled = true;
          try {
            await this.fetch(weights.name);
          } catch (error) {
            if (!(error instanceof Refused)) throw error;
            put(this.state, alertOf("The download could not begin.", error.message));
          }
        },
      },
    });
  }
}

function invitation() {
  return el(
    "div",
    { class: "wb-state" },
    el("h2", { text: "Nothing is picked" }),
    el("p", {
      text: "Pick an entry: its card shows what an orchestrator reads, what was measured, and a form to try it.",
    }),
  );
}

function missing(picked) {
  return el(
    "div",
    { class: "wb-state" },
    el("h2", { text: `There is no ${picked.role} \u201c${plain(picked.id).slice(0, 80)}\u201d` }),
    el("p", { text: "It may have been renamed, or its endpoint taken out of endpoints.toml." }),
    el("a", { class: "wb-btn", href: "/tools", text: "Show the catalogue" }),
  );
}

function reading(row) {
  return [
    el("h3", { class: "wb-cap", text: "What the orchestrator reads" }),
    el("p", { class: "tp-reads", id: "reads", tabindex: "0", text: plain(row.reads.description) }),
    el(
      "details",
      { class: "tp-schema" },
      el("summary", { class: "wb-note", text: "and its parameters, as a JSON schema" }),
      el("pre", { class: "wb-args", tabindex: "0", text: plain(JSON.stringify(row.reads.parameters, null, 2)) }),
    ),
  ];
}
