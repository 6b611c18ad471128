"""Records of a domain, drawn from a seed: closed under foreign keys, byte for byte the same on every machine.

A plan is `data/domains/NAME/generate.json`:

    {"seed": 7, "words": {"sights": […]},
     "tables": [{"table": "guests", "count": 120,
                 "fields": {"guest_id": form, …},                  in order; `_name` serves later forms only
                 "twins": [{"share": 0.1, "keep": ["name"]}],         look-alikes: rows that agree with an earlier one
                 "distinct": ["name", "zip"],                         no two rows agree in all of these
                 "cases": [{"times": 4, "set": {"status": "held"}}]}],  boundaries, and states that must be there
     "settle": [{"table": "rooms", "set": {"left": expression}}]}     what depends on tables drawn later

`drawing.py` says what a form is.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from random import Random
from typing import Any

from orchestra_lib.codec import from_data
from orchestra_lib.environment.expression import STATE, Compiler
from orchestra_lib.environment.schema import Domain
from orchestra_lib.errors import BadInput
from orchestra_lib.json_writing import spoken
from orchestra_lib.record import record
from orchestra_lib.synthesis.drawing import Draw, Drawer, below

Records = dict[str, dict[str, dict[str, Any]]]
_TRIES = 400


@record
class Twins:
    """A share of the rows (0-1) that `keep` the fields of an earlier row and differ in the rest."""

    share: float
    keep: tuple[str, ...]


@record
class Case:
    """Fields that `times` rows have, whatever else is drawn; cases are spread over the table."""

    times: int
    set: Mapping[str, Any]


@record
class TablePlan:
    """How the rows of one table are drawn. No two rows agree in all of `distinct`."""

    table: str
    count: int
    fields: Mapping[str, Any]
    twins: tuple[Twins, ...] = ()
    cases: tuple[Case, ...] = ()
    distinct: tuple[str, ...] = ()


@record
class Settling:
    """Fields set in every row once all tables are drawn."""

    table: str
    set: Mapping[str, Any]


@record
class Plan:
    """How all records of a domain are drawn."""

    seed: int
    tables: tuple[TablePlan, ...]
    settle: tuple[Settling, ...] = ()
    words: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


class Draft:
    """The records drawn so far, as expressions look them up."""

    def __init__(self, domain: Domain) -> None:
        self._keys = {table.name: table.key for table in domain.tables}
        self.rows: Records = {}

    def find(self, table: str, key: Any) -> dict[str, Any] | None:
        """One record, or None."""
        return self.rows.get(table, {}).get(key)

    def records(self, table: str) -> Iterator[dict[str, Any]]:
        """The records of a table, in the order they were drawn."""
        return iter(self.rows.get(table, {}).values())

    def among(self, table: str, field: str, value: Any) -> Iterator[dict[str, Any]]:
        """Those with a value in a field."""
        return (one for one in self.rows.get(table, {}).values() if one.get(field) == value)

    def keyed(self, table: str) -> Iterator[tuple[str, dict[str, Any]]]:
        """The same with their keys."""
        return iter(self.rows.get(table, {}).items())

    def add(self, table: str, row: dict[str, Any]) -> None:
        """Take a row in. Raises `BadInput` for a key that is missing or taken."""
        key = row.get(self._keys[table])
        if not isinstance(key, str) or key in self.rows.setdefault(table, {}):
            raise BadInput(f"{table}: key {key!r} is missing or taken; make its form a serial or unique")
        self.rows[table][key] = row


def read_plan(folder: Path) -> Plan:
    """The plan in a domain's folder, with the words that all domains share. Raises `BadInput`."""
    path = folder / "generate.json"
    plan = from_data(_load(path), Plan, where=str(path))
    shared = folder.parent / "words.json"
    words = _load(shared) if shared.is_file() else {}
    return Plan(seed=plan.seed, tables=plan.tables, settle=plan.settle, words={**words, **plan.words})


def draw_records(domain: Domain, plan: Plan, *, seed: int | None = None) -> Records:
    """All records. Raises `BadInput` for a plan that does not fit the domain, or asks for what does not exist."""
    drawer = Drawer(Compiler(domain), plan.words, domain.now)
    draft = Draft(domain)
    start = f"{plan.seed if seed is None else seed}/{domain.name}"
    if missing := {table.name for table in domain.tables} ^ {one.table for one in plan.tables}:
        raise BadInput(f"{domain.name}: tables {sorted(missing)} stand in only one of domain.json and generate.json")
    for one in plan.tables:
        _draw_table(one, drawer, draft, start)
    for place, settling in enumerate(plan.settle):
        _settle(settling, drawer, draft, f"{start}/settle/{place}")
    order = {table.name: [field.name for field in table.fields] for table in domain.tables}
    return {name: {key: _plain(row, order[name]) for key, row in draft.rows[name].items()} for name in order}


