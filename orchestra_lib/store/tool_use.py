"""What was measured of each tool, out of all calls in the store."""

from collections.abc import Mapping

from orchestra_lib.record import record
from orchestra_lib.store.queries import StoreQueries

_BARS = 16
_USE = "SELECT tool, ran, ok, refused, p50_s, p95_s, mean_usd, priced FROM tool_use"
_CALLERS = """
SELECT tool, orchestrator, count(*) AS calls FROM calls JOIN trajectories ON id = run_id
WHERE calls.status IN ('ok', 'error', 'timeout') GROUP BY ALL ORDER BY tool, calls DESC, orchestrator
"""
_LATENCIES = f"""
WITH scale AS (
    SELECT tool, greatest(quantile_cont(latency_s, 0.98), 0.001) / {_BARS} AS width FROM calls
    WHERE status = 'ok' GROUP BY tool
)
SELECT tool, least(floor(latency_s / width), {_BARS})::INTEGER AS bar, any_value(width) AS width, count(*) AS calls
FROM calls JOIN scale USING (tool) WHERE status = 'ok' AND latency_s IS NOT NULL GROUP BY tool, bar ORDER BY tool, bar
"""  # noqa: S608  # a number of our own


@record
class ToolUse:
    """Figures of one tool. `ran` leaves out calls that were refused before they started; those are `refused`.

    Seconds are of calls that went well. `mean_usd` is the mean of the `priced` calls whose cost is known, under
    the price tables of their runs; None when there is none.
    """

    ran: int
    ok: int
    refused: int
    p50_s: float | None
    p95_s: float | None
    mean_usd: float | None
    priced: int


def tool_use(store: StoreQueries) -> Mapping[str, ToolUse]:
    """The figures of every tool that was ever called, by name."""
    rows = store.query(_USE).rows
    return {
        tool: ToolUse(ran=ran, ok=ok, refused=refused, p50_s=p50_s, p95_s=p95_s, mean_usd=mean_usd, priced=priced)
        for tool, ran, ok, refused, p50_s, p95_s, mean_usd, priced in rows
    }


def callers(store: StoreQueries, tool: str) -> list[tuple[str, int]]:
    """Who had calls of a tool run and how many, the most frequent first."""
    return [(orchestrator, calls) for name, orchestrator, calls in store.query(_CALLERS).rows if name == tool]


def latencies(store: StoreQueries, tool: str) -> tuple[float, list[int]] | None:
    """A histogram of the seconds of calls that went well: the width of a bar, and counts; the last holds the rest.

    None when the tool never answered.
    """
    found = [(bar, width, calls) for name, bar, width, calls in store.query(_LATENCIES).rows if name == tool]
    if not found:
        return None
    counts = [0] * (_BARS + 1)
    for bar, _, calls in found:
        counts[bar] = calls
    return found[0][1], counts
