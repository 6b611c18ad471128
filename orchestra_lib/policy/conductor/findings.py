"""What follows from the documents found so far: an answer, a calculation, a further search, or nothing.

Pure and deterministic. Questions with several parts are taken apart by their wording: a clause such as
`the country whose capital is X` is resolved first and replaced by what it names; several entities are compared or
added by a Python program over values from the documents, never in a model's head.
"""

import json
import re
from collections.abc import Collection, Mapping, Sequence

from orchestra_lib.policy.conductor.documents import Document, merge, number, plain
from orchestra_lib.policy.conductor.fields import Field, asked_field, lexicon
from orchestra_lib.record import record


@record
class Answer:
    """The documents say it: the value, whose it is, and the sentence that shows where it stands."""

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


Finding = Answer | Calculation | Queries | None

_CLAUSE = re.compile(
    r"\b(?:the |that )?(?:only |one |same )?(?:country|nation|state|land|island|territory)\s+"
    r"(whose|which|that|with|where|of which|having|bordering|using)\s+(.+?)"
    r"(?=\?|$|;|,?\s+(?:or|and|than|have|has)\s+(?:the|that|in)\s+(?:only |one )?(?:country|nation|state)\b"
    r"|\s+than\b|,\s)",
    re.IGNORECASE,
)
_WHICH = re.compile(
    r"^\s*(?:which|what|name the|of which|in which)\s+(?:country|nation|state|land|territory|place)\b"
    r"|\b(?:of|in) (?:which|what) country\b",
    re.IGNORECASE,
)
_ASKING_WORDS = frozenset(
    [
        "what",
        "which",
        "who",
        "whom",
        "whose",
        "where",
        "when",
        "why",
        "how",
        "is",
        "are",
        "was",
        "were",
        "do",
        "does",
        "did",
        "can",
        "could",
        "name",
        "tell",
        "give",
        "list",
        "find",
        "rank",
        "the",
        "a",
        "an",
        "of",
        "in",
        "according",
        "please",
        "compare",
        "by",
        "to",
        "and",
        "or",
        "for",
        "on",
        "at",
        "from",
        "with",
        "between",
        "into",
        "it",
        "its",
        "many",
        "much",
    ]
)
_PROPER = re.compile(r"\b[A-ZÀ-Þ][\w'’.-]*(?:\s+(?:of(?: the)?\s+)?[A-ZÀ-Þ][\w'’.-]*)*")
_DENSITY = re.compile(r"\bdensity\b|\bper (?:square )?k(?:m|ilomet)|\bpeople per\b", re.IGNORECASE)
_SUPERLATIVE_LOW = re.compile(r"\b(?:fewer|fewest|smaller|smallest|less|least|lower|lowest)\b", re.IGNORECASE)
_SUPERLATIVE_HIGH = re.compile(
    r"\b(?:more|most|larger|largest|bigger|biggest|greater|greatest|higher|highest)\b", re.IGNORECASE
)
_OPERATIONS = (
    ("density", _DENSITY),
    ("average", re.compile(r"\b(?:average|mean)\b", re.IGNORECASE)),
    ("ratio", re.compile(r"\bhow many times\b|\bratio\b", re.IGNORECASE)),
    (
        "difference",
        re.compile(
            r"\bdifference\b|\bby how (?:many|much)\b|\bhow (?:many|much) (?:more|fewer|less|larger|bigger|smaller)\b",
            re.IGNORECASE,
        ),
    ),
    ("sum", re.compile(r"\b(?:combined|together|total|altogether|sum|in all)\b", re.IGNORECASE)),
    ("rank", re.compile(r"\b(?:rank|order|sort)\b", re.IGNORECASE)),
    ("lowest", _SUPERLATIVE_LOW),
    ("highest", _SUPERLATIVE_HIGH),
)
_ROUND = re.compile(r"\bround\w*\b.{0,30}?\bto (\w+) decimal", re.IGNORECASE)
_DIGITS = {"one": 1, "two": 2, "three": 3, "no": 0, "zero": 0}


def resolve(question: str, searches: Sequence[Search]) -> Finding:
    """What follows for `question` from the searches made so far."""
    question = " ".join(question.split())
    documents = merge(search.documents for search in searches)
    asked = [search.query for search in searches]
    question, unknown = _without_clauses(question, documents)
    if unknown is not None:
        return _next_queries([unknown], asked, f"which one is “{unknown}”?")
    operation = next((name for name, pattern in _OPERATIONS if pattern.search(question)), None)
    field = asked_field(question, documents)
    entities = _entities(question, documents, searches)
    if operation and (len(entities) > 1 or (operation == "density" and entities)):
        return _combine(question, operation, field, entities, asked)
    return _single(question, field, entities, documents, asked)


