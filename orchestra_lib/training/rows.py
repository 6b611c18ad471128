"""Rollouts of training as lines that `orchestra import` takes: the conversation, the record, what it was worth."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from orchestra_lib.codec import to_data
from orchestra_lib.export.conversation import messages
from orchestra_lib.training.rewarding import Scored
from orchestra_lib.training.rollouts import Rollout


def rows_of(played: Sequence[Rollout], scored: Sequence[Scored], groups: int | None) -> list[dict[str, Any]]:
    """The rollouts of the first so many groups, None for all; groups stand side by side."""
    return [row for part in _first(played, scored, groups) for row in part]


def _first(played: Sequence[Rollout], scored: Sequence[Scored], groups: int | None) -> Iterator[list[dict[str, Any]]]:
    pairs = zip(played, scored, strict=True)
    for number, (_, members) in enumerate(groupby(pairs, key=lambda pair: pair[0].exercise.id)):
        if groups is not None and number >= groups:
            return
        yield [_row(*pair) for pair in members]


def _row(rollout: Rollout, scored: Scored) -> dict[str, Any]:
    return {
        **messages(rollout.trajectory),
        "trajectory": to_data(rollout.trajectory),
        "kind": rollout.exercise.kind,
        "group": rollout.trajectory.setting.group,
        "reward": scored.reward,
        "advantage": scored.advantage,
        "kept": scored.kept,
        "why": scored.why,
        "malformed_turns": list(scored.malformed),
    }
