"""A run's configuration: a TOML file, `--set a.b=c` over it, flags over both; and back to TOML.

The file has the fields of `Order`, so that what a run was started with can be saved, read and repeated:

    orchestrator = "conductor"
    prices = "nominal"
    tools = ["local_search", "code_interpreter"]
    [preference]
    cost = 0.8
    [preference.tools]
    local_search = 1.0
    [limits]
    max_turns = 20
"""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import tomlkit

from orchestra_lib.assigning import assignment_of
from orchestra_lib.codec import from_data, to_data
from orchestra_lib.errors import BadInput
from orchestra_lib.trajectory import Setting
from orchestra_lib.workbench import Order

MAX_ROLLOUTS = 256
"""Rollouts of a group that one command starts."""


def resolve(file: Path | None, sets: Sequence[str], flags: Mapping[str, Any]) -> Order:
    """The order that file, settings and flags make together, later ones winning.

    `flags` maps dotted names to values. Raises `BadInput` naming the file, the setting or the field.
    """
    data = merged(file, sets)
    for name, value in flags.items():
        _put(data, name, value, where=f"--{name}")
    order: Order = from_data(data, Order, where=str(file or "order"))
    return order


def merged(file: Path | None, sets: Sequence[str]) -> dict[str, Any]:
    """A TOML file with `a.b=c` over it, as plain data. Raises `BadInput` naming the file or the setting."""
    data = _read(file) if file else {}
    for text in sets:
        name, value = _setting(text)
        _put(data, name, value, where=f"--set {text}")
    return data


def changed(order: Order, flags: Mapping[str, Any]) -> Order:
    """An order with other values under dotted names, as `resolve` reads them.

    Words of the user's own no longer say what other weights say, so they go with them.
    """
    data = to_data(order)
    if any(name.startswith("preference.") for name in flags):
        data["preference"]["sentence"] = None
    for name, value in flags.items():
        _put(data, name, value, where=f"--{name}")
    made: Order = from_data(data, Order, where="order")
    return made


def rollouts(order: Order, count: int, group: str) -> tuple[Order, ...]:
    """The same order so many times over, as one group; seeds go up by one. Raises `BadInput` for less than 1."""
    if not 1 <= count <= MAX_ROLLOUTS:
        raise BadInput(f"a group of {count}; play 1 to {MAX_ROLLOUTS} rollouts")
    first = order.seed or 0
    return tuple(replace(order, group=group, seed=first + n) for n in range(count))


def order_of(setting: Setting) -> Order:
    """The order that starts the same run again: its tools by name, its price table by name, its assignment whole."""
    assigned = setting.assigned
    return Order(
        task=setting.task.text if assigned is None else "",
        orchestrator=setting.orchestrator,
        protocol=setting.protocol,
        preference=setting.preference,
        tools=tuple(spec.source or spec.name for spec in setting.tools),
        prices=setting.prices.name,
        limits=setting.limits,
        seed=setting.seed,
        reference=setting.task.reference,
        check=setting.task.check if assigned is None else None,
        assignment=None if assigned is None else assignment_of(assigned),
        user=None if assigned is None else assigned.user,
    )


def to_toml(order: object) -> str:
    """An order, or other settings, as a configuration file; what is None is left out, as TOML has no null."""
    return tomlkit.dumps(_without_none(to_data(order)))


def _read(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text("utf-8"))
    except OSError as error:
        raise BadInput(f"the configuration {file} cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadInput(f"the configuration {file} is no TOML: {error}") from None


def _setting(text: str) -> tuple[str, Any]:
    name, separator, value = text.partition("=")
    if not separator or not name.strip():
        raise BadInput(f"--set {text!r}: write NAME=VALUE, for example limits.max_turns=20")
    try:
        return name.strip(), tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        return name.strip(), value  # a bare word is a string


def _put(data: dict[str, Any], name: str, value: Any, *, where: str) -> None:
    *path, last = name.split(".")
    for part in path:
        data = data.setdefault(part, {})
        if not isinstance(data, dict):
            raise BadInput(f"{where}: {part!r} is a value and has no parts")
    data[last] = value


def _without_none(data: Any) -> Any:
    if isinstance(data, dict):
        return {name: _without_none(value) for name, value in data.items() if value is not None}
    return data
