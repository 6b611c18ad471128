"""Two trajectories side by side as plain data: sums, rewards, the first difference that matters, and the rows."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Any

from app import views
from app.compared_rewards import Group, rewards_view
from orchestra_lib.alignment import Difference, Pair, align, align_turns
from orchestra_lib.comparing import SHOWN_CHARS, arguments_text, deltas, first_difference
from orchestra_lib.record import record
from orchestra_lib.stated_time import as_stated
from orchestra_lib.textdiff import Pieces, text_diff
from orchestra_lib.trajectory import Call, Trajectory, Turn

SHOWN_ROWS, MARKED_ROWS = 2_000, 400
"""So many pairs go to the page, and in so many of them the differing words are marked."""
Data = dict[str, Any]


class By(StrEnum):
    """What belongs together: equal calls wherever they are, or what stands in the same turn."""

    CALL = "call"
    TURN = "turn"


def comparison(a: Trajectory, b: Trajectory, *, by: By = By.CALL, group: Group | None = None) -> Data:
    """Everything that the page shows of two trajectories. Their rewards are those of their `group`, else of the two."""
    pairs = align(a.calls, b.calls) if by is By.CALL else align_turns(a.turns, b.turns)
    answers = text_diff(a.answer or "", b.answer or "")
    return {
        "a": side_view(a),
        "b": side_view(b),
        "by": str(by),
        "deltas": deltas(a, b, pairs),
        "reward": rewards_view((a, b), group),
        "first": first_difference(a, b, pairs),
        "rows": _rows(pairs, a, b),
        "pairs": len(pairs),
        "differences": sum(pair.difference is not Difference.SAME for pair in pairs),
        "answer": {"same": a.answer == b.answer, "a": answers[0], "b": answers[1]},
    }


def side_view(run: Trajectory) -> Data:
    """The head of one trajectory and its score, on the axis of the seconds that experts state."""
    run = as_stated(run)
    last = max((turn.finished_s or turn.started_s for turn in run.turns), default=0.0)
    return {
        "id": run.id,
        "task": run.setting.title,
        "orchestrator": run.setting.orchestrator,
        "wish": views.wish_text(run.setting.preference),
        "status": run.status,
        "outcome": run.outcome,
        "nominal": run.setting.prices.nominal,
        "simulated": run.simulated,
        "answered": run.answer is not None,
        "timed": run.setting.timed,
        "end": run.finished_s or last,
        "turns": [_bars(turn) for turn in run.turns],
        "kinds": {spec.name: {"kind": str(spec.kind), "title": spec.title} for spec in run.setting.tools},
    }


def _bars(turn: Turn) -> Data:
    """A turn as the score draws it."""
    calls = [
        {"tool": call.call.tool, "state": str(seen.status), "started": seen.started_s, "finished": seen.finished_s}
        if (seen := call.observation)
        else {"tool": call.call.tool, "state": "running", "started": None, "finished": None}
        for call in turn.calls
    ]
    return {
        "index": turn.index, "started": turn.started_s, "generated": turn.generated_s, "finished": turn.finished_s,
        "calls": calls,
    }  # fmt: skip


# ---- the rows


def _rows(pairs: Sequence[Pair], a: Trajectory, b: Trajectory) -> list[Data]:
    placed_a, placed_b = _placed(a), _placed(b)
    return [
        _row(
            pair.difference,
            None if pair.a is None else placed_a[pair.a],
            None if pair.b is None else placed_b[pair.b],
            closely=place < MARKED_ROWS,
        )
        for place, pair in enumerate(pairs[:SHOWN_ROWS])
    ]


@record
class _Placed:
    """A call with the run that it is of, its number in it and the index of its turn."""

    call: Call
    run: Trajectory
    number: int
    turn: int


def _placed(run: Trajectory) -> list[_Placed]:
    found = [(call, turn.index) for turn in run.turns for call in turn.calls]
    return [_Placed(call=call, run=run, number=n, turn=turn) for n, (call, turn) in enumerate(found, start=1)]


def _row(difference: Difference, one: _Placed | None, other: _Placed | None, *, closely: bool) -> Data:
    sides = (one, other)
    arguments = text_diff(*(arguments_text(side.call) if side else "" for side in sides), closely=closely)
    results = text_diff(*(_seen(side.call) if side else "" for side in sides), closely=closely)
    both = one is not None and other is not None
    timed = all(side.run.setting.timed for side in sides if side)
    return {
        "difference": str(difference),
        "a": one and _call(one, arguments[0], results[0], marked=both),
        "b": other and _call(other, arguments[1], results[1], marked=both),
        "seconds": _lasted(other) - _lasted(one) if one and other and timed else None,
        "usd": _dearer(one, other) if one and other else None,
    }


def _call(placed: _Placed, arguments: Pieces, result: Pieces, *, marked: bool) -> Data:
    call, run, seen = placed.call, placed.run, placed.call.observation
    spec = run.setting.tool(call.call.tool)
    return {
        "number": placed.number,
        "turn": placed.turn,
        "id": call.call.id,
        "tool": call.call.tool,
        "title": spec.title if spec else call.call.tool,
        "kind": str(spec.kind) if spec else "basic",
        "simulated": spec.simulated if spec else False,
        "status": str(seen.status) if seen else "running",
        "seconds": call.took_s(run.setting),
        "cost": views.cost_view(call.attempts, run.setting.prices),
        "arguments": [(marked and differs, text) for differs, text in arguments],
        "result": [(marked and differs, text) for differs, text in result],
    }


def _lasted(placed: _Placed) -> float:
    return placed.call.took_s(placed.run.setting) or 0.0


def _dearer(one: _Placed, other: _Placed) -> float | None:
    costs = [views.cost_view(side.call.attempts, side.run.setting.prices) for side in (one, other)]
    known = [0.0 if cost["kind"] == "none" else cost["usd"] for cost in costs]
    return None if None in known else known[1] - known[0]


def _seen(call: Call) -> str:
    return call.observation.text[:SHOWN_CHARS] if call.observation else ""
