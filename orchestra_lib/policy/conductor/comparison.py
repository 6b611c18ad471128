"""Programs that compare or add values from documents."""

from collections.abc import Mapping, Sequence

from orchestra_lib.json_writing import spoken
from orchestra_lib.policy.conductor import question as wording
from orchestra_lib.policy.conductor.documents import Document, number
from orchestra_lib.policy.conductor.fields import Field, named

Row = tuple[float, ...]


def wanted_fields(operation: str, field: Field | None) -> tuple[Field, ...]:
    """The fields whose values the operation needs; a bare `larger` means the area."""
    if operation == "density":
        return named("Population"), named("Area")
    return (field or named("Area"),)


def row(document: Document, fields: Sequence[Field]) -> Row | None:
    """The values of the fields as numbers; of a field that lists things, how many. None when one is missing."""
    values = [_value(document, field) for field in fields]
    return None if any(value is None for value in values) else tuple(value for value in values if value is not None)


def _value(document: Document, field: Field) -> float | None:
    text = field.value(document)
    if text is None:
        return None
    return number(text) if field.number else len([part for part in text.split(",") if part.strip()])


def program(question: str, operation: str, rows: Mapping[str, Row]) -> str:
    """A program that prints the answer of `question` from rows by name."""
    if operation == "density" and len(rows) == 1:
        population, area = next(iter(rows.values()))
        return f"people = {population!r}\narea = {area!r}\nprint(round(people / area, {wording.decimals(question, 1)}))"
    values = {name: _quotient(question, *row) for name, row in rows.items()}
    if operation == "density":  # what is asked of several: the densest, or each
        last = _last_lines(question, wording.operation(question, but="density"), len(values))
    else:
        last = _last_lines(question, operation, len(values))
    return f"values = {spoken(values)}\n{last}"


def _quotient(question: str, value: float, by: float = 0) -> float:
    return round(value / by, wording.decimals(question, 1)) if by else value


def _last_lines(question: str, operation: str | None, count: int) -> str:
    low = wording.LOW.search(question) is not None
    digits = wording.decimals(question, 2)
    match operation:
        case None:
            return "print('; '.join(f'{name}: {value}' for name, value in values.items()))"
        case "sum":
            return "print(sum(values.values()))"
        case "difference":
            amount = "max(values.values()) - min(values.values())"
            if not wording.names_and_amount(question):
                return f"print({amount})"
            return f"{_best(low)}\namount = {amount}\nprint(f'{{best}}, by {{amount:,}}')"
        case "percent":
            most, least = "max(values.values())", "min(values.values())"
            amount = f"(1 - {least} / {most})" if low else f"({most} / {least} - 1)"
            percent = f"round(100 * {amount}, {wording.decimals(question, 1)})"
            return f"{_best(low)}\npercent = {percent}\nprint(f'{{best}}, by {{percent}} %')"
        case "average":
            return f"print(round(sum(values.values()) / len(values), {digits}))"
        case "ratio":
            return f"print(round(max(values.values()) / min(values.values()), {digits}))"
        case "rank":
            return f"print(', '.join(sorted(values, key=values.get, reverse={not low})))"
    if count == 2 and wording.YES_OR_NO.match(question):
        return f"first, second = values.values()\nprint('yes' if first {'<' if low else '>'} second else 'no')"
    return f"{_best(low)}\nprint(best, f'({{values[best]:,}})')"


def _best(low: bool) -> str:
    return f"best = {'min' if low else 'max'}(values, key=values.get)"
