"""How the users of a domain speak of its operations, records and values: `intents.json` and the schema.

A phrase is text with slots, `{booking_id}` or `{departure_id.origin}` (a field of the record that a reference leads
to); `~` is the plural s of the number before it. A phrase for records may end in `<price` or `>price`: the one with
the least or the most of a field.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from orchestra_lib.codec import from_data
from orchestra_lib.environment.schema import Domain, Field, FieldType
from orchestra_lib.errors import BadInput
from orchestra_lib.record import record
from orchestra_lib.synthesis import values
from orchestra_lib.synthesis.routes import Routes

_SLOT = re.compile(r"\{([a-z_.]+)\}")
_END = re.compile(r"\s*([<>])(\w+)$")
_END_OF = re.compile(r"\Z")
_MOST_KEPT = 20_000
SAME, NEW, VAGUE, IDENTIFIED, DESCRIBED = "same", "new", "vague", "identified", "described"


@record
class Intents:
    """The file as it is written."""

    operations: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    records: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    quantities: Mapping[str, Mapping[str, tuple[str, ...]]] = field(default_factory=dict)
    values: Mapping[str, Mapping[str, tuple[str, ...]]] = field(default_factory=dict)


@record
class Phrase:
    """A phrase in parts: text and slots in turn, text first and last. `extremum` is -1 (least), 1 (most) or 0."""

    texts: tuple[str, ...]
    slots: tuple[str, ...]
    by: str = ""
    extremum: int = 0

    @property
    def weight(self) -> int:
        """How much of it is plain text: the heavier phrase is tried first when reading."""
        return sum(map(len, self.texts))

    def fill(self, said: Sequence[str]) -> str:
        """The phrase with a text in each slot."""
        out = [self.texts[0]]
        for one, text in zip(said, self.texts[1:], strict=True):
            plural = "" if one in ("1", "one") else "s"
            out += [one, text.replace("~", plural)]
        return "".join(out)


def phrase(text: str) -> Phrase:
    """Read a phrase."""
    end = _END.search(text)
    body = text[: end.start()] if end else text
    parts = _SLOT.split(body)
    return Phrase(
        texts=tuple(parts[::2]),
        slots=tuple(parts[1::2]),
        by=end[2] if end else "",
        extremum={"<": -1, ">": 1}[end[1]] if end else 0,
    )


@record
class Mention:
    """How a record is spoken of. `constraints` are paths with values; `by` and `extremum` as in a phrase."""

    kind: str
    key: str | None = None
    constraints: tuple[tuple[str, Any], ...] = ()
    by: str = ""
    extremum: int = 0
    phrase: Phrase | None = None

    def parted(self) -> tuple[dict[str, Any], dict[str, list[tuple[str, Any]]]]:
        """The constraints on its own fields, and those on the records that its fields name, by field."""
        plain: dict[str, Any] = {}
        nested: dict[str, list[tuple[str, Any]]] = {}
        for path, value in self.constraints:
            head, _, rest = path.partition(".")
            if rest:
                nested.setdefault(head, []).append((rest, value))
            else:
                plain[head] = value
        return plain, nested


@record
class Payment:
    """How a payment method is spoken of: its id or its kind, and another one should it not cover the amount."""

    first: str
    other: str | None = None


class Lexicon:
    """The words of one domain, to speak and to read them. Raises `BadInput` for phrases that fit no schema."""

    def __init__(self, domain: Domain, intents: Intents, *, where: str) -> None:
        self.domain, self.routes, self.words = domain, Routes(domain), intents.values
        self.quantities = intents.quantities
        self.operations = {name: tuple(map(phrase, texts)) for name, texts in intents.operations.items()}
        self.records = {name: tuple(map(phrase, texts)) for name, texts in intents.records.items()}
        for name, phrases in self.operations.items():
            if name not in self.routes.operations:
                raise BadInput(f"{where}: operations.{name}: the domain has no such operation")
            known = {one.name for one in self.routes.operations[name].parameters}
            _known(phrases, known.__contains__, f"{where}: operations.{name}")
        for name, phrases in self.records.items():
            if name not in self.routes.tables:
                raise BadInput(f"{where}: records.{name}: the domain has no such table")
            _known(phrases, lambda path, at=name: self.routes.field(at, path) is not None, f"{where}: records.{name}")
        self._literals: dict[Phrase, list[re.Pattern[str]]] = {}
        self._patterns: dict[Field, re.Pattern[str]] = {}
        self._mentions: dict[tuple[str, str], Mention | None] = {}

    @cached_property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of payment methods."""
        methods = next((one for one in self.routes.owner.fields if one.name == "payment_methods"), None)
        kind = next((one for one in methods.fields if one.name == "kind"), None) if methods else None
        return kind.values if kind else ()

    def one(self, table: str) -> str:
        """The word for a single record."""
        return self.routes.tables[table].one.replace("_", " ")

    def say(self, value: Any, field: Field) -> tuple[str, ...]:
        """The ways to say a value of a field."""
        return values.forms(value, field, self.domain.now, self.words.get(field.name))

    def read(self, text: str, field: Field) -> Any:
        """What a text says of a field, or None."""
        return values.read(text, field, self.domain.now, self.words.get(field.name))

    def match(self, phrase: Phrase, fields: Sequence[Field], text: str) -> Sequence[str] | None:
        """What stands in the slots where a text is this phrase and every slot can be read."""
        literals = self._literals.get(phrase)
        if literals is None:
            made = [re.compile(_literal(one), re.IGNORECASE) for one in phrase.texts]
            literals = self._literals[phrase] = made if phrase.texts[-1] or not phrase.slots else [*made[:-1], _END_OF]
        start = literals[0].match(text)
        return self._split(literals, fields, text, start.end(), 1) if start else None

    def _split(
        self, literals: Sequence[re.Pattern[str]], fields: Sequence[Field], text: str, at: int, place: int
    ) -> list[str] | None:
        """The slots from one place on: wherever the next plain part stands, the first that can be read throughout."""
        if place == len(literals):
            return [] if at == len(text) else None
        is_last = place == len(literals) - 1
        for end in literals[place].finditer(text, at + 1):
            if is_last and end.end() != len(text):
                continue
            said = text[at : end.start()]
            if said and self.reads(fields[place - 1], said):
                rest = self._split(literals, fields, text, end.end(), place + 1)
                if rest is not None:
                    return [said, *rest]
        return None

    def reads(self, field: Field, text: str) -> bool:
        """Whether a text says something of a field, or mentions a record that it refers to."""
        if self.routes.is_payment(field):
            return self.payment(text) is not None
        if field.references and field.type is FieldType.TEXT:
            return self.mention(text, field.references) is not None
        if field.type is FieldType.TEXT and not field.values:
            return True
        pattern = self._patterns.get(field)
        if pattern is None:
            made = values.pattern(field, self.words.get(field.name))
            pattern = self._patterns[field] = re.compile(made, re.IGNORECASE)
        return pattern.fullmatch(text) is not None and self.read(text, field) is not None

    def mention(self, text: str, table: str) -> Mention | None:
        """A record that a text speaks of."""
        if (text, table) not in self._mentions:
            if len(self._mentions) > _MOST_KEPT:
                self._mentions.clear()
            self._mentions[text, table] = self._mention(text, table)
        return self._mentions[text, table]

    def _mention(self, text: str, table: str) -> Mention | None:
        one, plain = self.one(table), text.strip()
        if plain.casefold() in {"it", f"the same {one}", f"that {one}"}:
            return Mention(kind=SAME)
        if plain.casefold() == f"the new {one}":
            return Mention(kind=NEW)
        if plain.casefold() in {f"one of my {table.replace('_', ' ')}", f"a {one} of mine"}:
            return Mention(kind=VAGUE)
        named = re.fullmatch(rf"(?:my |the )?{one} ([\w-]*\d[\w-]*)", plain, re.IGNORECASE)
        if named:
            return Mention(kind=IDENTIFIED, key=named[1])
        for phrase in sorted(self.records.get(table, ()), key=lambda one: -one.weight):
            if (found := self._described(phrase, table, plain)) is not None:
                return found
        return None

    def _described(self, phrase: Phrase, table: str, text: str) -> Mention | None:
        fields = [replace(one, references=None) for path in phrase.slots if (one := self.routes.field(table, path))]
        found = self.match(phrase, fields, text)
        if found is None:
            return None
        said = [self.read(part, one) for part, one in zip(found, fields, strict=True)]
        return Mention(
            kind=DESCRIBED,
            constraints=tuple(zip(phrase.slots, said, strict=True)),
            by=phrase.by,
            extremum=phrase.extremum,
            phrase=phrase,
        )

    def payment(self, text: str) -> Payment | None:
        """A payment method that a text speaks of."""
        first, _, other = text.strip().lower().partition(" if it covers that, otherwise ")
        names = [part.removeprefix("my ").removeprefix("the ") for part in (first, other) if part]
        if not all(re.fullmatch(r"\w+_\d+", one) or one in self.kinds for one in names):
            return None
        return Payment(first=names[0], other=names[1] if len(names) > 1 else None)

    def speak_payment(self, payment: Payment) -> str:
        """A payment method in words."""
        said = [one if "_" in one else f"my {one}" for one in (payment.first, payment.other) if one]
        return " if it covers that, otherwise ".join(said)


def load_lexicon(domain: Domain, file: Path) -> Lexicon:
    """The words of a domain. Raises `BadInput` that names file and place."""
    try:
        data = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise BadInput(f"{file}: cannot be read ({error}); a domain's words stand in intents.json beside it") from None
    return Lexicon(domain, from_data(data, Intents, where=str(file)), where=str(file))


def words_in(domain: Domain, folder: Path) -> Lexicon:
    """The words that lie in a domain's folder; without a file the lexicon knows none. Raises `BadInput`."""
    file = folder / "intents.json"
    return load_lexicon(domain, file) if file.is_file() else Lexicon(domain, Intents(), where=str(file))


def _known(phrases: Sequence[Phrase], is_known: Any, where: str) -> None:
    for one in phrases:
        for slot in one.slots:
            if not is_known(slot):
                raise BadInput(f"{where}: nothing is named {slot!r}; slots are parameters, or fields by their path")


def _literal(text: str) -> str:
    return re.escape(text).replace("\\~", "~").replace("~", "s?")
