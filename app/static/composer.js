// What the user asks for: task, orchestrator, wishes, limits, prices. Remembered in this browser.

import { byId, el, put } from "./dom.js";
import { icon, toolIcon } from "./icons.js";
import { plain, seconds, unknown, weight } from "./format.js";
import { Refused, getJson, postJson, runPath } from "./server.js";
import { nominalBadge } from "./marks.js";
import { slider, word } from "./slider.js";

const KEY = "wb-order";
const GOALS = [
  ["outcome", "Quality"],
  ["cost", "Low cost"],
  ["latency", "Low latency"],
];
const LIMITS = { cost_usd: "limit-cost", time_s: "limit-time", max_turns: "limit-turns" };

export class Composer {
  /** `onRun(order)` starts a run and `onTable()` is told when another price table is chosen. */
  constructor({ onRun, onTable }) {
    this.onRun = onRun;
    this.onTable = onTable;
    this.state = null;
    this.goals = {};
    this.tools = {};
    this.sentenceTimer = 0;
    this.busy = false; // a run goes on in this tab
    this.asking = null;
    byId("composer").addEventListener("submit", (event) => {
      event.preventDefault();
      this.run();
    });
    byId("task").addEventListener("input", () => this.grow());
    byId("orchestrator").addEventListener("change", () => this.chosen());
    byId("prices").addEventListener("change", () => {
      this.drawTools();
      this.keep();
      this.onTable();
    });
    for (const id of Object.values(LIMITS)) byId(id).addEventListener("change", () => this.keep());
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
    if (first) {
      const kept = remembered();
      const { outcome, cost, latency } = state.defaults.preference;
      this.goals = { outcome, cost, latency, ...kept.goals };
      this.tools = { ...kept.tools };
      this.drawGoals();
      this.limits({ max_turns: state.defaults.limits.max_turns, ...kept.limits });
    }
    if (offers === this.offers) {
      this.drawReasons();
      return;
    }
    this.offers = offers;
    this.drawPickers(
      first
        ? { ...state.defaults, ...remembered() }
        : { orchestrator: byId("orchestrator").value, prices: byId("prices").value },
    );
    this.drawTools();
    this.askSentence();
  }

  get table() {
    return this.state?.prices.find((table) => table.name === byId("prices").value) ?? null;
  }

  drawPickers(wanted) {
    put(
      byId("orchestrator"),
      this.state.orchestrators.map((offer) =>
        el("option", { value: offer.name, disabled: offer.off !== null, text: offerText(offer) }),
      ),
    );
    const usable = this.state.orchestrators.filter((offer) => offer.off === null);
    byId("orchestrator").value =
      (usable.find((offer) => offer.name === wanted.orchestrator) ?? usable[0] ?? this.state.orchestrators[0])?.name ??
      "";
    put(
      byId("prices"),
      this.state.prices.map((table) =>
        el("option", { value: table.name, text: `${plain(table.name)} ${table.dated}` }),
      ),
    );
    const tables = this.state.prices.map((table) => table.name);
    byId("prices").value =
      [wanted.prices, this.state.defaults.prices].find((name) => tables.includes(name)) ?? tables[0];
    this.chosen();
  }

  /** The words beside what is off, without touching what is on. */
  drawReasons() {
    for (const option of byId("orchestrator").options)
      option.textContent = offerText(this.state.orchestrators.find((one) => one.name === option.value));
    for (const tool of this.state.tools.filter((one) => one.off))
      byId(`off-${tool.name}`).textContent = `off: ${plain(tool.off)}`;
    this.drawNote();
  }

  chosen() {
    this.drawNote();
    this.keep();
  }

  drawNote() {
    const offer = this.state.orchestrators.find((one) => one.name === byId("orchestrator").value);
    const others = this.state.orchestrators.filter((one) => one.off !== null && one !== offer);
    byId("orchestrator-note").textContent = offer ? plain(offer.off ?? offer.note) : "";
    byId("orchestrators-off").hidden = others.length === 0;
    put(
      byId("orchestrators-off-list"),
      others.map((one) => el("li", { text: `${plain(one.title)}: ${plain(one.off)}` })),
    );
    byId("orchestrators-off-count").textContent =
      `${others.length} more ${others.length === 1 ? "is" : "are"} off, why?`;
    byId("run").disabled = this.busy || !offer || offer.off !== null;
  }

  drawGoals() {
    const sliders = GOALS.map(([name, title]) =>
      slider({
        id: `goal-${name}`,
        title,
        min: 0,
        value: this.goals[name],
        shown: (value) => value.toFixed(2),
        on: (value) => {
          this.goals[name] = value;
          this.changed();
        },
      }),
    );
    put(byId("goals"), el("h3", { class: "wb-cap", text: "Goals" }), sliders);
  }

