"""What follows from the documents found so far: an answer, a calculation, a further search, or nothing.

Pure and deterministic. Questions with several parts are taken apart by their wording: a clause such as
`the country whose capital is X` is resolved first and replaced by what it names; several subjects are
compared or added by a Python program over values from the documents, never in a model's head.
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import replace

from orchestra_lib.policy.conductor import comparison
from orchestra_lib.policy.conductor import question as wording
from orchestra_lib.policy.conductor.documents import Document, merge, plain
from orchestra_lib.policy.conductor.fields import (
    Field,
    asked_field,
    asked_together,
    asked_within,
    is_implied,
    lexicon,
    named,
)
from orchestra_lib.policy.conductor.question import mentions
from orchestra_lib.record import record


@record
class Answer:
    """The documents say it, and where. `rest` is a second part of the question that they do not answer."""

    text: str
    source: str
    rest: str = ""


@record
class Calculation:
    """A program over values found, and where they stand."""

    code: str
    source: str


@record
class Queries:
    """What to search for next."""

    texts: tuple[str, ...]
    why: str


@record
class Search:
    """One search that was made, and what it found, best first."""

    query: str
    documents: tuple[Document, ...]


MAX_CHARS, MAX_SUBJECTS = 600, 8
"""A question beyond these is a text about many things, and not asked about one fact of each."""
MEANING = "Meaning"
_LISTED = re.compile(r"(?:,|&|\b(?:and|or))\s*(?:(?:of|in|for|the)\s+)*$", re.IGNORECASE)

Finding = Answer | Calculation | Queries | None


@record
class Subject:
    """What a question is about, where it stands there, and its document once one is found."""

    title: str
    document: Document | None
    start: int
    end: int


def resolve(question: str, searches: Sequence[Search]) -> Finding:
    """What follows for `question` from the searches made so far."""
    if meaning := _meaning(wording.defined(question), searches):
        return meaning
    searches = [_without_meanings(search) for search in searches]
    documents = merge(search.documents for search in searches)
    asked = [search.query for search in searches]
    question, unknown = _without_clauses(" ".join(question.split()), documents)
    if unknown is not None:
        return _next_queries([unknown], asked, f"which one is “{unknown}”?")
    if len(question) > MAX_CHARS:
        return None
    operation = wording.operation(question)
    if operation != "percent" and wording.PART_OF_WHOLE.search(question):
        return None
    field = asked_field(question, documents)
    subjects = _subjects(question, documents, searches)
    if len(subjects) > MAX_SUBJECTS or not _is_one_step(question, operation, field, len(subjects)):
        return None
    if operation and (len(subjects) > 1 or (operation == "density" and subjects)):
        return _combine(question, operation, field, subjects, asked)
    if operation in wording.COMPARING:
        return None  # `the largest city of X`: no document compares
    return _single(question, field, subjects, documents, asked)


def _meaning(term: str, searches: Sequence[Search]) -> Answer | None:
    """What a document says that a term means, its plural too."""
    for document in merge(search.documents for search in searches):
        title = plain(document.title)
        if MEANING in document.fields and plain(term) in (title, f"{title}s"):
            text = document.fields[MEANING]
            return Answer(text=text[:1].upper() + text[1:], source=f"{document.title} ({document.source})")
    return None


def _without_meanings(search: Search) -> Search:
    """The same without words of the library's own, which are no subject of anything: a group, a turn, a price."""
    return replace(search, documents=tuple(one for one in search.documents if list(one.fields) != [MEANING]))


def _is_one_step(question: str, operation: str | None, field: Field | None, subjects: int) -> bool:
    """Whether one value of each subject is enough: not for `the capital of the larger of`, nor for two fields."""
    if operation is None or operation == "density":
        return True
    if subjects < 2:
        return operation not in wording.BETWEEN
    numbers = field is None or field.number or not is_implied(question)
    return numbers and not asked_together(question) and (operation != "percent" or subjects == 2)


