"""How an agent finds the record that a user speaks of, through lists and searches, without knowing which it is."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from orchestra_lib.environment.state import Record
from orchestra_lib.synthesis.lexicon import IDENTIFIED, Mention
from orchestra_lib.synthesis.lookup import extreme, meets, search_for
from orchestra_lib.synthesis.trace import Trace

_MOST_PAGES = 12


class Lost(Exception):
    """The agent does not know how to go on."""


class Finding:
    """Finds records on a trace; `slips` says at each chance whether a slip is made."""

    def __init__(self, trace: Trace, lexicon: Any, slips: Callable[[], bool]) -> None:
        self._trace, self._lexicon, self._routes, self._slips = trace, lexicon, lexicon.routes, slips
        self.owner = ""

    def find(self, table: str, mention: Mention) -> str:
        """The key of the record. Raises `Lost` where none or several fit."""
        if mention.kind == IDENTIFIED:
            return mention.key or ""
        owned = table in {*self._routes.listers, *self._routes.detours}
        for rows in [self.rows(table)] if owned else []:
            if found := self._fitting(table, rows, mention):
                return self._choose(table, found)
        found = self._fitting(table, self._searched(table, mention), mention)
        if not found:
            raise Lost(f"there is no such {table}")
        return self._choose(table, found)

    def _choose(self, table: str, found: Sequence[Record]) -> str:
        if len(found) > 1:
            raise Lost(f"{len(found)} {table} fit what you say")
        return str(found[0][self._routes.tables[table].key])

    def rows(self, table: str) -> list[Record]:
        """The owner's records of a table, as the list shows them."""
        way = self._routes.listers.get(table)
        if way:
            return self._pages(way.operation, {way.parameter: self.owner})
        detour = self._routes.detours[table]
        key = self._routes.tables[detour.over].key
        return [
            row for one in self.rows(detour.over) for row in self._pages(detour.operation, {detour.parameter: one[key]})
        ]

    def _pages(self, operation: str, arguments: Mapping[str, Any]) -> list[Record]:
        page = self._trace.do(operation, arguments)
        rows = list(page["results"])
        for number in range(2, min(page["pages"], _MOST_PAGES) + 1):
            if self._slips():
                break
            rows += self._trace.do(operation, {**arguments, "page": number})["results"]
        return rows

    def _searched(self, table: str, mention: Mention) -> list[Record]:
        plain, nested = mention.parted()
        for head, constraints in nested.items():
            field = self._routes.field(table, head)
            plain[head] = self.find(field.references, Mention(kind="described", constraints=tuple(constraints)))
        search = search_for(self._routes, table, tuple(plain.items()), mention.by, mention.extremum)
        if search is None:
            raise Lost(f"nothing finds such {table}")
        if search.single:
            return [self._trace.do(search.operation, search.arguments)]
        if search.is_sorted:
            return list(self._trace.do(search.operation, search.arguments)["results"])
        return self._pages(search.operation, search.arguments)

    def _fitting(self, table: str, rows: Sequence[Record], mention: Mention) -> list[Record]:
        """The rows that a description fits; what a list does not show is looked up."""
        found = [row for row in rows if all(self._meets(table, row, *one) for one in mention.constraints)]
        if mention.extremum and found:
            valued = [(row, self._value(table, row, mention.by)) for row in found]
            found = list(extreme(valued, mention.extremum))
        if len(found) > 1 or (found and len(rows) > 1 and self._slips()):
            return found[:1] if len(found) == 1 or self._slips() else found
        return found

    def _meets(self, table: str, row: Record, path: str, wanted: Any) -> bool:
        return meets(self._value(table, row, path), wanted)

    def _value(self, table: str, row: Record, path: str) -> Any:
        head, _, rest = path.partition(".")
        key = row[self._routes.tables[table].key]
        shown = row if head in row else self._trace.look(table, key, frozenset((head,))) or {}
        value = shown.get(head)
        field = self._routes.field(table, head)
        if not rest or field is None or value is None:
            return value
        names = frozenset((rest.partition(".")[0],))
        other = self._trace.look(field.references, value, names) or {}
        return self._value(field.references, {**other, self._routes.tables[field.references].key: value}, rest)
