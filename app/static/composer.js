// What the user asks for: task, orchestrator and protocol, wishes, limits, prices. Remembered in this browser.

import { byId, el, put } from "./dom.js";
import { asSentence, plain } from "./format.js";
import { Refused, getJson, runPath } from "./server.js";
import { preferenceOf, weightsOf } from "./rewardlink.js";
import { Saying } from "./saying.js";
import { Sentence } from "./sentence.js";
import { Wishes } from "./wishes.js";

const KEY = "wb-order";
const LIMITS = { cost_usd: "limit-cost", time_s: "limit-time", max_turns: "limit-turns" };
const PROTOCOLS = { chat: "chat", toolorchestra: "toolorchestra" };

export class Composer {
  /** `onRun(order)` starts a run and `onTable()` is told when another price table is chosen. */
  constructor({ onRun, onTable }) {
    this.onRun = onRun;
    this.onTable = onTable;
    this.state = null;
    this.wishes = new Wishes(() => this.changed());
    this.sentence = new Sentence(
      () => this.wishes.preference(),
      () => this.keep(),
    );
    this.saying = new Saying({
      wishes: () => ({ goals: { ...this.wishes.goals }, tools: { ...this.wishes.tools }, sentence: this.sentence.own }),
      title: (name) => this.state.tools.find((tool) => tool.name === name)?.title ?? name,
      move: (wishes) => this.take(wishes),
      speak: (words) => {
        this.sentence.set(words);
        this.changed();
      },
    });
    byId("composer").addEventListener("submit", (event) => {
      event.preventDefault();
      this.run();
    });
    byId("task").addEventListener("input", () => this.grow());
    byId("orchestrator").addEventListener("change", () => this.chosen());
    byId("simulated-task").addEventListener("click", () => this.simulatedTask());
    byId("prices").addEventListener("change", () => {
      this.wishes.drawTools(this.table);
      this.keep();
      this.onTable();
    });
    for (const id of ["protocol", ...Object.values(LIMITS)]) byId(id).addEventListener("change", () => this.keep());
    byId("wishes-open").addEventListener("click", () => this.sheet(true));
    byId("wishes-close").addEventListener("click", () => this.sheet(false));
  }

  /** What the server offers; called again whenever it may have changed. */
  setState(state) {
    const first = this.state === null;
    // What weights still lack changes every second; only what can be chosen is worth a new picker under the hand.
    const usable = (offer) => [offer.name, offer.off === null];
    const offers = JSON.stringify([state.orchestrators.map(usable), state.tools.map(usable), state.prices]);
    this.state = state;
    const kept = first ? remembered() : null;
    if (first) {
      this.wishes.set({ ...state.defaults.preference, ...kept.goals }, kept.tools ?? {});
      this.sentence.set(kept.sentence ?? null);
      this.limits({ max_turns: state.defaults.limits.max_turns, ...kept.limits });
    }
    if (offers === this.offers) {
      this.drawReasons();
      return;
    }
    this.offers = offers;
    const now = { orchestrator: byId("orchestrator").value, prices: byId("prices").value };
    this.drawPickers(first ? { ...state.defaults, ...kept } : now);
    this.wishes.draw(state.tools, this.table);
    this.changed();
  }

  get table() {
    return this.state?.prices.find((table) => table.name === byId("prices").value) ?? null;
  }

  /** The tools that can be called now. */
  get tools() {
    return this.state.tools.filter((tool) => tool.off === null);
  }

  get offer() {
    return this.state.orchestrators.find((one) => one.name === byId("orchestrator").value);
  }

  drawPickers(wanted) {
    const { orchestrators, prices, defaults } = this.state;
    put(
      byId("orchestrator"),
      orchestrators.map((offer) =>
        el("option", { value: offer.name, disabled: offer.off !== null, text: offerText(offer) }),
      ),
    );
    const usable = orchestrators.filter((offer) => offer.off === null);
    const chosen = usable.find((offer) => offer.name === wanted.orchestrator) ?? usable[0] ?? orchestrators[0];
    byId("orchestrator").value = chosen?.name ?? "";
    put(
      byId("prices"),
      prices.map((table) => el("option", { value: table.name, text: `${plain(table.name)} ${table.dated}` })),
    );
    const tables = prices.map((table) => table.name);
    byId("prices").value = [wanted.prices, defaults.prices].find((name) => tables.includes(name)) ?? tables[0];
    this.chosen(wanted.protocol);
  }

  /** The words beside what is off, without touching what is on. */
  drawReasons() {
    for (const option of byId("orchestrator").options)
      option.textContent = offerText(this.state.orchestrators.find((one) => one.name === option.value));
    this.wishes.drawReasons(this.state.tools);
    this.drawNote();
  }

  chosen(protocol = byId("protocol").value) {
    this.drawNote();
    this.drawProtocols(protocol);
    this.keep();
  }

  /** The picker of the protocol, where the orchestrator speaks more than one. */
  drawProtocols(wanted) {
    const spoken = this.offer?.protocols ?? ["chat"];
    byId("protocol-box").hidden = spoken.length < 2;
    put(
      byId("protocol"),
      spoken.map((name) => el("option", { value: name, text: PROTOCOLS[name] ?? plain(name) })),
    );
    byId("protocol").value = spoken.includes(wanted) ? wanted : spoken[0];
  }

