"""Calls on a live state, and what their results have shown so far: nothing else is known to who acts."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from orchestra_lib.environment.assignment import GoldenCall
from orchestra_lib.environment.domain import World
from orchestra_lib.environment.state import Key, Record, State
from orchestra_lib.errors import ModelMistake
from orchestra_lib.synthesis.routes import Routes


class Trace:
    """Runs calls and keeps them with what each showed."""

    def __init__(self, world: World, routes: Routes) -> None:
        self.world, self.routes = world, routes
        self.state = world.state()
        self.calls: list[GoldenCall] = []
        self.results: list[Any] = []
        self.known: dict[Key, Record] = {}
        self.list: Callable[[str, str], object] = lambda table, key: None

    def do(self, name: str, arguments: Mapping[str, Any]) -> Any:
        """Run one call. Raises `ModelMistake`, and then nothing is kept."""
        result = self.world.operations.run(self.state, name, arguments)
        self.calls.append(GoldenCall(operation=name, arguments=dict(arguments)))
        self.results.append(result)
        self._learn(name, result)
        return result

    def _learn(self, name: str, result: Any) -> None:
        operation = self.routes.operations[name]
        table = self.routes.result_table(operation)
        if table is None or not isinstance(result, Mapping):
            return
        key = self.routes.tables[table].key
        rows = result.get("results", ()) if operation.query and not operation.query.single else (result,)
        for row in rows:
            if isinstance(row, Mapping) and isinstance(row.get(key), str):
                place = (table, row[key])
                self.known[place] = {**self.known.get(place, {}), **row}

    def knows(self, table: str, key: str, fields: frozenset[str]) -> bool:
        """Whether results have shown these fields of a record; the empty name is the whole record."""
        known = self.known.get((table, key))
        if known is None:
            return False
        wanted = {one.name for one in self.routes.tables[table].fields if not one.optional} if "" in fields else fields
        return wanted <= known.keys()

    def look(self, table: str, key: str, fields: frozenset[str] = frozenset(("",))) -> Record | None:
        """Get a record unless what is wanted of it is known; where no tool gets one, the owner's are listed."""
        if not self.knows(table, key, fields):
            way = self.routes.getters.get(table)
            if way:
                self.do(way.operation, {way.parameter: key})
            elif table in self.routes.listers:
                self.list(table, key)
        return self.known.get((table, key))


class Known(State):
    """A state made of nothing but what a trace has shown: rules are checked on it without looking further."""

    __slots__ = ("_known",)

    def __init__(self, trace: Trace) -> None:
        super().__init__(trace.state.base)
        self._known = trace.known

    def find(self, table: str, key: Any) -> Record | None:
        """A record as far as it is known."""
        return self._known.get((table, key))

    def get(self, table: str, key: Any) -> Record:
        """The same. Raises `ModelMistake` for one that nothing has shown."""
        found = self.find(table, key)
        if found is None:
            raise ModelMistake(f"{table} {key} was not looked at")
        return found

    def records(self, table: str) -> Iterable[Record]:
        """Those that are known."""
        return [one for (name, _), one in self._known.items() if name == table]

    def among(self, table: str, field: str, value: Any) -> Iterable[Record]:
        """The same: no index of the base may help."""
        return self.records(table)
