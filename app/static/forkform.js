// A stored run replayed from its record, forked at a turn, and the tree of forks that it stands in.

import { el, put } from "./dom.js";
import { plain, plural, seconds, usd } from "./format.js";
import { nominalBadge } from "./marks.js";
import { Refused, getJson, postJson, runPath } from "./server.js";

const GOALS = [
  ["outcome", "Quality"],
  ["cost", "Cost"],
  ["latency", "Latency"],
];
const DENIED_BY = { kernel: "the kernel denied it the network", python: "Python denied it the network" };

export class ForkCard {
  /** `run` is the open run; `ended()` is called once it has ended, as only then it can be replayed and forked. */
  constructor(run) {
    this.run = run;
    this.said = el("p", { class: "wb-note", role: "status" });
    this.tree = el("div", { class: "fk-tree" });
    this.form = el("form", { class: "fk-form", hidden: true, "aria-label": "Fork" });
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.send();
    });
    const button = (text, act) => el("button", { class: "wb-btn sm", type: "button", text, on: { click: act } });
    this.replay = button("Replay", () => this.replayIt());
    this.open = button("Fork…", () => this.openForm());
    this.open.setAttribute("aria-expanded", "false");
    this.node = el(
      "section",
      { class: "wb-panel fk", "aria-label": "Replay and fork", hidden: true },
      el("header", {}, el("h2", { text: "Replay and fork" })),
      el("div", { class: "fk-btns" }, this.replay, this.open),
      this.said,
      this.form,
      this.tree,
    );
  }

  ended() {
    this.node.hidden = false;
    this.open.disabled = this.run.turns.length === 0;
    this.loadTree();
  }

  // ---- replay
  async replayIt() {
    this.replay.disabled = true;
    this.said.textContent = "Playing it again from its record…";
    try {
      put(this.said, ...replayWords(await postJson(runPath(this.run.id, "/replay"), {})));
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      this.said.textContent = plain(error.message);
    }
    this.replay.disabled = false;
  }

  // ---- the tree
  async loadTree() {
    const found = await getJson(runPath(this.run.id, "/forks")).catch(() => null);
    if (found === null) return;
    const paid = found.paid_before_usd === null ? "an unknown amount" : usd(found.paid_before_usd);
    const before = found.fork
      ? el("p", { class: "wb-note" }, `Of the bill, ${paid} was paid before the fork. `, found.nominal ? nominalBadge() : null)
      : null;
    const group = found.group
      ? el("a", { href: `/reward?group=${encodeURIComponent(found.group)}`, text: `Group ${plain(found.group)}` })
      : null;
    put(
      this.tree,
      before,
      (found.fork?.restored ?? []).map((words) => el("p", { class: "wb-note", text: plain(words) })),
      group,
      found.tree.length > 1 ? el("ol", { "aria-label": "Tree of forks" }, found.tree.map((one) => this.branch(one))) : null,
    );
  }

  branch(one) {
    const where = one.turn === null ? "" : ` from turn ${one.turn}${one.edited ? ", edited" : ""}`;
    const cost = one.cost_usd === null ? "—" : usd(one.cost_usd);
    const words = `${plain(one.orchestrator)}${where} · ${one.status.replaceAll("_", " ")} · ${cost} · ${one.latency_s === null ? "—" : seconds(one.latency_s)}`;
    const here = one.id === this.run.id;
    const link = el("a", {
      href: `/trajectories?run=${encodeURIComponent(one.id)}`,
      "aria-current": here ? "page" : null,
      title: plain(one.sentence),
      text: words,
    });
    return el("li", { style: { "--depth": Math.min(one.depth, 8) } }, link, here ? " (this run)" : null);
  }

  // ---- the form
  async openForm() {
    this.form.hidden = !this.form.hidden;
    this.open.setAttribute("aria-expanded", String(!this.form.hidden));
    if (this.form.hidden || this.form.childElementCount) return;
    this.state = await getJson("/api/state");
    if (!this.form.childElementCount) this.build();
    this.turn.focus();
  }

  build() {
    const { setting, turns } = this.run;
    const option = (value, text, more = {}) => el("option", { value, text: plain(text), ...more });
    const indices = turns.map((turn) => turn.index);
    this.turn = el("select", { on: { change: () => this.chosenTurn() } }, indices.map((n) => option(n, `Turn ${n}`)));
    this.turn.value = indices.at(-1);
    const usable = this.state.orchestrators.filter((one) => one.off === null);
    const names = new Set(usable.map((one) => one.name));
    this.orchestrator = el(
      "select",
      {},
      names.has(setting.orchestrator) ? null : option("", `choose: ${setting.orchestrator} is off`),
      usable.map((one) => option(one.name, one.title)),
    );
    this.orchestrator.value = names.has(setting.orchestrator) ? setting.orchestrator : "";
    this.prices = el("select", {}, this.state.prices.map((one) => option(one.name, `${one.name} ${one.dated}`)));
    this.prices.value = setting.prices.name;
    this.goals = Object.fromEntries(GOALS.map(([name]) => [name, number(setting.preference[name], 0)]));
    this.tools = this.state.tools.filter((tool) => tool.off === null).map((tool) => this.tool(tool));
    this.maxTurns = el("input", { type: "number", min: 1, step: 1, value: setting.limits.max_turns });
    const weigh = ([name, title]) => labelled(title, this.goals[name]);
    this.call = el(
      "select",
      { on: { change: () => this.chosenCall() } },
      option("", "the orchestrator decides"),
      this.tools.map(({ name, title }) => option(name, title)),
    );
    this.arguments = el("textarea", { rows: 4, spellcheck: "false", "aria-label": "Arguments as JSON", hidden: true });
    put(
      this.form,
      labelled("Play anew from", this.turn),
      labelled("Orchestrator", this.orchestrator),
      labelled("Prices", this.prices),
      labelled("Turns at most", this.maxTurns),
      el("fieldset", {}, el("legend", { text: "Goals, 0 to 1" }), GOALS.map(weigh)),
      el("fieldset", {}, el("legend", { text: "Tools, weights from \u22121 to 1" }), this.tools.map((one) => one.node)),
      labelled("In that turn", this.call),
      this.arguments,
      el("p", { class: "wb-note", text: "Earlier turns are kept as they were; limits and the bill count them too." }),
      el("button", { class: "wb-btn primary sm", type: "submit", text: "Start the fork" }),
    );
  }

  tool({ name, title }) {
    const { setting } = this.run;
    const offered = setting.tools.some((spec) => spec.name === name);
    const on = el("input", { type: "checkbox", checked: offered });
    const weight = number(setting.preference.tools[name] ?? 0, -1);
    weight.setAttribute("aria-label", `Weight of ${plain(title)}`);
    const node = el("div", { class: "fk-tool" }, el("label", {}, on, plain(title)), weight);
    return { name, title, on, weight, node };
  }

  chosenTurn() {
    if (this.call.value) this.chosenCall();
  }

  /** The arguments to begin from: what the turn called, where it called that tool. */
  chosenCall() {
    this.arguments.hidden = !this.call.value;
    const turn = this.run.turns.find((one) => String(one.index) === this.turn.value);
    const made = turn?.generation?.calls.find((call) => call.tool === this.call.value);
    this.arguments.value = JSON.stringify(made?.arguments ?? {}, null, 1);
  }

  order() {
    const { id, setting } = this.run;
    const chosen = this.tools.filter((one) => one.on.checked);
    const weights = this.tools.map((one) => [one.name, Number(one.weight.value)]).filter(([, weight]) => weight !== 0);
    const goals = Object.fromEntries(GOALS.map(([name]) => [name, Number(this.goals[name].value)]));
    const preference = { ...goals, tools: Object.fromEntries(weights), sentence: null };
    const own = setting.preference.sentence;
    if (own !== null && sameWeights(preference, setting.preference)) preference.sentence = own;
    const { assigned, task } = setting;
    const asked = assigned
      ? { assignment: assigned.assignment, user: assigned.user }
      : { task: task.text, reference: task.reference, check: task.check };
    return {
      ...asked,
      orchestrator: this.orchestrator.value,
      protocol: setting.protocol,
      preference,
      tools: setting.protocol === "chat" ? chosen.map((one) => one.name) : null,
      prices: this.prices.value,
      limits: { ...setting.limits, max_turns: Number(this.maxTurns.value) },
      seed: setting.seed,
      fork: { run_id: id, turn: Number(this.turn.value) },
      call: this.call.value ? { tool: this.call.value, arguments: JSON.parse(this.arguments.value) } : null,
    };
  }

  async send() {
    let order;
    try {
      order = this.order();
    } catch (error) {
      this.said.textContent = `The arguments are no JSON: ${error.message}`;
      this.arguments.focus();
      return;
    }
    this.said.textContent = "";
    try {
      const { id } = await postJson("/api/runs", order);
      location.assign(`/?run=${encodeURIComponent(id)}`);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      this.said.textContent = plain(error.message);
    }
  }
}

const number = (value, min) => el("input", { type: "number", min, max: 1, step: 0.05, value });

const labelled = (title, field) => el("label", { class: "fk-row" }, el("span", { text: title }), field);

function sameWeights(one, other) {
  const flat = ({ outcome, cost, latency, tools }) =>
    JSON.stringify([outcome, cost, latency, Object.entries(tools).filter(([, weight]) => weight !== 0).sort()]);
  return flat(one) === flat(other);
}

function replayWords(found) {
  const denied = `; ${DENIED_BY[found.denied_by]}.`;
  if (found.same) {
    const size = `${plural(found.turns, "turn")}, ${plural(found.calls, "call")}`;
    return [el("b", { text: "The same, byte for byte" }), `: ${size}${denied}`];
  }
  const { path, recorded, replayed } = found.difference;
  const shown = (value) => (value === null ? "nothing" : plain(JSON.stringify(value)).slice(0, 300));
  return [
    el("b", { text: `Differs at ${plain(path)}` }),
    `: recorded ${shown(recorded)}, replayed ${shown(replayed)}${denied}`,
  ];
}
