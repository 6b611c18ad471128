"""The declarative form of a domain: tables, operations, rules and policy as data that no code hides behind.

Expressions stand as plain JSON (`expression.py` says which); text templates may use `{@parameter}`, and a rule's
text `{when}` for its predicate in words. A file is written with macros (`macros.py`) and resolved to this form.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from orchestra_lib.record import record

Expression = Any
"""JSON: a literal, `"$name.field"`, `"@parameter"`, `[operator, …]`, or an object of expressions."""


class FieldType(StrEnum):
    """What a field or a parameter holds. Money is a number with two decimals; times are ISO 8601 in UTC."""

    TEXT = "text"
    INTEGER = "integer"
    NUMBER = "number"
    MONEY = "money"
    BOOLEAN = "boolean"
    DATE = "date"
    DATETIME = "datetime"
    OBJECT = "object"
    LIST = "list"


@record
class Field:
    """A field of a table or an object, or a parameter of an operation.

    `title` is its name in prose, the name without underscores when empty. `references` names the table whose key
    it holds. `values` closes a text. An object has `fields`; a list has `item` (the type of plain items) or `fields`
    (of objects), and `key`, the field that tells its objects apart. `unordered` lists are compared as multisets.
    `optional` fields may be null or missing. `free` text is not compared, such as a note in the agent's words.
    """

    name: str
    type: FieldType = FieldType.TEXT
    title: str = ""
    description: str = ""
    references: str | None = None
    values: tuple[str, ...] = ()
    unit: str | None = None
    optional: bool = False
    unordered: bool = False
    free: bool = False
    fields: tuple["Field", ...] = ()
    item: FieldType | None = None
    key: str | None = None
    minimum: float | None = None
    maximum: float | None = None

    @property
    def words(self) -> str:
        """Its name in prose."""
        return self.title or self.name.replace("_", " ")


@record
class Machine:
    """The states of a status field and the transitions that operations may make. `initial` is a new record's state.

    Other states that records of the past may stand in without an operation leading there are `given`.
    """

    field: str
    initial: str
    transitions: Mapping[str, tuple[str, ...]]
    given: tuple[str, ...] = ()

    @property
    def states(self) -> tuple[str, ...]:
        """Every state, in the order of the file."""
        found = [self.initial, *self.given]
        for state, following in self.transitions.items():
            found += [state, *following]
        return tuple(dict.fromkeys(found))


@record
class Table:
    """Records of one kind. `one` names a single one in prose and in tool names.

    `key` is the name of the key field, of type text. With `prefix` and `digits` an operation can insert records; the
    next number follows the highest of the base. `look_alike` are the fields in which records that a user may
    confuse agree; `owner` is the field that names whose record it is.
    """

    name: str
    one: str
    key: str
    fields: tuple[Field, ...]
    description: str = ""
    machine: Machine | None = None
    prefix: str | None = None
    digits: int = 5
    look_alike: tuple[str, ...] = ()
    owner: str | None = None


@record
class PolicyParameter:
    """A number (or word) of the policy, `@name` in expressions and `{@name}` in texts.

    `choices` are values that variants of the domain may draw in training, `held_out` those kept for evaluation.
    """

    name: str
    value: float | int | str | bool
    type: FieldType = FieldType.NUMBER
    unit: str | None = None
    description: str = ""
    choices: tuple[float | int | str | bool, ...] = ()
    held_out: tuple[float | int | str | bool, ...] = ()


class Mode(StrEnum):
    """Who sees to a rule: the tool refuses, or nobody but the agent who read the policy."""

    ENFORCED = "enforced"
    POLICY = "policy"


@record
class Rule:
    """What must hold before an operation: `when` over its parameters and loads.

    `text` is its line in the policy (default: "Only if {when}."), `error` what a tool says that refuses (default made
    of `when`). A rule without words in the policy cannot be known: `silent` is for enforced rules that follow from
    the schema, such as "the order exists".
    """

    id: str
    when: Expression
    mode: Mode = Mode.ENFORCED
    text: str = ""
    error: str = ""
    silent: bool = False


@record
class Load:
    """A record that an operation works on, by its key; a key without a record is the caller's mistake.

    A key that is null, such as that of an optional parameter or field, gives null: rules say whether it may be.
    """

    name: str
    table: str
    key: Expression


@record
class Let:
    """A value that rules, effects and the result share, such as a fee; `text` is its line in the policy."""

    name: str
    value: Expression
    text: str = ""


class Compare(StrEnum):
    """How a search compares a field with a parameter. `HAS` finds a text in a text or a list."""

    IS = "=="
    AT_LEAST = ">="
    AT_MOST = "<="
    HAS = "has"


@record
class Filter:
    """One condition of a search; it is left out when its optional parameter is not given."""

    field: str
    parameter: str
    compare: Compare = Compare.IS


@record
class Query:
    """What finders, lists and searches do. `single` gives the one key that matches, or says that none or several do.

    `show` are the fields of a hit, all when empty. `where` is a fixed condition on `$row`. `sort` lists the fields that
    `sort_by` may name; ties, and no wish, go by key. Pages count from 1 through the parameter `page`.
    """

    table: str
    filters: tuple[Filter, ...] = ()
    where: Expression = None
    single: bool = False
    show: tuple[str, ...] = ()
    sort: tuple[str, ...] = ()
    page_size: int = 20


class OperationKind(StrEnum):
    """Reads change nothing, writes do, generic ones concern no record."""

    READ = "read"
    WRITE = "write"
    GENERIC = "generic"


class Builtin(StrEnum):
    """What a domain cannot say as data."""

    CALCULATE = "calculate"
    TRANSFER = "transfer"


@record
class Operation:
    """A tool of the domain, in the order in which it works: loads, lets, rules, effects, result.

    Later ones see earlier names. Reads have a `query` or a `result`; a write's default result is its last
    inserted record, else its first load. `heading` and `effect_text` are its words in the policy; `confirm` writes
    need the user's yes. `loads` after a rule matter: rules are checked once all loads and lets are there.
    """

    name: str
    kind: OperationKind
    description: str
    parameters: tuple[Field, ...] = ()
    loads: tuple[Load, ...] = ()
    lets: tuple[Let, ...] = ()
    rules: tuple[Rule, ...] = ()
    effects: tuple[Any, ...] = ()
    result: Expression = None
    query: Query | None = None
    builtin: Builtin | None = None
    heading: str = ""
    effect_text: tuple[str, ...] = ()
    confirm: bool = True


@record
class Invariant:
    """What holds of every record of a table, `$row`, before and after each write."""

    table: str
    holds: Expression
    text: str
    public: bool = True


class Conduct(StrEnum):
    """How the agent is to behave: the lines of the policy that no predicate over records carries."""

    AUTHENTICATE = "authenticate"
    CONFIRM = "confirm"
    ONE_USER = "one_user"
    NO_INVENTION = "no_invention"
    ONE_CALL = "one_call"
    DENY = "deny"
    TRANSFER = "transfer"
    COMPLETE = "complete"


@record
class Fact:
    """What the policy tells about the domain; it must use a `{@parameter}`, `{values:table.field}` or `{now}`."""

    text: str
    section: str = ""


@record
class Domain:
    """A whole domain but its records. `now` is its fixed clock, UTC without offset, as in its records.

    `owner` names the table of the users who call. Conduct lists what the agent is told about its own behaviour.
    """

    name: str
    title: str
    archetype: str
    now: str
    owner: str
    tables: tuple[Table, ...]
    operations: tuple[Operation, ...]
    description: str = ""
    agent: str = ""
    parameters: tuple[PolicyParameter, ...] = ()
    invariants: tuple[Invariant, ...] = ()
    conduct: tuple[Conduct, ...] = tuple(Conduct)
    facts: tuple[Fact, ...] = ()
    split: str = "train"

    def table(self, name: str) -> Table:
        """One of its tables. Raises `KeyError`."""
        for table in self.tables:
            if table.name == name:
                return table
        raise KeyError(name)

    def operation(self, name: str) -> Operation:
        """One of its operations. Raises `KeyError`."""
        for operation in self.operations:
            if operation.name == name:
                return operation
        raise KeyError(name)
