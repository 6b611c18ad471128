"""Grading runs: which grader a task takes, and what it says of a run as the journal keeps it.

Graders are named in one way everywhere: `auto`, the kind of a check (`exact`, `numeric`, `list`, `symbolic`, `state`),
`model:NAME` or `person:NAME`.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime

from orchestra_lib.check import Check, CheckKind
from orchestra_lib.errors import BadInput, Fault, ProviderFault, WorldFault
from orchestra_lib.grade import Grade
from orchestra_lib.grouping import NO_REWARD
from orchestra_lib.judge import checks
from orchestra_lib.judge.model import Question, judge
from orchestra_lib.judge.state import StateGrader, state
from orchestra_lib.judge.verdict import Verdict
from orchestra_lib.pricing import Attempt
from orchestra_lib.protocols import ChatModel
from orchestra_lib.record import record
from orchestra_lib.task import Task
from orchestra_lib.trajectory import Trajectory

AUTO = "auto"
MAX_NAME_CHARS, MAX_REASON_CHARS = 80, 2_000
OUTCOMES: Mapping[str, bool | None] = {"solved": True, "not_solved": False, "unknown": None}
"""What a person can say of a run."""
_MODEL, _PERSON = "model:", "person:"


@record
class Marked:
    """What grading one run gave: a grade, or the fault of the grader; `attempts` are what a judge took."""

    grade: Grade | None = None
    attempts: tuple[Attempt, ...] = ()
    fault: Fault | None = None


@record
class Wish:
    """How a run is to be graded. `reference` and `check` stand in for those of its task.

    `by` is as it stands in a grade, or `auto`. Raises `BadInput` for a grader that there is not.
    """

    by: str = AUTO
    reference: str | None = None
    check: Check | None = None

    def __post_init__(self) -> None:
        checked_by(self.by)


def checked_by(by: str) -> str:
    """The name of a grader as it is kept. Raises `BadInput`."""
    for prefix in (_MODEL, _PERSON):
        if by.startswith(prefix):
            name = " ".join(by.removeprefix(prefix).split())
            if not name or len(name) > MAX_NAME_CHARS or not name.isprintable():
                raise BadInput(f"grader {by[:100]!r}: name who grades in 1 to {MAX_NAME_CHARS} plain characters")
            return prefix + name
    kinds = [AUTO, *(str(kind) for kind in CheckKind if kind is not CheckKind.MODEL)]
    if by not in kinds:
        raise BadInput(f"there is no grader {by[:100]!r}; use {', '.join(kinds)}, model:NAME or person:NAME")
    return by


def by_person(who: str, outcome: str, reason: str | None, *, at: datetime) -> Marked:
    """The grade of a person, named `person:NAME`. Raises `BadInput` for another outcome, a bad name, a long reason."""
    if outcome not in OUTCOMES:
        raise BadInput(f"outcome = {outcome[:100]!r} is unknown; use {', '.join(OUTCOMES)}")
    if not who.startswith(_PERSON):
        raise BadInput(f"an outcome is given by a person; name them as person:NAME instead of {who[:100]!r}")
    words = (reason or "").strip() or None
    if words is not None and len(words) > MAX_REASON_CHARS:
        raise BadInput(f"the reason has {len(words):,} characters; keep it under {MAX_REASON_CHARS:,}")
    return Marked(grade=Grade(at=at, by=checked_by(who), outcome=OUTCOMES[outcome], reason=words))


def check_task(task: Task) -> None:
    """Raise `BadInput` for a task whose check could not use its reference."""
    if task.check is not None and task.reference is not None:
        checks.check_usable(task.check, task.reference)


def why_not(trajectory: Trajectory) -> str | None:
    """Why no check and no judge may grade a run; None when they may. A person always may, once it has ended."""
    if trajectory.stop is None:
        return f"run {trajectory.id} still goes on; grade it when it has ended"
    if (why := NO_REWARD.get(trajectory.stop)) is not None:
        return f"run {trajectory.id} ended by {trajectory.stop} ({why}): only a person can grade it"
    return None


def due(trajectory: Trajectory) -> bool:
    """Whether a run that has just ended is graded by itself: by a check that needs no model, or in its domain."""
    task = trajectory.setting.task
    wanted = task.reference is not None if task.check is None else task.check.needs_reference
    wanted = wanted or trajectory.setting.assigned is not None
    return wanted and why_not(trajectory) is None and not trajectory.grades


async def grade(
    trajectory: Trajectory,
    wish: Wish,
    *,
    models: Callable[[str], ChatModel],
    now: Callable[[], datetime],
    environment: StateGrader | None = None,
) -> Marked:
    """The verdict on a run that has ended; nothing is stored. A fault of the world is in the answer, and no error.

    Raises `BadInput` for a run that may not be graded, a judge that there is not, and a check that has no reference
    or cannot use it.
    """
    if (why := why_not(trajectory)) is not None:
        raise BadInput(why)
    task = trajectory.setting.task
    check = _check(wish, task)
    reference = task.reference if wish.reference is None else wish.reference
    by = _named(wish, check)
    if by.startswith(_PERSON):
        raise BadInput(f"a person says the outcome: give one of {', '.join(OUTCOMES)}")
    answer = trajectory.answer
    if answer is None and by != CheckKind.STATE:
        words = f"there is no answer: the run ended at {trajectory.stop}"
        return Marked(grade=Grade(at=now(), by=by, outcome=False, reason=words))
    try:
        if by.startswith(_MODEL):
            asked = Question(task=task.text, reference=reference, answer=answer or "")
            return await _judged(models(by.removeprefix(_MODEL)), asked, by, now)
        if by == CheckKind.STATE:
            return Marked(grade=_grade(by, await _state(trajectory, environment), now))
        if reference is None:
            raise BadInput(
                f"run {trajectory.id} has no reference to compare with; give one with --reference, "
                "or have it graded by model:NAME or person:NAME"
            )
        return Marked(grade=await asyncio.to_thread(_compared, check, answer or "", reference, now))
    except WorldFault as error:
        attempts = error.attempts if isinstance(error, ProviderFault) else ()
        return Marked(fault=Fault.of(error, where=by), attempts=attempts)


def _check(wish: Wish, task: Task) -> Check | None:
    """The check that is meant: the wish's own, the task's where it is of that kind, or a plain one."""
    if wish.check is not None:
        return wish.check
    if wish.by == AUTO:
        return task.check
    if wish.by not in set(CheckKind):
        return None
    fits = task.check is not None and task.check.kind == wish.by
    return task.check if fits else Check(kind=CheckKind(wish.by))


def _named(wish: Wish, check: Check | None) -> str:
    if wish.by.startswith((_MODEL, _PERSON)):
        return checked_by(wish.by)
    if check is None:
        return AUTO
    if check.kind is not CheckKind.MODEL:
        return str(check.kind)
    if check.model is None:
        raise BadInput("check model names no judge; say which with model:NAME")
    return _MODEL + check.model


def _compared(check: Check | None, answer: str, reference: str, now: Callable[[], datetime]) -> Grade:
    if check is not None:
        return _grade(str(check.kind), checks.compare(check, answer, reference), now)
    kind, verdict = checks.compare_by_itself(answer, reference)
    return _grade(AUTO if kind is None else str(kind), verdict, now)


async def _state(trajectory: Trajectory, environment: StateGrader | None) -> Verdict:
    if environment is None:
        raise BadInput(f"run {trajectory.id} has no database to look at; check state needs a tool environment")
    return state(await asyncio.to_thread(environment.look, trajectory))


async def _judged(model: ChatModel, asked: Question, by: str, now: Callable[[], datetime]) -> Marked:
    judgement = await judge(model, asked)
    if judgement.verdict is None:
        fault = Fault(where=by, kind="provider", message=judgement.why or "no verdict")
        return Marked(fault=fault, attempts=judgement.attempts)
    return Marked(grade=_grade(by, judgement.verdict, now), attempts=judgement.attempts)


def _grade(by: str, verdict: Verdict, now: Callable[[], datetime]) -> Grade:
    reason = verdict.reason[:MAX_REASON_CHARS]
    return Grade(at=now(), by=by, outcome=verdict.outcome, reason=reason, conditions=verdict.conditions)


def graded_by(trajectory: Trajectory, wish: Wish) -> bool:
    """Whether this grader has given a verdict already, so that a repeated pass can leave the run out.

    What it said is not known to be of the wish's own reference or check.
    """
    if wish.reference is not None or wish.check is not None:
        return False
    check = _check(wish, trajectory.setting.task)
    by = _named(wish, check)
    kinds = {str(kind) for kind in CheckKind} if by == AUTO else {by}
    return any(one.by in kinds and one.outcome is not None for one in trajectory.grades)


def with_check(wish: Wish, **changes: object) -> Wish:
    """The wish with parameters of its check, given by name. Raises `BadInput` for what is none of that check."""
    given = {name: value for name, value in changes.items() if value is not None}
    if not given:
        return wish
    if wish.by not in set(CheckKind):
        raise BadInput(f"only a check has {', '.join(given)}; name one, for example --by numeric")
    plain = Check(kind=CheckKind(wish.by))
    return replace(wish, check=replace(plain, **given))  # type: ignore[arg-type]  # Check refuses what is not its own
