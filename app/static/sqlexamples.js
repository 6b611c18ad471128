// Questions worth asking of a store, each one statement.

export const EXAMPLES = [
  {
    title: "How each tool does",
    sql: "SELECT tool, ran, ok, round(100.0 * ok / nullif(ran, 0), 1) AS ok_percent, p50_s, p95_s, mean_usd, priced\nFROM tool_use\nORDER BY ran DESC",
  },
  {
    title: "Calls by tool",
    sql: "SELECT tool, count(*) AS calls\nFROM calls\nGROUP BY tool\nORDER BY calls DESC, tool",
  },
  {
    title: "Mean known cost by orchestrator",
    sql: "SELECT orchestrator, avg(cost_usd) AS mean_usd\nFROM trajectories\nWHERE cost_usd IS NOT NULL\nGROUP BY orchestrator\nORDER BY mean_usd DESC, orchestrator",
  },
  {
    title: "Why runs ended",
    sql: "SELECT status, count(*) AS runs\nFROM trajectories\nGROUP BY status\nORDER BY runs DESC, status",
  },
  {
    title: "The slowest calls",
    sql: "SELECT run_id, tool, latency_s, cost_usd, left(arguments, 80) AS arguments\nFROM calls\nWHERE status = 'ok'\nORDER BY latency_s DESC NULLS LAST\nLIMIT 20",
  },
  {
    title: "Which tool follows which",
    sql: "WITH steps AS (\n  SELECT tool, lead(tool) OVER (PARTITION BY run_id ORDER BY turn, position) AS then_tool FROM calls\n)\nSELECT tool, then_tool, count(*) AS times\nFROM steps\nWHERE then_tool IS NOT NULL\nGROUP BY ALL\nORDER BY times DESC, tool, then_tool",
  },
  {
    title: "Calls without a known cost",
    sql: "SELECT priced_as, payee, count(*) AS attempts\nFROM attempts\nWHERE billed AND cost_usd IS NULL\nGROUP BY ALL\nORDER BY attempts DESC, priced_as",
  },
];
