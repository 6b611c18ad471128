"""A domain's tasks as plain data: golden calls step by step, ways to fail them, and runs that were judged by them."""

import re
from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean, median
from typing import Any

from orchestra_lib.assigning import Judged, assignment_of, with_parameters
from orchestra_lib.codec import to_data
from orchestra_lib.environment.assignment import Assignment, GoldenCall
from orchestra_lib.environment.changes import Change, changes, snapshot
from orchestra_lib.environment.domain import World
from orchestra_lib.environment.schema import FieldType, Operation, OperationKind
from orchestra_lib.environment.state import Key, State
from orchestra_lib.environment.success import Judge, golden_of, replay
from orchestra_lib.errors import ModelMistake
from orchestra_lib.synthesis.metrics import published
from orchestra_lib.trajectory import Trajectory

Data = dict[str, Any]
_MOST_TEXT = 6_000
"""Characters of what a golden call showed."""


def task_line(world: World, one: Assignment) -> Data:
    """What a list of tasks says of one."""
    return {
        "id": one.id,
        "kind": str(one.kind),
        "split": one.split,
        "words": one.instruction[:300],
        "calls": len(one.golden),
        "writes": len(_writes(world, one)),
        "intents": list(one.intents),
        "difficulty": dict(one.difficulty),
    }


def metrics_view(world: World, tasks: Sequence[Assignment], *, free: float | None = None) -> Data | None:
    """The figures of a domain's tasks beside published ones; None without tasks.

    `free` is the share of them that is passed by doing nothing, None where nobody measured it.
    """
    if not tasks:
        return None
    calls = [len(one.golden) for one in tasks]
    writes = sum(len(_writes(world, one)) for one in tasks)
    ours = {
        "tasks": len(tasks),
        "golden_mean": fmean(calls),
        "golden_median": median(calls),
        "golden_max": max(calls),
        "write_share": writes / sum(calls) if sum(calls) else None,
        "free": free,
    }
    return {"ours": ours, "published": _published(), "no_write": sum(one.kind != "write" for one in tasks)}


def _published() -> list[Data]:
    """The published sets whose golden calls are known."""
    found = published()
    return [{**one, "name": name.replace("_", " ")} for name, one in found.items() if "golden_mean" in one]


def _writes(world: World, one: Assignment) -> list[int]:
    """The places of the golden calls that write."""
    kinds = {operation.name: operation.kind for operation in world.domain.operations}
    return [place for place, call in enumerate(one.golden) if kinds.get(call.operation) is OperationKind.WRITE]


def task_view(world: World, one: Assignment) -> Data:
    """A task with its golden calls, each with what it showed and changed. Raises `BadInput` when one of them fails."""
    world = with_parameters(world, one)
    golden_of(world, one)
    state = world.state()
    shown: list[Any] = []
    steps: list[Data] = []
    kinds = {operation.name: str(operation.kind) for operation in world.domain.operations}
    chosen = {operation.name: _choices(operation) for operation in world.domain.operations}
    for call in one.golden:
        before, touched = snapshot(state), _touched(state)
        result = world.operations.run(state, call.operation, call.arguments)
        steps.append(
            {
                "operation": call.operation,
                "kind": kinds[call.operation],
                "arguments": [
                    {
                        "name": name,
                        "value": value,
                        "from": "choice" if name in chosen[call.operation] else source_of(value, one, shown, world),
                    }
                    for name, value in call.arguments.items()
                ],
                "result": state.base.text(result)[:_MOST_TEXT],
                "short": _short(result),
                "changes": _changes(changes(state, before)),
                "state": _changes(changes(state)),
                "touched": [f"{table} {key}" for table, key in sorted(_touched(state) - touched)],
            }
        )
        shown.append(result)
    return {
        **to_data(one),
        "steps": steps,
        "records": sum(map(len, world.records.values())),
        "checks": list(_checks(world, one)),
    }


def _choices(operation: Operation) -> set[str]:
    """Parameters that take one of a few values: the user's words say which, not as it is written."""
    return {one.name for one in operation.parameters if one.values or one.type is FieldType.BOOLEAN}


