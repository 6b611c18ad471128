// Try a task live: an orchestrator is picked, its run goes on in Live, and what it comes to is judged here.

import { byId, el, put } from "./dom.js";
import { plain } from "./format.js";
import { statusChip } from "./marks.js";
import { Refused, getJson, postJson, runPath } from "./server.js";
import { beside, conditions } from "./toolscalejudged.js";

const AGAIN_MS = 1500;
const MAX_TURNS = 40;

export class LiveTry {
  constructor(page) {
    this.page = page;
    this.timer = 0;
  }

  content(domain, task) {
    clearTimeout(this.timer);
    this.domain = domain;
    this.task = task;
    this.said = el("p", { class: "wb-note", role: "status" });
    this.result = el("div", { class: "ts-judged" });
    this.picker = el("select", { id: "ts-who", "aria-label": "Orchestrator", on: { change: () => this.drawProtocols() } });
    this.protocol = el("select", { "aria-label": "Protocol" });
    this.protocolBox = el("label", { class: "wb-sel sm", hidden: true }, this.protocol);
    this.turns = el("input", { type: "number", min: 1, max: 200, value: MAX_TURNS, "aria-label": "Turns at most" });
    this.button = el("button", { class: "wb-btn primary sm", type: "submit" }, "Try it live");
    const submit = (event) => {
      event.preventDefault();
      this.start();
    };
    this.panel = el(
      "section",
      { class: "wb-panel", "aria-label": "Try it live" },
      el("header", {}, el("h2", { text: "Try it live" }), el("p", { text: "the user answers by rules, offline" })),
      el(
        "form",
        { class: "ts-try", on: { submit } },
        el("label", { class: "wb-sel sm ts-who" }, this.picker),
        this.protocolBox,
        el("label", { class: "wb-in sm ts-turns" }, el("small", { text: "turns ≤" }), this.turns),
        this.button,
      ),
      this.said,
      this.result,
    );
    this.offer();
    const run = this.page.query.get("run");
    if (run) this.follow(run);
    return this.panel;
  }

  async offer() {
    try {
      const { orchestrators } = await getJson("/api/state");
      this.offers = orchestrators;
      put(
        this.picker,
        orchestrators.map((one) => el("option", { value: one.name, disabled: one.off !== null, title: one.off ? plain(one.off) : null, text: plain(one.title) + (one.off ? " (off)" : "") })),
      );
      this.picker.value = orchestrators.find((one) => one.off === null)?.name ?? "";
      this.drawProtocols();
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      this.said.textContent = error.message;
    }
  }

  drawProtocols() {
    const spoken = this.offers.find((one) => one.name === this.picker.value)?.protocols ?? ["chat"];
    this.protocolBox.hidden = spoken.length < 2;
    put(this.protocol, spoken.map((name) => el("option", { value: name, text: plain(name) })));
  }

  async start() {
    const order = {
      assignment: `${this.domain}/${this.task.id}`,
      orchestrator: this.picker.value,
      protocol: this.protocol.value || "chat",
      limits: { max_turns: Number(this.turns.value) || MAX_TURNS },
    };
    this.button.disabled = true;
    this.said.textContent = "starting";
    try {
      const { id } = await postJson("/api/runs", order);
      this.said.textContent = "";
      this.page.go({ run: id }, true);
      this.follow(id);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      this.said.textContent = error.message;
    }
    this.button.disabled = false;
  }

  /** What a run came to, asked again while it goes on. */
  async follow(id) {
    clearTimeout(this.timer);
    const { panel } = this;
    let judged = null;
    let going = false;
    try {
      const head = await getJson(runPath(id));
      going = head.running || head.status === "queued" || head.status === "running";
      if (head.status !== "queued") judged = await getJson(runPath(id, "/domain"));
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      this.said.textContent = error.message;
    }
    // Another task was opened meanwhile, or another run begun.
    if (this.panel !== panel || this.page.query.get("run") !== id) return;
    if (judged || going) this.draw(id, judged, going);
    if (going) this.timer = setTimeout(() => panel.isConnected && this.follow(id), AGAIN_MS);
  }

  draw(id, judged, going) {
    const other = judged && (judged.task !== this.task.id || judged.domain !== this.domain);
    const status = going ? (judged ? "running" : "queued") : judged.status;
    const link = (href, text) => el("a", { class: "wb-btn sm", href, text });
    put(
      this.result,
      el(
        "div",
        { class: "ts-runhead" },
        el("h3", { text: going ? "So far" : "Judged" }),
        statusChip(status),
        judged ? el("span", { class: "wb-note", text: `${plain(judged.orchestrator)}, ${id}` }) : null,
      ),
      other ? el("p", { class: "wb-note", text: `This run played ${plain(judged.domain)}/${plain(judged.task)}.` }) : null,
      judged ? conditions(judged, going) : null,
      judged ? beside(judged, going) : null,
      el("div", { class: "lv-actions" }, link(`/?run=${encodeURIComponent(id)}`, "Open in Live"), going ? null : link(`/trajectories?run=${encodeURIComponent(id)}`, "Trajectory")),
    );
  }

  focus() {
    this.panel.scrollIntoView({ block: "nearest" });
    byId("ts-who").focus();
  }
}
