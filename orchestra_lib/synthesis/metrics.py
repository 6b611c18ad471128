"""What a set of tasks measures, beside the same of ToolScale and tau2 (`data/published/metrics.toml`).

Shares lie between 0 and 1. Where a larger or smaller value is better, `worse` says which of ours are not.
"""

import re
import statistics
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from orchestra_lib.environment.assignment import Assignment, AssignmentKind
from orchestra_lib.environment.census import census
from orchestra_lib.environment.domain import World
from orchestra_lib.environment.liveness import unusable
from orchestra_lib.environment.operations import writes
from orchestra_lib.environment.schema import Mode
from orchestra_lib.environment.success import Judge
from orchestra_lib.errors import BadInput
from orchestra_lib.paths import DATA
from orchestra_lib.synthesis.duplicates import distinct, near_duplicates

Metrics = Mapping[str, float | int | None]
LABELS: Mapping[str, str] = {
    "tasks": "tasks",
    "domains": "domains",
    "tools_per_domain": "tools per domain",
    "read_tools": "of them reads",
    "write_tools": "of them writes",
    "generic_tools": "of them neither",
    "parameters_per_tool": "parameters per tool",
    "tables_per_domain": "tables per domain",
    "records_per_domain": "records per domain",
    "policy_words": "words of policy",
    "policy_modals": "must, may, only … in it",
    "golden_mean": "golden calls, mean",
    "golden_median": "golden calls, median",
    "golden_max": "golden calls, most",
    "write_share": "writes among golden calls",
    "without_write": "tasks without a write",
    "distinct_tools": "different tools used",
    "looked_up": "golden arguments that the user does not say",
    "told": "tasks with something to tell",
    "look_alikes": "near-misses per described record, median",
    "policy_rules": "policy-only rules per task",
    "requests": "requests per task",
    "facts": "facts told only when asked, per task",
    "free": "tasks passed by doing nothing",
    "golden_errors": "golden calls that fail",
    "dead_tools": "tools that no task can use",
    "unused_writes": "writes that no task uses",
    "deterministic": "domains that replay the same later",
    "solved_first": "scripted solver, first try",
    "solved": "scripted solver, in eight tries",
    "near_duplicates": "texts nearly like another",
    "distinct_1": "distinct words",
    "distinct_2": "distinct pairs of words",
    "distinct_3": "distinct triples of words",
}
BETTER: Mapping[str, int] = {
    "tools_per_domain": 1,
    "parameters_per_tool": 1,
    "records_per_domain": 1,
    "policy_words": 1,
    "policy_modals": 1,
    "golden_mean": 1,
    "golden_median": 1,
    "golden_max": 1,
    "write_share": 1,
    "without_write": -1,
    "looked_up": 1,
    "told": 1,
    "free": -1,
    "golden_errors": -1,
    "dead_tools": -1,
    "deterministic": 1,
}
"""Whether more (1) or less (-1) is better; the others are facts."""


def measure(
    worlds: Sequence[World], tasks: Sequence[Assignment], *, tried: Mapping[int, int] | None = None
) -> dict[str, float | int | None]:
    """All metrics. `tried` counts tasks by the solver's first successful try. The filters have passed every task."""
    texts = [one.words for one in tasks]
    return {
        **_domains(worlds),
        **_tasks(worlds, tasks),
        **_solved(tried or {}),
        "near_duplicates": _share(near_duplicates(texts), len(texts)),
        **{f"distinct_{n}": distinct(texts, n) for n in (1, 2, 3)},
    }


def _domains(worlds: Sequence[World]) -> dict[str, float | int | None]:
    counted = [census(one) for one in worlds]
    tools = sum(one.tools for one in counted)
    return {
        "domains": len(worlds),
        "tools_per_domain": _mean([one.tools for one in counted]),
        "read_tools": _share(sum(one.reads for one in counted), tools),
        "write_tools": _share(sum(one.writes for one in counted), tools),
        "generic_tools": _share(sum(one.generic for one in counted), tools),
        "parameters_per_tool": _mean([one.parameters for one in counted]),
        "tables_per_domain": _mean([len(one.records) for one in counted]),
        "records_per_domain": _mean([sum(one.records.values()) for one in counted]),
        "policy_words": _mean([one.words for one in counted]),
        "policy_modals": _mean([one.modals for one in counted]),
        "dead_tools": sum(len(list(unusable(one))) for one in worlds),
        "deterministic": 1.0,  # a fixed clock and seeded ids; the golden filter replays every task
    }


