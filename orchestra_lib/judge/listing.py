"""Whether an answer lists the expected items: all of them and no other, in order or not, or any of them."""

import re
from collections.abc import Sequence

from orchestra_lib.check import Check
from orchestra_lib.errors import BadInput
from orchestra_lib.json_text import decode
from orchestra_lib.judge.claim import ending, marked
from orchestra_lib.judge.exact import contains, normalised
from orchestra_lib.judge.numeric import same_number
from orchestra_lib.judge.verdict import Verdict, shown

MAX_ITEMS = 1_000
_BULLET = re.compile(r"^[ \t]*(?:[-*•]|\d{1,3}[.)])[ \t]+(\S.*)$", re.MULTILINE)
_LEAD = re.compile(r"^[^\n:]{0,200}(?::|\b(?:are|is|includes?|were)\b)\s*(?=\S)", re.IGNORECASE)
_JOINT = re.compile(r"\s*(?:,(?!\d{3}(?!\d))\s*(?:and|or|&)?\s+|,(?=[^\d\s])|\s+(?:and|or|&)\s+)\s*")


def items(text: str) -> tuple[str, ...]:
    """The items of a written list: JSON, bullets, lines, semicolons, or commas with an "and"."""
    text = text.strip()
    if text.startswith("["):
        try:
            value, _ = decode(text)
        except ValueError:
            value = None
        if isinstance(value, list):
            return tuple(str(item) for item in value)
    if len(bullets := _BULLET.findall(text)) > 1:
        return tuple(bullet.strip() for bullet in bullets)
    for mark in ("\n", ";"):
        if mark in text:
            return tuple(part.strip() for part in text.split(mark) if part.strip())
    return tuple(part.strip(" .") for part in _JOINT.split(" ".join(text.split())) if part.strip(" ."))


def listing(check: Check, answer: str, reference: str) -> Verdict:
    """The items of the answer are those of the reference.

    None where the expected items stand in prose that cannot be taken apart: it may name more. Raises `BadInput` for a
    reference without items, or with too many.
    """
    wanted = items(reference)
    if not wanted or len(wanted) > MAX_ITEMS:
        raise BadInput(f"the reference has {len(wanted):,} items; a list has 1 to {MAX_ITEMS:,}")
    answer = ending(answer)
    given = items(marked(answer) or answer)[:MAX_ITEMS]
    led = items(_LEAD.sub("", marked(answer) or answer, count=1))[:MAX_ITEMS]
    if check.need == "any":
        found = next((item for item in wanted if _among(item, (*given, *led)) or contains(answer, item)), None)
        words = f"names {shown(found)}" if found else f"names none of the {len(wanted)} items"
        return Verdict(outcome=found is not None, reason=f"the answer {words}")
    order = "in order" if check.ordered else "in any order"
    if any(_matches(check, wanted, one) for one in (given, led)):
        return Verdict(outcome=True, reason=f"the answer lists the {len(wanted)} items {order} and no other")
    missing = [item for item in wanted if not _among(item, (*given, *led)) and not contains(answer, item)]
    if missing:
        return Verdict(outcome=False, reason=f"the answer lacks {', '.join(map(shown, missing[:5]))}")
    if len(led) == len(wanted) or len(led) > 1:
        what = "in another order" if len(led) == len(wanted) else f"as some of {len(led)}"
        if all(_among(item, led) for item in wanted):
            return Verdict(outcome=False, reason=f"the answer lists the {len(wanted)} items, but {what}")
    words = "the answer names all items among other words; whether it names more, a model or a person must say"
    return Verdict(outcome=None, reason=words)


def _matches(check: Check, wanted: Sequence[str], given: Sequence[str]) -> bool:
    if len(wanted) != len(given):
        return False
    if check.ordered:
        return all(_same(one, other) for one, other in zip(wanted, given, strict=True))
    left = list(given)
    for item in wanted:
        place = next((n for n, other in enumerate(left) if _same(item, other)), None)
        if place is None:
            return False
        del left[place]
    return True


def _among(item: str, given: Sequence[str]) -> bool:
    return any(_same(item, other) for other in given)


def _same(one: str, other: str) -> bool:
    return normalised(one) == normalised(other) or same_number(one, other)
