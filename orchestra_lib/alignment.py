"""Two trajectories laid side by side by their calls: which belong together, and how they differ.

Calls are paired in order and only with calls of the same tool; equal calls hold the rest in place. Every call
stands in exactly one pair.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from difflib import SequenceMatcher
from enum import StrEnum
from itertools import zip_longest

from orchestra_lib.codec import fingerprint, to_data
from orchestra_lib.record import record
from orchestra_lib.trajectory import Call, Turn

_CELLS = 250_000
"""Up to so many combinations the best alignment is looked for; beyond, equal calls are found and the rest paired up."""
_LIKENESSES = 2_500
"""Up to so many combinations it also counts how alike two calls are."""
_EQUAL, _SAME_TOOL, _COMPARED_CHARS = 4.0, 1.0, 400


class Difference(StrEnum):
    """How the two calls of a pair differ."""

    SAME = "same"
    """The same call with the same result; cost and time may differ."""
    RESULT = "result"
    """The same call, which came back otherwise."""
    ARGUMENTS = "arguments"
    """The same tool, asked otherwise."""
    ONLY_A = "only_a"
    ONLY_B = "only_b"


@record
class Pair:
    """Two calls that belong together, by their places among the calls of A and of B; None where there is none."""

    a: int | None
    b: int | None
    difference: Difference


_Places = tuple[int | None, int | None]


def align(a: Sequence[Call], b: Sequence[Call]) -> tuple[Pair, ...]:
    """The calls of A and B in pairs, in order."""
    keys_a, keys_b = [call_key(call) for call in a], [call_key(call) for call in b]
    return tuple(_pair(places, a, b, keys_a, keys_b) for places in _trimmed(a, b, keys_a, keys_b))


def align_turns(a: Sequence[Turn], b: Sequence[Turn]) -> tuple[Pair, ...]:
    """The calls of A and B in pairs, each turn's with those of the turn in the same place."""
    found: list[Pair] = []
    done_a = done_b = 0
    for one, other in zip_longest(a, b):
        calls_a, calls_b = one.calls if one else (), other.calls if other else ()
        for pair in align(calls_a, calls_b):
            i, j = pair.a, pair.b
            found.append(replace(pair, a=None if i is None else i + done_a, b=None if j is None else j + done_b))
        done_a, done_b = done_a + len(calls_a), done_b + len(calls_b)
    return tuple(found)


def call_key(call: Call) -> tuple[str, str]:
    """What makes two calls the same: the tool and its arguments, whatever the order of their names."""
    asked = call.call
    if asked.arguments is None:
        return asked.tool, asked.arguments_text
    try:
        return asked.tool, fingerprint(to_data(asked)["arguments"])
    except ValueError:  # a number that JSON has no word for
        return asked.tool, asked.arguments_text


def _pair(
    places: _Places, a: Sequence[Call], b: Sequence[Call], keys_a: Sequence[object], keys_b: Sequence[object]
) -> Pair:
    i, j = places
    if i is None or j is None:
        return Pair(a=i, b=j, difference=Difference.ONLY_B if i is None else Difference.ONLY_A)
    if keys_a[i] != keys_b[j]:
        return Pair(a=i, b=j, difference=Difference.ARGUMENTS)
    same = _result(a[i]) == _result(b[j])
    return Pair(a=i, b=j, difference=Difference.SAME if same else Difference.RESULT)


def _result(call: Call) -> object:
    seen = call.observation
    return seen and (seen.status, seen.text, [ref.sha256 for ref in seen.artefacts])


def _trimmed(
    a: Sequence[Call], b: Sequence[Call], keys_a: Sequence[object], keys_b: Sequence[object]
) -> Iterator[_Places]:
    """Equal calls at both ends need no search."""
    start, least = 0, min(len(a), len(b))
    while start < least and keys_a[start] == keys_b[start]:
        start += 1
    end = 0
    while end < least - start and keys_a[-1 - end] == keys_b[-1 - end]:
        end += 1
    yield from ((place, place) for place in range(start))
    for i, j in _middle(a[start : len(a) - end], b[start : len(b) - end]):
        yield (None if i is None else i + start), (None if j is None else j + start)
    yield from ((len(a) - end + place, len(b) - end + place) for place in range(end))


def _middle(a: Sequence[Call], b: Sequence[Call]) -> Iterator[_Places]:
    if len(a) * len(b) <= _CELLS:
        yield from _best(a, b)
        return
    keys_a, keys_b = [call_key(call) for call in a], [call_key(call) for call in b]
    i = j = 0
    for block in SequenceMatcher(None, keys_a, keys_b).get_matching_blocks():
        yield from _gap(a, b, (i, block.a), (j, block.b))
        yield from ((block.a + place, block.b + place) for place in range(block.size))
        i, j = block.a + block.size, block.b + block.size


def _gap(a: Sequence[Call], b: Sequence[Call], in_a: tuple[int, int], in_b: tuple[int, int]) -> Iterator[_Places]:
    part_a, part_b = a[slice(*in_a)], b[slice(*in_b)]
    small = len(part_a) * len(part_b) <= _CELLS
    for i, j in _best(part_a, part_b) if small else _in_step(part_a, part_b):
        yield (None if i is None else i + in_a[0]), (None if j is None else j + in_b[0])


def _in_step(a: Sequence[Call], b: Sequence[Call]) -> Iterator[_Places]:
    """Place by place: what is too long for a search."""
    for place in range(max(len(a), len(b))):
        if place < len(a) and place < len(b) and a[place].call.tool == b[place].call.tool:
            yield place, place
            continue
        if place < len(a):
            yield place, None
        if place < len(b):
            yield None, place


def _best(a: Sequence[Call], b: Sequence[Call]) -> Iterator[_Places]:
    """The pairing of the highest likeness in all; of equal ones the earliest."""
    gains = _gains(a, b)
    best = [[0.0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i in range(len(a) - 1, -1, -1):
        row, below = best[i], best[i + 1]
        for j in range(len(b) - 1, -1, -1):
            gain = gains[i][j]
            skipped = max(below[j], row[j + 1])
            row[j] = max(skipped, below[j + 1] + gain) if gain else skipped
    i = j = 0
    while i < len(a) and j < len(b):
        gain = gains[i][j]
        if gain and best[i][j] == best[i + 1][j + 1] + gain:
            yield i, j
            i, j = i + 1, j + 1
        elif best[i][j] == best[i + 1][j]:
            yield i, None
            i += 1
        else:
            yield None, j
            j += 1
    yield from ((place, None) for place in range(i, len(a)))
    yield from ((None, place) for place in range(j, len(b)))


def _gains(a: Sequence[Call], b: Sequence[Call]) -> list[list[float]]:
    """How much each combination is worth as a pair; 0: none, as the tools differ."""
    keys_a, keys_b = [call_key(call) for call in a], [call_key(call) for call in b]
    closely = len(a) * len(b) <= _LIKENESSES
    return [
        [_gain(one, other, keys_a[i] == keys_b[j], closely) for j, other in enumerate(b)] for i, one in enumerate(a)
    ]


def _gain(a: Call, b: Call, equal: bool, closely: bool) -> float:
    if equal:
        return _EQUAL
    if a.call.tool != b.call.tool:
        return 0.0
    one, other = (call.call.arguments_text[:_COMPARED_CHARS] for call in (a, b))
    return _SAME_TOOL + (SequenceMatcher(None, one, other).quick_ratio() if closely else 0.0)
