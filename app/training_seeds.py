"""Runs that differ by their seed alone, and what their steps come to together: means with intervals over seeds."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from app import training_files as files
from app.training_files import MAPS, NUMBERS, Data, Steps
from app.training_views import settings_of
from orchestra_lib.interval import over_seeds
from orchestra_lib.json_writing import dumps
from orchestra_lib.record import record
from orchestra_lib.training import conducting

WINDOW = 5
"""A figure of a step is the mean of so many steps up to it: one step's is noise."""

_MOST = 20
_APART = ("name", "output_dir", "seed", "policy.checkpoint", "trackio", "rollouts.keep_groups", "rollouts.store",
          "checkpoint.every", "checkpoint.keep", "grpo.steps")  # fmt: skip
"""Settings in which runs of other seeds may differ: each seed has a warm start of its own, and some go on longer."""


@record
class Seed:
    """A run among those that differ by their seed alone."""

    seed: int
    folder: Path


def seeds_view(folder: Path, read: Callable[[Path], Steps], id_of: Callable[[Path], str]) -> Data:
    """The runs of other seeds beside this one, and their steps together; no rows where there is but one seed."""
    found = siblings(folder)
    steps = [read(one.folder).rows for one in found]
    listed = [
        {"seed": one.seed, "id": id_of(one.folder), "this": one.folder == folder, "steps": len(rows)}
        for one, rows in zip(found, steps, strict=True)
    ]
    return {"seeds": listed, "window": WINDOW, "rows": together(steps) if len(found) > 1 else []}


def siblings(folder: Path) -> list[Seed]:
    """This run and those of other seeds beside it, by seed; of several of a seed this one, or else the newest."""
    own, settings = _seed(folder), _compared(folder)
    if own is None:
        return []
    found = {own: folder}
    for other in _beside(folder):
        seed = _seed(other)
        if seed is not None and other != folder and _compared(other) == settings:
            found.setdefault(seed, other)
    return [Seed(seed=seed, folder=found[seed]) for seed in sorted(found)[:_MOST]]


def together(runs: Sequence[Sequence[Data]]) -> list[Data]:
    """The steps of several runs as one: the mean of each figure with `low` and `high`, None where it is not known.

    Of a step that some runs have not come to yet, nothing is said: fewer seeds would be another mean.
    """
    by_step = [{row["step"]: at for at, row in enumerate(rows)} for rows in runs]
    common = sorted(set.intersection(*map(set, by_step))) if by_step else []
    pairs = list(zip(runs, by_step, strict=True))
    return [_row(step, [rows[: at[step] + 1][-WINDOW:] for rows, at in pairs]) for step in common]


def _row(step: int, windows: Sequence[Sequence[Data]]) -> Data:
    made: dict[str, Data] = {"mean": {}, "low": {}, "high": {}}
    for name in NUMBERS:
        _put(made, name, [[row[name] for row in window] for window in windows])
    for name in MAPS:
        parts: dict[str, Data] = {end: {} for end in made}
        for key in {key: None for window in windows for row in window for key in row[name]}:
            _put(parts, key, [[row[name].get(key) for row in window] for window in windows])
        for end, part in parts.items():
            made[end][name] = part
    return {"step": step, "n": len(windows), **made["mean"], "low": made["low"], "high": made["high"]}


def _put(ends: Mapping[str, Data], name: str, windows: Sequence[Sequence[float | None]]) -> None:
    means = [_mean(values) for values in windows]
    if None in means:
        told = dict.fromkeys(ends)
    else:
        found = over_seeds([value for value in means if value is not None])
        told = {"mean": found.mean, "low": found.low, "high": found.high}
    for end in ends:
        ends[end][name] = told[end]


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _beside(folder: Path) -> Iterator[Path]:
    """Where runs of other seeds may lie: in the same folder, or with what ships."""
    if folder.is_relative_to(conducting.SHIPPED):
        yield from (one for one in sorted(conducting.SHIPPED.glob("seeds/*/*")) if files.is_run(one))
        yield from (one for one in sorted(conducting.SHIPPED.glob("*")) if files.is_run(one))
    else:
        yield from files.folders(folder.parent)


def _seed(folder: Path) -> int | None:
    said = settings_of(folder).get("seed", (files.final(folder) or {}).get("seed"))
    return said if isinstance(said, int) else None


def _compared(folder: Path) -> str:
    settings: dict[str, Any] = {name: value for name, value in settings_of(folder).items() if name not in _APART}
    card = files.final(folder) or {}
    # What ships has no settings beside it; its card says what it is a policy of.
    return dumps(settings or {name: card.get(name) for name in ("dialect", "stage", "trained_on")}, sort_keys=True)
