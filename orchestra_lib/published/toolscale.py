"""The rows of `nvidia/ToolScale`, from its Parquet file or as JSONL, and the training file that wraps them.

In the table `arguments` of a golden call is one struct with every parameter of every tool: what a call does not use
is null there, and some dates became timestamps. Here the nulls are dropped, and dates are written as the domain's
database writes them. A null that a call really passed cannot be told from padding and is dropped with it.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import field, replace
from datetime import date, datetime, time
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from orchestra_lib.errors import BadInput
from orchestra_lib.published.dates import DateForms, date_forms
from orchestra_lib.published.fields import Fields
from orchestra_lib.published.questions import QuestionRow
from orchestra_lib.published.rows import Row, parquet_fault, read_json, read_rows, refuse
from orchestra_lib.published.task import PublishedTask, read_task
from orchestra_lib.record import record

QA, FUNCTION_CALL = "qa", "func_call"
"""The categories of the training file."""

_ARGUMENTS = "evaluation_criteria.actions.arguments"
_COLUMNS = ("id", "user_scenario.instructions", "evaluation_criteria.actions.name", _ARGUMENTS)
_REMEDY = "so it is no table of nvidia/ToolScale; give a file of that data set"
_TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?")
_SEPARATOR = "____"
T = TypeVar("T")


@record
class TrainingRow:
    """One row of the training file: a question, or a task in a domain, with its own tools, prices and preference.

    `models` maps aliases to models, `prices` models to what the file says they cost, `weights` aliases, `accuracy`,
    `cost` and `latency` to weights, which may lie over 1, as the paper's do not.
    """

    index: str
    category: str
    task: PublishedTask | None = None
    question: QuestionRow | None = None
    tools: tuple[Mapping[str, Any], ...] = ()
    models: Mapping[str, str] = field(default_factory=dict)
    prices: Mapping[str, Any] = field(default_factory=dict)
    weights: Mapping[str, float] = field(default_factory=dict)


def load_toolscale(file: Path, databases: Path | None = None) -> tuple[PublishedTask, ...]:
    """The tasks of a file in ToolScale's form; `databases` is a folder with `NAME/db.json` for each domain.

    Without a domain's database its dates are written as ISO dates at midnight and as ISO times otherwise. Raises
    `BadInput` naming the file and the column for a table of another schema, and the place for a bad row.
    """
    if file.suffix == ".parquet":
        _check_schema(file)
    rows = read_rows(file)
    reader = _Reader(databases, texts=file.suffix != ".parquet" and any(_is_padded(row.data) for row in rows))
    tasks = _each(rows, lambda row: reader.task(row.data, row.where))
    seen: dict[tuple[str | None, str], str] = {}
    for row, task in zip(rows, tasks, strict=True):
        before = seen.setdefault((task.domain, task.id), row.where)
        if before != row.where:
            raise BadInput(f"{row.where}: the id {task.id!r} of {task.domain} stood at {before} already; remove one")
    return tasks


def load_training_rows(file: Path, databases: Path | None = None) -> tuple[TrainingRow, ...]:
    """The rows of the training file `data.jsonl`. Raises `BadInput` naming the line and the key."""
    rows = read_rows(file)
    reader = _Reader(databases, texts=any(_is_padded(row.data.get("example")) for row in rows))
    return _each(rows, reader.training_row)


def _each(rows: Sequence[Row], read: Callable[[Row], T]) -> tuple[T, ...]:
    """Every row read; one `BadInput` for all that cannot be."""
    found: list[T] = []

    def problems() -> Iterator[str]:
        for row in rows:
            try:
                found.append(read(row))
            except BadInput as error:
                yield str(error)

    refuse(problems())
    return tuple(found)


class _Reader:
    """Reads rows and knows how each domain writes dates; `texts`: timestamps may stand there as texts."""

    def __init__(self, databases: Path | None, *, texts: bool) -> None:
        if databases is not None and not databases.is_dir():
            raise BadInput(f"{databases} is no folder; give the one with a folder for each domain, db.json in it")
        self._databases, self._texts = databases, texts
        self._forms: dict[str, DateForms] = {}

    def task(self, data: object, where: str, domain: str | None = None) -> PublishedTask:
        task = read_task(data, where, domain=domain)
        forms = self._forms_of(domain or task.domain)
        try:
            golden = [replace(one, arguments=self._plain("", one.arguments, forms)) for one in task.golden]
        except RecursionError:
            raise BadInput(f"{where}: an argument of a golden call is nested too deeply") from None
        return replace(task, golden=tuple(golden))

    def training_row(self, row: Row) -> TrainingRow:
        fields = Fields(row.data, row.where)
        index, category = fields.text("index"), fields.text("category")
        source = index.partition(_SEPARATOR)[0]
        question = task = None
        if category == QA:
            asked, answer = fields.text("problem"), fields.text("answer")
            question = QuestionRow(id=index, question=asked, answer=answer, source=source)
        elif category == FUNCTION_CALL:
            task = self.task(fields.data.get("example"), f"{row.where}: example", source)
        else:
            raise BadInput(f"{row.where}: category is {category!r}; it is {QA} or {FUNCTION_CALL}")
        return TrainingRow(
            index=index,
            category=category,
            task=task,
            question=question,
            tools=tuple(tool.data for tool in fields.children("tools")),
            models=fields.mapping("model_mapping") or {},
            prices=fields.mapping("tool_pricing") or {},
            weights=fields.numbers("pref_vec"),
        )

    def _forms_of(self, domain: str | None) -> DateForms:
        if domain is None or self._databases is None or Path(domain).name != domain:
            return DateForms()
        if domain not in self._forms:
            file = self._databases / domain / "db.json"
            self._forms[domain] = date_forms(read_json(file)) if file.is_file() else DateForms()
        return self._forms[domain]

    def _plain(self, name: str, value: Any, forms: DateForms) -> Any:
        """A value of the table as a call passes it."""
        if isinstance(value, Mapping):
            return {key: self._plain(key, part, forms) for key, part in value.items() if not _is_missing(part)}
        if isinstance(value, list):
            return [self._plain(name, part, forms) for part in value]
        if isinstance(value, datetime):
            return forms.write(name, value)
        if isinstance(value, date):
            return forms.write(name, datetime.combine(value, time()))
        if self._texts and isinstance(value, str) and _TIMESTAMP.fullmatch(value):
            with suppress(ValueError):  # a 31st of February is a text like any other
                return forms.write(name, datetime.fromisoformat(value))
        return value


def _is_missing(value: object) -> bool:
    """Null, or the NaN that some libraries write in its place."""
    return value is None or value != value


def _is_padded(data: object) -> bool:
    """Whether a row has been through a table: an argument is null."""
    criteria = data.get("evaluation_criteria") if isinstance(data, Mapping) else None
    actions = criteria.get("actions") if isinstance(criteria, Mapping) else None
    given = actions if isinstance(actions, list) else []
    passed = [one.get("arguments") for one in given if isinstance(one, Mapping)]
    return any(value is None for one in passed if isinstance(one, Mapping) for value in one.values())


def _check_schema(file: Path) -> None:
    with parquet_fault(file):
        schema = pq.read_schema(file)
    kinds = {path: kind for column in schema for path, kind in _kinds_of(column)}
    for column in _COLUMNS:
        if column not in kinds:
            raise BadInput(f"{file} has no column {column}, {_REMEDY}. Its columns: {', '.join(schema.names)}")
    kind = kinds[_ARGUMENTS]
    if not (pa.types.is_struct(kind) or pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        raise BadInput(f"{file}: the column {_ARGUMENTS} is {kind} and should be a struct or JSON text, {_REMEDY}")


def _kinds_of(column: Any, above: str = "") -> Iterator[tuple[str, Any]]:
    """The path and the type of a column and of all below it; lists add nothing to a path."""
    path, kind = above + column.name, column.type
    while pa.types.is_list(kind) or pa.types.is_large_list(kind):
        kind = kind.value_type
    yield path, kind
    for part in kind if pa.types.is_struct(kind) else ():
        yield from _kinds_of(part, f"{path}.")
