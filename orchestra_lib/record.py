"""`record`: the one kind of value here, a frozen dataclass that refuses unknown keys when read."""

from dataclasses import dataclass, field
from typing import TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(field,))
def record(cls: type[T]) -> type[T]:
    """Make `cls` a frozen, slotted, keyword-only dataclass.

    Pydantic ignores unknown keys of a dataclass unless its configuration forbids them, and writes NaN as
    null unless told otherwise; the plain attribute does so without importing pydantic here.
    """
    cls.__pydantic_config__ = {"extra": "forbid", "ser_json_inf_nan": "constants"}  # type: ignore[attr-defined]  # pydantic looks for it by name
    return dataclass(frozen=True, slots=True, kw_only=True)(cls)
