"""One thing that was looked at."""

from enum import StrEnum

from orchestra_lib.record import record


class State(StrEnum):
    """How it stands."""

    OK = "ok"
    WARN = "warn"
    """Something does without; what, the line says."""
    FAIL = "fail"
    """What was set up does not work, or nothing does without it."""


@record
class Finding:
    """What was looked at, what was found, and what helps where it is not well."""

    what: str
    state: State
    found: str
    remedy: str | None = None


def ok(what: str, found: str) -> Finding:
    """All is well."""
    return Finding(what=what, state=State.OK, found=found)


def warn(what: str, why: str, remedy: str | None = None) -> Finding:
    """Something is off; `why` may hold the remedy after a semicolon, as reasons here do."""
    return _bad(what, State.WARN, why, remedy)


def fail(what: str, why: str, remedy: str | None = None) -> Finding:
    """Something is broken; `why` as in `warn`."""
    return _bad(what, State.FAIL, why, remedy)


def _bad(what: str, state: State, why: str, remedy: str | None) -> Finding:
    reason, _, rest = why.partition("; ")
    if remedy is None and rest and reason.count("(") == reason.count(")"):
        why, remedy = reason, rest
    return Finding(what=what, state=state, found=why, remedy=remedy)
