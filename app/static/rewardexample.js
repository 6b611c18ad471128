// Three rollouts made up to show the reversal with nothing stored: all solved, equally quick, dearer one by one.

const rollout = (id, cost_usd) => ({
  id,
  outcome: true,
  cost_usd,
  latency_s: 10,
  tool_counts: {},
  answered: true,
  malformed_turns: [],
  turns: 1,
  no_reward: null,
  simulated: false,
});

export const EXAMPLE = {
  example: true,
  name: "Worked example",
  task: "Three correct rollouts that differ in cost alone",
  tools: [],
  preference: { outcome: 0, cost: 1, latency: 0, tools: {} },
  preferences: 1,
  prices: [],
  rollouts: [rollout("cheap", 0.01), rollout("middle", 0.05), rollout("dear", 0.1)],
};
