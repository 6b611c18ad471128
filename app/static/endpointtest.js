// One tiny request to an endpoint, and what came back.

import { el, put } from "./dom.js";
import { plain, seconds, unknown } from "./format.js";
import { Refused, postJson } from "./server.js";
import { alertOf } from "./toolmarks.js";

export class EndpointTest {
  constructor(name) {
    this.name = name;
    this.result = el("div", { role: "status" });
    this.button = el("button", {
      class: "wb-btn sm",
      id: "test-endpoint",
      text: "Send one tiny request",
      on: { click: () => this.run() },
    });
    this.node = el("div", { class: "tp-test" }, el("h3", { class: "wb-cap", text: "Test" }), this.button, this.result);
  }

  async run() {
    this.button.disabled = true;
    put(this.result, el("p", { class: "wb-note", text: "Asking …" }));
    try {
      put(this.result, told(await postJson(`/api/endpoints/${encodeURI(this.name)}/test`, {})));
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      put(this.result, alertOf("Nothing was sent.", error.message));
    }
    this.button.disabled = false;
  }
}

function told(trial) {
  if (trial.error !== null)
    return alertOf(`It failed${trial.total_s === null ? "" : ` after ${seconds(trial.total_s)}`}.`, trial.error);
  const calls = { true: "yes", false: "no, though it was asked to", null: "not asked for: it calls in text" };
  const lines = [
    ["first word", trial.first_s === null ? unknown("nothing was streamed") : seconds(trial.first_s)],
    ["whole reply", seconds(trial.total_s)],
    ["usage reported", trial.usage ? "yes" : "no: its calls will have no known cost"],
    ["calls natively", calls[trial.native_call]],
    ["came back", el("code", { class: "wb-mono", text: plain(trial.text) || "nothing" })],
  ];
  return el(
    "dl",
    { class: "tr-setting" },
    lines.map(([name, value]) => [el("dt", { text: name }), el("dd", {}, value)]),
  );
}
