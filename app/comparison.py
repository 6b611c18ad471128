"""Two trajectories side by side as plain data: sums, rewards, the first difference that matters, and the rows."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Any

from app import views
from app.compared_rewards import Group, rewards_view
from app.textdiff import Pieces, first_change, text_diff
from orchestra_lib.alignment import Difference, Pair, align, align_turns
from orchestra_lib.billing import Bill
from orchestra_lib.codec import to_data
from orchestra_lib.json_writing import spoken
from orchestra_lib.record import record
from orchestra_lib.tool import CallStatus
from orchestra_lib.trajectory import Call, Trajectory, Turn

SHOWN_CHARS = 1_200
SHOWN_ROWS, MARKED_ROWS = 2_000, 400
"""So many pairs go to the page, and in so many of them the differing words are marked."""
_QUOTED_CHARS = 40
_FAILED = (CallStatus.ERROR, CallStatus.TIMEOUT, CallStatus.REJECTED)
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
    """The head of one trajectory and its score."""
    last = max((turn.finished_s or turn.started_s for turn in run.turns), default=0.0)
    return {
        "id": run.id,
        "task": run.setting.task.text,
        "orchestrator": run.setting.orchestrator,
        "wish": views.wish_text(run.setting.preference),
        "status": run.status,
        "outcome": run.outcome,
        "nominal": run.setting.prices.nominal,
        "simulated": run.simulated,
        "answered": run.answer is not None,
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


# ---- sums


def deltas(a: Trajectory, b: Trajectory, pairs: Sequence[Pair]) -> list[Data]:
    """Each figure of A and B, and what B has to do with A in words; None where one of them is unknown."""
    bills = a.bill(), b.bill()
    costs, tokens = [bill.cost_usd for bill in bills], [tokens_of(bill) for bill in bills]
    only = [sum(pair.difference is one for pair in pairs) for one in (Difference.ONLY_A, Difference.ONLY_B)]
    calls = ", ".join(f"{count} only in {side}" for count, side in zip(only, "AB", strict=True) if count)
    return [
        {"name": "Cost", "unit": "usd", "a": costs[0], "b": costs[1], "words": _ratio(*costs)},
        _seconds(a.finished_s, b.finished_s),
        {"name": "Calls", "unit": "count", "a": len(a.calls), "b": len(b.calls), "words": calls or "the same calls"},
        {"name": "Tokens", "unit": "count", "a": tokens[0], "b": tokens[1], "words": _share(*tokens)},
        {"name": "Turns", "unit": "count", "a": len(a.turns), "b": len(b.turns), "words": _step(a, b)},
    ]


def tokens_of(spent: Bill) -> int | None:
    """Input and output tokens together; None where a model did not report them."""
    if spent.input_tokens is None or spent.output_tokens is None:
        return None
    return spent.input_tokens + spent.output_tokens


def _step(a: Trajectory, b: Trajectory) -> str:
    step = len(b.turns) - len(a.turns)
    return "as many" if step == 0 else f"B has {abs(step)} {'more' if step > 0 else 'fewer'}"


def _ratio(a: float | None, b: float | None) -> str | None:
    if a is None or b is None:
        return None
    if a == b:
        return "the same"
    if a == 0 or b == 0:
        return f"only {'B' if a == 0 else 'A'} cost anything"
    if abs(b / a - 1) < 0.005:
        return "about the same"
    word = "dearer" if b > a else "cheaper"
    times = max(a, b) / min(a, b)
    return f"B is {times:.1f} × {word}" if times >= 2 else f"B is {abs(b / a - 1) * 100:.0f} % {word}"


def _share(a: int | None, b: int | None) -> str | None:
    if a is None or b is None:
        return None
    if a == b:
        return "the same"
    if a == 0:
        return "only B used any"
    if abs(b / a - 1) < 0.005:
        return "about the same"
    return f"B {'+' if b > a else chr(0x2212)}{abs(b / a - 1) * 100:.0f} %"


def _seconds(a: float | None, b: float | None) -> Data:
    words = None
    if a is not None and b is not None:
        step = b - a
        words = "as quick" if abs(step) < 0.05 else f"B is {abs(step):.1f} s {'slower' if step > 0 else 'faster'}"
    return {"name": "Time", "unit": "seconds", "a": a, "b": b, "words": words}


# ---- the sentence


def first_difference(a: Trajectory, b: Trajectory, pairs: Sequence[Pair]) -> Data:
    """The first difference that matters: where it is (a row, or None) and what it is, in a sentence."""
    if a.id == b.id:
        return {"row": None, "where": "", "words": "Both sides are the same run."}
    row = next((place for place, pair in enumerate(pairs) if pair.difference is not Difference.SAME), None)
    lead = "The tasks differ. " if _tasks(a) != _tasks(b) else ""
    if row is None:
        return {"row": None, "where": "", "words": lead + _without_calls(a, b, len(pairs))}
    rest = pairs[row + 1 :]
    differing = sum(pair.difference is not Difference.SAME for pair in rest)
    after = (
        f" After it {differing} of {len(rest)} differ." if differing else " After it nothing differs." if rest else ""
    )
    return {"row": row, "where": f"{lead}Call {row + 1}", "words": _words(pairs[row], a, b) + after}


def _tasks(run: Trajectory) -> str:
    return run.setting.task.text.strip()


def _without_calls(a: Trajectory, b: Trajectory, calls: int) -> str:
    same = "The one call is the same" if calls == 1 else f"All {calls:,} calls are the same"
    same = same if calls else "Neither made a call"
    if a.status != b.status:
        return f"{same}; A ended as {a.status.replace('_', ' ')}, B as {b.status.replace('_', ' ')}."
    if a.answer != b.answer:
        return f"{same}; the answers differ."
    return f"{same}, and so is the answer. Only cost and time can differ."


def _words(pair: Pair, a: Trajectory, b: Trajectory) -> str:
    one = a.calls[pair.a] if pair.a is not None else None
    other = b.calls[pair.b] if pair.b is not None else None
    title = _title(one or other, a, b)
    if one is None or other is None:
        side, call = ("A", one) if one else ("B", other)
        assert call is not None
        failed = call.observation is not None and call.observation.status in _FAILED
        return f"only {side} calls {title}{', which failed' if failed else ''}."
    if pair.difference is Difference.RESULT:
        return f"the same call of {title} came back otherwise{_states(one, other)}."
    before, after = first_change(*text_diff(_arguments(one), _arguments(other)))
    if before and after and max(len(before), len(after)) <= _QUOTED_CHARS:
        return f"{title}: B has “{after}” where A has “{before}”."
    return f"{title} is asked otherwise."


def _states(one: Call, other: Call) -> str:
    states = [call.observation.status if call.observation else "running" for call in (one, other)]
    return f": {states[0]} in A, {states[1]} in B" if states[0] != states[1] else ""


def _title(call: Call | None, a: Trajectory, b: Trajectory) -> str:
    assert call is not None
    specs = {spec.name: spec.title for spec in (*b.setting.tools, *a.setting.tools)}
    return specs.get(call.call.tool, call.call.tool)


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
    arguments = text_diff(*(_arguments(side.call) if side else "" for side in sides), closely=closely)
    results = text_diff(*(_seen(side.call) if side else "" for side in sides), closely=closely)
    both = one is not None and other is not None
    return {
        "difference": str(difference),
        "a": one and _call(one, arguments[0], results[0], marked=both),
        "b": other and _call(other, arguments[1], results[1], marked=both),
        "seconds": _lasted(other.call) - _lasted(one.call) if one and other else None,
        "usd": _dearer(one, other) if one and other else None,
    }


def _call(placed: _Placed, arguments: Pieces, result: Pieces, *, marked: bool) -> Data:
    call, run, seen = placed.call, placed.run, placed.call.observation
    spec = next((spec for spec in run.setting.tools if spec.name == call.call.tool), None)
    return {
        "number": placed.number,
        "turn": placed.turn,
        "id": call.call.id,
        "tool": call.call.tool,
        "title": spec.title if spec else call.call.tool,
        "kind": str(spec.kind) if spec else "basic",
        "simulated": spec.simulated if spec else False,
        "status": str(seen.status) if seen else "running",
        "seconds": seen.latency_s if seen else None,
        "cost": views.cost_view(call.attempts, run.setting.prices),
        "arguments": [(marked and differs, text) for differs, text in arguments],
        "result": [(marked and differs, text) for differs, text in result],
    }


def _lasted(call: Call) -> float:
    return call.observation.latency_s if call.observation else 0.0


def _dearer(one: _Placed, other: _Placed) -> float | None:
    costs = [views.cost_view(side.call.attempts, side.run.setting.prices) for side in (one, other)]
    known = [0.0 if cost["kind"] == "none" else cost["usd"] for cost in costs]
    return None if None in known else known[1] - known[0]


def _arguments(call: Call) -> str:
    """A name and its value a line, as the timeline has them."""
    asked = call.call
    if asked.arguments is None:
        return asked.arguments_text[:SHOWN_CHARS]
    lines = (
        f"{name} {value if isinstance(value, str) else spoken(value)}"
        for name, value in to_data(asked)["arguments"].items()
    )
    return "\n".join(lines)[:SHOWN_CHARS]


def _seen(call: Call) -> str:
    return call.observation.text[:SHOWN_CHARS] if call.observation else ""
