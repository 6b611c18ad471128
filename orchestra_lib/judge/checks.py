"""One answer under one check; where no check is named, the one that fits its reference."""

import re
from dataclasses import replace

from orchestra_lib.check import Check, CheckKind
from orchestra_lib.errors import BadInput
from orchestra_lib.judge.claim import ending
from orchestra_lib.judge.exact import contains, exact
from orchestra_lib.judge.listing import items, listing
from orchestra_lib.judge.numeric import expected, numeric
from orchestra_lib.judge.symbolic import symbolic
from orchestra_lib.judge.verdict import Verdict

_MAX_WORDS = 12
"""A longer reference is a text that no answer repeats to the word."""
_LATEX = re.compile(r"\\[a-zA-Z]+|\^|\*\*|[=+*/]")
_WORD = re.compile(r"(?<!\\)\b[a-zA-Z]{4,}\b")


def compare(check: Check, answer: str, reference: str) -> Verdict:
    """The verdict of a check that needs no model and no environment; blocks for what is symbolic.

    Raises `BadInput` for a reference that the check cannot use, `SandboxFault`.
    """
    match check.kind:
        case CheckKind.EXACT:
            return exact(check, answer, reference)
        case CheckKind.NUMERIC:
            return numeric(check, answer, reference)
        case CheckKind.LIST:
            return listing(check, answer, reference)
        case CheckKind.SYMBOLIC:
            return symbolic(answer, reference)
        case _:
            raise BadInput(f"check {check.kind} does not compare two texts; use exact, numeric, list or symbolic")


def check_usable(check: Check, reference: str) -> None:
    """Raise `BadInput` for a reference that this check could compare with nothing."""
    if check.kind in (CheckKind.EXACT, CheckKind.NUMERIC, CheckKind.LIST):
        compare(check, reference, reference)


def chosen(reference: str) -> tuple[Check, str] | None:
    """The check that fits a reference, and why; None for a text that only a model or a person can compare."""
    if expected(reference) is not None:
        return Check(kind=CheckKind.NUMERIC), "the reference is a number"
    text = reference.strip()
    if len(items(text)) > 1 and (text.startswith("[") or ";" in text or "\n" in text) and len(text) < 2_000:
        return Check(kind=CheckKind.LIST), "the reference is a list"
    if _LATEX.search(text) and not _WORD.search(text):
        return Check(kind=CheckKind.SYMBOLIC), "the reference is an expression"
    if len(text.split()) <= _MAX_WORDS:
        return Check(kind=CheckKind.EXACT), "the reference is a short text"
    return None


def compare_by_itself(answer: str, reference: str) -> tuple[CheckKind | None, Verdict]:
    """The verdict of the check that fits the reference, which its reason names.

    A short reference that stands among other words is no clear case, and gives None. Raises `SandboxFault`.
    """
    choice = chosen(reference)
    if choice is None:
        words = f"a reference of {len(reference.split())} words needs a model or a person to compare it"
        return None, Verdict(outcome=None, reason=words)
    check, why = choice
    verdict = compare(check, answer, reference)
    if check.kind is CheckKind.EXACT and verdict.outcome is False and contains(ending(answer), reference):
        words = f"{verdict.reason}: whether it is the answer, a model or a person must say"
        verdict = replace(verdict, outcome=None, reason=words)
    return check.kind, replace(verdict, reason=f"{verdict.reason} ({check.kind}, as {why})")
