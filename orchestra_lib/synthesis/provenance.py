"""Where the arguments of golden calls come from: the user's words, earlier results, the policy, or a share of these."""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import Any

from orchestra_lib.environment.assignment import Assignment
from orchestra_lib.environment.domain import World
from orchestra_lib.environment.operators import cents
from orchestra_lib.environment.schema import Field, FieldType
from orchestra_lib.environment.state import Base, plain_values
from orchestra_lib.synthesis.lexicon import Lexicon

Values = AbstractSet[Any]


class Seen:
    """The plain values that results have shown; a result is looked through when one is not found in later ones."""

    def __init__(self, told: Values, base: Base) -> None:
        self._base = base
        self._values: list[Values] = [told]
        self._unread: list[Any] = []

    def show(self, result: Any) -> None:
        """One more result."""
        self._unread.append(result)

    def __contains__(self, value: Any) -> bool:
        for one in self._values:
            if value in one:
                return True
        while self._unread:
            found = self._base.values(self._unread.pop())
            self._values.append(found)
            if value in found:
                return True
        return False

    def all(self) -> set[Any]:
        """All of them."""
        read = [self._base.values(one) for one in self._unread]
        return set().union(*self._values, *read)


class Provenance:
    """Looks for the sources of arguments in one world."""

    def __init__(self, world: World, lexicon: Lexicon) -> None:
        self._lexicon, self._base = lexicon, world.base
        self._clock = (world.domain.now, world.domain.now[:10])
        self._parameters = frozenset(one.value for one in world.domain.parameters)
        self._fields = {
            one.name: {p.name: None if _is_public(p) else p for p in one.parameters} for one in world.domain.operations
        }

    def without_source(self, assignment: Assignment, results: Sequence[Any]) -> str | None:
        """The first argument that the agent cannot know, as text; `results` are those of the golden calls."""
        text = assignment.words.casefold()
        seen = Seen(plain_values([one.value for one in assignment.facts]) | self._parameters, self._base)
        for call, result in zip(assignment.golden, results, strict=True):
            fields = self._fields[call.operation]
            for name, value in call.arguments.items():
                field = fields[name]
                if field is not None and not self._known(value, field, seen, text):
                    return f"{call.operation}.{name} = {value!r}"
            seen.show(result)
        return None

    def _known(self, value: Any, field: Field, seen: Seen, text: str) -> bool:
        if isinstance(value, list):
            item = replace(field, type=FieldType.TEXT)
            return all(_is_public(item) or self._known(one, item, seen, text) for one in value)
        if value in seen or any(_holds(text, form) for form in self._lexicon.say(value, field)):
            return True
        if value in self._clock:
            return True
        return isinstance(value, int | float) and _is_share(value, seen.all())


def _is_public(field: Field) -> bool:
    """Whether the tool itself tells the values of a parameter."""
    return bool(field.values) or field.type is FieldType.BOOLEAN or field.name == "page"


def _holds(text: str, form: str) -> bool:
    """Whether a text holds a form with no letter or digit right before or behind it."""
    wanted = form.casefold()
    start = text.find(wanted)
    while start >= 0:
        end = start + len(wanted)
        if not (_in_word(text[start - 1 : start]) or _in_word(text[end : end + 1])):
            return True
        start = text.find(wanted, start + 1)
    return False


def _in_word(character: str) -> bool:
    return character.isalnum() or character == "_"


def _is_share(value: float, seen: set[Any]) -> bool:
    """Whether an amount is a share of a seen one, at a seen rate or a half."""
    numbers = [one for one in seen if isinstance(one, int | float) and not isinstance(one, bool) and one]
    rates = [one for one in numbers if 0 < one <= 100] + [50]
    return any(abs(cents(number * rate / 100) - value) < 0.005 for number in numbers for rate in rates)
