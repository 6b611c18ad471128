"""What a list shows of a trajectory, and how the list is narrowed."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from orchestra_lib.codec import from_data
from orchestra_lib.errors import BadInput
from orchestra_lib.preference import GOALS, Preference
from orchestra_lib.record import record

STRONG = 0.5
"""From this weight on a preference counts as one for a goal or a tool; for avoiding a tool, from -0.5 down."""

OUTCOMES = ("solved", "not_solved", "ungraded")
"""What a grader can have said of a run, or that nobody did."""

_TEXT_CHARS = 400


@record
class Mark:
    """One call in a small picture: when it ran, of which kind, how it ended. None means unknown or not yet."""

    tool: str
    kind: str | None
    status: str | None
    started_s: float | None
    finished_s: float | None


@record
class Summary:
    """A trajectory as a list shows it. `task` and `answer` are cut to 400 characters.

    `cost_usd` and the token counts are None when unknown, `known_usd` is what is known to be spent;
    `tools` were on offer; `marks` has one entry per call, in order. `training` names the training run that it was
    a rollout of, None for any other run.
    """

    id: str
    started_at: datetime
    task: str
    orchestrator: str
    protocol: str
    status: str
    answer: str | None
    outcome: bool | None
    cost_usd: float | None
    known_usd: float
    latency_s: float | None
    input_tokens: int | None
    output_tokens: int | None
    turns: int
    calls: int
    failed_calls: int
    tools: tuple[str, ...]
    preference: Preference
    price_table: str
    nominal: bool
    simulated: bool
    fault: str | None
    marks: tuple[Mark, ...]
    training: str | None = None
    training_step: int | None = None


COLUMNS = f"""id, started_at, left(task, {_TEXT_CHARS}) AS task, orchestrator, protocol, status,
left(answer, {_TEXT_CHARS}) AS answer, outcome, cost_usd, known_usd, latency_s, input_tokens, output_tokens, turns,
calls, failed_calls, tools, preference, price_table, nominal, simulated, fault, marks,
training, training_step"""
"""The columns that `summary` reads."""


def summary(row: Mapping[str, Any]) -> Summary:
    """One row of `COLUMNS` as a `Summary`."""
    read = {
        "started_at": row["started_at"].astimezone(UTC),
        "tools": tuple(row["tools"]),
        "preference": from_data(json.loads(row["preference"]), Preference, where=f"preference of run {row['id']}"),
        "marks": tuple(Mark(**mark) for mark in row["marks"]),
    }
    return Summary(**{**row, **read})


@record
class Filter:
    """Which trajectories a list shows; a part that is None does not narrow it.

    `text` is searched in id, task, answer and observations, whatever the case. `tool` was called
    at least once. `prefer` names a goal (`cost`) or a tool (`tool.NAME`) with a weight of 0.5 or
    more, `avoid` a tool with -0.5 or less. `since` is inclusive, `until` exclusive, both aware. Costs are in USD
    and durations in seconds, both ends inclusive; what is unknown lies in no range. `outcome` is `solved`,
    `not_solved` or `ungraded`. `tag` is a label that a person gave, `group` the name of a group. `training` tells
    rollouts of training from all other runs; `training_run` is the name of one and `training_step` a step of it.
    """

    text: str | None = None
    orchestrator: str | None = None
    tool: str | None = None
    status: str | None = None
    prefer: str | None = None
    avoid: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    cost_from: float | None = None
    cost_to: float | None = None
    seconds_from: float | None = None
    seconds_to: float | None = None
    simulated: bool | None = None
    nominal: bool | None = None
    outcome: str | None = None
    tag: str | None = None
    group: str | None = None
    training: bool | None = None
    training_run: str | None = None
    training_step: int | None = None

    def __post_init__(self) -> None:
        for name in ("since", "until"):
            when: datetime | None = getattr(self, name)
            if when is not None and when.tzinfo is None:
                raise BadInput(f"{name} = {when.isoformat()} has no time zone; add one, for example +00:00")
        if self.outcome is not None and self.outcome not in OUTCOMES:
            raise BadInput(f"outcome = {self.outcome!r} is unknown; use {', '.join(OUTCOMES)}")
        if self.prefer is not None and self.prefer not in GOALS and not self.prefer.startswith("tool."):
            raise BadInput(f"prefer = {self.prefer!r} is unknown; use {', '.join(GOALS)} or tool.NAME")


_CLAUSES = {
    "text": """(contains(lower(id), $text) OR contains(lower(task), $text) OR contains(lower(answer), $text)
        OR id IN (SELECT run_id FROM calls WHERE contains(lower(observation), $text)))""",
    "orchestrator": "orchestrator = $orchestrator",
    "tool": "list_contains(called, $tool)",
    "status": "status = $status",
    "since": "started_at >= $since",
    "until": "started_at < $until",
    "cost_from": "cost_usd >= $cost_from",
    "cost_to": "cost_usd <= $cost_to",
    "seconds_from": "latency_s >= $seconds_from",
    "seconds_to": "latency_s <= $seconds_to",
    "simulated": "simulated = $simulated",
    "nominal": "nominal = $nominal",
    "outcome": "outcome IS NOT DISTINCT FROM CASE $outcome WHEN 'solved' THEN true WHEN 'not_solved' THEN false END",
    "tag": "id IN (SELECT run_id FROM tags WHERE tag = $tag)",
    "group": "id IN (SELECT run_id FROM group_members WHERE name = $group)",
    "training": "(training IS NOT NULL) = $training",
    "training_run": "training = $training_run",
    "training_step": "training_step = $training_step",
    "avoid": f"prefer_tools[$avoid] <= -{STRONG}",
    "prefer": f"prefer_tools[$prefer] >= {STRONG}",
}


_AS_THEY_ARE = tuple(name for name in _CLAUSES if name not in {"text", "avoid", "prefer"})


def where(wanted: Filter) -> tuple[str, dict[str, Any]]:
    """The WHERE clause of a filter, and its parameters."""
    values = {
        "text": wanted.text.lower() if wanted.text else None,
        **{name: getattr(wanted, name) for name in _AS_THEY_ARE},
        "avoid": wanted.avoid and wanted.avoid.removeprefix("tool."),
        "prefer": wanted.prefer.removeprefix("tool.") if wanted.prefer and wanted.prefer not in GOALS else None,
    }
    parameters = {name: value for name, value in values.items() if value is not None}
    clauses = [_CLAUSES[name] for name in parameters]
    if wanted.prefer in GOALS:
        clauses.append(f"prefer_{wanted.prefer} >= {STRONG}")
    return " AND ".join(clauses) or "true", parameters