  drawNote() {
    const { offer } = this;
    const others = this.state.orchestrators.filter((one) => one.off !== null && one !== offer);
    byId("orchestrator-note").textContent = offer ? plain(offer.off ?? offer.note) : "";
    byId("simulated-task").hidden = !offer?.simulated;
    byId("orchestrators-off").hidden = others.length === 0;
    put(
      byId("orchestrators-off-list"),
      others.map((one) => el("li", { text: `${plain(one.title)}: ${plain(one.off)}` })),
    );
    byId("orchestrators-off-count").textContent =
      `${others.length} more ${others.length === 1 ? "is" : "are"} off, why?`;
    byId("run").disabled = !offer || offer.off !== null;
  }

  changed() {
    this.keep();
    this.sentence.moved();
    put(byId("wishes-short"), this.wishes.short);
  }

  /** The order as the server reads it. */
  order() {
    const limits = {};
    for (const [name, id] of Object.entries(LIMITS)) {
      const text = byId(id).value.trim();
      if (text) limits[name] = Number(text);
    }
    const reference = byId("reference").value.trim();
    return {
      task: byId("task").value,
      ...(reference ? { reference } : {}),
      orchestrator: byId("orchestrator").value,
      protocol: byId("protocol").value,
      preference: { ...this.wishes.preference(), sentence: this.sentence.own },
      prices: byId("prices").value,
      limits,
    };
  }

  run() {
    if (byId("run").disabled) return;
    this.sheet(false);
    this.refuse(byId("task").value.trim() ? null : "The task is empty; say what should be done.");
    if (byId("task").value.trim()) this.onRun(this.order());
    else byId("task").focus();
  }

  refuse(message) {
    const node = byId("refusal");
    node.hidden = !message;
    node.textContent = message ? asSentence(plain(message)) : "";
  }

  /** A task, with the answer that is expected of it. */
  setTask(text, reference = null) {
    byId("task").value = text;
    byId("reference").value = reference ?? "";
    byId("more").open = reference !== null;
    this.grow();
  }

  /** A task that simulated experts can answer; each time another one. */
  async simulatedTask() {
    try {
      const { task } = await getJson(`/api/training/task?number=${Math.floor(Math.random() * 1e6)}`);
      this.setTask(task);
      this.refuse(null);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      this.refuse(error.message);
    }
  }

  grow() {
    const field = byId("task");
    field.style.height = "auto";
    field.style.height = `${Math.min(field.scrollHeight, 168)}px`;
  }

  limits(values) {
    for (const [name, id] of Object.entries(LIMITS)) byId(id).value = values[name] ?? "";
  }

  /** Task and wishes set at once, every slider where it now stands. */
  take({ task, reference = null, goals = {}, tools = {}, sentence = null }) {
    if (task !== undefined) this.setTask(task, reference);
    this.wishes.set(goals, tools);
    this.wishes.draw(this.state.tools, this.table);
    this.sentence.set(sentence);
    this.changed();
  }

  /** Everything as it was in a stored run, but for these weights. */
  async prefill(runId, weights = {}) {
    const { setting } = await getJson(runPath(runId, "/trajectory"));
    if (setting.assigned) {
      // A task in a domain is started where its domain is.
      const { domain, assignment } = setting.assigned;
      location.replace(`/toolscale?${new URLSearchParams({ domain, task: assignment.id })}`);
      return;
    }
    const { outcome, cost, latency, tools } = preferenceOf({ ...weightsOf(setting.preference), ...weights });
    const sentence = Object.keys(weights).length ? null : setting.preference.sentence; // it named the former weights
    this.limits(setting.limits);
    this.drawPickers({
      orchestrator: setting.orchestrator,
      prices: setting.prices.name,
      protocol: setting.protocol,
    });
    this.take({ task: setting.task.text, reference: setting.task.reference, goals: { outcome, cost, latency }, tools, sentence });
  }

  sheet(open) {
    byId("wishes").classList.toggle("open", open);
    byId("wishes-open").setAttribute("aria-expanded", String(open));
    if (open) byId("wishes").querySelector("select, input")?.focus();
  }

  keep() {
    const limits = Object.fromEntries(Object.entries(LIMITS).map(([name, id]) => [name, byId(id).value]));
    const data = {
      goals: this.wishes.goals,
      tools: this.wishes.tools,
      sentence: this.sentence.own,
      limits,
      orchestrator: byId("orchestrator").value,
      protocol: byId("protocol").value,
      prices: byId("prices").value,
    };
    try {
      localStorage.setItem(KEY, JSON.stringify(data));
    } catch {
      // storage is switched off: the wishes last as long as the page
    }
  }
}

function remembered() {
  try {
    return JSON.parse(localStorage.getItem(KEY)) ?? {};
  } catch {
    return {};
  }
}

const offerText = (offer) => plain(offer.title) + (offer.off ? ` (off: ${plain(offer.off)})` : "");
