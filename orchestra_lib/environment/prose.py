"""Expressions in English: the words of policy lines and of a tool's refusals, from the data that decides them."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from orchestra_lib.environment.schema import Domain, Expression, FieldType, Operation, PolicyParameter, Rule
from orchestra_lib.errors import BadInput

_PLACE = re.compile(r"\{(@\w+|when|now|values:\w+\.\w+)\}")
_COMPARE = {
    "==": "is",
    "!=": "is not",
    "<": "is less than",
    "<=": "is at most",
    ">": "is more than",
    ">=": "is at least",
    "in": "is one of",
    "not_in": "is none of",
    "contains": "contains",
    "has": "contains",
}
_CALLS = {
    "+": "{0} plus {1}",
    "-": "{0} minus {1}",
    "*": "{0} times {1}",
    "/": "{0} divided by {1}",
    "percent": "{1} percent of {0}",
    "min": "the smaller of {0} and {1}",
    "max": "the greater of {0} and {1}",
    "hours_between": "the hours from {0} to {1}",
    "days_between": "the days from {0} to {1}",
    "add_days": "{0} plus {1} days",
    "add_hours": "{0} plus {1} hours",
    "date_of": "the date of {0}",
    "weekday": "the weekday of {0}",
    "len": "the number of {0}",
    "first": "the first of {0}",
    "at": "{1} among {0}",
    "default": "{0}",
    "money": "{0}",
    "round": "{0}",
    "lower": "{0}",
    "not": "it is not so that {0}",
    "exists": "{0} exists",
    "missing": "{0} is not set",
    "empty": "there are no {0}",
}


class Prose:
    """Words for the expressions of one domain."""

    def __init__(self, domain: Domain) -> None:
        self._domain = domain
        self._parameters = {one.name: one for one in domain.parameters}
        self._titles = {field.name: field.words for table in domain.tables for field in table.fields}

    def say(self, expression: Expression) -> str:
        """A clause, such as "the order's status is pending"."""
        match expression:
            case str() if expression[:1] == "$" and expression[1:2].isidentifier():
                return self._path(expression)
            case str() if expression[:1] == "@" and expression[1:2].isidentifier():
                return self.parameter(expression[1:])
            case bool():
                return "yes" if expression else "no"
            case None:
                return "nothing"
            case int() | float() | str():
                return str(expression)
            case [head, *rest]:
                return self._form(str(head), rest)
            case _:
                return "the given values"

    def fill(self, template: str, when: Expression = None) -> str:
        """A template with its places filled. Raises `BadInput` for a parameter or field that is unknown."""
        return _PLACE.sub(lambda match: self._fill(match[1], when), template)

    def rule(self, rule: Rule) -> str:
        """A rule's line in the policy."""
        return self.fill(rule.text or "Only if {when}.", rule.when)

    def refusal(self, operation: Operation, rule: Rule) -> str:
        """What the tool says when the rule keeps it from working."""
        said = self.fill(rule.error or rule.text or "It needs that {when}.", rule.when)
        return f"{operation.name} was not done: {said}"

    def parameter(self, name: str) -> str:
        """The value of a policy parameter with its unit."""
        if name not in self._parameters:
            raise BadInput(f"{self._domain.name}: no policy parameter @{name}; known are {', '.join(self._parameters)}")
        return value_words(self._parameters[name])

    def _fill(self, place: str, when: Expression) -> str:
        if place == "when":
            return self.say(when)
        if place == "now":
            return self._domain.now.replace("T", " ")
        if place.startswith("@"):
            return self.parameter(place[1:])
        table, _, name = place.removeprefix("values:").partition(".")
        found = [
            field for one in self._domain.tables if one.name == table for field in one.fields if field.name == name
        ]
        if not found or not found[0].values:
            raise BadInput(f"{self._domain.name}: {{{place}}} names no field with `values`")
        return _listed(found[0].values, "and")

    def _path(self, path: str) -> str:
        root, *steps = path[1:].split(".")
        if root == "now":
            return "now"
        if root == "today":
            return "today"
        owner = self._titles.get(root, root.replace("_", " "))
        if not steps:
            return f"the {owner}"
        return f"the {owner}'s {' '.join(self._titles.get(step, step.replace('_', ' ')) for step in steps)}"

    def _form(self, head: str, rest: Sequence[Any]) -> str:
        if head in ("and", "or"):
            return f" {head} ".join(self.say(part) for part in rest)
        if head in _COMPARE and len(rest) == 2:
            return f"{self.say(rest[0])} {_COMPARE[head]} {self.say(rest[1])}"
        if head == "list":
            return _listed([self.say(part) for part in rest], "or")
        if head == "const":
            return str(rest[0])
        if head == "if" and len(rest) == 3:
            return f"{self.say(rest[1])} if {self.say(rest[0])}, else {self.say(rest[2])}"
        if head in ("any", "all", "filter", "count", "sum", "map", "least", "most") and len(rest) == 3:
            return self._loop(head, rest)
        if head == "record":
            return f"the record of {self.say(rest[1])}"
        if head == "records":
            return f"the {str(rest[0]).replace('_', ' ')} of which {self.say(rest[2])}"
        if head in _CALLS:
            return _CALLS[head].format(*[self.say(part) for part in [*rest, ""]])
        return " and ".join(self.say(part) for part in rest)

    def _loop(self, head: str, rest: Sequence[Any]) -> str:
        items, each = self.say(rest[1]), self.say(rest[2])
        words: Mapping[str, str] = {
            "any": f"for at least one of {items} {each}",
            "all": f"for every one of {items} {each}",
            "filter": f"those of {items} for which {each}",
            "count": f"the number of {items} for which {each}",
            "sum": f"the sum of {each} over {items}",
            "map": f"{each} of {items}",
            "least": f"the least {each} of {items}",
            "most": f"the greatest {each} of {items}",
        }
        return words[head]


def value_words(parameter: PolicyParameter) -> str:
    """Such as `24 hours`, `10 percent`, `$3.50`."""
    if parameter.type is FieldType.MONEY and isinstance(parameter.value, int | float):
        return f"${parameter.value:,.2f}"
    if isinstance(parameter.value, bool):
        return "yes" if parameter.value else "no"
    unit = parameter.unit or ""
    if unit.endswith("s") and parameter.value == 1:
        unit = unit[:-1]
    return (
        f"{parameter.value:,}{f' {unit}' if unit else ''}" if not isinstance(parameter.value, str) else parameter.value
    )


def _listed(parts: Sequence[str], word: str) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} {word} {parts[-1]}"
