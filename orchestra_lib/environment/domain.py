"""Domains from their files: `domain.json` resolved with its archetype, `records.json` checked against it."""

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

from orchestra_lib.codec import from_data
from orchestra_lib.environment.authoring import resolve
from orchestra_lib.environment.operations import Operations
from orchestra_lib.environment.schema import Domain
from orchestra_lib.environment.state import Base, Records, State
from orchestra_lib.errors import BadInput
from orchestra_lib.paths import DATA

DOMAINS = DATA / "domains"
_MAX_BYTES = 32 * 2**20


class World:
    """A domain with its records and its compiled operations: what all episodes in it share."""

    def __init__(
        self, domain: Domain, records: Records, *, operations: Operations | None = None, kin: "World | None" = None
    ) -> None:
        """`operations` are the domain's where they are compiled; `kin` has the same records under other parameters."""
        self.domain, self.records, self._kin = domain, records, kin
        try:
            self.operations = operations or Operations(domain)
        except (TypeError, RecursionError) as error:  # a proposal may hold anything anywhere
            raise BadInput(f"{domain.name}: an expression is in no form that is known ({error})") from None

    @cached_property
    def base(self) -> Base:
        """The records as every episode finds them."""
        return Base(self.domain, self.records, kin=self._kin.base if self._kin else None)

    @cached_property
    def reordered(self) -> "World":
        """The same with its records in another order, which nobody should be able to tell."""
        kin = self._kin.reordered if self._kin else None
        turned = {name: dict(reversed(list(one.items()))) for name, one in reversed(list(self.records.items()))}
        return World(self.domain, kin.records if kin else turned, operations=self.operations, kin=kin)

    def state(self) -> State:
        """A fresh state of an episode."""
        return State(self.base)

    def with_parameters(self, values: Mapping[str, Any]) -> "World":
        """The same records under other policy parameters. Raises `BadInput` for an unknown one."""
        known = {one.name for one in self.domain.parameters}
        if unknown := sorted(values.keys() - known):
            raise BadInput(
                f"{self.domain.name}: no policy parameter {unknown[0]!r}; known are {', '.join(sorted(known))}"
            )
        parameters = tuple(replace(one, value=values.get(one.name, one.value)) for one in self.domain.parameters)
        return World(replace(self.domain, parameters=parameters), self.records, kin=self._kin or self)


def domain_names(folder: Path = DOMAINS) -> tuple[str, ...]:
    """The domains that lie in a folder, in order of their names."""
    return tuple(sorted(file.parent.name for file in folder.glob("*/domain.json")))


def load_domain(name: str, folder: Path = DOMAINS) -> Domain:
    """The declarative form of a domain. Raises `BadInput` that names file, path and remedy."""
    known = domain_names(folder)
    if name not in known:
        raise BadInput(f"no domain {name!r} in {folder}; there are {', '.join(known) or 'none'}")
    file = folder / name / "domain.json"
    return domain_of(_json(file), folder=folder, where=str(file))


def domain_of(data: object, *, folder: Path = DOMAINS, where: str) -> Domain:
    """A domain from plain data as a file holds it, or as a model proposed it. Raises `BadInput`."""
    if not isinstance(data, dict):
        raise BadInput(f"{where}: a domain is a JSON object")
    shapes = _archetype(str(data.get("archetype", "")), folder)
    try:
        plain = resolve(data, shapes, where=where)
    except (
        AttributeError,
        TypeError,
        ValueError,
        LookupError,
        RecursionError,
    ) as error:  # a shape that no field should have
        raise BadInput(f"{where}: not in the form of a domain ({error}); see data/domains/README.md") from None
    return from_data(plain, Domain, where=where)


def load_world(name: str, folder: Path = DOMAINS) -> World:
    """A domain with its records. Raises `BadInput`; `validate` says all that is wrong, this only what stops it."""
    domain = load_domain(name, folder)
    file = folder / name / "records.json"
    if not file.is_file():
        raise BadInput(f"{file} is missing; a domain needs its records")
    return World(domain, records_of(_json(file), domain, where=str(file)))


def records_of(data: object, domain: Domain, *, where: str) -> Records:
    """Records by table and key. Raises `BadInput` for other tables than the domain's, and for keys that differ."""
    if not isinstance(data, dict) or set(data) != {table.name for table in domain.tables}:
        raise BadInput(f"{where}: the tables must be {', '.join(table.name for table in domain.tables)}")
    for table in domain.tables:
        records = data[table.name]
        if not isinstance(records, dict) or not all(isinstance(one, dict) for one in records.values()):
            raise BadInput(f"{where}: {table.name}: records stand in an object by their key")
        for key, one in records.items():
            if one.get(table.key) != key:
                raise BadInput(
                    f"{where}: {table.name}.{key}: its {table.key} is {one.get(table.key)!r}; make them equal"
                )
    return data


def _archetype(name: str, folder: Path) -> tuple[str, ...]:
    """The text of an archetype's file and of those that it includes, which come first; none has no file."""
    file = folder / "archetypes" / f"{name}.json"
    if file not in (folder / "archetypes").glob("*.json"):  # asking for a name that is too long would be an error
        return ()
    text = file.read_text("utf-8")
    included = _json(file).get("includes", ())
    return (*(part for one in included for part in _archetype(str(one), folder)), text)


def _json(file: Path) -> Any:
    if file.stat().st_size > _MAX_BYTES:
        raise BadInput(f"{file} has over {_MAX_BYTES // 2**20} MiB; a domain's files are smaller")
    try:
        return json.loads(file.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise BadInput(f"{file}: cannot be read as JSON ({error})") from None
