"""The lab: a run replayed from its record, forked at a turn, and compared with others."""

import asyncio
import json as json_module
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any

import typer

from orchestra_lib import grouping
from orchestra_lib.alignment import Difference, Pair, align
from orchestra_lib.cli.options import Json, given_flags, preference_flags, tool_names
from orchestra_lib.cli.playing import play, show_end
from orchestra_lib.cli.terminal import dollars, note, one_line, print_json, print_table, printable, seconds
from orchestra_lib.codec import to_data
from orchestra_lib.comparing import deltas, first_difference
from orchestra_lib.configuration import changed, order_of
from orchestra_lib.errors import BadInput
from orchestra_lib.forking import tree_lines
from orchestra_lib.json_writing import spoken
from orchestra_lib.paths import home
from orchestra_lib.replay.process import Answer
from orchestra_lib.reward_report import of_offered, reward_reports
from orchestra_lib.store.forks import Branch
from orchestra_lib.store.store import Store
from orchestra_lib.trajectory import Fork, Trajectory
from orchestra_lib.workbench import Workbench

Run = Annotated[str, typer.Argument(metavar="ID", help="A run's id, as `orchestra list` prints it.")]
_DENIED_BY = {"kernel": "the kernel denied it the network", "python": "Python denied it the network"}


def replay(
    run_id: Run,
    keep: Annotated[bool, typer.Option("--keep", help="Keep what was replayed as a run of its own.")] = False,
    json: Json = False,
) -> None:
    """Play a run again from its recorded answers, without a network: the record comes out the same, byte for byte."""
    workbench = Workbench(home())
    try:
        found, kept = workbench.replay(run_id, keep=keep)
    finally:
        asyncio.run(workbench.close())
    if json:
        print_json(_replay_data(run_id, found, kept))
    else:
        _tell_replay(found, kept)
    if found.difference is not None:
        raise typer.Exit(1)


def _replay_data(run_id: str, found: Answer, kept: str | None) -> dict[str, Any]:
    return {
        "id": run_id,
        "same": found.difference is None,
        "difference": to_data(found.difference) if found.difference else None,
        "sha256": found.sha256,
        "turns": len(found.trajectory.turns),
        "calls": len(found.trajectory.calls),
        "network": f"denied by {found.denied_by}",
        "kept": kept,
    }


def _tell_replay(found: Answer, kept: str | None) -> None:
    run = found.trajectory
    if (other := found.difference) is not None:
        print(printable(f"differs at {other.path}"))
        print(printable(f"  recorded  {_shown(other.recorded)}"))
        print(printable(f"  replayed  {_shown(other.replayed)}"))
    else:
        print(f"the same, byte for byte: {len(run.turns)} turns, {len(run.calls)} calls, sha256 {found.sha256}")
    note(f"replayed in a process of its own: {_DENIED_BY[found.denied_by]}")
    if kept is not None:
        note(f"kept as {kept}")


def _shown(value: Any) -> str:
    return "nothing" if value is None else one_line(spoken(value), 400)


def fork(
    run_id: Run,
    turn: Annotated[int | None, typer.Option(help="The turn that is played anew; those before it are kept.")] = None,
    tree: Annotated[bool, typer.Option("--tree", help="Only show the tree of forks that the run stands in.")] = False,
    prefer: Annotated[list[str] | None, typer.Option(help="NAME=WEIGHT in place of the run's own. Repeat it.")] = None,
    orchestrator: Annotated[str | None, typer.Option(help="Who goes on.")] = None,
    tools: Annotated[str | None, typer.Option(help="Only these, by comma, or 'none'.")] = None,
    prices: Annotated[str | None, typer.Option(help="Price table, also for what was played before.")] = None,
    max_turns: Annotated[int | None, typer.Option(help="Turns at most, those before the fork among them.")] = None,
    cost_limit: Annotated[float | None, typer.Option(help="USD at most, with what was paid before the fork.")] = None,
    time_limit: Annotated[float | None, typer.Option(help="Seconds at most, with those before the fork.")] = None,
    token_limit: Annotated[int | None, typer.Option(help="Tokens at most, with those before the fork.")] = None,
    seed: Annotated[int | None, typer.Option(help="Seed for models that sample.")] = None,
    group: Annotated[str | None, typer.Option(help="Put the fork into this group.")] = None,
    call: Annotated[
        str | None, typer.Option(help='Make this call in the turn: {"tool": "…", "arguments": {…}}.')
    ] = None,
    json: Json = False,
) -> None:
    """Let a run go on otherwise from a turn: other preference, orchestrator, tools, limits, or an edited call."""
    if tree:
        _show_tree(run_id, json)
        return
    if turn is None:
        raise BadInput("name the turn that is played anew: --turn K; --tree shows the forks that there are")
    flags = {
        "orchestrator": orchestrator,
        "tools": tool_names(tools),
        "prices": prices,
        "limits.max_turns": max_turns,
        "limits.cost_usd": cost_limit,
        "limits.time_s": time_limit,
        "limits.tokens": token_limit,
        "seed": seed,
        "group": group,
        "call": _asked(call),
        "fork": to_data(Fork(run_id=run_id, turn=turn)),
    }
    with Store.open(home()) as store:
        order = order_of(store.get(run_id).setting)
    (trajectory,) = asyncio.run(play([changed(order, given_flags(flags | preference_flags(prefer)))]))
    show_end(trajectory, json)