def _without_clauses(question: str, documents: Sequence[Document]) -> tuple[str, str | None]:
    """The question with each clause replaced by what it names, and the first clause that names nothing yet."""
    while clause := wording.CLAUSE.search(question):
        which = wording.WHICH_COUNTRY.match(question)
        if which is not None and clause.start() < which.end():
            break  # `Which country that …`: the clause is what is asked for
        name = _named_by(clause, documents)
        if name is None:
            return question, clause["words"].strip(" ?.,")
        question = question[: clause.start()] + name + question[clause.end() :]
    return question, None


def _named_by(clause: re.Match[str], documents: Sequence[Document]) -> str | None:
    """The one subject that a clause describes, by a border or by a value of a field."""
    if re.search(r"\bborder|\bneighbou?r", " ".join(clause.groups()), re.IGNORECASE):
        return _neighbour(clause, documents)
    found = _reverse(clause["words"], documents)
    return found.text if found else None


def _neighbour(clause: re.Match[str], documents: Sequence[Document]) -> str | None:
    """`borders only X`: who has X as the one neighbour. `borders X`: X's one neighbour."""
    borders, words = named("Borders"), clause["words"]
    neighbours = {document.title: _parts(borders.value(document) or "") for document in documents}
    if re.search(r"\bonly\b", words, re.IGNORECASE):
        found = [title for title, parts in neighbours.items() if len(parts) == 1 and mentions(words, parts[0])]
    else:
        found = next((parts for title, parts in neighbours.items() if mentions(words, title)), [])
    return found[0] if len(found) == 1 else None


def _single(
    question: str,
    field: Field | None,
    subjects: Sequence[Subject],
    documents: Sequence[Document],
    asked: Collection[str],
) -> Finding:
    if wording.WHICH_COUNTRY.search(question):
        if found := _reverse(question, documents):
            return replace(found, rest=wording.second_part(question))
        if field is not None and (values := wording.values(question)):
            return _next_queries([f"{field.name} {value}" for value in values], asked, "the value alone")
    if field is None or not subjects or (field.name == "Borders" and len(subjects) > 1) or asked_within(question):
        return None
    if len(subjects) > 1 and _are_listed(question, subjects):
        return _each(field, subjects, asked)
    document = next((one.document for one in subjects if one.document is not None), None)
    if document is None:
        subject = subjects[0].title
        return _next_queries([question, subject], asked, f"nothing found yet on {subject}")
    return _of(question, document, field, alone=len(subjects) == 1)


def _of(question: str, document: Document, field: Field, *, alone: bool) -> Answer | None:
    """One field of a document, or all that are asked for side by side of the one subject."""
    together = asked_together(question) if alone else ()
    values = {one: value for one in together or (field,) if (value := one.value(document)) is not None}
    if not values:
        return None
    said = [f"{one.name}: {_bare(value)}" if together else _bare(value) for one, value in values.items()]
    missing = ", ".join(one.name.lower() for one in together if one not in values)
    second = wording.second_part(question)
    rest = missing or ("" if asked_field(second, ()) in values else second)
    return Answer(text="; ".join(said), source=_places([document], list(values)), rest=rest)


def _each(field: Field, subjects: Sequence[Subject], asked: Collection[str]) -> Finding:
    """A field of each of several subjects."""
    values = {one.title: field.value(one.document) if one.document else None for one in subjects}
    if missing := [title for title, value in values.items() if value is None]:
        return _search_each(missing, [field], asked)
    text = "; ".join(f"{title}: {_bare(value or '')}" for title, value in values.items())
    return Answer(text=text, source=_places([one.document for one in subjects if one.document], [field]))


def _combine(
    question: str, operation: str, field: Field | None, subjects: Sequence[Subject], asked: Collection[str]
) -> Finding:
    fields = comparison.wanted_fields(operation, field)
    rows = {one.title: comparison.row(one.document, fields) if one.document else None for one in subjects}
    if missing := [title for title, row in rows.items() if row is None]:
        return _search_each(missing, fields, asked)
    source = _places([one.document for one in subjects if one.document], fields)
    known = {title: row for title, row in rows.items() if row is not None}
    return Calculation(code=comparison.program(question, operation, known), source=source)


