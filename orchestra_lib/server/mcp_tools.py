"""The workbench as an MCP server: run a task, and ask about what has run."""

import asyncio
import json
from contextlib import aclosing
from typing import Annotated, Any

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations
from pydantic import Field

from orchestra_lib import event as ev
from orchestra_lib.codec import from_data, to_data
from orchestra_lib.errors import BadInput, OrchestraError
from orchestra_lib.event import apply
from orchestra_lib.json_writing import spoken
from orchestra_lib.preference import parse_preference
from orchestra_lib.report import report
from orchestra_lib.serving.asked import Wishes, bounded
from orchestra_lib.store.summary import Filter
from orchestra_lib.trajectory import Trajectory
from orchestra_lib.workbench import Order, Workbench

MAX_LIST, MAX_ROWS, QUERY_S = 200, 1_000, 20.0
MAX_TEXT = 4_000
"""Characters of one text within a trajectory; the whole of it is in the workbench."""

_READS = ToolAnnotations(read_only_hint=True, open_world_hint=False)
_RUNS = ToolAnnotations(read_only_hint=False, destructive_hint=False, open_world_hint=True)
_WORDS = (
    "Orchestra Workbench: an orchestrator solves a task by calling tools and other models under preferences for "
    "quality, cost and latency. Every run is kept as a trajectory that can be listed, read and queried."
)


def mcp_server(workbench: Workbench, orders: dict[str, Order], at_once: int = 4) -> MCPServer:
    """The server over a workbench. `orders` are what can be asked for, by orchestrator, the first by default."""
    server: MCPServer = MCPServer("orchestra", title="Orchestra Workbench", instructions=_WORDS, log_level="WARNING")
    desk = _Desk(workbench, orders, at_once)
    for tool, marks in (
        (desk.run_task, _RUNS),
        (desk.list_trajectories, _READS),
        (desk.get_trajectory, _READS),
        (desk.query, _READS),
    ):
        server.add_tool(tool, annotations=marks)
    return server