def _asked(text: str | None) -> dict[str, Any] | None:
    if text is None:
        return None
    try:
        data = json_module.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadInput(f"--call is no JSON: {error}") from None
    if not isinstance(data, dict) or set(data) != {"tool", "arguments"}:
        raise BadInput('--call: write {"tool": "NAME", "arguments": {…}}')
    return data


def _show_tree(run_id: str, json: bool) -> None:
    with Store.open(home()) as store:
        branches = store.forks(run_id)
    if json:
        print_json([to_data(one) for one in branches])
        return
    rows = [[_branch_name(depth, one, run_id), *_branch_cells(one)] for depth, one in tree_lines(branches)]
    print_table(("run", "from turn", "status", "orchestrator", "cost", "time", "preference"), rows)


def _branch_name(depth: int, one: Branch, here: str) -> str:
    return "  " * depth + ("└ " if depth else "") + one.id + (" ←" if one.id == here else "")


def _branch_cells(one: Branch) -> list[str]:
    cost = dollars(one.cost_usd) + (" nominal" if one.nominal and one.cost_usd else "")
    turn = "" if one.turn is None else f"{one.turn}{' edited' if one.edited else ''}"
    return [turn, one.status, one.orchestrator, cost, seconds(one.latency_s), one_line(one.sentence, 60)]


def compare(
    run_ids: Annotated[list[str], typer.Argument(metavar="A B [C…]", help="Two runs or more; each is laid beside A.")],
    json: Json = False,
) -> None:
    """Lay runs side by side: figures, the first difference that matters, calls in pairs, and rewards."""
    if len(run_ids) < 2 or len(set(run_ids)) < len(run_ids):
        raise BadInput("name two runs or more, each once")
    with Store.open(home()) as store:
        first, *others = [store.get(run_id) for run_id in run_ids]
    found = [_compared(first, other) for other in others]
    rewards = _rewards([first, *others])
    if json:
        print_json({"a": first.id, "compared": found, "rewards": rewards})
        return
    for one in found:
        print(printable(f"A {first.id}\nB {one['b']}\n{one['first']['where']} {one['first']['words']}".strip()))
        rows = [[str(delta["name"]), *_figures(delta), delta["words"] or "—"] for delta in one["deltas"]]
        print_table(("", "A", "B", ""), rows)
        print_table(("A", "B", "difference", "tool"), [_pair_line(pair) for pair in one["pairs"]])
    for reward in rewards.get("rows", ()):
        print(f"{reward['id']}  R {'—' if reward['reward'] is None else format(reward['reward'], '.3f')}")
    if why := rewards.get("why"):
        note(f"no rewards: {why}")


def _compared(a: Trajectory, b: Trajectory) -> dict[str, Any]:
    pairs = align(a.calls, b.calls)
    return {
        "b": b.id,
        "deltas": deltas(a, b, pairs),
        "first": first_difference(a, b, pairs),
        "pairs": [_pair(pair, a, b) for pair in pairs],
        "differences": sum(pair.difference is not Difference.SAME for pair in pairs),
        "same_answer": a.answer == b.answer,
    }


def _pair(pair: Pair, a: Trajectory, b: Trajectory) -> dict[str, Any]:
    sides = {"a": None if pair.a is None else a.calls[pair.a], "b": None if pair.b is None else b.calls[pair.b]}
    return {"difference": str(pair.difference), **{side: call and to_data(call) for side, call in sides.items()}}


def _rewards(runs: Sequence[Trajectory]) -> dict[str, Any]:
    """The rewards of the runs as one group, weighed as the first was played; or why there are none."""
    try:
        rollouts = grouping.group(runs, any_preference=True)
        preference = of_offered(runs[0].setting.preference, rollouts[0].tool_counts)
        (report,) = reward_reports(rollouts, preference)
    except BadInput as error:
        return {"why": str(error)}
    return to_data(report)  # type: ignore[no-any-return]  # plain data of a record is a dict


def _figures(delta: Mapping[str, Any]) -> list[str]:
    shown: Callable[[Any], str] = {"usd": dollars, "seconds": seconds}.get(delta["unit"], _count)
    return [shown(delta["a"]), shown(delta["b"])]


def _count(value: int | None) -> str:
    return "—" if value is None else f"{value:,}"


def _pair_line(pair: Mapping[str, Any]) -> list[str]:
    sides = [pair["a"], pair["b"]]
    marks = [
        "—" if side is None else side["observation"]["status"] if side["observation"] else "running" for side in sides
    ]
    return [*marks, pair["difference"], next(side["call"]["tool"] for side in sides if side)]


COMMANDS: dict[str, Callable[..., None]] = {"replay": replay, "fork": fork, "compare": compare}