def records_text(records: Records) -> str:
    """The canonical text of `records.json`: one record a line."""
    tables = []
    for name, rows in records.items():
        lines = ",\n".join(f"  {spoken(key)}: {spoken(row)}" for key, row in rows.items())
        tables.append(f" {spoken(name)}: {{\n{lines}\n }}")
    return "{\n" + ",\n".join(tables) + "\n}\n"


def _draw_table(plan: TablePlan, drawer: Drawer, draft: Draft, start: str) -> None:
    where = f"generate.json: {plan.table}"
    draws = {name: drawer.compile(form, f"{where}.{name}") for name, form in plan.fields.items()}
    cases = _placed(plan, drawer, where)
    earlier: list[dict[str, Any]] = []
    seen: set[tuple[Any, ...]] = set()
    for number in range(1, plan.count + 1):
        random = Random(f"{start}/{plan.table}/{number}")  # noqa: S311 -- records are invented, not secret
        for _ in range(_TRIES):
            kept = {**draws, **_kept(plan.twins, earlier, random), **cases.get(number - 1, {})}
            row = _draw_row(kept, draft, number, random)
            mark = tuple(row[name] for name in plan.distinct)
            if not mark or mark not in seen:
                break
        else:
            raise BadInput(f"{where}: row {number} is like another in {', '.join(plan.distinct)}; lower `count`")
        seen.add(mark)
        draft.add(plan.table, row)
        earlier.append(row)


def _draw_row(draws: Mapping[str, Draw], draft: Draft, number: int, random: Random) -> dict[str, Any]:
    row: dict[str, Any] = {}
    scope = {STATE: draft, "row": row, "item": {}, "n": number, "place": 0}
    for name, draw in draws.items():
        row[name] = draw(scope, random)
    return row


def _placed(plan: TablePlan, drawer: Drawer, where: str) -> Mapping[int, Mapping[str, Draw]]:
    """The cases by the index of their row."""
    forms: list[Mapping[str, Draw]] = []
    for place, case in enumerate(plan.cases):
        unknown = set(case.set) - set(plan.fields)
        if unknown:
            raise BadInput(f"{where}: cases[{place}] sets {sorted(unknown)[0]!r}, which is no field of this plan")
        one = {name: drawer.compile(form, f"{where}: cases[{place}].{name}") for name, form in case.set.items()}
        forms += [one] * case.times
    if len(forms) > plan.count:
        raise BadInput(f"{where}: {len(forms)} cases do not fit {plan.count} rows; raise `count`")
    return {place * plan.count // len(forms): form for place, form in enumerate(forms)}


def _kept(twins: Sequence[Twins], earlier: Sequence[Mapping[str, Any]], random: Random) -> Mapping[str, Draw]:
    """What a row that is to be like an earlier one takes from it."""
    for one in twins:
        if random.random() < one.share and earlier:
            model = earlier[below(random, len(earlier))]
            return {name: _always(model[name]) for name in one.keep}
    return {}


def _always(value: Any) -> Draw:
    return lambda _, __: value


def _settle(settling: Settling, drawer: Drawer, draft: Draft, start: str) -> None:
    where = f"generate.json: settle {settling.table}"
    draws = {name: drawer.compile(form, f"{where}.{name}") for name, form in settling.set.items()}
    for number, row in enumerate(draft.records(settling.table), 1):
        random = Random(f"{start}/{number}")  # noqa: S311 -- as above
        scope = {STATE: draft, "row": row, "item": {}, "n": number, "place": 0}
        for name, draw in draws.items():
            row[name] = draw(scope, random)


def _plain(row: Mapping[str, Any], order: Sequence[str]) -> dict[str, Any]:
    """A row with the fields of its table in their order; the plan's own names, `_name`, are left out."""
    unknown = [name for name in row if name not in order and not name.startswith("_")]
    if unknown:
        raise BadInput(f"generate.json: {unknown[0]!r} is no field of the table; its fields are {', '.join(order)}")
    return {name: row[name] for name in order if name in row}


def _load(path: Path) -> Any:
    try:
        return json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise BadInput(f"{path}: no such file; a domain's folder holds domain.json and generate.json") from None
    except (OSError, ValueError) as error:
        raise BadInput(f"{path}: {error}") from None
