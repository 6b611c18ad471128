"""The command `orchestra run`: one task, once or as a group of runs that are compared; and what would first be read."""

import asyncio
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated

import typer

from orchestra_lib.assigning import assignment_in
from orchestra_lib.check import CheckKind
from orchestra_lib.cli.engine import (
    AddressOption,
    Engine,
    EngineOption,
    WorkersOption,
    absolute,
    players,
    where,
)
from orchestra_lib.cli.options import (
    CostLimit,
    MaxTurns,
    Prices,
    Seed,
    TimeLimit,
    TokenLimit,
    given_flags,
    preference_flags,
    tool_names,
)
from orchestra_lib.cli.playing import play, show_end
from orchestra_lib.cli.terminal import (
    dollars,
    note,
    one_line,
    print_json,
    print_table,
    printable,
    seconds,
)
from orchestra_lib.codec import to_data
from orchestra_lib.configuration import resolve, rollouts
from orchestra_lib.engine.cluster import Where
from orchestra_lib.ensemble import side_by_side
from orchestra_lib.errors import BadInput
from orchestra_lib.paths import home
from orchestra_lib.report import report
from orchestra_lib.store.groups import checked_group
from orchestra_lib.store.store import Store
from orchestra_lib.trajectory import StopReason, Trajectory
from orchestra_lib.workbench import Order, Workbench, new_run_id


def run(
    task: Annotated[
        str | None, typer.Argument(help="What should be done; '-' reads it from stdin. Not with --assignment.")
    ] = None,
    orchestrator: Annotated[
        str | None,
        typer.Option(
            help="A name from `orchestra models`, or openai:MODEL for $OPENAI_BASE_URL; conductor if left out."
        ),
    ] = None,
    protocol: Annotated[
        str | None, typer.Option(help="chat, or toolorchestra as the released 8B was trained; chat if left out.")
    ] = None,
    prefer: Annotated[
        list[str] | None,
        typer.Option(help="NAME=WEIGHT: quality, cost, latency in 0..1, tool.NAME in -1..1. Repeat it."),
    ] = None,
    tools: Annotated[
        str | None,
        typer.Option(
            help="Only these, by comma: names, sim:PROFILE, recorded:MODEL, path/file.py:function, or 'none'; "
            "all that are on if left out."
        ),
    ] = None,
    prices: Prices = None,
    max_turns: MaxTurns = None,
    cost_limit: CostLimit = None,
    time_limit: TimeLimit = None,
    token_limit: TokenLimit = None,
    seed: Seed = None,
    reference: Annotated[str | None, typer.Option(help="The expected answer: the run is graded by it.")] = None,
    check: Annotated[
        CheckKind | None, typer.Option(help="How the answer is compared; its parameters are --set check.NAME=…")
    ] = None,
    assignment: Annotated[
        str | None,
        typer.Option(help="A task in a domain, DOMAIN/ID or FILE.jsonl:ID, played and judged in the domain."),
    ] = None,
    user: Annotated[
        str | None, typer.Option(help="A model that plays the user of --assignment; rules do if left out.")
    ] = None,
    group: Annotated[int | None, typer.Option(help="Play it so many times at once, as one group to compare.")] = None,
    group_name: Annotated[str | None, typer.Option(help="The group's name; a new one if left out.")] = None,
    config: Annotated[Path | None, typer.Option(help="A TOML file with these settings; flags win over it.")] = None,
    set_: Annotated[list[str] | None, typer.Option("--set", help="a.b=c over the file. Repeat it.")] = None,
    record: Annotated[
        bool, typer.Option("--record", help="Let recorded:MODEL ask the model, and keep what it had not recorded.")
    ] = False,
    engine: EngineOption = Engine.LOCAL,
    ray_address: AddressOption = None,
    workers: WorkersOption = None,
    json: Annotated[bool, typer.Option("--json", help="Print the whole trajectory as JSON.")] = False,
) -> None:
    """Play one task and print the answer; the trajectory is kept."""
    flags = {
        "task": sys.stdin.read() if task == "-" else task,
        "orchestrator": orchestrator,
        "protocol": protocol,
        "prices": prices,
        "tools": tool_names(tools),
        "limits.max_turns": max_turns,
        "limits.cost_usd": cost_limit,
        "limits.time_s": time_limit,
        "limits.tokens": token_limit,
        "seed": seed,
        "reference": reference,
        "check.kind": check,
        "assignment": to_data(assignment_in(assignment)) if assignment and ".jsonl" in assignment else assignment,
        "user": user,
    }
    given = given_flags(flags | preference_flags(prefer))
    order, place = resolve(config, set_ or [], given), where(engine, ray_address, workers)
    if record and place is not None:
        raise BadInput("--record writes down what models say in one process; leave --engine ray out")
    if group is not None or group_name is not None:
        orders = rollouts(order, 1 if group is None else group, _free_name(group_name))
        _run_group(orders, _play(orders, place, record=record), json)
        return
    (trajectory,) = _play([order], place, record=record)
    show_end(trajectory, json)


def _free_name(name: str | None) -> str:
    name = checked_group(name or f"group-{new_run_id()}")
    with Store.open(home()) as store:
        if store.members(name):
            raise BadInput(f"there is a group {name!r} already; choose another name, or leave --group-name out")
    return name


def _play(orders: Sequence[Order], place: Where | None, *, record: bool) -> list[Trajectory]:
    functions = {absolute(name) for order in orders for name in order.tools or () if ".py:" in name}
    with players(place, len(orders), functions=sorted(functions)) as crew:
        return asyncio.run(play(orders, record=record, crew=crew))


def _run_group(orders: Sequence[Order], played: Sequence[Trajectory], json: bool) -> None:
    name = orders[0].group
    if json:
        print_json({"group": name, "runs": [report(one) for one in played]})
    else:
        head = ("id", "seed", "status", "calls", "cost", "time", "answer")
        print_table(head, [_rollout_line(one) for one in played])
    if len(played) > 1 and len({_moves(one) for one in played}) == 1:
        who = orders[0].orchestrator
        note(f"all {len(played)} made the same calls and gave the same answer: {who} does not sample")
    graded = all(one.outcome is not None for one in played)
    note(f"group {name}: `orchestra reward {name}` compares them{'' if graded else ' once they are graded'}")
    if any(one.stop is not StopReason.ANSWERED for one in played):
        raise typer.Exit(1)


def _moves(trajectory: Trajectory) -> tuple[object, ...]:
    return (trajectory.answer, *((call.call.tool, call.call.arguments_text) for call in trajectory.calls))


def _rollout_line(one: Trajectory) -> list[str]:
    cost, answer = dollars(one.bill().cost_usd), one_line(one.answer or "", 60)
    calls, seed = str(len(one.calls)), str(one.setting.seed)
    return [one.id, seed, one.status, calls, cost, seconds(one.latency_s), answer]


def prompts(task: Annotated[str, typer.Argument(help="A task.")]) -> None:
    """Show what an orchestrator first reads of a task under both protocols, side by side."""
    print(printable(side_by_side(Workbench(home()).setting(Order(task=task)))))


COMMANDS: dict[str, Callable[..., None]] = {"run": run, "prompts": prompts}
