"""Two trajectories in figures and words: what B has to do with A, and the first difference that matters."""

from collections.abc import Sequence
from typing import Any

from orchestra_lib.alignment import Difference, Pair
from orchestra_lib.billing import Bill
from orchestra_lib.codec import to_data
from orchestra_lib.json_writing import spoken
from orchestra_lib.textdiff import first_change, text_diff
from orchestra_lib.tool import CallStatus
from orchestra_lib.trajectory import Call, Trajectory

SHOWN_CHARS = 1_200
"""So much of a call's arguments and of its result is compared word by word."""
_QUOTED_CHARS = 40
_FAILED = (CallStatus.ERROR, CallStatus.TIMEOUT, CallStatus.REJECTED)
Data = dict[str, Any]


def deltas(a: Trajectory, b: Trajectory, pairs: Sequence[Pair]) -> list[Data]:
    """Each figure of A and B, and what B has to do with A in words; None where one of them is unknown."""
    bills = a.bill(), b.bill()
    costs, tokens = [bill.cost_usd for bill in bills], [tokens_of(bill) for bill in bills]
    only = [sum(pair.difference is one for pair in pairs) for one in (Difference.ONLY_A, Difference.ONLY_B)]
    calls = ", ".join(f"{count} only in {side}" for count, side in zip(only, "AB", strict=True) if count)
    return [
        {"name": "Cost", "unit": "usd", "a": costs[0], "b": costs[1], "words": _ratio(*costs)},
        _seconds(a.latency_s, b.latency_s),
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
    before, after = first_change(*text_diff(arguments_text(one), arguments_text(other)))
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


def arguments_text(call: Call) -> str:
    """What a call asks, a name and its value a line, cut after `SHOWN_CHARS`."""
    asked = call.call
    if asked.arguments is None:
        return asked.arguments_text[:SHOWN_CHARS]
    lines = (
        f"{name} {value if isinstance(value, str) else spoken(value)}"
        for name, value in to_data(asked)["arguments"].items()
    )
    return "\n".join(lines)[:SHOWN_CHARS]