def _touched(state: State) -> set[Key]:
    return set(state.read | state.written)


def _short(result: Any) -> str:
    """A result in a few words."""
    if isinstance(result, Mapping):
        if isinstance(result.get("results"), list):
            return f"{len(result['results'])} found"
        return str(next(iter(result.values())))[:60] if len(result) == 1 else "a record"
    if isinstance(result, list):
        return f"{len(result)} items"
    return str(result)[:60]


def _changes(found: Sequence[Change]) -> list[Data]:
    return [to_data(one) for one in found]


def source_of(value: Any, one: Assignment, shown: Sequence[Any], world: World) -> str | None:
    """Where a golden argument comes from: `user`, `call 2`, `policy`; None where it stands nowhere as it is."""
    if isinstance(value, list):
        found = {source_of(part, one, shown, world) for part in value}
        return found.pop() if len(found) == 1 else None
    if any(fact.value == value for fact in one.facts) or _stands_in(value, one.words):
        return "user"
    for place, result in enumerate(shown, start=1):
        if value in _scalars(result):
            return f"call {place}"
    if any(parameter.value == value for parameter in world.domain.parameters):
        return "policy"
    return None


def _stands_in(value: Any, text: str) -> bool:
    if isinstance(value, bool) or value is None:
        return False
    return re.search(rf"(?<![\w@]){re.escape(str(value))}(?![\w@])", text, re.IGNORECASE) is not None


def _scalars(value: Any) -> list[Any]:
    if isinstance(value, Mapping):
        return [part for inner in value.values() for part in _scalars(inner)]
    if isinstance(value, list | tuple):
        return [part for inner in value for part in _scalars(inner)]
    return [value]


def _checks(world: World, one: Assignment) -> Iterator[Data]:
    """Wrong ways to play it, each of which must score 0; a way that says all that is to be said and more."""
    judge, said = Judge(world, one), [_all_said(one)]
    kinds = {operation.name: operation.kind for operation in world.domain.operations}
    reads = [call for call in one.golden if kinds[call.operation] is not OperationKind.WRITE]
    if one.required or reads or len(reads) < len(one.golden):
        yield {"what": "do nothing", "call": None, "passes": judge.succeeds(world.state(), [])}
    writes = _writes(world, one)
    if writes:
        yield {"what": "read only", "call": None, "passes": _passes(world, judge, reads, said)}
    for place in writes:
        left = [call for at, call in enumerate(one.golden) if at != place]
        yield {"what": "drop it", "call": place, "passes": _passes(world, judge, left, said)}


def _passes(world: World, judge: Judge, calls: Sequence[GoldenCall], said: Sequence[str]) -> bool:
    state = world.state()
    for call in calls:
        try:
            replay(world, [call], state)
        except ModelMistake:
            continue  # without the one before it cannot be done
    return judge.succeeds(state, said)


def _all_said(one: Assignment) -> str:
    return " ".join(
        f"{said.unit}{said.value};" if said.unit in ("$", "€", "£") else f"{said.value} {said.unit or ''};"
        for said in one.required
    )


def judged_view(trajectory: Trajectory, judged: Judged) -> Data:
    """A run in a domain: three conditions with their reasons, its conduct, and what changed beside what should have."""
    assigned = trajectory.setting.assigned
    assert assigned is not None
    assignment, verdict = assignment_of(assigned), judged.verdict
    return {
        "run": trajectory.id,
        "status": trajectory.status,
        "orchestrator": trajectory.setting.orchestrator,
        "domain": assigned.domain,
        "task": assignment.id,
        "words": assignment.instruction,
        "user": assigned.user,
        "as_then": judged.as_then,
        "conditions": {"state": verdict.state_ok, "said": verdict.said_ok, "touched": verdict.touched_ok},
        "success": verdict.success,
        "upstream": verdict.upstream,
        "reasons": list(verdict.reasons),
        "conduct": [dict(zip(("line", "why"), one.split(": ", 1), strict=True)) for one in verdict.conduct],
        "required": [to_data(one) for one in assignment.required],
        "changed": _changes(judged.changed),
        "golden": _changes(judged.golden),
        "calls": len(assignment.golden),
    }
