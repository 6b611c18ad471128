// What the Reward page shows, without a page: the group, what is supposed of it, and the report that follows.

import { plain } from "./format.js";
import { readMode, readWeights, weightsOf, writeWeights } from "./rewardlink.js";
import { GOALS, counts, report } from "./rewardmath.js";
import { titleOf } from "./rewardwhy.js";

export const RECORDED = "recorded";

export class Lab {
  /** `data` as `/api/reward` gives it, or the worked example. */
  constructor(data) {
    this.data = data;
    this.stored = weightsOf(data.preference);
    this.tails = tails(data.rollouts);
    this.all = false; // whether tools that nobody used and nobody weighs have a column
    this.read(new URLSearchParams());
    this.before = this.standing();
  }

  /** Weights, mode, prices and tools as an address says; what it does not say is as it was played. */
  read(query) {
    const offered = new Set(this.data.tools.map((tool) => tool.name));
    const known = (name) => !name.startsWith("tool.") || offered.has(name.slice(5));
    const weights = Object.entries(readWeights(query)).filter(([name]) => known(name));
    this.weights = { ...this.stored, ...Object.fromEntries(weights) };
    this.mode = readMode(query);
    const prices = query.get("prices");
    this.prices = this.data.prices.some((table) => table.key === prices) ? prices : RECORDED;
    this.without = new Set(query.getAll("without").filter((name) => offered.has(name)));
    this.gather();
  }

  write(query) {
    writeWeights(query, this.weights, this.stored);
    for (const name of ["mode", "prices", "without"]) query.delete(name);
    if (this.mode !== "paper") query.set("mode", this.mode);
    if (this.prices !== RECORDED) query.set("prices", this.prices);
    for (const name of this.without) query.append("without", name);
    return query;
  }

  weigh(name, weight) {
    this.weights[name] = weight;
  }

  reset() {
    this.weights = { ...this.stored };
  }

  offer(name, on) {
    if (on) this.without.delete(name);
    else this.without.add(name);
  }

  get table() {
    return this.data.prices.find((table) => table.key === this.prices) ?? null;
  }

  get pricesWord() {
    const { table } = this;
    if (!table) return "made-up prices";
    return `${plain(table.name)} of ${table.dated}${table.nominal ? ", nominal: nobody is billed" : ""}`;
  }

  get simulated() {
    return this.data.rollouts.filter((one) => one.simulated).length;
  }

  /** How many faders stand elsewhere than they were played. */
  get moved() {
    return Object.entries(this.weights).filter(([name, weight]) => weight !== (this.stored[name] ?? 0)).length;
  }

  /** The rollouts with their costs, those of them that are compared, and the components with a column. */
  gather() {
    const { table } = this;
    const cost = (rollout) => (table ? (table.usd[rollout.id] ?? null) : rollout.cost_usd);
    this.rollouts = this.data.rollouts.map((one) => ({ ...one, cost_usd: cost(one) }));
    const able = this.rollouts.filter((one) => counts(one) && !this.missing(one));
    this.refused = this.refusal(table, able);
    this.counted = this.refused ? [] : able;
    this.names = [...this.columns(this.all).map((tool) => `tool.${tool}`), ...GOALS];
  }

  /** Why these prices give no rewards, null where they do. */
  refusal(table, rollouts) {
    if (table?.mixed) return table.refused;
    if (rollouts.some((one) => one.cost_usd === null)) return table?.refused ?? "a cost is unknown, and unknown is not 0";
    const untimed = rollouts.find((one) => one.latency_s === null);
    return untimed ? `how long ${plain(untimed.id)} took is unknown, and unknown is not 0` : null;
  }

  /** The tools with a column: those on offer that somebody used or somebody weighs, or all. */
  columns(all) {
    const used = (name) => this.rollouts.some((one) => one.tool_counts[name]);
    const weighed = (name) => Boolean(this.stored[`tool.${name}`] || this.weights[`tool.${name}`]);
    return this.data.tools
      .map((tool) => tool.name)
      .filter((name) => !this.without.has(name) && (all || used(name) || weighed(name)));
  }

  /** A tool that a rollout called and that is not on offer now. */
  missing(rollout) {
    return [...this.without].find((name) => rollout.tool_counts[name]);
  }

  /** Why a rollout has no reward. */
  whyLeft(rollout) {
    if (rollout.no_reward) return rollout.no_reward;
    if (rollout.outcome === null) return "nobody has graded it";
    const tool = this.missing(rollout);
    if (tool) return `it called ${titleOf(`tool.${tool}`, this.data)}, which is not on offer here`;
    return this.refused;
  }

  compute() {
    this.report = this.reportIn(this.mode);
  }

  reportIn(mode, weights = this.weights) {
    const tools = this.names.filter((name) => name.startsWith("tool.")).map((name) => name.slice(5));
    return report(this.counted, tools, weights, mode);
  }

  bothModes() {
    const other = this.mode === "paper" ? "released_code" : "paper";
    const reports = { [this.mode]: this.report, [other]: this.reportIn(other) };
    return { counted: this.counted, paper: reports.paper, released: reports.released_code, short: (one) => this.short(one) };
  }

  /** The ranks as it was played: the stored weights and prices, in the paper's arithmetic. */
  standing() {
    const found = this.reportIn("paper", this.stored);
    return found && new Map(this.counted.map((one, at) => [one.id, found.rank[at]]));
  }

  /** An id as short as it can be told from the others. */
  short = (rollout) => this.tails.get(rollout.id);
}

const TAIL = 6;

function tails(rollouts) {
  const short = (id) => (id.length > 2 * TAIL ? id.slice(-TAIL) : id);
  const unique = new Set(rollouts.map((one) => short(one.id))).size === rollouts.length;
  return new Map(rollouts.map((one) => [one.id, unique ? short(one.id) : one.id]));
}
