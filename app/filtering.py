"""A filter of the trajectories list as it stands in an address, and places in that list."""

import math
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Any

from orchestra_lib.errors import BadInput
from orchestra_lib.store.spread import PER_DECADE, Costs
from orchestra_lib.store.summary import Filter, Summary

NAMES = (
    "q", "status", "orchestrator", "tool", "outcome", "tag", "since", "until", "cost_min", "cost_max", "time_min",
    "time_max", "simulated", "nominal", "prefer", "avoid", "group",
    "training", "training_run", "training_step",
)  # fmt: skip
"""The parameters of an address that narrow the list."""

_PARTS: Mapping[str, tuple[str, ...]] = {
    "date": ("since", "until"), "cost": ("cost_from", "cost_to"), "seconds": ("seconds_from", "seconds_to"),
    **{name: (name,) for name in (
        "text", "status", "orchestrator", "tool", "outcome", "tag", "simulated", "nominal", "prefer", "avoid",
        "group", "training",
    )},
    "training run": ("training_run", "training_step"),
}  # fmt: skip
"""What a reader takes for one filter: its name on the page, and its fields."""

LISTED = Filter(training=False)
"""What the list has where nobody asks for less or more, and what the top bar counts: rollouts of training are apart."""

_TRAINING: Mapping[str, bool | None] = {"no": False, "yes": True, "all": None}


def read_filter(query: Mapping[str, str]) -> Filter:
    """The filter that an address asks for; what is empty does not narrow. Raises `BadInput` naming the parameter.

    `since` and `until` are days in UTC, both within; costs are USD, times seconds, both ends within. Rollouts of
    training are left out unless `training` is `yes` (only those) or `all`, or names one of their runs or steps.
    """
    given = {name: value.strip() for name in NAMES if (value := query.get(name, "")).strip()}
    until = _day(given, "until")
    return Filter(
        text=given.get("q"),
        status=given.get("status"),
        orchestrator=given.get("orchestrator"),
        tool=given.get("tool"),
        outcome=given.get("outcome"),
        tag=given.get("tag"),
        since=_day(given, "since"),
        until=until + timedelta(days=1) if until else None,
        cost_from=_number(given, "cost_min"),
        cost_to=_number(given, "cost_max"),
        seconds_from=_number(given, "time_min"),
        seconds_to=_number(given, "time_max"),
        simulated=_choice(given, "simulated"),
        nominal=_choice(given, "nominal"),
        prefer=given.get("prefer"),
        avoid=given.get("avoid"),
        group=given.get("group"),
        training=_training(given),
        training_run=given.get("training_run"),
        training_step=_step(given),
    )


def parts(wanted: Filter) -> dict[str, Filter]:
    """A filter taken apart into those that a reader sees, by name; what does not narrow is left out."""
    given = {
        name: {field: value for field in fields if (value := getattr(wanted, field)) is not None}
        for name, fields in _PARTS.items()
    }
    return {name: Filter(**fields) for name, fields in given.items() if fields}


def _day(given: Mapping[str, str], name: str) -> datetime | None:
    if name not in given:
        return None
    try:
        day = date.fromisoformat(given[name])
        return datetime(day.year, day.month, day.day, tzinfo=UTC)
    except ValueError:
        raise BadInput(f"{name} = {given[name][:40]!r} is no day; write it as 2026-11-30") from None


def _number(given: Mapping[str, str], name: str) -> float | None:
    if name not in given:
        return None
    try:
        number = float(given[name])
    except ValueError:
        number = math.nan
    if not (math.isfinite(number) and number >= 0):
        raise BadInput(f"{name} = {given[name][:40]!r} is no number from 0 up")
    return number


def _training(given: Mapping[str, str]) -> bool | None:
    asked = given.get("training", "all" if "training_run" in given or "training_step" in given else "no")
    if asked not in _TRAINING:
        raise BadInput(f"training = {asked[:40]!r}; write {', '.join(_TRAINING)}")
    return _TRAINING[asked]


def _step(given: Mapping[str, str]) -> int | None:
    text = given.get("training_step")
    if text is not None and not (text.isascii() and text.isdecimal() and len(text) < 10):
        raise BadInput(f"training_step = {text[:40]!r} is no step; write a number from 0 up")
    return None if text is None else int(text)


def _choice(given: Mapping[str, str], name: str) -> bool | None:
    if name not in given:
        return None
    if given[name] not in {"yes", "no"}:
        raise BadInput(f"{name} = {given[name][:40]!r}; write yes or no")
    return given[name] == "yes"


def place_of(summary: Summary) -> str:
    """A place in the list, as an address holds it."""
    return f"{summary.started_at.isoformat()}~{summary.id}"


def read_place(query: Mapping[str, str], name: str) -> tuple[datetime, str] | None:
    """What `place_of` wrote; None when the address has none. Raises `BadInput` for anything else."""
    text = query.get(name)
    if not text:
        return None
    when, separator, run_id = text.partition("~")
    try:
        started_at = datetime.fromisoformat(when.replace(" ", "+"))  # a plus that an address turned into a space
    except ValueError:
        started_at = None
    if not separator or started_at is None or started_at.tzinfo is None:
        raise BadInput(f"{name} = {text[:80]!r} is no place in the list; start from its first page")
    return started_at, run_id


def costs_view(costs: Costs) -> dict[str, Any]:
    """Costs as bars of equal width on a logarithmic axis, from the first that has a run to the last."""
    places = range(min(costs.bins), max(costs.bins) + 1) if costs.bins else ()
    bars = [{"from": _edge(n), "to": _edge(n + 1), "runs": costs.bins.get(n, 0)} for n in places]
    return {"bars": bars, "free": costs.free, "unknown": costs.unknown}


def _edge(place: int) -> float:
    """Where a bin begins, in USD, short enough for an address."""
    return float(f"{10 ** (place / PER_DECADE):.4g}")
