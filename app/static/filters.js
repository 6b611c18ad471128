// The chips of the list: what each narrows to stands in it, and all of it stands in the address.

import { byId, el, put } from "./dom.js";
import { plain } from "./format.js";
import { CostRange } from "./costrange.js";

const CHOICES = ["status", "outcome", "orchestrator", "tool", "prefer", "avoid", "tag", "group", "simulated", "nominal", "training", "training_run"];
const RANGES = { date: ["since", "until"], time: ["time_min", "time_max"] };
const COSTS = ["cost_min", "cost_max"];
const YES_NO = ["yes", "no"];
const TYPING_MS = 200;
/** Everything that narrows the list, as the address names it. */
export const NAMES = ["q", ...CHOICES, ...Object.values(RANGES).flat(), ...COSTS];
/** What a reader takes for one filter: its name, and its parameters in the address. */
const PARTS = {
  text: ["q"],
  ...Object.fromEntries(CHOICES.map((name) => [name, [name]])),
  date: RANGES.date,
  seconds: RANGES.time,
  cost: COSTS,
};
/** Rollouts of training are left out unless the address asks for them. */
const TRAINING = { "": "hidden", yes: "only", all: "shown" };
const GOALS = { outcome: "quality" };
/** A group or a tag is a name as somebody gave it; anything else is one of our own words. */
function wordsOf(name, value) {
  if (name === "tag" || name === "group" || name === "training_run") return plain(value);
  if (name === "training") return TRAINING[value] ?? plain(value);
  return name === "prefer" || name === "avoid" ? wordOf(value) : plain(value).replaceAll("_", " ");
}
const wordOf = (value) => GOALS[value] ?? plain(value).replace(/^tool\./, "").replaceAll("_", " ");

export class Filters {
  /** `onChange(query)` hears the filters alone, as an address has them. */
  constructor(onChange) {
    this.onChange = onChange;
    this.costs = [null, null];
    let typing = 0;
    const soon = () => {
      clearTimeout(typing);
      typing = setTimeout(() => this.changed(), TYPING_MS);
    };
    byId("filters").addEventListener("submit", (event) => event.preventDefault());
    byId("q").addEventListener("input", soon);
    for (const name of CHOICES) byId(`f-${name}`).addEventListener("change", () => this.changed());
    for (const name of Object.values(RANGES).flat()) byId(`f-${name}`).addEventListener("input", soon);
    byId("clear").addEventListener("click", () => this.clear());
    this.range = new CostRange(byId("cost"), (...ends) => {
      this.costs = ends;
      this.changed();
    });
  }

  changed() {
    const query = new URLSearchParams();
    for (const name of NAMES) {
      const value = COSTS.includes(name)
        ? this.costs[COSTS.indexOf(name)]
        : byId(name === "q" ? "q" : `f-${name}`).value;
      if (value !== null && String(value).trim() !== "") query.set(name, String(value));
    }
    this.onChange(query);
  }

  clear() {
    this.onChange(new URLSearchParams());
  }

  /** Take one filter out, by the name that `narrowing` gives it. */
  drop(query, part) {
    const rest = [...query].filter(([name]) => NAMES.includes(name) && !PARTS[part].includes(name));
    this.onChange(new URLSearchParams(part === "training" ? [...rest, ["training", "all"]] : rest));
  }

  /** Show what the address narrows to; a field that is being typed in keeps what is typed. */
  read(query) {
    this.costs = COSTS.map((name) => (query.has(name) ? Number(query.get(name)) : null));
    for (const name of NAMES) {
      const field = byId(name === "q" ? "q" : `f-${name}`);
      if (!field || field.tagName !== "INPUT" || field === document.activeElement) continue;
      field.value = query.get(name) ?? "";
    }
    for (const name of CHOICES) this.choice(name, query.get(name) ?? "");
    for (const [name, [low, high]] of Object.entries(RANGES)) {
      const words = between(query.get(low), query.get(high));
      byId(`f-${name}`).textContent = words ?? "any";
      byId(`f-${name}`).parentElement.classList.toggle("on", words !== null);
    }
    byId("clear").hidden = !NAMES.some((name) => query.get(name));
  }

  /** New choices and new bars, when the list has counted. */
  offer(overview, query) {
    const tools = overview.tools.map((name) => `tool.${name}`);
    this.offered = {
      prefer: [...overview.goals, ...tools],
      avoid: tools,
      status: overview.statuses,
      outcome: overview.outcomes,
      orchestrator: overview.orchestrators,
      tool: overview.tools,
      tag: overview.tags,
      group: overview.groups,
      simulated: YES_NO,
      nominal: YES_NO,
      training: ["yes", "all"],
      training_run: overview.trainings,
    };
    for (const name of CHOICES) this.choice(name, query.get(name) ?? "");
    for (const name of ["tag", "group", "training_run"])
      byId(`f-${name}`).parentElement.hidden = this.offered[name].length === 0 && !query.get(name);
    byId("f-training").parentElement.hidden = overview.trainings.length === 0 && !query.get("training");
    this.range.show(overview.costs, ...this.costs);
  }

  choice(name, now) {
    const select = byId(`f-${name}`);
    const values = this.offered?.[name] ?? [];
    const all = now && !values.includes(now) ? [...values, now] : values;
    put(
      select,
      el("option", { value: "", text: name === "training" ? TRAINING[""] : "any" }),
      all.map((value) => el("option", { value, text: wordsOf(name, value) })),
    );
    select.value = now;
    select.parentElement.classList.toggle("on", Boolean(now));
  }
}

function between(low, high) {
  if (low && high) return low === high ? low : `${low} to ${high}`;
  if (low) return `from ${low}`;
  return high ? `up to ${high}` : null;
}

/** The names of the filters that an address has. */
export function narrowing(query) {
  return Object.keys(PARTS).filter((part) =>
    part === "training" ? hidesTraining(query) : PARTS[part].some((name) => query.get(name)),
  );
}

function hidesTraining(query) {
  return query.get("training") ? query.get("training") !== "all" : !query.get("training_run");
}
