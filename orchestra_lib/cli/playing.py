"""Runs played at the terminal: what happens is told while it does, and at the end how each came out."""

import asyncio
import signal
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import replace

import typer

from orchestra_lib import event as ev
from orchestra_lib.cli.terminal import VERDICTS, call_time, dollars, note, one_line, print_json, printable, seconds
from orchestra_lib.engine.crew import Crew
from orchestra_lib.engine.player import rollout
from orchestra_lib.event import Event, apply
from orchestra_lib.grade import Grade
from orchestra_lib.paths import home
from orchestra_lib.report import call_cost_usd, report
from orchestra_lib.toolkit.function import load_function
from orchestra_lib.training import conducting
from orchestra_lib.trajectory import StopReason, Trajectory
from orchestra_lib.workbench import Order, Workbench, new_run_id


async def play(orders: Sequence[Order], *, record: bool = False, crew: Crew | None = None) -> list[Trajectory]:
    """Play runs side by side, telling what happens, and keep them. Raises `BadInput` before any of them starts.

    With `record` recorded models ask the model itself for what they do not know, and keep it. A `crew` plays them
    elsewhere, and tells of each when it has ended.
    """
    cancel = asyncio.Event()
    # The first Ctrl-C stops the run and keeps its record; the handler is gone then, so a second one ends the program.
    loop = asyncio.get_running_loop()

    def stop() -> None:
        cancel.set()
        loop.remove_signal_handler(signal.SIGINT)

    loop.add_signal_handler(signal.SIGINT, stop)
    workbench = Workbench(home())
    conducting.join(workbench.roster, workbench.home)
    if record:
        workbench.roster.experts.record = True
    try:
        named = _with_functions(orders, workbench)
        if crew is None:
            streams = [workbench.play(order, cancel=cancel) for order in named]
        else:
            for order in named:
                workbench.setting(order)
            streams = [rollout(crew, order, new_run_id(), cancel) for order in named]
        marks = [f"#{n} " if len(streams) > 1 else "" for n in range(1, len(streams) + 1)]
        return _whole(await asyncio.gather(*map(_follow, streams, marks), return_exceptions=True))
    finally:
        await workbench.close()


def _with_functions(orders: Sequence[Order], workbench: Workbench) -> list[Order]:
    """Load the user's own functions among the tools; only here, so that no page or file of others can name code."""
    loaded: dict[str, str] = {}
    for name in dict.fromkeys(name for order in orders for name in order.tools or ()):
        if ".py:" in name:
            function = load_function(name)
            workbench.roster.add(function)
            loaded[name] = function.spec.name
    return [
        order if order.tools is None else replace(order, tools=tuple(loaded.get(name, name) for name in order.tools))
        for order in orders
    ]


def _whole(ends: Sequence[Trajectory | BaseException]) -> list[Trajectory]:
    """All of them; the first error of any, once the others have come to their ends, too."""
    for one in ends:
        if isinstance(one, BaseException):
            raise one
    return [one for one in ends if isinstance(one, Trajectory)]


async def _follow(stream: AsyncGenerator[Event, None], mark: str) -> Trajectory:
    trajectory: Trajectory | None = None
    async with aclosing(stream) as events:
        async for event in events:
            trajectory = apply(trajectory, event)
            _tell(event, trajectory, mark)
    assert trajectory is not None
    return trajectory


def _tell(event: Event, trajectory: Trajectory, mark: str) -> None:
    match event:
        case ev.RunStarted(setting=setting):
            note(f"{mark}{setting.orchestrator} · {setting.sentence}")
        case ev.Generated(turn=turn, generation=generation):
            if generation.reasoning:
                note(f"{mark}{turn}  {one_line(generation.reasoning, 160)}")
            for call in generation.calls:
                note(f"{mark}{turn}  → {call.tool} {one_line(call.arguments_text, 120)}")
        case ev.Graded(grade=Grade() as grade):
            note(f"{mark}{VERDICTS[grade.outcome]}: {one_line(grade.reason or '', 300)}")
        case ev.Graded(fault=fault):
            note(f"{mark}ungraded: {fault.message if fault else 'no reason'}")
        case ev.CallFinished(turn=turn, observation=seen):
            answered = next(call for call in trajectory.calls if call.call.id == seen.call_id)
            cost = dollars(call_cost_usd(answered, trajectory.setting.prices))
            time = call_time(answered, trajectory.setting)
            note(f"{mark}{turn}  ← {seen.status} {time} {cost}  {one_line(seen.text, 120)}")


def show_end(trajectory: Trajectory, json: bool) -> None:
    """Print how a run ended; exit code 1 when it has no answer."""
    if json:
        print_json(report(trajectory))
    else:
        _conclude(trajectory)
    if trajectory.stop is not StopReason.ANSWERED:
        raise typer.Exit(1)


def _conclude(trajectory: Trajectory) -> None:
    bill = trajectory.bill()
    table = trajectory.setting.prices
    cost = dollars(bill.cost_usd) if bill.cost_usd is not None else f"over {dollars(bill.known_usd)}, part unknown"
    kind = ", nominal: nobody is billed" if table.nominal else ""
    simulated = " · simulated" if trajectory.simulated else ""
    note(
        f"{trajectory.status} in {seconds(trajectory.latency_s)}, {len(trajectory.turns)} turns, "
        f"{cost} ({table.name} of {table.dated}{kind}) · {trajectory.id}{simulated}"
    )
    if (paid := trajectory.before_fork()) is not None:
        known = dollars(paid.cost_usd) if paid.cost_usd is not None else f"over {dollars(paid.known_usd)}"
        note(f"of which {known} was paid before the fork")
    for said in trajectory.setting.fork.restored if trajectory.setting.fork else ():
        note(said)
    for fault in trajectory.faults:
        note(f"fault at {fault.where} ({fault.kind}): {fault.message}")
    if trajectory.answer is not None:
        print(printable(trajectory.answer))