class _Desk:
    """The tools. What cannot be done is told as a failed call, in the words that a person would read."""

    def __init__(self, workbench: Workbench, orders: dict[str, Order], at_once: int) -> None:
        self._workbench, self._orders, self._at_once, self._busy = workbench, orders, at_once, 0

    async def run_task(
        self,
        ctx: Context,
        task: Annotated[str, Field(description="What should be done, with everything that is needed for it.")],
        orchestrator: Annotated[str | None, Field(description="Who conducts; the server's first if left out.")] = None,
        prefer: Annotated[
            list[str] | None,
            Field(description="Wishes as NAME=WEIGHT: quality, cost, latency in 0..1, tool.NAME in -1..1."),
        ] = None,
        cost_usd: Annotated[float | None, Field(description="USD at most.")] = None,
        time_s: Annotated[float | None, Field(description="Seconds at most.")] = None,
        max_turns: Annotated[int | None, Field(description="Turns at most.")] = None,
    ) -> dict[str, Any]:
        """Have an orchestrator solve a task; returns its answer, what it cost and took, and the run's id."""
        try:
            trajectory = await self._play(
                ctx, task, orchestrator, prefer, Wishes(cost_usd=cost_usd, time_s=time_s, max_turns=max_turns)
            )
        except OrchestraError as error:
            raise ToolError(str(error)) from None
        bill = trajectory.bill()
        return {
            "run_id": trajectory.id,
            "status": trajectory.status,
            "answer": trajectory.answer,
            "fault": trajectory.faults[-1].message if trajectory.faults else None,
            "cost_usd": bill.cost_usd,
            "prices": trajectory.setting.prices.name,
            "nominal": trajectory.setting.prices.nominal,
            "latency_s": trajectory.latency_s,
            "turns": len(trajectory.turns),
            "tools_used": dict(trajectory.tools_used),
            "simulated": trajectory.simulated,
        }

    async def _play(
        self, ctx: Context, task: str, name: str | None, prefer: list[str] | None, wishes: Wishes
    ) -> Trajectory:
        name = name or next(iter(self._orders))
        if name not in self._orders:
            raise BadInput(f"there is no orchestrator {name[:80]!r} here; there are {', '.join(self._orders)}")
        if self._busy >= self._at_once:
            raise BadInput(f"{self._busy} tasks are running, as many as this server takes at once; try again later")
        order = bounded(self._orders[name], wishes)
        preference = parse_preference(prefer) if prefer else order.preference
        cancel = asyncio.Event()
        stream = self._workbench.play(
            from_data({**to_data(order), "task": task, "preference": to_data(preference)}, Order, where="task"),
            cancel=cancel,
        )
        self._busy += 1
        following = asyncio.create_task(_follow(stream, ctx))
        try:
            return await asyncio.shield(following)
        except asyncio.CancelledError:  # whoever asked has gone: the run stops, and its record is closed
            cancel.set()
            await asyncio.wait({following})
            raise
        finally:
            self._busy -= 1

    def list_trajectories(
        self,
        limit: Annotated[int, Field(ge=1, le=MAX_LIST, description="So many, newest first.")] = 20,
        text: Annotated[
            str | None, Field(description="Only those with this in id, task, answer or observations.")
        ] = None,
        orchestrator: Annotated[str | None, Field(description="Only its runs.")] = None,
        status: Annotated[str | None, Field(description="answered, fault, cancelled, max_turns, …")] = None,
    ) -> dict[str, Any]:
        """List the runs of the workbench with their answers, costs and tools."""
        wanted = Filter(text=text, orchestrator=orchestrator, status=status)
        try:
            found = self._workbench.store.list(wanted, limit=limit)
            return {"trajectories": [_cut(to_data(one)) for one in found], "count": self._workbench.store.count(wanted)}
        except OrchestraError as error:
            raise ToolError(str(error)) from None

    def get_trajectory(self, run_id: Annotated[str, Field(description="The run's id.")]) -> dict[str, Any]:
        """One run whole: turns, reasoning, calls with arguments and results, bill. Long texts are cut, and say so."""
        try:
            found: dict[str, Any] = _cut(report(self._workbench.store.get(run_id)))
            return found
        except OrchestraError as error:
            raise ToolError(str(error)) from None

    def query(
        self,
        sql: Annotated[str, Field(description="One SELECT in DuckDB's SQL; DESCRIBE trajectories shows the columns.")],
        max_rows: Annotated[int, Field(ge=1, le=MAX_ROWS, description="Rows at most.")] = 100,
    ) -> dict[str, Any]:
        """Answer one reading SQL statement over the tables trajectories, turns, calls, attempts, grades and tags."""
        try:
            answer = self._workbench.store.query(sql, max_rows=max_rows, timeout_s=QUERY_S)
        except OrchestraError as error:
            raise ToolError(str(error)) from None
        data = {"columns": answer.columns, "rows": answer.rows, "cut": answer.cut}
        plain: dict[str, Any] = json.loads(spoken(data, default=str))
        return plain


async def _follow(stream: Any, ctx: Context) -> Trajectory:
    trajectory: Trajectory | None = None
    async with aclosing(stream) as events:
        async for event in events:
            trajectory = apply(trajectory, event)
            if isinstance(event, ev.TurnFinished):
                await ctx.report_progress(event.turn, message=f"turn {event.turn}")
    assert trajectory is not None
    return trajectory


def _cut(data: Any) -> Any:
    if isinstance(data, str):
        return data if len(data) <= MAX_TEXT else f"{data[:MAX_TEXT]}… ({len(data) - MAX_TEXT:,} more characters)"
    if isinstance(data, dict):
        return {key: _cut(value) for key, value in data.items()}
    return [_cut(part) for part in data] if isinstance(data, list) else data
