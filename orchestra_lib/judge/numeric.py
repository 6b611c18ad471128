r"""Whether an answer gives the number that is expected, in whatever unit and spelling.

The claim of an answer is its marked number: in the last `\boxed{…}`, behind the last `####`, "answer is" or "answer:",
or the last part in bold that begins with a number; without a mark, the last number of the text.
"""

from fractions import Fraction

from orchestra_lib.check import Check
from orchestra_lib.errors import BadInput
from orchestra_lib.judge.claim import bold, ending, marked
from orchestra_lib.judge.quantity import Quantity, only_quantity, quantities, unit_text
from orchestra_lib.judge.unit import converted, known_unit, leading_unit, unit
from orchestra_lib.judge.verdict import Verdict, shown

_ROUNDING = Fraction(1, 10**9)
"""The share by which binary fractions may miss an exact number."""


def claimed(answer: str) -> Quantity | None:
    """The number that an answer claims; None where it has none."""
    if (said := marked(answer)) is not None and (found := quantities(said)):
        return found[0]
    if said is None:
        begun = [found[0] for part in bold(answer) if (found := quantities(part)) and part.startswith(found[0].text)]
        if begun:
            return begun[-1]
    found = quantities(ending(answer))
    return found[-1] if found else None


def expected(reference: str) -> Quantity | None:
    """The number of a reference: all of it, or what it marks."""
    return only_quantity(reference) or (claimed(reference) if marked(reference) is not None else None)


def numeric(check: Check, answer: str, reference: str) -> Verdict:
    """The claim is the reference. Raises `BadInput` for a reference without a number, and an unknown unit."""
    wanted = expected(reference)
    if wanted is None:
        raise BadInput(f"the reference {shown(reference)} is no number; use another check, or correct it")
    given = claimed(answer)
    if given is None:
        return Verdict(outcome=False, reason=f"{shown(answer)} has no number; {wanted.text} is expected")
    if None not in (given.currency, wanted.currency) and given.currency != wanted.currency:
        words = f"{given.text} is an amount in {given.currency}, and {wanted.currency} is expected"
        return Verdict(outcome=False, reason=words)
    return _compared(check, given, wanted)


def same_number(one: str, other: str) -> bool:
    """Whether two texts that are nothing but numbers name the same one; False where one is no number."""
    first, second = only_quantity(one), only_quantity(other)
    if first is None or second is None or unit_text(first.after) or unit_text(second.after):
        return False
    return first.percent == second.percent and abs(first.value - second.value) <= _ROUNDING * abs(second.value)


def _compared(check: Check, given: Quantity, wanted: Quantity) -> Verdict:
    values, words = [given.value], given.text
    named = check.unit or (unit_text(wanted.after) if not wanted.currency else "")
    like = known_unit(check.unit) if check.unit else unit(named) if named else None
    if like is not None:
        stated = leading_unit(given.after, like)
        if stated is None:
            words += f", without a unit and so taken as {named}"
        else:
            value = converted(float(given.value), stated[0], like)
            words += f" {stated[1]}"
            if value is None:
                return Verdict(outcome=False, reason=f"{words} is no amount of {named}, and {wanted.text} is expected")
            values = [given.value] if stated[0] == like else [Fraction(value)]
    elif given.percent != wanted.percent:  # 25 % may be written as 25 or as 0.25
        values.append(given.value / 100 if given.percent else given.value * 100)
    reach, rule = _reach(check, wanted)
    ok = any(abs(value - wanted.value) <= reach for value in values)
    is_it = "is" if ok else "is not"
    return Verdict(outcome=ok, reason=f"{words} {is_it} {wanted.text}{f' {named}' if named else ''} {rule}")


def _reach(check: Check, wanted: Quantity) -> tuple[Fraction, str]:
    """How far a claim may be from the reference, and the rule in words."""
    if check.tolerance is not None or check.margin is not None:
        share, margin = check.tolerance or 0.0, check.margin or 0.0
        reach = max(Fraction(share) * abs(wanted.value), Fraction(margin))
        parts = [f"{share:.3g} of it"] if check.tolerance is not None else []
        parts += [f"{margin:g}"] if check.margin is not None else []
        return reach + _ROUNDING * abs(wanted.value), f"within {' or '.join(parts)}"
    if wanted.step is not None:
        return wanted.step / 2 + _ROUNDING * abs(wanted.value), "as far as that is written out"
    return _ROUNDING * abs(wanted.value), "exactly"