def _tasks(worlds: Sequence[World], tasks: Sequence[Assignment]) -> dict[str, float | int | None]:
    lengths = [len(one.golden) for one in tasks]
    changing = {world.domain.name: frozenset(writes(world.domain)) for world in worlds}
    calls = [(task.domain, call) for task in tasks for call in task.golden]
    used = Counter((domain, call.operation) for domain, call in calls)
    changes = sum(count for (domain, name), count in used.items() if name in changing[domain])
    values = [_says(task, value) for task in tasks for call in task.golden for value in _plain(call.arguments)]
    rules = {
        (world.domain.name, one.name): sum(rule.mode is Mode.POLICY for rule in one.rules)
        for world in worlds
        for one in world.domain.operations
    }
    alike = [one.difficulty["look_alikes"] / one.difficulty["described"] for one in tasks if _has_alikes(one)]
    known = {(domain, name) for domain, names in changing.items() for name in names}
    return {
        "tasks": len(tasks),
        "golden_mean": _mean(lengths),
        "golden_median": statistics.median(lengths) if lengths else None,
        "golden_max": max(lengths, default=None),
        "write_share": _share(changes, len(calls)),
        "without_write": _share(sum(one.kind is not AssignmentKind.WRITE for one in tasks), len(tasks)),
        "distinct_tools": len(used),
        "looked_up": None if not values else 1 - sum(values) / len(values),
        "told": _share(sum(bool(one.required) for one in tasks), len(tasks)),
        "look_alikes": statistics.median(alike) if alike else None,
        "policy_rules": _mean([sum(rules.get((one.domain, name), 0) for name in one.intents) for one in tasks]),
        "requests": _mean([len(one.intents) for one in tasks]),
        "facts": _mean([len(one.facts) for one in tasks]),
        **_executed(worlds, tasks),
        "unused_writes": len(known - used.keys()),
    }


def _executed(worlds: Sequence[World], tasks: Sequence[Assignment]) -> dict[str, float | int | None]:
    """Found by running: who does nothing, and whether golden calls fail."""
    named = {world.domain.name: world for world in worlds}
    variants: dict[str, World] = {}
    free = failing = 0
    for one in tasks:
        key = f"{one.domain} {sorted(one.parameters.items())!r}"
        if key not in variants:
            variants[key] = named[one.domain].with_parameters(one.parameters) if one.parameters else named[one.domain]
        world = variants[key]
        try:
            free += Judge(world, one).succeeds(world.state(), ())
        except BadInput:
            failing += 1
    return {"free": _share(free, len(tasks)), "golden_errors": _share(failing, sum(len(one.golden) for one in tasks))}


def _has_alikes(task: Assignment) -> bool:
    return task.difficulty.get("described", 0) > 0 and "look_alikes" in task.difficulty


def _solved(tried: Mapping[int, int]) -> dict[str, float | int | None]:
    """Among the candidates that came to the solver; 0 counts those that it never solved."""
    everyone = sum(tried.values())
    return {"solved_first": _share(tried.get(1, 0), everyone), "solved": _share(everyone - tried.get(0, 0), everyone)}


def published() -> Mapping[str, Mapping[str, Any]]:
    """The figures of published sets by name, each with its source."""
    return tomllib.loads((DATA / "published" / "metrics.toml").read_text("utf-8"))


def worse(ours: Metrics) -> tuple[str, ...]:
    """In words, where a published set has the better value."""
    found = []
    for name, better in BETTER.items():
        value = ours.get(name)
        for rival, theirs in published().items():
            other = theirs.get(name)
            if value is not None and other is not None and (value - other) * better < -1e-9:
                found.append(f"{LABELS[name]}: {shown(value)}, {rival.replace('_', ' ')} has {shown(other)}")
    return tuple(found)


def shown(value: float | int | None) -> str:
    """A figure for a table; a dash where it is unknown."""
    return "—" if value is None else f"{value:,}" if isinstance(value, int) else f"{value:,.3g}"


def _plain(arguments: Mapping[str, Any]) -> list[str]:
    return [str(one) for value in arguments.values() for one in (value if isinstance(value, list) else [value])]


def _says(task: Assignment, value: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(value)}(?!\w)", task.words, re.IGNORECASE) is not None


def _mean(values: Sequence[float]) -> float | None:
    return round(statistics.fmean(values), 6) if values else None


def _share(part: int, whole: int) -> float | None:
    return round(part / whole, 6) if whole else None
