"""Domains and tasks in tau2's form: a folder with a database, a policy and, mostly, tasks."""

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import field
from pathlib import Path
from typing import Any

from orchestra_lib.errors import BadInput
from orchestra_lib.published.rows import read_json, read_rows, read_text, refuse
from orchestra_lib.published.task import PublishedTask, read_task
from orchestra_lib.record import record

_DATABASES = ("db.json", "db.toml")
_USER_DATABASES = ("user_db.json", "user_db.toml")
_POLICIES = ("policy.md", "main_policy.md")
_TASKS = ("tasks.json", "tasks_small.json")

Tables = Mapping[str, Mapping[str, Any]]
"""Records by table and key."""


@record
class Tau2Domain:
    """One domain. `tables` holds its records by table and key; a table whose records have no key of their own counts
    them from 0. `user_tables` is the database of the user's own device, empty where users have none.
    """

    name: str
    tables: Tables
    policy: str
    tasks: tuple[PublishedTask, ...] = ()
    user_tables: Mapping[str, Any] = field(default_factory=dict)

    @property
    def records(self) -> Mapping[str, int]:
        """How many records each table has."""
        return {name: len(records) for name, records in self.tables.items()}


def load_tau2_domain(folder: Path, *, tasks: Path | None = None) -> Tau2Domain:
    """Read a domain's folder: `db.json` or `db.toml`, `policy.md` or `main_policy.md`, `tasks.json` where there is one.

    `tasks` names another file of tasks. Raises `BadInput` naming the file and what is missing in it.
    """
    if not folder.is_dir():
        raise BadInput(f"{folder} is no folder; give the folder of one domain, with db.json and policy.md")
    policy = read_text(_file(folder, _POLICIES))
    if not policy.strip():
        raise BadInput(f"{_file(folder, _POLICIES)} is empty; a domain without a policy has no rules to keep")
    file = tasks or _found(folder, _TASKS)
    own = _found(folder, _USER_DATABASES)
    return Tau2Domain(
        name=folder.resolve().name,
        tables=_tables(_file(folder, _DATABASES)),
        policy=policy,
        tasks=load_tau2_tasks(file, domain=folder.resolve().name) if file else (),
        user_tables=_read(own) if own else {},
    )


def load_tau2_tasks(file: Path, *, domain: str | None = None) -> tuple[PublishedTask, ...]:
    """The tasks of a JSON list or JSONL file; `domain` holds for those that name none. Raises `BadInput`."""
    tasks: list[PublishedTask] = []
    refuse(_read_tasks(file, domain, tasks))
    return tuple(tasks)


def _read_tasks(file: Path, domain: str | None, tasks: list[PublishedTask]) -> Iterator[str]:
    """Fill `tasks`; yield what is wrong with the others."""
    seen: dict[str, str] = {}
    for row in read_rows(file):
        try:
            task = read_task(row.data, row.where, domain=domain)
        except BadInput as error:
            yield str(error)
            continue
        if task.id in seen:
            yield f"{row.where}: the id {task.id!r} stood at {seen[task.id]} already"
        seen.setdefault(task.id, row.where)
        tasks.append(task)


def _tables(file: Path) -> Tables:
    data = _read(file)
    return {name: _records(records, f"{file}: {name}", name) for name, records in data.items()}


def _records(records: object, where: str, table: str) -> Mapping[str, Any]:
    """A table's records by key: an object has its keys, of a list every record names its own (`plan_id` of `plans`)."""
    if isinstance(records, Mapping):
        return records
    if not isinstance(records, list):
        raise BadInput(f"{where}: a table is an object of records, or a list of them, not {type(records).__name__}")
    key = f"{re.sub('s$', '', table)}_id"
    named = [one.get(key) if isinstance(one, Mapping) else None for one in records]
    if None in named or len(set(map(str, named))) < len(named):
        return {str(at): one for at, one in enumerate(records)}
    return dict(zip(map(str, named), records, strict=True))


def _read(file: Path) -> Mapping[str, Any]:
    if file.suffix == ".toml":
        try:
            return tomllib.loads(read_text(file))
        except tomllib.TOMLDecodeError as error:
            raise BadInput(f"{file} is no TOML: {error}") from None
    data = read_json(file)
    if not isinstance(data, Mapping) or not data:
        raise BadInput(f"{file}: a database is an object of tables, each an object of records")
    return data


def _file(folder: Path, names: tuple[str, ...]) -> Path:
    found = _found(folder, names)
    if found is None:
        raise BadInput(f"{folder} has no {' and no '.join(names)}; give the folder of one domain in tau2's form")
    return found


def _found(folder: Path, names: tuple[str, ...]) -> Path | None:
    return next((folder / name for name in names if (folder / name).is_file()), None)
