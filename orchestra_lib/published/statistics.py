"""What a published domain and its tasks measure, to stand beside our own in a table. Unknown is None and never 0."""

import re
import statistics
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any

from orchestra_lib.paths import DATA
from orchestra_lib.published.task import PublishedTask
from orchestra_lib.published.tau2 import Tau2Domain
from orchestra_lib.record import record

_KINDS = DATA / "published" / "tools.toml"
_MODAL = re.compile(r"\b(?:must|should|shall|may|can|cannot|can't|not allowed|never|always|only)\b", re.IGNORECASE)


class CallKind(StrEnum):
    """What a tool does to the database."""

    READ = "read"
    WRITE = "write"
    GENERIC = "generic"
    """Neither: a calculator, a transfer to a person."""


@record
class DomainStatistics:
    """Counts of a domain: records and leaf values of its database, words and modal words of its policy, its tools.

    `tools`, and how many of them read, write or do neither, are None where the tools are not known.
    """

    name: str
    tables: int
    records: int
    leaves: int
    policy_words: int
    modal_words: int
    tools: int | None = None
    kinds: Mapping[CallKind, int] | None = None


@record
class TaskStatistics:
    """Counts of a set of tasks.

    Lengths are golden calls a task. `write_share` is the share of writes among the golden calls, `without_write` the
    tasks whose golden has none: they are passed by who does nothing, unless something must be said. Both are None
    while the kind of a golden call is unknown (`unknown_kind` calls). `looked_up` is the share of golden argument
    values that do not occur in what the user is told, so that an agent must find them. `free` are tasks with neither
    golden call nor anything to say or check.
    """

    tasks: int
    golden_mean: float | None
    golden_median: float | None
    golden_max: int | None
    distinct_tools: int
    write_share: float | None
    without_write: int | None
    without_write_ids: tuple[str, ...] = ()
    unknown_kind: int
    communicate: int
    free: int
    looked_up: float | None
    scenario_words: float | None


def known_kinds(domain: str) -> Mapping[str, CallKind]:
    """What the tools of a published domain do, as far as `data/published/tools.toml` knows; empty for others."""
    named = tomllib.loads(_KINDS.read_text("utf-8")).get(domain, {})
    return {name: CallKind(kind) for kind, names in named.items() for name in names}


def domain_statistics(domain: Tau2Domain, kinds: Mapping[str, CallKind | None] | None = None) -> DomainStatistics:
    """Count a domain; `kinds` are its tools and what each does to the database, where they are known."""
    known = None if kinds is None or None in kinds.values() else Counter(kinds.values())
    return DomainStatistics(
        name=domain.name,
        tables=len(domain.tables),
        records=sum(domain.records.values()),
        leaves=sum(1 for _ in _leaves(domain.tables)),
        policy_words=len(domain.policy.split()),
        modal_words=len(_MODAL.findall(domain.policy)),
        tools=None if kinds is None else len(kinds),
        kinds=None if known is None else {kind: known[kind] for kind in CallKind},
    )


def task_statistics(tasks: Sequence[PublishedTask], kinds: Mapping[str, CallKind] | None = None) -> TaskStatistics:
    """Count a set of tasks; `kinds` says what each tool does to the database, where that is known."""
    kinds = kinds or {}
    lengths = [len(task.golden) for task in tasks]
    golden = [call for task in tasks for call in task.golden]
    unknown = sum(call.tool not in kinds for call in golden)
    writes = {name for name, kind in kinds.items() if kind is CallKind.WRITE}
    free_of_writes = [task.id for task in tasks if not any(call.tool in writes for call in task.golden)]
    values = [_says(task.scenario.text, value) for task in tasks for value in _values(task)]
    return TaskStatistics(
        tasks=len(tasks),
        golden_mean=statistics.fmean(lengths) if lengths else None,
        golden_median=statistics.median(lengths) if lengths else None,
        golden_max=max(lengths, default=None),
        distinct_tools=len({call.tool for call in golden}),
        write_share=None if unknown or not golden else sum(call.tool in writes for call in golden) / len(golden),
        without_write=None if unknown else len(free_of_writes),
        without_write_ids=() if unknown else tuple(free_of_writes),
        unknown_kind=unknown,
        communicate=sum(bool(task.communicate) for task in tasks),
        free=sum(not (task.golden or task.communicate or task.claims or task.state_checks) for task in tasks),
        looked_up=None if not values else 1 - sum(values) / len(values),
        scenario_words=statistics.fmean(len(task.scenario.text.split()) for task in tasks) if tasks else None,
    )


def _says(text: str, value: str) -> bool:
    """Whether a text holds a value as words of its own: 10 is not said by 2010."""
    return re.search(rf"(?<!\w){re.escape(value)}(?!\w)", text) is not None


def _values(task: PublishedTask) -> Iterator[str]:
    """The values that the golden calls pass, as texts."""
    for call in task.golden:
        for value in _leaves(call.arguments):
            yield value if isinstance(value, str) else str(value)


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, Mapping):
        value = value.values()
    elif not isinstance(value, list | tuple):
        yield value
        return
    for part in value:
        yield from _leaves(part)
