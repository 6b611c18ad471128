// Words of training: states, reasons, preferences, the figures of a step; and what is derived from its rows.

import { el } from "./dom.js";
import { plain, wait } from "./format.js";
import { icon } from "./icons.js";
import { mean } from "./trainingfigures.js";

const STATES = {
  starting: ["run", null, "starting"],
  running: ["run", null, "running"],
  finished: ["ok", "check", "finished"],
  stopped: ["warn", "stop", "stopped"],
  failed: ["bad", "cross", "failed"],
  unreadable: ["bad", "warn", "unreadable"],
};
/** What the address says of one view and of no other. */
export const OF_A_RUN = { run: null, view: null, step: null, wish: null, seeds: null, compare: null, new: null };

export const GOING = new Set(["starting", "running"]);

/** The chip of a run's state: icon and word. */
export function stateChip(state, word) {
  const [look, sign, usual] = STATES[state] ?? ["", "minus", state];
  return el("span", { class: `wb-chip ${look}` }, sign ? icon(sign, true) : el("i", { class: "dot" }), word ?? usual);
}

/** What a preference asks for above all, as the reader knows it. */
export const AIMS = {
  cost: "cost wish",
  latency: "time wish",
  tool: "tool wish",
  outcome: "quality wish",
};
export const aimWords = (aim) => AIMS[aim] ?? plain(aim).replaceAll("_", " ");

const REASONS = {
  flat_group: ["rewards hardly differ", "flat"],
  malformed: ["malformed", "mal"],
  no_answer: ["no valid answer", "mute"],
  fault: ["fault of the world", "fault"],
  ungraded: ["ungraded", "none"],
};
export const reasonWords = (reason) => REASONS[reason]?.[0] ?? plain(reason).replaceAll("_", " ");

/** The bands of a step's samples: kept, then each reason that any step of the run has. */
export function sampleBands(rows) {
  const found = new Set(rows.flatMap((row) => Object.entries(row.excluded).flatMap(([name, n]) => (n ? [name] : []))));
  const names = [...Object.keys(REASONS), ...found].filter((name, at, all) => found.has(name) && all.indexOf(name) === at);
  return (row) =>
    row.samples
      ? [
          { name: "kept", look: "kept", share: (row.kept ?? 0) / row.samples },
          ...names.map((name) => ({ name: reasonWords(name), look: REASONS[name]?.[1] ?? "none", share: (row.excluded[name] ?? 0) / row.samples })),
        ]
      : [];
}

const MOST_TOOLS = 7;
const FADES = [1, 0.6, 0.35];

/**
 * The bands of a step's calls by tool, those of one kind side by side. Where every exercise has names of its own, only
 * the strongest tool is told from the others.
 */
export function toolBands(rows, kinds) {
  const names = [...new Set(rows.flatMap((row) => Object.keys(row.tool_shares)))];
  if (!names.length || names.length > 4 * MOST_TOOLS) {
    const known = rows.some((row) => row.strongest_share !== null);
    return {
      many: names.length > 0,
      bands: (row) =>
        !known || row.strongest_share === null
          ? []
          : [
              { name: "other tools", look: "t-basic", share: 1 - row.strongest_share },
              { name: "strongest tool", look: "t-generalist", share: row.strongest_share },
            ],
    };
  }
  const total = (name) => rows.reduce((all, row) => all + (row.tool_shares[name] ?? 0), 0);
  const order = ["basic", "domain", "specialist", "generalist"];
  const kindOf = (name) => kinds[name] ?? "orch";
  const alike = {};
  const told = (name) => (alike[kindOf(name)] = (alike[kindOf(name)] ?? 0) + 1) <= FADES.length; // a look for each, no more
  const shown = [...names].sort((a, b) => total(b) - total(a)).filter(told).slice(0, MOST_TOOLS);
  shown.sort((a, b) => order.indexOf(kindOf(a)) - order.indexOf(kindOf(b)) || total(a) - total(b));
  const looks = shown.map((name) => {
    const before = shown.filter((other) => kindOf(other) === kindOf(name)).reverse();
    return { name, words: toolWords(name), look: `t-${kindOf(name)}`, fade: FADES[before.indexOf(name)] };
  });
  return {
    many: false,
    bands: (row) => {
      const parts = looks.map(({ name, words, look, fade }) => ({ name: words, look, fade, share: row.tool_shares[name] ?? 0 }));
      const rest = 1 - parts.reduce((all, part) => all + part.share, 0);
      if (!Object.keys(row.tool_shares).length) return [];
      return names.length > shown.length ? [...parts, { name: "others", look: "t-others", share: Math.max(0, rest) }] : parts;
    },
  };
}

