// A language model asked to judge a run: any of the catalogue that is here, its cost apart from the run's own.

import { el, put } from "./dom.js";
import { plain } from "./format.js";
import { Refused, getJson } from "./server.js";

export class Judging {
  /** `ask(by)` sends the wish and resolves when a verdict, or none, has come. */
  constructor(ask) {
    this.model = el("select", { "aria-label": "The model that judges" });
    this.button = el("button", { class: "wb-btn ghost sm", type: "button", text: "Ask a judge", on: { click: () => this.press() } });
    this.said = el("p", { class: "wb-note", role: "status" });
    this.box = el("label", { class: "wb-sel sm", hidden: true }, this.model);
    this.node = el("div", { class: "gr-judge" }, this.button, this.box, this.said);
    this.ask = ask;
    this.known = false;
  }

  async press() {
    if (!this.known) return this.load();
    this.button.disabled = true;
    this.said.textContent = `${plain(this.model.value)} judges; this takes a while on a small machine …`;
    await this.ask(`model:${this.model.value}`);
    this.said.textContent = "";
    this.button.disabled = false;
  }

  /** The models that can be asked now, the first time that somebody wants one. */
  async load() {
    let models;
    try {
      models = (await getJson("/api/preference/models")).models.filter((one) => one.off === null);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      this.said.textContent = error.message;
      return;
    }
    if (models.length === 0) {
      this.said.textContent = "No language model is here to ask; the Tools page says why.";
      return;
    }
    this.known = true;
    put(this.model, models.map((one) => el("option", { value: one.name, text: plain(one.name) })));
    this.box.hidden = false;
    this.button.textContent = "Judge";
    this.said.textContent = "What it costs stands apart from the run's bill.";
    this.model.focus();
  }
}
