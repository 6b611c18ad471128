"""A proposed task: read as data, its calls executed under the policy and passed through the filters, or rejected."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from orchestra_lib.codec import from_data
from orchestra_lib.environment.assignment import Assignment, AssignmentKind, GoldenCall, Information, UserFact
from orchestra_lib.environment.domain import World
from orchestra_lib.environment.operations import writes
from orchestra_lib.environment.schema import Conduct
from orchestra_lib.environment.state import State
from orchestra_lib.environment.trying import pool
from orchestra_lib.errors import BadInput, ModelMistake
from orchestra_lib.record import record
from orchestra_lib.synthesis.filters import Failure, Filters
from orchestra_lib.synthesis.lexicon import Lexicon
from orchestra_lib.synthesis.proposing.briefs import Wish

_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]")
_MARKUP = re.compile(r"<\s*[/!a-zA-Z|]")
_MAX_CALLS, _MIN_WORDS = 20, 4
_SOURCE = "llm"
_REMEDIES = {
    "golden": "correct the calls",
    "solvable": "say it in the user's words, or read it with an earlier call",
    "not free": "let the user want a change, or require something that only the right records say",
    "discriminative": "make the calls depend on what the user wants",
}


def is_proposed(assignment: Assignment) -> bool:
    """Whether a model proposed it, in words of its own."""
    return assignment.source.startswith(f"{_SOURCE} ")


@record
class ProposedFact:
    """A fact as it is proposed: no value beside the words, so that what the user says is all that is known."""

    name: str
    says: str
    asked_by: tuple[str, ...]


@record
class ProposedInformation:
    """Something that has to be said, as it is proposed."""

    value: str | float | int
    unit: str = ""
    what: str = ""


@record
class ProposedTask:
    """The form of a proposal; any other key is refused."""

    instruction: str
    golden: tuple[GoldenCall, ...]
    facts: tuple[ProposedFact, ...] = ()
    followups: tuple[str, ...] = ()
    required: tuple[ProposedInformation, ...] = ()
    refused: tuple[GoldenCall, ...] = ()


class TaskCheck:
    """Checks proposals of tasks in one world; every reason begins with its kind."""

    def __init__(self, world: World, lexicon: Lexicon, filters: Filters, *, model: str) -> None:
        self.world, self.lexicon, self.filters, self._model = world, lexicon, filters, model
        self._writes = frozenset(writes(world.domain))

    def of(self, name: str, wish: Wish) -> Callable[[Mapping[str, Any]], Assignment]:
        """The check of one wish: makes an assignment of a proposal, or raises `BadInput`."""
        return lambda data: self._checked(data, name, wish)

    def _checked(self, data: Mapping[str, Any], name: str, wish: Wish) -> Assignment:
        task = from_data(dict(data), ProposedTask, where="form: the proposal")
        _words(task)
        state, results = self._executed(task)
        self._fits(task, wish, state)
        self._sourced(task, results)
        changes = [one for one in task.golden if one.operation in self._writes]
        kind = AssignmentKind.WRITE if changes else AssignmentKind.REFUSAL if wish.refusal else AssignmentKind.READ
        if kind is AssignmentKind.READ and not task.required:
            raise BadInput(
                "not free: no record is changed and nothing has to be said; let the task need one of the two"
            )
        assignment = Assignment(
            id=name,
            domain=self.world.domain.name,
            instruction=task.instruction.strip(),
            kind=kind,
            golden=task.golden,
            facts=tuple(UserFact(name=one.name, says=one.says, asked_by=one.asked_by) for one in task.facts),
            followups=task.followups,
            required=tuple(Information(value=one.value, unit=one.unit or None, what=one.what) for one in task.required),
            difficulty=_difficulty(task, len(changes)),
            intents=tuple(dict.fromkeys(one.operation for one in (*changes, *task.refused))),
            split=self.world.domain.split,
            source=f"{_SOURCE} {self._model}",
        )
        failure = self.filters.executable(assignment)
        if failure is not None:
            raise BadInput(_told(failure))
        return assignment

    def _executed(self, task: ProposedTask) -> tuple[State, Sequence[Any]]:
        """The state and the results of the golden calls; none may fail, and no write may break a rule of the policy."""
        state, results = self.world.state(), []
        for place, call in enumerate(task.golden, 1):
            where = f"golden call {place} ({call.operation[:60]})"
            if call.operation in self._writes:
                broken = self._broken(state, call, f"golden: {where}")
                if broken:
                    raise BadInput(f"policy: {where} breaks the rule: {'; '.join(broken)}")
            try:
                results.append(self.world.operations.run(state, call.operation, call.arguments))
            except (ModelMistake, ArithmeticError) as mistake:
                raise BadInput(f"golden: {where} fails: {mistake}") from None
        return state, results

    def _broken(self, state: State, call: GoldenCall, where: str) -> tuple[str, ...]:
        try:
            found = self.world.operations.broken_rules(state, call.operation, call.arguments)
        except (ModelMistake, ArithmeticError) as mistake:
            raise BadInput(f"{where} fails: {mistake}") from None
        return tuple(rule.text or rule.error or rule.id for rule in found)

    def _sourced(self, task: ProposedTask, results: Sequence[Any]) -> None:
        """What has to be said must stand in a result or in the policy, and not in the model's imagination."""
        known = [value for values in pool(results).values() for value in values]
        known += [one.value for one in self.world.domain.parameters]
        for one in task.required:
            if not any(_same(one.value, value) for value in known):
                raise BadInput(f"required: no result of the golden calls says {str(one.value)[:60]!r}")

    def _fits(self, task: ProposedTask, wish: Wish, state: State) -> None:
        """What the wish and the policy's conduct ask of the calls."""
        used = [one.operation for one in task.golden]
        finders = [one.name for one in self.lexicon.routes.finders]
        if Conduct.AUTHENTICATE in self.world.domain.conduct and finders and used[0] not in finders:
            raise BadInput(f"policy: the first golden call has to identify the user: use {' or '.join(finders)}")
        if wish.owner not in [key for table, key in state.read | state.written if table == self.world.domain.owner]:
            raise BadInput(f"wish: the calls are not about the given user, {wish.owner}")
        if wish.refusal:
            if len(task.refused) != 1 or any(one in self._writes for one in used):
                raise BadInput('wish: this task is to be refused: one call in "refused", and only reads in "golden"')
            call = task.refused[0]
            if call.operation not in self._writes:
                raise BadInput(f"wish: {call.operation[:60]} changes nothing; the refused call is a write")
            if not self._broken(state, call, "golden: the refused call"):
                raise BadInput("policy: no rule forbids the refused call; choose one that the policy forbids")
        elif task.refused:
            raise BadInput('wish: nothing is to be refused in this task; leave "refused" out')
        elif wish.operation not in used:
            raise BadInput(f"wish: no golden call uses {wish.operation}")


