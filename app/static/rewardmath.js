// The preference reward and the advantage: the operations of orchestra_lib/reward.py and advantage.py in their order,
// so that a drag needs no server. tests/test_app_reward_browser.py holds this beside them over many groups.

export const GOALS = ["outcome", "cost", "latency"];
export const MODES = ["paper", "released_code"];
const MIN_STD = 0.1;
const [EPSILON, CLIP, FEW] = [1e-6, 3, 2];

/** Whether a rollout is part of its group. */
export const counts = (rollout) => rollout.outcome !== null && rollout.no_reward === null;

/**
 * Every number of one group. `rollouts` all count and have a cost and a time, `tools` are names in the order of the
 * server, `weights` maps them as `tool.NAME` and the goals. Null for a group without rollouts.
 */
export function report(rollouts, tools, weights, mode) {
  if (rollouts.length === 0) return null;
  const parts = [
    ...tools.map((tool) => part(rollouts, weights[`tool.${tool}`] ?? 0, mode, (one) => one.tool_counts[tool] ?? 0)),
    ...GOALS.map((goal) => goalPart(rollouts, weights[goal] ?? 0, mode, goal)),
  ];
  const weighted = rollouts.map((_, at) =>
    parts.slice(1).reduce((sum, one) => sum + one.contribution[at], parts[0].contribution[at]),
  );
  const reward = rollouts.map((one, at) => (one.outcome ? weighted[at] : 0));
  const compared = advantages(reward, mode);
  const why = compared.differs ? null : whyGroup(reward, compared, mode);
  const kept = rollouts.map((one) => why ?? whyNot(one));
  return { parts, weighted, reward, rank: ranks(reward), why, kept, ...compared };
}

/** A tool's part: counts placed in the group, or negated ones where the weight is below 0. */
function part(rollouts, weight, mode, count) {
  const values = rollouts.map(count);
  const paper = mode === "paper";
  const raw = paper && weight < 0 ? values.map((value) => 0 - value) : values;
  const ranged = paper ? raw : raw.filter((value) => value > 0);
  return placedPart(raw, bounds(ranged), weight, paper ? Math.abs(weight) : weight);
}

function goalPart(rollouts, weight, mode, goal) {
  const values = rollouts.map((one) =>
    goal === "outcome" ? Number(one.outcome) : goal === "cost" ? one.cost_usd : one.latency_s,
  );
  const aimed = goal === "outcome" ? values : values.map((value) => 0 - value);
  if (mode === "paper") return placedPart(aimed, bounds(aimed), weight, Math.abs(weight));
  // Positive values in the range of negated ones, and 0 in it once more.
  const made = placedPart(values, bounds(aimed), weight, weight);
  const ofZero = placed(0, made);
  made.normalised = made.normalised.map((value) => value + ofZero);
  made.contribution = made.normalised.map((value) => weight * value);
  return made;
}

const bounds = (values) => ({ min: Math.min(...values), max: Math.max(...values) });

function placedPart(raw, { min, max }, weight, factor) {
  const normalised = raw.map((value) => placed(value, { min, max }));
  return { raw, min, max, weight, factor, normalised, contribution: normalised.map((value) => factor * value) };
}

/** (value - min) / (max - min), and 0 where that range is empty. */
const placed = (value, { min, max }) => (max > min ? (value - min) / (max - min) : (value - 0) / Infinity);

/** A sum that takes its parts in order of size, so that the order of the rollouts changes no bit of it. */
const total = (values) => [...values].sort((a, b) => a - b).reduce((sum, value) => sum + value, 0);

function advantages(reward, mode) {
  const size = reward.length;
  const { min, max } = bounds(reward);
  const range = min === max ? 1 : max - min;
  const places = reward.map((value) => (value - min) / range);
  const middle = total(places) / size;
  const distance = places.map((value) => value - middle);
  const placedStd = Math.sqrt(total(distance.map((value) => value * value)) / (size > 1 ? size - 1 : 1));
  const std = placedStd * range;
  const paper = mode === "paper";
  const clip = (value) => Math.min(CLIP, Math.max(-CLIP, value));
  return {
    mean: total(reward) / size,
    std: size > 1 ? std : null,
    advantage: distance.map((value) =>
      paper ? value / (min === max ? 1 : placedStd) : clip((value * range) / (std + EPSILON)),
    ),
    differs: paper ? size > 1 && std >= MIN_STD : std > MIN_STD && size > FEW,
  };
}

/** Why the group teaches nothing; the same words as in reward_report.py. */
function whyGroup(reward, { std }, mode) {
  const size = reward.length;
  if (size === 1) return "a group of one has nothing to compare; play the task more often";
  if (reward.every((value) => value === 0))
    return "all rewards are 0; a group teaches when some rollouts succeed and some do not, or cost less";
  if (std === 0) return "all rewards are equal, so none is better; play more, or weigh what differs";
  if (mode === "released_code" && size === 2)
    return "the released code stops at groups of two; play the task more often";
  return `the rewards differ too little (std ${Number(std.toPrecision(3))}, needed ${MIN_STD})`;
}

function whyNot(rollout) {
  if (!rollout.answered) return "it ended without a valid answer";
  const malformed = new Set(rollout.malformed_turns).size;
  if (rollout.turns !== null && rollout.turns > 0 && rollout.turns <= malformed)
    return "every turn has a malformed tool call";
  return null;
}

/** 1 for the highest reward; equal ones share a rank. */
export const ranks = (reward) => reward.map((value) => 1 + reward.filter((other) => other > value).length);

/** Of the pairs of solved rollouts that differ in both modes, how many stand the other way round. */
export function reversals(rollouts, one, other) {
  const solved = rollouts.flatMap((rollout, at) => (rollout.outcome ? [at] : []));
  let [pairs, reversed] = [0, 0];
  solved.forEach((i, n) => {
    for (const j of solved.slice(0, n)) {
      const product = Math.sign(one.reward[i] - one.reward[j]) * Math.sign(other.reward[i] - other.reward[j]);
      if (product !== 0) pairs += 1;
      if (product < 0) reversed += 1;
    }
  });
  return { pairs, reversed };
}
