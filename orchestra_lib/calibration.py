"""How far a judge can be trusted, against labels that people gave: agreement, kappa, and what sways it.

Verdicts are True (solved), False (not solved) or None (the judge could not say). None never counts as a verdict: it is
counted apart, and every share is of those that have one.
"""

import math
from collections.abc import Iterable, Sequence
from statistics import median

from orchestra_lib.record import record

_Z = 1.959963984540054
"""The 97.5th percentile of the normal distribution: intervals of 95 %."""


@record
class Share:
    """`hits` of `of`, with its Wilson interval of 95 %; `rate` and both ends are None of nothing."""

    hits: int
    of: int
    rate: float | None
    low: float | None
    high: float | None


@record
class Agreement:
    """How often a judge says what people said. `kappa` is Cohen's, None where chance alone would agree always."""

    share: Share
    kappa: float | None
    unknown: int


@record
class Flips:
    """How often a change that should not matter turned a verdict over, and into which."""

    share: Share
    to_solved: int
    to_not_solved: int
    unknown: int


@record
class LengthBias:
    """The same judge on short answers (up to `split_chars`) and on long ones.

    `short_solved` and `long_solved` are the shares that it called solved, beside what people called solved.
    """

    split_chars: float | None
    short: Agreement
    long: Agreement
    short_solved: Share
    long_solved: Share
    short_human: Share
    long_human: Share


@record
class Rating:
    """One labelled answer and what the judge said: as it is, with answer and reference swapped, and padded."""

    human: bool
    judge: bool | None
    swapped: bool | None
    padded: bool | None
    answer_chars: int


@record
class Calibration:
    """A judge against `ratings` labelled answers."""

    ratings: int
    agreement: Agreement
    swap: Flips
    padding: Flips
    length: LengthBias


def share(hits: int, of: int) -> Share:
    """A share with its Wilson interval. ValueError for more hits than there are."""
    if not 0 <= hits <= of:
        raise ValueError(f"{hits} of {of}")
    if of == 0:
        return Share(hits=0, of=0, rate=None, low=None, high=None)
    rate, square = hits / of, _Z * _Z
    middle = (rate + square / (2 * of)) / (1 + square / of)
    reach = _Z / (1 + square / of) * math.sqrt(rate * (1 - rate) / of + square / (4 * of * of))
    low = 0.0 if hits == 0 else max(0.0, middle - reach)
    high = 1.0 if hits == of else min(1.0, middle + reach)
    return Share(hits=hits, of=of, rate=rate, low=low, high=high)


def agreement(pairs: Iterable[tuple[bool, bool | None]]) -> Agreement:
    """The agreement of (human, judge) pairs."""
    listed = list(pairs)
    judged = [(human, said) for human, said in listed if said is not None]
    same = sum(human == said for human, said in judged)
    return Agreement(share=share(same, len(judged)), kappa=_kappa(judged), unknown=len(listed) - len(judged))


def _kappa(pairs: Sequence[tuple[bool, bool]]) -> float | None:
    n = len(pairs)
    if n == 0:
        return None
    ours, theirs = sum(human for human, _ in pairs), sum(said for _, said in pairs)
    by_chance = ours * theirs + (n - ours) * (n - theirs)  # times n squared
    if by_chance == n * n:
        return None
    seen = n * sum(human == said for human, said in pairs)
    return (seen - by_chance) / (n * n - by_chance)


def flips(pairs: Iterable[tuple[bool | None, bool | None]]) -> Flips:
    """What a change did to verdicts, of (before, after) pairs; those without two verdicts are counted as unknown."""
    listed = list(pairs)
    both = [(before, after) for before, after in listed if before is not None and after is not None]
    up = sum(after and not before for before, after in both)
    down = sum(before and not after for before, after in both)
    return Flips(share=share(up + down, len(both)), to_solved=up, to_not_solved=down, unknown=len(listed) - len(both))


def length_bias(ratings: Sequence[Rating]) -> LengthBias:
    """Short against long answers, split at the median length, which counts as short."""
    split = median(one.answer_chars for one in ratings) if ratings else None
    short = [one for one in ratings if split is not None and one.answer_chars <= split]
    long = [one for one in ratings if split is not None and one.answer_chars > split]
    return LengthBias(
        split_chars=split,
        short=_agreement(short),
        long=_agreement(long),
        short_solved=_solved(one.judge for one in short),
        long_solved=_solved(one.judge for one in long),
        short_human=_solved(one.human for one in short),
        long_human=_solved(one.human for one in long),
    )


def calibration(ratings: Sequence[Rating]) -> Calibration:
    """Everything that the ratings of one judge tell."""
    return Calibration(
        ratings=len(ratings),
        agreement=_agreement(ratings),
        swap=flips((one.judge, one.swapped) for one in ratings),
        padding=flips((one.judge, one.padded) for one in ratings),
        length=length_bias(ratings),
    )


def _agreement(ratings: Iterable[Rating]) -> Agreement:
    return agreement((one.human, one.judge) for one in ratings)


def _solved(verdicts: Iterable[bool | None]) -> Share:
    said = [verdict for verdict in verdicts if verdict is not None]
    return share(sum(said), len(said))