def _search_each(missing: Sequence[str], fields: Sequence[Field], asked: Collection[str]) -> Queries | None:
    words = " ".join(field.name.lower() for field in fields)
    return _next_queries([f"{title} {words}" for title in missing], asked, f"one search for each: {', '.join(missing)}")


def _subjects(question: str, documents: Sequence[Document], searches: Sequence[Search]) -> Sequence[Subject]:
    """What the question is about, in its order: titles that occur in it, and names that no title covers."""
    text = plain(question)
    found: list[Subject] = []
    for document in sorted(documents, key=lambda document: -len(document.title)):
        for match in re.finditer(rf"(?<!\w){re.escape(plain(document.title))}(?!\w)", text):
            if _is_free(match.start(), match.end(), found):
                found.append(Subject(title=document.title, document=document, start=match.start(), end=match.end()))
    for name in wording.names(question):
        if _is_free(name.start, name.end, found):
            known = _known_as(name.text, searches)
            title = known.title if known else name.text
            found.append(Subject(title=title, document=known, start=name.start, end=name.end))
    once = {one.title: one for one in sorted(found, key=lambda one: -one.start)}
    return sorted(once.values(), key=lambda one: one.start)


def _are_listed(question: str, subjects: Sequence[Subject]) -> bool:
    """Whether each stands behind a comma or an `and`: `the capitals of Peru and Chile`."""
    return all(_LISTED.search(question[: one.start]) for one in subjects[1:])


def _is_free(start: int, end: int, found: Sequence[Subject]) -> bool:
    return not any(start < one.end and one.start < end for one in found)


def _known_as(name: str, searches: Sequence[Search]) -> Document | None:
    """The subject of an alias such as `USA`: the best match of a search for it alone, unless the name is a part of it.

    A capital finds its country too, and must not be taken for it.
    """
    for search in reversed(searches):
        if search.documents and [plain(found.text) for found in wording.names(search.query)] == [plain(name)]:
            best = search.documents[0]
            inside = any(mentions(value, name) for field, value in best.fields.items() if field != "Demonym")
            return None if inside or not best.fields else best
    return None


def _reverse(words: str, documents: Sequence[Document]) -> Answer | None:
    """The document one of whose values the words name: `Which country has the capital X?`"""
    wanted = asked_field(words, documents)
    for field in [wanted] if wanted else [field for field in lexicon() if not field.number]:
        for document in documents:
            if _holds(field, document, words):
                return Answer(text=document.title, source=_places([document], [field]))
    return None


def _holds(field: Field, document: Document, words: str) -> bool:
    """The words name a value of the field, and not the document itself; of neighbours they must name no others."""
    values = [value for value in _parts(field.value(document) or "") if mentions(words, value)]
    if not values:
        return False
    without = plain(words)
    for value in values:
        without = without.replace(plain(value), " ")
    others = [name.text for name in wording.names(words) if not any(mentions(name.text, value) for value in values)]
    return not mentions(without, document.title) and (field.name != "Borders" or not others)


def _parts(value: str) -> list[str]:
    parts = [part.strip(" ()+") for part in re.split(r"[,;/]|\s\(", value)]
    return [part for part in parts if len(part) > 1]


def _places(found: Sequence[Document], fields: Sequence[Field]) -> str:
    """Where it stands, each source named once."""
    says = [
        f"{document.title}: {', '.join(f'{field.name} {field.value(document)}' for field in fields)}"
        for document in found
    ]
    sources = ", ".join(dict.fromkeys(document.source for document in found if document.source))
    return "; ".join(says) + (f" ({sources})" if sources else "")


def _bare(value: str) -> str:
    """A lone number without separators, so that it can be copied."""
    return value.replace(",", "") if re.fullmatch(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?", value) else value


def _next_queries(wanted: Sequence[str], asked: Collection[str], why: str) -> Queries | None:
    done = {plain(query) for query in asked}
    fresh = tuple(dict.fromkeys(query for query in wanted if plain(query) not in done))
    return Queries(texts=fresh, why=why) if fresh else None
