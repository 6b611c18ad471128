"""How a drawn task speaks of a record: by its id, by what tells it from its siblings, or not at once."""

from collections.abc import Sequence
from random import Random
from typing import Any

from orchestra_lib.environment.state import Record, State
from orchestra_lib.synthesis.lexicon import DESCRIBED, IDENTIFIED, Lexicon, Mention
from orchestra_lib.synthesis.lookup import extreme, meets, search_for, value_at
from orchestra_lib.synthesis.wants import Rejected

_BY_ID, _RESOURCE_BY_ID, _BRIEF = 0.08, 0.04, 0.6


def mention_of(
    lexicon: Lexicon, state: State, table: str, key: str, owner: str, random: Random, *, described: bool | None = None
) -> Mention:
    """A mention that means this record and no other; its id where no description does."""
    own = lexicon.routes.tables[table].owner
    mine = bool(own and (row := state.find(table, key)) and row.get(own) == owner)
    wish = random.random() >= (_BY_ID if mine else _RESOURCE_BY_ID) if described is None else described
    by_id = mine or table in lexicon.routes.getters
    phrases = list(lexicon.records.get(table, ())) if wish or not by_id else []
    random.shuffle(phrases)
    if random.random() < _BRIEF:  # who says least leaves most to look up
        phrases.sort(key=lambda one: len(one.slots))
    rows = siblings(lexicon, state, table, owner if mine else None)
    for phrase in phrases:
        row = state.find(table, key)
        values = [value_at(state, lexicon.routes, table, row or {}, path) for path in phrase.slots]
        values = [random.choice(one) if isinstance(one, list) and one else one for one in values]
        if any(one is None or isinstance(one, list) for one in values):
            continue
        constraints = tuple(zip(phrase.slots, values, strict=True))
        if not mine and not _searchable(lexicon, table, constraints, phrase.by, phrase.extremum):
            continue
        if matching(lexicon, state, table, rows, constraints, phrase.by, phrase.extremum) == [key]:
            return Mention(
                kind=DESCRIBED,
                key=key,
                constraints=constraints,
                by=phrase.by,
                extremum=phrase.extremum,
                phrase=phrase,
            )
    if table not in lexicon.routes.getters and table not in lexicon.routes.listers:
        raise Rejected("a record that nothing tells from others")
    return Mention(kind=IDENTIFIED, key=key)


def siblings(lexicon: Lexicon, state: State, table: str, owner: str | None) -> Sequence[Record]:
    """The owner's records of a table, or all of them."""
    field = lexicon.routes.tables[table].owner
    return list(state.records(table) if owner is None or not field else state.matching(table, field, owner))


def matching(
    lexicon: Lexicon,
    state: State,
    table: str,
    rows: Sequence[Record],
    constraints: Sequence[tuple[str, Any]],
    by: str,
    extremum: int,
) -> list[str]:
    """The keys of the records that a description fits."""
    routes = lexicon.routes
    found = [
        row
        for row in rows
        if all(meets(value_at(state, routes, table, row, path), wanted) for path, wanted in constraints)
    ]
    if extremum:
        found = list(extreme([(row, row.get(by)) for row in found], extremum))
    return [row[routes.tables[table].key] for row in found]


def look_alikes(lexicon: Lexicon, state: State, mention: Mention, table: str, rows: Sequence[Record]) -> int:
    """How many other records miss a description by no more than one of its parts."""
    routes, found = lexicon.routes, 0
    for row in rows:
        met = [meets(value_at(state, routes, table, row, path), wanted) for path, wanted in mention.constraints]
        found += row[routes.tables[table].key] != mention.key and sum(met) >= max(1, len(met) - 1)
    return found


def _searchable(lexicon: Lexicon, table: str, constraints: Sequence[tuple[str, Any]], by: str, extremum: int) -> bool:
    """Whether the domain's reads take a description; a part about another record is looked up first."""
    heads = [(path.partition(".")[0], value) for path, value in constraints]
    return search_for(lexicon.routes, table, heads, by, extremum) is not None
