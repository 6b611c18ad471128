"""Episodes to store, fold and show: built from real events, in one place."""

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta

from orchestra_lib.errors import Fault
from orchestra_lib.event import (
    CallFinished,
    CallStarted,
    Event,
    Generated,
    RunFinished,
    RunStarted,
    Streamed,
    TurnFinished,
    TurnStarted,
    fold,
)
from orchestra_lib.generation import Channel, Generation
from orchestra_lib.limits import Limits
from orchestra_lib.preference import Preference
from orchestra_lib.pricing import Attempt, Price, PriceTable, Usage
from orchestra_lib.task import Task
from orchestra_lib.tool import ArtefactRef, CallStatus, Observation, ToolCall, ToolKind, ToolSpec
from orchestra_lib.trajectory import Setting, StopReason, Trajectory

START = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)
PRICES = PriceTable(
    name="sample",
    dated=date(2026, 11, 1),
    source="made up for tests",
    nominal=True,
    prices={
        "small": Price(input_usd_per_mtok=1.0, output_usd_per_mtok=2.0, source="test"),
        "search": Price(call_usd=0.001, source="test"),
    },
)
TOOLS = (
    ToolSpec(name="search", title="Search", description="Find passages.", parameters={"type": "object"}),
    ToolSpec(
        name="coder",
        title="Coder",
        description="Write code.",
        parameters={"type": "object"},
        kind=ToolKind.SPECIALIST,
        model="small",
    ),
)


def setting(run_id: str = "run-1", *, task: str = "What is 2 + 2?", minutes: int = 0, **changes: object) -> Setting:
    values: dict[str, object] = {
        "run_id": run_id,
        "started_at": START + timedelta(minutes=minutes),
        "task": Task(text=task),
        "orchestrator": "conductor",
        "protocol": "chat",
        "preference": Preference(cost=0.9, tools={"search": -0.5}),
        "sentence": "Keep the cost low.",
        "tools": TOOLS,
        "prices": PRICES,
        "limits": Limits(),
        "seed": 7,
    }
    return Setting(**(values | changes))  # type: ignore[arg-type]  # the keys are the fields above


def attempt(priced_as: str = "small", tokens: int | None = 1000) -> Attempt:
    usage = None if tokens is None else Usage(input_tokens=tokens, output_tokens=tokens // 10)
    return Attempt(priced_as=priced_as, usage=usage, wall_s=0.25)


def events(
    run_id: str = "run-1",
    *,
    turns: int = 2,
    tool: str = "search",
    call_status: CallStatus = CallStatus.OK,
    observation: str = "four",
    answer: str | None = "4",
    fault: Fault | None = None,
    artefacts: tuple[ArtefactRef, ...] = (),
    **changes: object,
) -> Iterator[Event]:
    """A run of `turns` turns: one call in each but the last, which answers."""
    stop = StopReason.ANSWERED if fault is None else StopReason.FAULT
    yield RunStarted(seq=1, t_s=0.0, setting=setting(run_id, **changes))  # type: ignore[arg-type]
    seq = 2
    for turn in range(turns):
        start = float(turn)
        call = ToolCall.of(f"call-{turn}", tool, {"query": f"ü {turn}"})
        last = turn == turns - 1
        move = Generation(
            raw_text="thinking", content="done" if last else "", answer=answer if last else None, attempts=(attempt(),)
        )
        yield TurnStarted(seq=seq, t_s=start, turn=turn)
        yield Streamed(seq=seq + 1, t_s=start + 0.1, turn=turn, channel=Channel.CONTENT, text="thin")
        if last:
            yield Generated(seq=seq + 2, t_s=start + 0.2, turn=turn, generation=move)
        else:
            called = Generation(raw_text="thinking", calls=(call,), attempts=(attempt(),))
            yield Generated(seq=seq + 2, t_s=start + 0.2, turn=turn, generation=called)
            yield CallStarted(seq=seq + 3, t_s=start + 0.2, turn=turn, call_id=call.id, held_usd=None)
            yield CallFinished(
                seq=seq + 4,
                t_s=start + 0.8,
                turn=turn,
                observation=Observation(
                    call_id=call.id,
                    status=call_status,
                    text=observation,
                    artefacts=artefacts,
                    started_s=start + 0.2,
                    finished_s=start + 0.8,
                ),
                attempts=(attempt("search", None) if tool == "search" else attempt(),),
            )
        yield TurnFinished(seq=seq + 5, t_s=start + 0.9, turn=turn)
        seq += 6
    yield RunFinished(seq=seq, t_s=float(turns), stop=stop, answer=answer, fault=fault)


def trajectory(run_id: str = "run-1", **changes: object) -> Trajectory:
    return fold(events(run_id, **changes))  # type: ignore[arg-type]  # the keys of `events`