def _without_clauses(question: str, documents: Sequence[Document]) -> tuple[str, str | None]:
    """The question with each clause replaced by what it names, and the first clause that names nothing yet."""
    while clause := _CLAUSE.search(question):
        which = _WHICH.match(question)
        if which is not None and clause.start() < which.end():
            break  # `Which country that …`: the clause is what is asked for
        named = _named_by(clause, documents)
        if named is None:
            return question, clause[2].strip(" ?.,")
        question = question[: clause.start()] + named + question[clause.end() :]
    return question, None


def _single(
    question: str,
    field: Field | None,
    entities: Mapping[str, Document | None],
    documents: Sequence[Document],
    asked: Collection[str],
) -> Finding:
    if _WHICH.search(question) and (found := _reverse(question, documents)):
        return found
    if field is None or not entities:
        return None
    subject, document = next(iter(entities.items()))
    if document is None:
        return _next_queries([question, subject], asked, f"nothing found yet on {subject}")
    value = field.value(document)
    if value is None:
        return None
    return Answer(text=_spoken(value), source=_place(document, f"{field.name} {value}"))


def _place(document: Document, says: str) -> str:
    return f"{document.title}: {says}" + (f" ({document.source})" if document.source else "")


def _spoken(value: str) -> str:
    """A bare number is written without separators, so that it can be copied."""
    return value.replace(",", "") if re.fullmatch(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?", value) else value


def _combine(
    question: str, operation: str, field: Field | None, entities: Mapping[str, Document | None], asked: Collection[str]
) -> Finding:
    fields = _numeric_fields(operation, field)
    missing = [name for name, document in entities.items() if document is None or _values(document, fields) is None]
    if missing:
        words = " ".join(field.name.lower() for field in fields)
        return _next_queries(
            [f"{name} {words}" for name in missing], asked, "one search for each: " + ", ".join(missing)
        )
    found = [document for document in entities.values() if document is not None]
    values = {document.title: _values(document, fields) for document in found}
    source = "; ".join(
        f"{document.title}: {', '.join(f'{f.name} {f.value(document)}' for f in fields)}" for document in found
    )
    return Calculation(code=_program(question, operation, values), source=source)


def _numeric_fields(operation: str, field: Field | None) -> tuple[Field, ...]:
    population = next(entry for entry in lexicon() if entry.name == "Population")
    area = next(entry for entry in lexicon() if entry.name == "Area")
    if operation == "density":
        return population, area
    return (field if field is not None and field.number else area,)


def _values(document: Document, fields: Sequence[Field]) -> tuple[float, ...] | None:
    values = [number(field.value(document) or "") for field in fields]
    return None if any(value is None for value in values) else tuple(value for value in values if value is not None)


def _program(question: str, operation: str, values: Mapping[str, tuple[float, ...] | None]) -> str:
    rows = {
        name: row[0] / row[1] if operation == "density" and row[1] else row[0] for name, row in values.items() if row
    }
    if operation == "density" and len(rows) == 1:
        (population, area) = next(row for row in values.values() if row)
        return f"people = {population!r}\narea = {area!r}\nprint({_rounded('people / area', question, 1)})"
    table = f"values = {json.dumps(rows, ensure_ascii=False)}"
    low = _SUPERLATIVE_LOW.search(question) is not None
    if operation in ("lowest", "highest", "density"):
        if re.match(r"(?:is|are|does|do|has|have)\b", question, re.IGNORECASE):
            sign = "<" if low else ">"
            return (
                f"{table}\nfirst, second = values.values()\nprint('yes' if first {sign} second else 'no')"
                if len(rows) == 2
                else table
            )
        choose = "min" if low else "max"
        return f"{table}\nbest = {choose}(values, key=values.get)\nprint(best, f'({{values[best]:,}})')"
    if operation == "rank":
        return f"{table}\nprint(', '.join(sorted(values, key=values.get, reverse={not low})))"
    if operation == "ratio":
        ratio = _rounded("max(first, second) / min(first, second)", question, 2)
        return f"{table}\nfirst, second = list(values.values())[:2]\nprint({ratio})"
    if operation == "difference":
        return f"{table}\nprint(max(values.values()) - min(values.values()))"
    if operation == "average":
        return f"{table}\nprint({_rounded('sum(values.values()) / len(values)', question, 2)})"
    return f"{table}\nprint(sum(values.values()))"


def _rounded(expression: str, question: str, default: int) -> str:
    found = _ROUND.search(question)
    digits = (
        default if found is None else int(found[1]) if found[1].isdigit() else _DIGITS.get(found[1].lower(), default)
    )
    return f"round({expression}, {digits})"


def _entities(question: str, documents: Sequence[Document], searches: Sequence[Search]) -> dict[str, Document | None]:
    """What the question is about, in its order: titles that occur in it, and names that no title covers.

    Such a name may be an alias (`USA`): the best match of a search for it alone is then its document.
    """
    text = plain(question)
    spans: list[tuple[int, int, str, Document | None]] = []
    for document in sorted(documents, key=lambda document: -len(document.title)):
        for match in re.finditer(rf"(?<!\w){re.escape(plain(document.title))}(?!\w)", text):
            if not _overlaps(match.span(), spans):
                spans.append((*match.span(), document.title, document))
    for start, end, word in _proper_spans(question):
        if not _overlaps((start, end), spans):
            spans.append((start, end, word, _found_under(word, searches)))
    found: dict[str, Document | None] = {}
    for _, _, name, subject in sorted(spans, key=lambda span: span[0]):
        found.setdefault(name, subject)
    return found


def _found_under(name: str, searches: Sequence[Search]) -> Document | None:
    """The best match of the latest search whose only name is this one."""
    for search in reversed(searches):
        if search.documents and [plain(word) for word in proper_names(search.query)] == [plain(name)]:
            return search.documents[0]
    return None


def proper_names(question: str) -> tuple[str, ...]:
    """Names in the question: capitalised words, the opening question word aside."""
    return tuple(word for _, _, word in _proper_spans(question))


def _proper_spans(question: str) -> list[tuple[int, int, str]]:
    spans = []
    for match in _PROPER.finditer(question):
        word, start = match[0].rstrip(".'’"), match.start()
        first, _, rest = word.partition(" ")
        if first.casefold() in _ASKING_WORDS:
            word, start = rest, start + len(first) + 1
        if len(word) > 2 and word.casefold() not in _ASKING_WORDS:
            spans.append((start, match.end(), word))
    return spans


def _overlaps(span: tuple[int, int], spans: Sequence[tuple[int, int, str, Document | None]]) -> bool:
    return any(span[0] < end and start < span[1] for start, end, _, _ in spans)


def _named_by(clause: re.Match[str], documents: Sequence[Document]) -> str | None:
    """The one entity that a clause describes, by a border or by a value of a field."""
    words = clause[2]
    if clause[1].lower() == "bordering" or re.search(r"\bborder|\bneighbou?r", words, re.IGNORECASE):
        return _only_neighbour(words, documents)
    found = _reverse(words, documents)
    return found.text if found else None


def _only_neighbour(words: str, documents: Sequence[Document]) -> str | None:
    borders = next(field for field in lexicon() if field.name == "Borders")
    for document in documents:
        if re.search(rf"(?<!\w){re.escape(plain(document.title))}(?!\w)", plain(words)):
            neighbours = [name.strip() for name in re.split(r"[,;]", borders.value(document) or "") if name.strip()]
            if len(neighbours) == 1:
                return neighbours[0]
    return None


def _reverse(words: str, documents: Sequence[Document]) -> Answer | None:
    """The document one of whose values the words name: `Which country has the capital X?`"""
    wanted = asked_field(words, documents)
    fields = [wanted] if wanted else [field for field in lexicon() if not field.number]
    text = plain(words)
    for field in fields:
        for document in documents:
            for value in re.split(r"[,;/]|\s\(", field.value(document) or ""):
                value = value.strip(" ()+")
                if (
                    len(value) > 1
                    and re.search(rf"(?<!\w){re.escape(plain(value))}(?!\w)", text)
                    and plain(document.title) not in text.replace(plain(value), "")
                ):
                    return Answer(text=document.title, source=_place(document, f"{field.name} {field.value(document)}"))
    return None


def _next_queries(wanted: Sequence[str], asked: Collection[str], why: str) -> Queries | None:
    done = {plain(query) for query in asked}
    fresh = tuple(dict.fromkeys(query for query in wanted if plain(query) not in done))
    return Queries(texts=fresh, why=why) if fresh else None