  drawTools() {
    const table = this.table;
    const rows = this.state.tools.map((tool) =>
      tool.off
        ? offTool(tool)
        : slider({
            id: `tool-${tool.name}`,
            title: plain(tool.title),
            hint: plain(tool.description),
            min: -1,
            value: this.tools[tool.name] ?? 0,
            shown: word,
            box: el(
              "span",
              { class: `wb-kind k-${tool.kind}`, title: `${tool.kind} tool`, "aria-hidden": "true" },
              icon(toolIcon(tool.kind, tool.name)),
            ),
            on: (value) => {
              this.tools[tool.name] = value;
              this.changed();
            },
            below: [price(tool, table), latency(tool)],
          }),
    );
    put(
      byId("tools"),
      rows.length ? rows : el("p", { class: "wb-note", text: "No tools are installed." }),
      table?.nominal
        ? el("p", { class: "wb-note" }, nominalBadge(), " prices of hosted equivalents; nobody is billed")
        : null,
    );
  }

  changed() {
    this.keep();
    clearTimeout(this.sentenceTimer);
    this.sentenceTimer = setTimeout(() => this.askSentence(), 80);
    put(byId("wishes-short"), this.shortWish());
  }

  shortWish() {
    const wishes = Object.values(this.tools).filter((value) => Math.abs(value) > 0.05).length;
    const goals = GOALS.filter(([name]) => this.goals[name] > 0.05).map(
      ([name]) => `${name === "outcome" ? "quality" : name} ${weight(this.goals[name])}`,
    );
    return (
      [...goals, wishes ? `${wishes} tool wish${wishes === 1 ? "" : "es"}` : null].filter(Boolean).join(" · ") ||
      "no wishes"
    );
  }

  async askSentence() {
    put(byId("wishes-short"), this.shortWish());
    this.asking?.abort();
    this.asking = new AbortController();
    const { signal } = this.asking;
    try {
      const { sentence } = await postJson("/api/preference", { preference: this.preference() }, signal);
      if (!signal.aborted)
        byId("sentence").textContent = sentence ? `“${plain(sentence)}”` : "Nothing: no wish is set.";
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      if (!signal.aborted) byId("sentence").textContent = `The sentence is not known: ${error.message}`;
    }
  }

  preference() {
    const offered = new Set(this.state.tools.filter((tool) => !tool.off).map((tool) => tool.name));
    const tools = Object.fromEntries(
      Object.entries(this.tools).filter(([name, value]) => value !== 0 && offered.has(name)),
    );
    return { ...this.goals, tools };
  }

  /** The order as the server reads it. */
  order() {
    const limits = {};
    for (const [name, id] of Object.entries(LIMITS)) {
      const text = byId(id).value.trim();
      if (text) limits[name] = Number(text);
    }
    return {
      task: byId("task").value,
      orchestrator: byId("orchestrator").value,
      preference: this.preference(),
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
    node.textContent = message ? plain(message) : "";
  }

  setTask(text) {
    byId("task").value = text;
    this.grow();
  }

  grow() {
    const field = byId("task");
    field.style.height = "auto";
    field.style.height = `${Math.min(field.scrollHeight, 168)}px`;
  }

  limits(values) {
    for (const [name, id] of Object.entries(LIMITS)) byId(id).value = values[name] ?? "";
  }

  /** Everything as it was in a stored run. */
  async prefill(runId) {
    const { setting } = await getJson(runPath(runId, "/trajectory"));
    const { outcome, cost, latency, tools } = setting.preference;
    this.goals = { outcome, cost, latency };
    this.tools = { ...tools };
    this.setTask(setting.task.text);
    this.limits(setting.limits);
    this.drawGoals();
    this.drawPickers({ orchestrator: setting.orchestrator, prices: setting.prices.name });
    this.drawTools();
    this.changed();
  }

  sheet(open) {
    byId("wishes").classList.toggle("open", open);
    byId("wishes-open").setAttribute("aria-expanded", String(open));
    if (open) byId("wishes").querySelector("select, input")?.focus();
  }

  keep() {
    const limits = Object.fromEntries(Object.entries(LIMITS).map(([name, id]) => [name, byId(id).value]));
    const data = {
      goals: this.goals,
      tools: this.tools,
      limits,
      orchestrator: byId("orchestrator").value,
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

function offTool(tool) {
  return el(
    "div",
    { class: "lv-tool-off" },
    el("span", { class: "wb-kind k-orch", "aria-hidden": "true" }, icon(toolIcon(tool.kind, tool.name))),
    el("span", {}, plain(tool.title), el("small", { id: `off-${tool.name}`, text: `off: ${plain(tool.off)}` })),
  );
}

function price(tool, table) {
  const text = table ? tool.prices[table.name] : null;
  return el(
    "span",
    {},
    text ??
      unknown(table ? `the price table ${table.name} has no price for ${tool.model ?? tool.name}` : "no price table"),
  );
}

function latency(tool) {
  return el(
    "span",
    {},
    tool.latency_s === null ? unknown("nobody has measured how long it takes") : seconds(tool.latency_s),
  );
}
