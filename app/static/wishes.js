// The wishes of a run: a slider per goal, a slider per tool.

import { byId, el, put } from "./dom.js";
import { icon, toolIcon } from "./icons.js";
import { plain, plural, seconds, unknown, weight } from "./format.js";
import { nominalBadge } from "./marks.js";
import { slider, word } from "./slider.js";

const GOALS = [
  ["outcome", "Quality"],
  ["cost", "Low cost"],
  ["latency", "Low latency"],
];
const COUNTS = 0.05; // from this weight on, here and in the sentence

export class Wishes {
  /** `onChange` is told of every move of a slider. */
  constructor(onChange) {
    this.onChange = onChange;
    this.goals = {};
    this.tools = {};
    this.offered = [];
    this.opened = false;
  }

  /** Set goals and tool wishes; what is not named stays. */
  set(goals, tools) {
    for (const [name] of GOALS) if (goals[name] !== undefined) this.goals[name] = goals[name];
    this.tools = { ...tools };
  }

  draw(offered, table) {
    this.offered = offered;
    this.drawGoals();
    this.drawTools(table);
  }

  drawGoals() {
    const sliders = GOALS.map(([name, title]) =>
      slider({
        id: `goal-${name}`,
        title,
        min: 0,
        value: this.goals[name],
        shown: weight,
        on: (value) => {
          this.goals[name] = value;
          this.onChange();
        },
      }),
    );
    put(byId("goals"), el("h3", { class: "wb-cap", text: "Goals" }), sliders);
  }

  drawTools(table) {
    const away = this.offered.filter((tool) => tool.off && tool.simulated);
    const rows = this.offered
      .filter((tool) => !away.includes(tool))
      .map((tool) => (tool.off ? offTool(tool) : this.toolSlider(tool, table)));
    put(
      byId("tools"),
      rows.length ? rows : el("p", { class: "wb-note", text: "No tools are installed." }),
      away.length ? this.away(away) : null,
      table?.nominal
        ? el("p", { class: "wb-note" }, nominalBadge(), " prices of hosted equivalents; nobody is billed")
        : null,
    );
  }

  /** Simulated experts that are off, which would fill the column: under a line that opens. */
  away(tools) {
    return el(
      "details",
      { class: "lv-off lv-away", open: this.opened, on: { toggle: ({ target }) => (this.opened = target.open) } },
      el("summary", { class: "wb-note", text: `${plural(tools.length, "simulated expert")} off, why?` }),
      tools.map(offTool),
    );
  }

  toolSlider(tool, table) {
    return slider({
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
        this.onChange();
      },
      below: [price(tool, table), latency(tool)],
    });
  }

  /** Why what is off is off, in words that change while weights arrive. */
  drawReasons(offered) {
    this.offered = offered;
    for (const tool of offered.filter((one) => one.off))
      byId(`off-${tool.name}`).textContent = `off: ${plain(tool.off)}`;
  }

  /** Goals and tool wishes as the server reads them; tools that are off are left out. */
  preference() {
    const on = new Set(this.offered.filter((tool) => !tool.off).map((tool) => tool.name));
    const tools = Object.fromEntries(Object.entries(this.tools).filter(([name, value]) => value !== 0 && on.has(name)));
    return { ...this.goals, tools };
  }

  /** The wishes in a few words. */
  get short() {
    const tools = Object.values(this.tools).filter((value) => Math.abs(value) > COUNTS).length;
    const goals = GOALS.filter(([name]) => this.goals[name] > COUNTS).map(
      ([name]) => `${name === "outcome" ? "quality" : name} ${weight(this.goals[name])}`,
    );
    return (
      [...goals, tools ? `${tools} tool wish${tools === 1 ? "" : "es"}` : null].filter(Boolean).join(" · ") ||
      "no wishes"
    );
  }
}

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
  const why = table ? `the price table ${table.name} has no price for ${tool.model ?? tool.name}` : "no price table";
  return el("span", {}, text ?? unknown(why));
}

function latency(tool) {
  const known = tool.latency_s !== null;
  return el("span", {}, known ? seconds(tool.latency_s) : unknown("nobody has measured how long it takes"));
}
