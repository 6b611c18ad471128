"""What follows from the documents found so far: an answer, a calculation, a further search, or nothing.

Pure and deterministic. Questions with several parts are taken apart by their wording: a clause such as
`the country whose capital is X` is resolved first and replaced by what it names; several subjects are
compared or added by a Python program over values from the documents, never in a model's head.
"""

import re
from collections.abc import Collection, Mapping, Sequence

from orchestra_lib.policy.conductor import comparison
from orchestra_lib.policy.conductor import question as wording
from orchestra_lib.policy.conductor.documents import Document, merge, plain
from orchestra_lib.policy.conductor.fields import Field, asked_field, lexicon, named
from orchestra_lib.policy.conductor.question import mentions
from orchestra_lib.record import record


@record
class Answer:
    """The documents say it, and where."""

    text: str
    source: str


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

Finding = Answer | Calculation | Queries | None
Subjects = Mapping[str, Document | None]


def resolve(question: str, searches: Sequence[Search]) -> Finding:
    """What follows for `question` from the searches made so far."""
    documents = merge(search.documents for search in searches)
    asked = [search.query for search in searches]
    question, unknown = _without_clauses(" ".join(question.split()), documents)
    if unknown is not None:
        return _next_queries([unknown], asked, f"which one is “{unknown}”?")
    if wording.PART_OF_WHOLE.search(question) or len(question) > MAX_CHARS:
        return None
    operation = wording.operation(question)
    field = asked_field(question, documents)
    subjects = _subjects(question, documents, searches)
    if len(subjects) > MAX_SUBJECTS:
        return None
    if operation and (len(subjects) > 1 or (operation == "density" and subjects)):
        return _combine(question, operation, field, subjects, asked)
    if operation in wording.COMPARING:
        return None  # `the largest city of X`: no document compares
    return _single(question, field, subjects, documents, asked)


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
    question: str, field: Field | None, subjects: Subjects, documents: Sequence[Document], asked: Collection[str]
) -> Finding:
    if wording.WHICH_COUNTRY.search(question):
        if found := _reverse(question, documents):
            return found
        if field is not None and (values := wording.values(question)):
            return _next_queries([f"{field.name} {value}" for value in values], asked, "the value alone")
    if field is None or not subjects or (field.name == "Borders" and len(subjects) > 1):
        return None
    known = [document for document in subjects.values() if document is not None]
    if not known:
        subject = next(iter(subjects))
        return _next_queries([question, subject], asked, f"nothing found yet on {subject}")
    value = field.value(known[0])
    return None if value is None else Answer(text=_bare(value), source=_places(known[:1], [field]))


def _combine(question: str, operation: str, field: Field | None, subjects: Subjects, asked: Collection[str]) -> Finding:
    fields = comparison.wanted_fields(operation, field)
    rows = {name: comparison.row(document, fields) if document else None for name, document in subjects.items()}
    missing = [name for name, row in rows.items() if row is None]
    if missing:
        words = " ".join(field.name.lower() for field in fields)
        queries = [f"{name} {words}" for name in missing]
        return _next_queries(queries, asked, f"one search for each: {', '.join(missing)}")
    source = _places([document for document in subjects.values() if document], fields)
    known = {name: row for name, row in rows.items() if row is not None}
    return Calculation(code=comparison.program(question, operation, known), source=source)


def _subjects(question: str, documents: Sequence[Document], searches: Sequence[Search]) -> Subjects:
    """What the question is about, in its order: titles that occur in it, and names that no title covers."""
    text = plain(question)
    spans: list[tuple[int, int, str, Document | None]] = []
    for document in sorted(documents, key=lambda document: -len(document.title)):
        for match in re.finditer(rf"(?<!\w){re.escape(plain(document.title))}(?!\w)", text):
            if _is_free(match.start(), match.end(), spans):
                spans.append((match.start(), match.end(), document.title, document))
    for name in wording.names(question):
        if _is_free(name.start, name.end, spans):
            subject = _known_as(name.text, searches)
            spans.append((name.start, name.end, subject.title if subject else name.text, subject))
    found: dict[str, Document | None] = {}
    for _, _, title, subject in sorted(spans, key=lambda span: span[0]):
        found.setdefault(title, subject)
    return found


def _is_free(start: int, end: int, spans: Sequence[tuple[int, int, str, Document | None]]) -> bool:
    return not any(start < span[1] and span[0] < end for span in spans)


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