def _same(said: Any, known: Any) -> bool:
    if isinstance(said, int | float) and isinstance(known, int | float) and not isinstance(known, bool):
        return abs(said - known) < 0.005
    return bool(said == known)


def _words(task: ProposedTask) -> None:
    """Texts that a person could have said: no markup, no control characters, some words."""
    said = [task.instruction, *task.followups, *(one.says for one in task.facts)]
    named = [part for one in task.facts for part in (one.name, *one.asked_by)]
    for text in (*said, *named, *(str(part) for one in task.required for part in (one.value, one.unit, one.what))):
        if _CONTROL.search(text) or _MARKUP.search(text):
            raise BadInput("form: a text holds markup or control characters; write plain sentences")
    if len(task.instruction.split()) < _MIN_WORDS:
        raise BadInput(f"form: instruction has under {_MIN_WORDS} words; write what a user would say")
    if any(not text.strip() for text in said) or any(not one.asked_by for one in task.facts):
        raise BadInput("form: an empty text; each fact needs `says` and `asked_by`")
    if not 0 < len(task.golden) <= _MAX_CALLS:
        raise BadInput(f"form: {len(task.golden)} golden calls; propose 1 to {_MAX_CALLS}")


def _difficulty(task: ProposedTask, changes: int) -> Mapping[str, int]:
    counts = {
        "requests": 1 + len(task.followups),
        "writes": changes,
        "reads": len(task.golden) - changes,
        "refused": len(task.refused),
        "hidden": max(0, len(task.facts) - 1),
        "followups": len(task.followups),
    }
    return {name: count for name, count in counts.items() if count}


def _told(failure: Failure) -> str:
    detail = f" ({failure.detail})" if failure.detail else ""
    return f"{failure.filter}: {failure.reason}{detail}; {_REMEDIES.get(failure.filter, 'change the task')}"
