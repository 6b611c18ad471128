// A new run: a config that ships, a name, values over its own; and the command that is started.

import { el, put } from "./dom.js";
import { asSentence, plain } from "./format.js";
import { icon } from "./icons.js";
import { getJson, postJson } from "./server.js";
import { planView } from "./trainingtables.js";
import { OF_A_RUN } from "./trainingwords.js";

const USUAL = ["seed", "grpo.steps", "grpo.prompts", "grpo.rollouts", "grpo.learning_rate", "grpo.kl", "checkpoint.every", "rollouts.keep_groups"];
const OURS = new Set(["name", "output_dir"]);

export class StartForm {
  constructor(page) {
    this.page = page;
  }

  leave() {
    this.found = null;
  }

  async show() {
    const { page } = this;
    page.title("New run");
    page.fill([page.link(OF_A_RUN, { class: "wb-btn ghost sm" }, icon("back", true), "All runs"), el("h1", { text: "Start a run" })]);
    this.found = await page.trying("The configs could not be read.", () => getJson("/api/training/configs"), { retry: () => this.show() });
    if (!this.found || page.current !== "start") return;
    if (!this.found.configs.length) {
      page.fill([...document.getElementById("tn-head").childNodes], el("section", { class: "wb-panel wb-state" }, el("h2", { text: "No config ships with this workbench" }), el("p", { text: "Train by a file of your own: orchestra train FILE.toml" })));
      return;
    }
    this.build();
  }

  build() {
    const { configs, running, folder } = this.found;
    const asked = this.page.query.get("new");
    this.config = el("select", { "aria-label": "Config", on: { change: () => this.page.go({ new: this.config.value }, true) || this.drawFields() } });
    put(this.config, configs.map((one) => el("option", { value: one.name, text: plain(one.off ? `${one.name} (not here)` : one.name) })));
    this.config.value = configs.some((one) => one.name === asked) ? asked : (configs.find((one) => one.name === "tiny") ?? configs[0]).name;
    this.name = el("input", { type: "text", required: true, maxlength: 64, pattern: "[a-z0-9][a-z0-9._\\-]*", autocomplete: "off", spellcheck: "false", "aria-label": "Name of the run", on: { input: () => this.drawCommand() } });
    this.more = el("textarea", { rows: 3, spellcheck: "false", placeholder: "grpo.entropy=0.01", "aria-label": "More settings, one a line", on: { input: () => this.drawCommand() } });
    this.beside = el("input", { type: "checkbox" });
    this.said = el("p", { class: "wb-note" });
    this.off = el("div", { role: "status" });
    this.plan = el("div", { class: "tn-plan" });
    this.fields = el("div", { class: "tn-fields" });
    this.command = el("code", { class: "wb-mono" });
    this.refused = el("div", { role: "alert" });
    this.button = el("button", { class: "wb-btn primary", type: "submit" }, icon("play", true), "Start");
    const submit = (event) => {
      event.preventDefault();
      this.start();
    };
    put(
      document.getElementById("tn-view"),
      el(
        "form",
        { class: "wb-panel tn-start", "aria-label": "New run", on: { submit } },
        el("div", { class: "tn-two" }, el("label", { class: "tn-field" }, el("span", { text: "Config" }), el("span", { class: "wb-sel" }, this.config)), el("label", { class: "tn-field" }, el("span", { text: "Name, which is the name of its folder" }), el("span", { class: "wb-in" }, this.name))),
        this.said,
        this.off,
        el("h2", { class: "wb-cap", text: "Values over the config's own" }),
        this.fields,
        el("details", {}, el("summary", { class: "wb-note", text: "More settings" }), el("p", { class: "wb-note", text: "One a line, as a.b=c. The trainer refuses what it does not know." }), el("label", { class: "wb-in tn-more" }, this.more)),
        running.length ? el("label", { class: "tn-check" }, this.beside, `Start beside ${plain(running.join(", "))}, which goes on: two runs share the cores`) : null,
        el("p", { class: "wb-note" }, "It runs as a process of its own, in ", el("code", { class: "wb-mono tn-path", text: plain(folder) }), ", and goes on when the workbench is closed. The same in a terminal:"),
        el("p", { class: "wb-args tn-command" }, this.command),
        this.refused,
        el("div", { class: "lv-actions" }, this.button),
      ),
      this.plan,
    );
    this.drawFields();
    this.name.focus();
  }

  get chosen() {
    return this.found.configs.find((one) => one.name === this.config.value);
  }

  drawFields() {
    const { fields, said, name, off } = this.chosen;
    this.said.textContent = plain(said);
    put(this.off, off ? el("div", { class: "wb-alert warn" }, icon("warn"), el("p", {}, el("b", { text: "It cannot be started here. " }), plain(asSentence(off)))) : null);
    this.button.disabled = off !== null;
    this.drawPlan();
    const taken = new Date().toISOString().slice(5, 16).replace(/\D/g, "");
    if (!this.name.value || this.proposed === this.name.value) this.name.value = this.proposed = `${name}-${taken}`;
    this.inputs = new Map();
    const known = Object.keys(fields).filter((key) => !OURS.has(key));
    const usual = USUAL.filter((key) => known.includes(key));
    const rest = known.filter((key) => !usual.includes(key));
    const field = (key) => {
      const input = el("input", { type: "text", placeholder: plain(String(fields[key])), "aria-label": key, autocomplete: "off", spellcheck: "false", on: { input: () => this.drawCommand() } });
      this.inputs.set(key, input);
      return el("label", { class: "tn-field" }, el("span", { class: "wb-mono", text: plain(key) }), el("span", { class: "wb-in sm" }, input));
    };
    put(
      this.fields,
      el("div", { class: "tn-grid" }, usual.map(field)),
      rest.length ? el("details", {}, el("summary", { class: "wb-note", text: `All of its other values (${rest.length})` }), el("div", { class: "tn-grid" }, rest.map(field))) : null,
    );
    this.drawCommand();
  }

  /** The dry run of a config for a cluster. */
  async drawPlan() {
    const { name, planned } = this.chosen;
    put(this.plan);
    if (!planned) return;
    const found = await this.page.trying("It could not be planned.", () => getJson(`/api/training/plan?${new URLSearchParams({ config: name })}`), { host: this.plan });
    if (found && this.page.current === "start" && this.chosen.name === name) put(this.plan, planView(found));
  }

  get sets() {
    const changed = [...this.inputs].filter(([, input]) => input.value.trim() !== "").map(([key, input]) => `${key}=${input.value.trim()}`);
    return [...changed, ...this.more.value.split("\n").map((line) => line.trim()).filter(Boolean)];
  }

  drawCommand() {
    const quoted = (text) => (/^[\w.=,+-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);
    const sets = [`name=${this.name.value}`, ...this.sets].map((text) => `--set ${quoted(text)}`);
    this.command.textContent = plain(`orchestra train configs/${this.chosen.name}.toml ${sets.join(" ")}`);
  }

  async start() {
    this.button.disabled = true;
    const order = { config: this.chosen.name, name: this.name.value, sets: this.sets, beside: this.beside.checked };
    const found = await this.page.trying("The run was not started.", () => postJson("/api/training/start", order), { host: this.refused });
    this.button.disabled = this.chosen.off !== null;
    if (found) await this.page.go({ ...OF_A_RUN, run: order.name });
  }
}
