"""ToolScale as plain data: a domain, its records and operations, tasks, golden calls step by step, judged runs."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean, median
from typing import Any

from orchestra_lib.assigning import Judged, assignment_of, with_parameters
from orchestra_lib.codec import to_data
from orchestra_lib.environment.assignment import Assignment, GoldenCall
from orchestra_lib.environment.census import census
from orchestra_lib.environment.changes import Change, changes, snapshot
from orchestra_lib.environment.domain import World
from orchestra_lib.environment.policy_text import policy_text
from orchestra_lib.environment.prose import Prose, value_words
from orchestra_lib.environment.schema import Field, FieldType, Machine, Operation, OperationKind, Table
from orchestra_lib.environment.state import Key, State
from orchestra_lib.environment.success import Judge, golden_of, replay
from orchestra_lib.environment.validation import look_alikes
from orchestra_lib.errors import ModelMistake
from orchestra_lib.synthesis.metrics import LABELS, published
from orchestra_lib.synthesis.producing import REPORT
from orchestra_lib.trajectory import Trajectory

Data = dict[str, Any]
MOST_TASKS, MOST_RECORDS, MOST_TEXT = 5_000, 50, 6_000
_SETS = ("set", "add", "subtract", "append")
_LOOPS = ("drop", "update")


# ---- domains


def domain_line(world: World, tasks: int) -> Data:
    """What the list of domains says of one."""
    return {**to_data(census(world)), "tasks": tasks}


def domain_view(world: World) -> Data:
    """Tables with their machines, operations with their rules, parameters, policy."""
    domain = world.domain
    return {
        **to_data(census(world)),
        "description": domain.description,
        "tables": [_table(table, world) for table in domain.tables],
        "operations": [_operation(one, world) for one in domain.operations],
        "policy_parameters_list": [
            {"name": one.name, "value": value_words(one), "what": one.description, "choices": list(one.choices),
             "held_out": list(one.held_out)}
            for one in domain.parameters
        ],
        "invariants": [Prose(domain).fill(one.text) for one in domain.invariants],
        "policy": policy_text(domain),
    }  # fmt: skip


def _table(table: Table, world: World) -> Data:
    rows = world.records[table.name]
    return {
        "name": table.name,
        "one": table.one,
        "description": table.description,
        "key": table.key,
        "owner": table.owner,
        "records": len(rows),
        "look_alike": list(table.look_alike),
        "twins": sum(map(len, look_alikes(world, table.name).values())),
        "fields": [_field(one) for one in table.fields],
        "machine": table.machine and _machine(table.machine, rows),
    }


def _machine(machine: Machine, rows: Mapping[str, Mapping[str, Any]]) -> Data:
    states = [one.get(machine.field) for one in rows.values()]
    return {
        "field": machine.field,
        "initial": machine.initial,
        "states": [
            {"name": name, "records": states.count(name), "given": name in machine.given} for name in machine.states
        ],
        "moves": [[old, new] for old, following in machine.transitions.items() for new in following],
    }


def _field(field: Field) -> Data:
    return {
        "name": field.name,
        "type": f"list of {field.item or 'objects'}" if field.type == "list" else str(field.type),
        "references": field.references,
        "values": list(field.values),
        "unit": field.unit,
        "optional": field.optional,
        "unordered": field.unordered,
        "free": field.free,
        "description": field.description,
        "fields": [_field(one) for one in field.fields],
    }


def _operation(one: Operation, world: World) -> Data:
    prose = Prose(world.domain)
    reads = {load.table for load in one.loads} | ({one.query.table} if one.query else set())
    return {
        "name": one.name,
        "kind": str(one.kind),
        "heading": one.heading,
        "description": one.description,
        "parameters": [_field(field) for field in one.parameters],
        "reads": sorted(reads),
        "writes": sorted(set(_written(one.effects, world, one.name))),
        "rules": [
            {"id": rule.id, "mode": str(rule.mode), "silent": rule.silent, "text": prose.rule(rule)}
            for rule in one.rules
        ],
        "effects": [
            *(prose.fill(let.text) for let in one.lets if let.text),
            *(prose.fill(text) for text in one.effect_text),
        ],
    }


def _written(effects: Any, world: World, operation: str) -> Iterator[str]:
    """The tables whose records effects change or insert."""
    names = world.operations.types(operation)
    for effect in effects if isinstance(effects, list | tuple) else ():
        match effect:
            case [str() as head, str() as path, *_] if head in _SETS:
                yield from _table_of(path, names)
            case [str() as head, _, str() as path, *_] if head in _LOOPS:
                yield from _table_of(path, names)
            case ["insert", str() as table, *_]:
                yield table
            case ["for", _, _, inner]:
                yield from _written(inner, world, operation)
            case ["if", _, *branches]:
                for branch in branches:
                    yield from _written(branch, world, operation)


def _table_of(path: str, names: Mapping[str, Any]) -> Iterator[str]:
    kind = names.get(path.removeprefix("$").partition(".")[0])
    if kind is not None and kind.table:
        yield kind.table


def records_view(world: World, table: Table, wanted: str, offset: int, *, twins_only: bool) -> Data:
    """A page of a table's records that hold a text, with who else looks like each."""
    alike = {key: keys for keys in look_alikes(world, table.name).values() for key in keys}
    words = wanted.casefold().split()
    found = [
        (key, row)
        for key, row in world.records[table.name].items()
        if (not twins_only or key in alike) and all(word in str(list(row.values())).casefold() for word in words)
    ]
    if twins_only:
        found.sort(key=lambda pair: alike[pair[0]])
    shown = found[offset : offset + MOST_RECORDS]
    return {
        "rows": [
            {"key": key, "row": row, "alike": [one for one in alike.get(key, ()) if one != key]} for key, row in shown
        ],
        "total": len(found),
        "offset": offset,
        "page": MOST_RECORDS,
        "alike_in": list(table.look_alike),
    }


