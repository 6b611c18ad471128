// What the Reward page hands on: its address with weights and mode, a command line, a file of rows, a preference.

import { GOALS, MODES } from "./rewardmath.js";

/** The weights of a preference as components name them: `outcome`, `cost`, `latency`, `tool.NAME`. */
export function weightsOf({ outcome, cost, latency, tools }) {
  const named = Object.entries(tools).map(([name, weight]) => [`tool.${name}`, weight]);
  return { outcome, cost, latency, ...Object.fromEntries(named) };
}

/** The same as a preference; a tool without a weight is left out. */
export function preferenceOf(weights) {
  const tools = Object.entries(weights).filter(([name, weight]) => name.startsWith("tool.") && weight !== 0);
  const goals = Object.fromEntries(GOALS.map((goal) => [goal, weights[goal] ?? 0]));
  return { ...goals, tools: Object.fromEntries(tools.map(([name, weight]) => [name.slice(5), weight])) };
}

/** The weights that an address sets (`w.cost=1`); what is out of range or no number is not taken. */
export function readWeights(query) {
  const found = {};
  for (const [name, text] of query) {
    const component = name.startsWith("w.") ? name.slice(2) : "";
    const low = component.startsWith("tool.") ? -1 : 0;
    if (!component.startsWith("tool.") && !GOALS.includes(component)) continue;
    const weight = text.trim() === "" ? Number.NaN : Number(text);
    if (weight >= low && weight <= 1) found[component] = weight;
  }
  return found;
}

/** The address with these weights where they differ from the stored ones. */
export function writeWeights(query, weights, stored) {
  for (const name of [...query.keys()]) if (name.startsWith("w.")) query.delete(name);
  for (const [name, weight] of Object.entries(weights))
    if (weight !== (stored[name] ?? 0)) query.set(`w.${name}`, String(round(weight)));
  return query;
}

export const readMode = (query) => (MODES.includes(query.get("mode")) ? query.get("mode") : "paper");

const round = (weight) => Number(weight.toFixed(6));
const quoted = (word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);

/** The command that prints the same numbers. `rows` names a file of them, for rollouts that are not stored. */
export function command({ ids, rows, weights, prices, mode }) {
  const words = ["orchestra", "reward", ...(rows ? [rows] : ids)];
  for (const [name, weight] of Object.entries(weights))
    if (weight !== 0 || GOALS.includes(name)) words.push("--prefer", `${name}=${round(weight)}`);
  if (prices && !rows) words.push("--prices", prices);
  if (mode !== "paper") words.push("--mode", mode);
  return words.map(quoted).join(" ");
}

/** The rollouts as `orchestra reward FILE.json` reads them. */
export function rowsJson(rollouts) {
  const row = ({ id, outcome, cost_usd, latency_s, tool_counts, answered, malformed_turns, turns }) => ({
    id,
    outcome,
    cost_usd,
    latency_s,
    tool_counts,
    answered,
    malformed_turns,
    turns,
  });
  return `${JSON.stringify(rollouts.map(row), null, 1)}\n`;
}

/** The preference as a table of a run's TOML file. */
export function preferenceToml(weights) {
  const { tools, ...goals } = preferenceOf(weights);
  const lines = (table) => Object.entries(table).map(([name, weight]) => `${key(name)} = ${decimal(weight)}\n`);
  return ["[preference]\n", ...lines(goals), "\n[preference.tools]\n", ...lines(tools)].join("");
}

const key = (name) => (/^[\w-]+$/.test(name) ? name : JSON.stringify(name));
const decimal = (weight) => (Number.isInteger(weight) ? weight.toFixed(1) : String(round(weight)));

/** A new run of the same task and setting under these weights. */
export function againAddress(runId, weights) {
  const query = new URLSearchParams({ again: runId });
  for (const [name, weight] of Object.entries(weights)) query.set(`w.${name}`, String(round(weight)));
  return `/?${query}`;
}
