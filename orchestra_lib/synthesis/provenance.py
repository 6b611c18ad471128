"""Where the arguments of golden calls come from: the user's words, earlier results, the policy, or a share of these."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from orchestra_lib.environment.assignment import Assignment
from orchestra_lib.environment.domain import World
from orchestra_lib.environment.operators import cents
from orchestra_lib.environment.schema import Field, FieldType
from orchestra_lib.synthesis.lexicon import Lexicon


class Seen:
    """The plain values that results have shown; a result is looked through when one is not found in later ones."""

    def __init__(self, *shown: Any) -> None:
        self._values: set[Any] = set()
        self._unread: list[Any] = list(shown)

    def show(self, result: Any) -> None:
        """One more result."""
        self._unread.append(result)

    def __contains__(self, value: Any) -> bool:
        while self._unread and value not in self._values:
            _collect(self._unread.pop(), self._values)
        return value in self._values

    def all(self) -> set[Any]:
        """All of them."""
        while self._unread:
            _collect(self._unread.pop(), self._values)
        return self._values


class Provenance:
    """Looks for the sources of arguments in one world."""

    def __init__(self, world: World, lexicon: Lexicon) -> None:
        self._lexicon, self._now = lexicon, world.domain.now
        self._parameters = [one.value for one in world.domain.parameters]
        self._fields = {one.name: {p.name: p for p in one.parameters} for one in world.domain.operations}

    def without_source(self, assignment: Assignment, results: Sequence[Any]) -> str | None:
        """The first argument that the agent cannot know, as text; `results` are those of the golden calls."""
        text = assignment.words.casefold()
        seen = Seen([one.value for one in assignment.facts], self._parameters)
        for call, result in zip(assignment.golden, results, strict=True):
            for name, value in call.arguments.items():
                if not self._known(value, self._fields[call.operation][name], seen, text):
                    return f"{call.operation}.{name} = {value!r}"
            seen.show(result)
        return None

    def _known(self, value: Any, field: Field, seen: Seen, text: str) -> bool:
        if field.values or field.type is FieldType.BOOLEAN or field.name == "page":
            return True
        if isinstance(value, list):
            return all(self._known(one, replace(field, type=FieldType.TEXT), seen, text) for one in value)
        if value in seen:
            return True
        if any(_holds(text, form) for form in self._lexicon.say(value, field)):
            return True
        if value in (self._now, self._now[:10]):
            return True
        return isinstance(value, int | float) and _is_share(value, seen.all())


def _collect(value: Any, into: set[Any]) -> None:
    if isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, list | tuple):
        into.add(value)
        return
    for one in value:
        if isinstance(one, dict | list):
            _collect(one, into)
        else:
            into.add(one)


def _holds(text: str, form: str) -> bool:
    return form.casefold() in text and re.search(rf"(?<!\w){re.escape(form.casefold())}(?!\w)", text) is not None


def _is_share(value: float, seen: set[Any]) -> bool:
    """Whether an amount is a share of a seen one, at a seen rate or a half."""
    numbers = [one for one in seen if isinstance(one, int | float) and not isinstance(one, bool) and one]
    rates = [one for one in numbers if 0 < one <= 100] + [50]
    return any(abs(cents(number * rate / 100) - value) < 0.005 for number in numbers for rate in rates)