export const toolWords = (name) => plain(name).replace(/^sim_/, "").replaceAll("_", " ");

/** Alarms over the steps: one bracket for neighbouring steps with the same. */
export function alarmSpans(rows) {
  const spans = [];
  for (const row of rows)
    for (const text of row.alarms) {
      const [kind, why = ""] = text.split(/:\s*(.*)/s);
      const last = spans.findLast((span) => span.kind === kind);
      if (last && row.step - last.to <= 2) Object.assign(last, { to: row.step, why });
      else spans.push({ kind, from: row.step, to: row.step, why });
    }
  return spans;
}

const at = (span) => (span.from === span.to ? `step ${span.from}` : `step ${span.from} to ${span.to}`);
export const spanWords = (span) => `${plain(span.kind)}, ${at(span)}`;

/** Seconds of a step and how long the rest will take, in words. */
export function paceWords(rows, steps, going) {
  const last = rows.slice(-10);
  const [cpu, wall] = [mean(last.map((row) => row.cpu_s)), mean(last.map((row) => row.wall_s))];
  const parts = [];
  if (cpu !== null) parts.push(`${cpu.toFixed(cpu < 9.95 ? 1 : 0)} CPU-s a step`);
  const left = steps === null ? 0 : steps - (rows.at(-1)?.step ?? 0);
  if (going && wall !== null && left > 0) parts.push(`about ${wait(wall * left)} left`);
  return parts.join(" · ");
}

/** The figures of a step that are drawn as curves below the fold: title, unit, how a row gives it. */
export const HEALTH = [
  { key: "malformed_rate", title: "Malformed turns", unit: "share", get: (row) => row.malformed_rate },
  { key: "strongest_share", title: "Calls to the strongest", unit: "share", get: (row) => row.strongest_share },
  { key: "flat", title: "Groups without difference", unit: "share", get: (row) => (row.groups ? (row.flat_groups ?? null) && row.flat_groups / row.groups : null) },
  { key: "calls", title: "Calls a task", unit: "count", get: (row) => row.calls },
  { key: "completion_tokens", title: "Tokens written", unit: "count", get: (row) => row.completion_tokens },
  { key: "entropy", title: "Entropy", unit: "number", get: (row) => row.entropy },
  { key: "kl", title: "KL to the start", unit: "number", get: (row) => row.kl },
  { key: "grad_norm", title: "Gradient norm", unit: "count", get: (row) => row.grad_norm },
  { key: "loss", title: "Loss", unit: "number", get: (row) => row.loss },
  { key: "lr", title: "Learning rate", unit: "count", get: (row) => row.lr },
  { key: "cpu_s", title: "CPU seconds a step", unit: "count", get: (row) => row.cpu_s },
  { key: "rollout_cpu_s", title: "of which rollouts", unit: "count", get: (row) => row.rollout_cpu_s },
];

/** The figures that tell whether it learns. */
export const LEARNS = [
  { key: "accuracy", title: "Accuracy", unit: "share", get: (row) => row.accuracy },
  { key: "cost_usd", title: "Cost per task", unit: "usd", get: (row) => row.cost_usd },
  { key: "latency_s", title: "Time per task", unit: "seconds", get: (row) => row.latency_s },
];
export const follows = (aim) => ({ key: `compliance.${aim}`, title: `Follows a ${aimWords(aim)}`, unit: "share", get: (row) => row.compliance[aim] ?? null });

/** The preferences of which a run knows whether they were followed. */
export const aimsIn = (rows) => Object.keys(AIMS).filter((aim) => rows.some((row) => (row.compliance[aim] ?? null) !== null));