# ---- tasks


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
                "result": state.base.text(result)[:MOST_TEXT],
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


_STAGES = ("drawn", "golden", "solvable", "not free", "discriminative", "quota")
"""The filters in the order in which they run."""


def report_view(folder: Path) -> Data:
    """What the makers of tasks reported: the funnel of each domain, and the metrics of all beside published ones."""
    whole = _report(folder / REPORT)
    funnels = whole.get("domains", {})
    try:
        for file in sorted(folder.glob(f"*/{REPORT}")):
            funnels = {**funnels, **_report(file).get("domains", {})}
        return {
            "funnels": [_funnel(name, one) for name, one in funnels.items()],
            "metrics": _metrics(whole) if "metrics" in whole else None,
        }
    except (AttributeError, KeyError, TypeError):
        return {"funnels": [], "metrics": None}  # changed by hand: nothing of it can be said


def free_share(folder: Path, domain: str) -> float | None:
    """The share of the tasks made with a domain's that is passed by doing nothing, as their report has it."""
    for file in (folder / domain / REPORT, folder / REPORT):
        found = _report(file)
        metrics = found.get("metrics")
        if domain in found.get("domains", {}) and isinstance(metrics, dict):
            value = metrics.get("free")
            return float(value) if isinstance(value, int | float) else None
    return None


def _report(file: Path) -> Data:
    try:
        found = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _funnel(name: str, one: Data) -> Data:
    """One domain's candidates, filter by filter, those that dropped none among them."""
    stages, left = [], one["candidates"]
    for stage in (*_STAGES, *(name for name in one["rejected"] if name not in _STAGES)):
        reasons = one["rejected"].get(stage, {})
        left -= sum(reasons.values())
        stages.append({"name": stage, "left": left, "dropped": sum(reasons.values()), "reasons": reasons})
    return {"domain": name, "proposed": one["candidates"], "stages": stages}


def _metrics(report: Data) -> Data:
    ours, sets = report["metrics"], published()
    worse = report.get("worse_than_published", [])
    return {
        "sets": [name.replace("_", " ") for name in sets],
        "rows": [
            {
                "what": label,
                "ours": ours.get(name),
                "theirs": [one.get(name) for one in sets.values()],
                "worse": any(str(line).startswith(f"{label}:") for line in worse),
            }
            for name, label in LABELS.items()
        ],
    }


# ---- runs


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
