"""Reads what a user says: sentences become requests, with what each leaves open. It knows the lexicon and no task."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from orchestra_lib.environment.schema import Field, FieldType
from orchestra_lib.record import record
from orchestra_lib.synthesis import phrases
from orchestra_lib.synthesis.lexicon import Lexicon, Phrase
from orchestra_lib.synthesis.questions import named
from orchestra_lib.synthesis.values import read
from orchestra_lib.synthesis.wants import Aim, Condition

_SENTENCES = re.compile(r"(?<!Dr\.)(?<!St\.)(?<=[.?!])\s+(?=[A-Z0-9])")
_SLOT = re.compile(r"\{(\w+)\}")
_AMOUNT = Field(name="amount", type=FieldType.MONEY)
_TYPED = {
    "bound": "|".join(word for words in phrases.BOUNDS.values() for word in words),
    "amount": r"\$?\d[\d,]*(?:\.\d+)?",
}
_LEADS = tuple(lead.strip() for lead in phrases.NEXT)


@record
class Request:
    """One request as it was understood. `said` are texts by parameter, `records` texts of the records asked about."""

    aim: Aim
    operation: str = ""
    said: Mapping[str, str] | None = None
    condition: Condition | None = None
    tell: tuple[str, ...] = ()
    table: str = ""
    field: str = ""
    where: tuple[str, str] | None = None
    records: tuple[str, ...] = ()


class Understanding:
    """Reads the users of one domain."""

    def __init__(self, lexicon: Lexicon) -> None:
        self._lexicon, self._routes = lexicon, lexicon.routes
        self._by_word: dict[str, list[tuple[str, Phrase, tuple[Field, ...]]]] = {}
        for name, options in lexicon.operations.items():
            fields = {one.name: one for one in self._routes.operations[name].parameters}
            for phrase in options:
                word = phrase.texts[0].split(" ")[0].casefold()
                entry = (name, phrase, tuple(fields[slot] for slot in phrase.slots))
                self._by_word.setdefault(word, []).append(entry)
        for entries in self._by_word.values():
            entries.sort(key=lambda one: -one[1].weight)

    def requests(self, text: str) -> list[Request]:
        """The requests in a text, in their order; sentences that ask for nothing are passed over."""
        found: list[Request] = []
        for sentence in _SENTENCES.split(text):
            plain = sentence.strip()
            for lead in _LEADS:
                if plain.casefold().startswith(lead.casefold() + " "):
                    plain = plain[len(lead) :].strip()
            told = self._tell(plain, found[-1] if found else None)
            if told is not None:
                found[-1] = told
            elif (request := self._request(plain)) is not None:
                found.append(request)
        return found

    def _request(self, text: str) -> Request | None:
        for one in _matches(_CONDITIONS, text):
            vp = self._act(one["vp"])
            if vp and (made := self._conditional(vp, one)):
                return made
        for one in _matches(_WHAT_IFS, text):
            vp = self._act(one["vp"])
            path = vp and self._quantity(vp.operation, one["quantity"])
            if vp and path:
                return _changed(vp, aim=Aim.WHAT_IF, tell=(path,))
        if (asked := self._question(text)) is not None:
            return asked
        for one in _matches(_FRAMES, text):
            if (vp := self._act(one["vp"])) is not None:
                return vp
        return None

    def _act(self, text: str) -> Request | None:
        for name, phrase, fields in self._by_word.get(text.split(" ")[0].casefold(), ()):
            said = self._lexicon.match(phrase, fields, text)
            if said is not None:
                return Request(aim=Aim.DO, operation=name, said=dict(zip(phrase.slots, said, strict=True)))
        return None

    def _conditional(self, vp: Request, one: Mapping[str, str]) -> Request | None:
        path = self._quantity(vp.operation, one["quantity"])
        bound = next((at_least for at_least, words in phrases.BOUNDS.items() if one["bound"] in words), None)
        amount = read(one["amount"], _AMOUNT, self._lexicon.domain.now)
        if path is None or bound is None or amount is None:
            return None
        return _changed(vp, condition=Condition(path=path, at_least=bound, threshold=amount))

    def _quantity(self, operation: str, text: str) -> str | None:
        for path, words in self._lexicon.quantities.get(operation, {}).items():
            if text.casefold() in (one.casefold() for one in words):
                return path
        return None

    def _tell(self, text: str, last: Request | None) -> Request | None:
        """The last request with a quantity that a sentence wants to hear too."""
        if last is None or last.aim is not Aim.DO:
            return None
        for one in _matches(_TELLS, text):
            path = self._quantity(last.operation, one["quantity"])
            if path:
                return _changed(last, tell=(*last.tell, path))
        return None

    def _question(self, text: str) -> Request | None:
        for aim, forms in _QUESTIONS.items():
            for one in _matches(forms, text):
                if (asked := self._asked(aim, one)) is not None:
                    return asked
        return None

    def _asked(self, aim: Aim, one: Mapping[str, str]) -> Request | None:
        if aim in (Aim.COUNT, Aim.SUM):
            table = one["table"].replace(" ", "_")
            by = self._fields.get((table, f"the {one['where']}"))
            field = self._fields.get((table, one.get("field", "")))
            if by is None or (aim is Aim.SUM and field is None):
                return None
            wanted = field.name if field and aim is Aim.SUM else ""
            return Request(aim=aim, table=table, field=wanted, where=(by.name, one["value"]))
        records = tuple(one[name] for name in ("record", "first", "second") if name in one)
        for place in self._lexicon.domain.tables:
            field = self._fields.get((place.name, one["field"]))
            if field and all(self._lexicon.mention(text, place.name) for text in records):
                return Request(aim=aim, table=place.name, field=field.name, records=records)
        return None

    @cached_property
    def _fields(self) -> Mapping[tuple[str, str], Field]:
        """Fields by table and name in a question."""
        tables = self._lexicon.domain.tables
        found = {(table.name, f"the {one.words}"): one for table in tables for one in table.fields}
        return found | {(table.name, named(one)): one for table in tables for one in table.fields}

    def identity(self, text: str) -> dict[str, str]:
        """What a text says of who speaks, by field of the owner."""
        found = {}
        if mail := re.search(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+", text):
            found["email"] = mail[0]
        for form in _NAMES:
            if said := form.search(text):
                found |= {"first_name": said["first"], "last_name": said["last"], "zip": said["zip"]}
        return found

    def fact(self, field: Field, reply: str) -> str | None:
        """What a reply says of a parameter that was asked for."""
        name = field.words.removesuffix(" id")
        for sentence in _SENTENCES.split(reply):
            for form in _FACTS:
                pattern = form.replace("NAME", re.escape(name))
                found = re.fullmatch(pattern, sentence.strip(), re.IGNORECASE)
                if found and self._lexicon.reads(field, found[1]):
                    return found[1]
        return None


def _compiled(forms: Sequence[str]) -> tuple[re.Pattern[str], ...]:
    made = []
    for form in forms:
        parts = _SLOT.split(form)
        text = "".join(
            re.escape(part)
            if place % 2 == 0
            else f"(?P<{part.lower()}>{_TYPED.get(part, '.+?' if place + 2 < len(parts) else '.+')})"
            for place, part in enumerate(parts)
        )
        made.append(re.compile(text, re.IGNORECASE))
    return tuple(made)


def _matches(forms: Sequence[re.Pattern[str]], text: str) -> Iterator[Mapping[str, str]]:
    for form in forms:
        found = form.fullmatch(text)
        if found:
            yield found.groupdict()


def _changed(request: Request, **changes: object) -> Request:
    return replace(request, **changes)  # type: ignore[arg-type]


_CONDITIONS, _WHAT_IFS = _compiled(phrases.CONDITIONS), _compiled(phrases.WHAT_IFS)
_FRAMES, _TELLS = _compiled(sorted(phrases.FRAMES, key=len, reverse=True)), _compiled(phrases.TELLS)
_QUESTIONS: Mapping[Aim, Sequence[re.Pattern[str]]] = {
    Aim.DIFFERENCE: _compiled(phrases.DIFFERENCES),
    Aim.COUNT: _compiled(phrases.COUNTS),
    Aim.SUM: _compiled(phrases.SUMS),
    Aim.DAYS: _compiled(phrases.DAYS),
    Aim.FIELD: _compiled(phrases.FIELDS),
}
_NAMES = tuple(
    re.compile(
        re.escape(form)
        .replace(r"\{first\}", r"(?P<first>[A-Z][\w'-]*)")
        .replace(r"\{last\}", r"(?P<last>[A-Z][\w' -]*?)")
        .replace(r"\{zip\}", r"(?P<zip>\w+)")
    )
    for form in phrases.NAMES
)
_FACTS = tuple(
    re.escape(form).replace(r"\{name\}", "NAME").replace(r"\{value\}", "(.+?)").replace(r"\{Value\}", "(.+?)")
    for form in phrases.FACTS
)
