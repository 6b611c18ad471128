"""Starting things: a run, and the app."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from orchestra_lib import event as ev
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
from orchestra_lib.cli.options import CostLimit, MaxTurns, Prices, Seed, TimeLimit, TokenLimit
from orchestra_lib.cli.progress import WeightsProgress
from orchestra_lib.cli.terminal import (
    VERDICTS,
    call_time,
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
from orchestra_lib.engine.crew import Crew
from orchestra_lib.engine.player import rollout
from orchestra_lib.ensemble import side_by_side
from orchestra_lib.errors import BadInput
from orchestra_lib.event import Event, apply
from orchestra_lib.grade import Grade
from orchestra_lib.paths import home
from orchestra_lib.preference import parse_weights
from orchestra_lib.report import call_cost_usd, report
from orchestra_lib.store.groups import checked_group
from orchestra_lib.store.store import Store
from orchestra_lib.toolkit.function import load_function
from orchestra_lib.training import conducting
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


def given_flags(flags: Mapping[str, Any]) -> dict[str, Any]:
    """The flags that were given, by dotted names."""
    return {name: value for name, value in flags.items() if value is not None}


def preference_flags(prefer: Sequence[str] | None) -> dict[str, Any]:
    """What `--prefer` says, by dotted names."""
    goals, tools = parse_weights(prefer or [])
    of_tools = {f"preference.tools.{name}": weight for name, weight in tools.items()}
    return {f"preference.{goal}": weight for goal, weight in goals.items()} | of_tools


def show_end(trajectory: Trajectory, json: bool) -> None:
    """Print how a run ended; exit code 1 when it has no answer."""
    if json:
        print_json(report(trajectory))
    else:
        _conclude(trajectory)
    if trajectory.stop is not StopReason.ANSWERED:
        raise typer.Exit(1)


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
    note(f"group {name}: `orchestra reward {name}` compares them once they are graded")
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


def app(
    host: Annotated[
        str, typer.Option(help="Address to listen on; the default is for this machine only.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on.")] = 7860,
    browser: Annotated[bool, typer.Option(help="Open a browser on the page.")] = True,
    password_env: Annotated[
        str | None, typer.Option(help="Ask for a login; the password is in this environment variable.")
    ] = None,
    token_file: Annotated[Path | None, typer.Option(help="Ask for a login; the password is this file's text.")] = None,
    without_login: Annotated[bool, typer.Option("--without-login", help="Let others in without a login.")] = False,
) -> None:
    """Start the workbench in the browser."""
    password = _password(password_env, token_file)
    from app.main import serve  # gradio takes seconds to import, and only this command needs it

    serve(
        Workbench(home()), host, port, open_browser=browser, on_progress=WeightsProgress(),
        password=password, without_login=without_login,
    )  # fmt: skip


def _password(variable: str | None, file: Path | None, environ: Mapping[str, str] = os.environ) -> str | None:
    """What the login asks for; None without one. It is named nowhere, and an empty one is no password."""
    if variable is not None and file is not None:
        raise BadInput("give --password-env or --token-file, not both")
    if variable is not None:
        if not environ.get(variable):
            raise BadInput(f"the environment variable {variable} is empty or not set; put the password into it")
        return environ[variable]
    if file is None:
        return None
    try:
        text = file.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"--token-file {file} cannot be read: {error}") from None
    if not text:
        raise BadInput(f"--token-file {file} is empty; write the password into it")
    return text


COMMANDS: dict[str, Callable[..., None]] = {"app": app, "run": run, "prompts": prompts}


def tool_names(text: str | None) -> tuple[str, ...] | None:
    """What `--tools` names; None when it was left out."""
    if text is None:
        return None
    if text.strip() == "none":
        return ()
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    if not names:
        raise BadInput("--tools is empty; name tools by comma, or write 'none'")
    return names


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
