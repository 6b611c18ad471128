// The formula behind each number of the Reward page, with its numbers.

import { fineUsd, plain, seconds } from "./format.js";

const MINUS = "\u2212";
export const fixed = (value, digits = 2) => (value < 0 ? MINUS : "") + Math.abs(value).toFixed(digits);
/** Without the zero before the point. */
export const short = (value) => fixed(value).replace(/^(\u2212?)0\./, "$1.");
const signed = (value) => (value > 0 ? `+${fixed(value)}` : fixed(value));
const bare = (value) => (value < 0 ? MINUS : "") + String(Number(Math.abs(value).toPrecision(6)));
const held = (value) => (value < 0 ? `(${bare(value)})` : bare(value));

const GOALS = { outcome: "outcome", cost: "low cost", latency: "low latency" };

/** The name of a component: a goal's, or the title of a tool. */
export const titleOf = (name, data) =>
  GOALS[name] ?? plain(data.tools.find((tool) => `tool.${tool.name}` === name)?.title ?? name);

/**
 * The words for one cell. `key` is `raw`, `normalised`, `weighted`, `gate`, `reward`, `rank`, `advantage` or `kept`;
 * `lab` holds the group, its names, its report and its mode; `at` is the rollout's place in the report.
 */
export function explain(key, name, rollout, at, lab) {
  const who = plain(rollout.id);
  if (key === "raw") return `${who}: ${rawWords(name, rollout, lab)}`;
  if (at === undefined || !lab.report) return `${who}: ${lab.whyLeft(rollout)}; it has no reward, which is not 0.`;
  const report = lab.report;
  const reward = report.reward[at];
  const words = {
    normalised: () => normalisedWords(name, at, lab),
    weighted: () => `${products(at, lab)} = ${fixed(report.weighted[at], 4)}`,
    gate: () => (rollout.outcome ? "solved, so the gate is 1" : "not solved, so the gate is 0 and so is R"),
    reward: () => `R = ${rollout.outcome ? 1 : 0} × ${fixed(report.weighted[at], 4)} = ${fixed(reward, 4)}`,
    rank: () => `${report.reward.filter((other) => other > reward).length} of ${report.reward.length} have a higher R`,
    advantage: () => advantageWords(at, lab),
    kept: () => keptWords(rollout, at, lab),
  };
  return `${who}: ${words[key]()}`;
}

function rawWords(name, rollout, lab) {
  if (name === "cost")
    return rollout.cost_usd === null
      ? "what it cost is unknown under these prices, and unknown is not 0"
      : `it cost ${fineUsd(rollout.cost_usd)} under ${lab.pricesWord}; every billed attempt, the judge's apart`;
  if (name === "latency") return rollout.latency_s === null ? "its time is unknown" : `it took ${seconds(rollout.latency_s)}`;
  const calls = rollout.tool_counts[name.slice(5)] ?? 0;
  return `${calls === 1 ? "1 call" : `${calls} calls`} of ${titleOf(name, lab.data)} that ran`;
}

function normalisedWords(name, at, { report, names, mode, data }) {
  const part = report.parts[names.indexOf(name)];
  const { raw, min, max, normalised, weight } = part;
  const title = titleOf(name, data);
  if (!(max > min))
    return `${title} is ${Number.isFinite(min) ? `${bare(min)} in every rollout` : "used by none"}, so it counts 0`;
  const range = `(${bare(max)} ${MINUS} ${held(min)})`;
  const placed = `(${bare(raw[at])} ${MINUS} ${held(min)}) / ${range}`;
  const result = `= ${fixed(normalised[at], 4)}, weighs ${short(weight)}`;
  if (mode === "paper") {
    const why = weight < 0 ? " negated, as its weight is below 0 (our extension):" : ":";
    return `${title}${why} (value ${MINUS} min) / (max ${MINUS} min) = ${placed} ${result}`;
  }
  if (name.startsWith("tool.")) return `${title}, in the range of those who used it: ${placed} ${result}`;
  const twice = `(0 ${MINUS} ${held(min)}) / ${range}`;
  const lost = name === "outcome" ? "" : " with its sign lost";
  return `${title}${lost}, and 0 counted once more: ${placed} + ${twice} ${result}`;
}

function products(at, { report, mode }) {
  const parts = report.parts.filter((part) => part.weight !== 0);
  if (parts.length === 0) return "every weight is 0: 0";
  return parts
    .map((part) => `${short(mode === "paper" ? Math.abs(part.weight) : part.weight)} × ${fixed(part.normalised[at])}`)
    .join(" + ");
}

function advantageWords(at, { report, mode }) {
  const { reward, mean, std, advantage } = report;
  const result = `= ${signed(advantage[at])}`;
  if (std === null) return `alone in its group, so its advantage is 0`;
  const difference = `(${fixed(reward[at])} ${MINUS} ${fixed(mean)})`;
  if (mode !== "paper") return `A = (R ${MINUS} mean) / (std + 1e-6), kept in ±3: ${difference} / ${fixed(std)} ${result}`;
  if (std === 0) return `all rewards of the group are equal, so its advantage is 0`;
  return `A = (R ${MINUS} mean) / std: ${difference} / ${fixed(std)} ${result} (std with n ${MINUS} 1)`;
}

function keptWords(rollout, at, { report }) {
  if (report.kept[at]) return `not in the loss: ${report.kept[at]}`;
  const turns = rollout.malformed_turns;
  if (turns.length === 0) return "in the loss, with all its turns";
  return `in the loss without turn ${turns.join(", ")}, whose tool call is malformed`;
}
