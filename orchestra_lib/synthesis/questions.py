"""Questions about records: a field, how many, what they come to, a difference, days until a date."""

from collections.abc import Sequence
from random import Random

from orchestra_lib.environment.domain import World
from orchestra_lib.environment.schema import Field, FieldType, Table
from orchestra_lib.environment.state import Record, State
from orchestra_lib.synthesis.lexicon import DESCRIBED, Lexicon
from orchestra_lib.synthesis.mentions import mention_of, siblings
from orchestra_lib.synthesis.wants import Aim, Outcome, Want

_TRIES = 8
_NUMBERS = (FieldType.MONEY, FieldType.INTEGER, FieldType.NUMBER)
_DATES = (FieldType.DATE, FieldType.DATETIME)


def question(lexicon: Lexicon, world: World, state: State, owner: str, random: Random) -> Want | None:
    """A question that the owner's records answer, or None."""
    routes = lexicon.routes
    tables = [one for one in world.domain.tables if one.owner and one.name in routes.listers]
    for _ in range(_TRIES):
        table = random.choice(tables)
        rows = siblings(lexicon, state, table.name, owner)
        aim = random.choice((Aim.FIELD, Aim.COUNT, Aim.SUM, Aim.SUM, Aim.DIFFERENCE, Aim.DAYS))
        found = _ask(lexicon, state, owner, table, rows, aim, random)
        if found is not None:
            return found
    return None


def _ask(
    lexicon: Lexicon, state: State, owner: str, table: Table, rows: Sequence[Record], aim: Aim, random: Random
) -> Want | None:
    if aim in (Aim.COUNT, Aim.SUM):
        return _over_all(table, rows, aim, random)
    wanted = _DATES if aim is Aim.DAYS else _NUMBERS if aim is Aim.DIFFERENCE else (*_NUMBERS, FieldType.DATE)
    fields = [one for one in _fields(table) if one.type in wanted]
    if not fields:
        return None
    field = random.choice(fields)
    known = [row for row in rows if row.get(field.name) is not None]
    many = 2 if aim is Aim.DIFFERENCE else 1
    if len(known) < many:
        return None
    chosen = random.sample(known, many)
    if many == 2 and chosen[0][field.name] == chosen[1][field.name]:
        return None
    mentions = {}
    for place, row in enumerate(chosen):
        mention = mention_of(lexicon, state, table.name, row[table.key], owner, random)
        if mention.kind == DESCRIBED and any(path == field.name for path, _ in mention.constraints):
            return None
        mentions[f"record_{place}"] = mention
    return Want(
        aim=aim,
        table=table.name,
        field=field.name,
        mentions=mentions,
        arguments={name: one.key for name, one in mentions.items()},
        outcome=Outcome.ANSWERED,
    )


def _over_all(table: Table, rows: Sequence[Record], aim: Aim, random: Random) -> Want | None:
    sorts = [one for one in table.fields if one.values or (table.machine and one.name == table.machine.field)]
    fields = [one for one in _fields(table) if one.type is FieldType.MONEY]
    if not sorts or not rows or (aim is Aim.SUM and not fields):
        return None
    by = random.choice(sorts)
    value = random.choice(rows).get(by.name)
    alike = [row for row in rows if row.get(by.name) == value]
    field = random.choice(fields).name if aim is Aim.SUM else ""
    if value is None or len(alike) < 2 or (field and any(row.get(field) is None for row in alike)):
        return None
    return Want(aim=aim, table=table.name, field=field, where=(by.name, value), outcome=Outcome.ANSWERED)


def named(field: Field) -> str:
    """A field in a question."""
    return f'the "{field.words}" date' if field.type in _DATES else f"the {field.words}"


def _fields(table: Table) -> Sequence[Field]:
    return [one for one in table.fields if one.name != table.key and not one.references]
