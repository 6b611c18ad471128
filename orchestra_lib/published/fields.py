"""A foreign object read key by key: keys that nobody asks for are ignored, every complaint names the place."""

from collections.abc import Mapping
from typing import Any

from orchestra_lib.errors import BadInput
from orchestra_lib.json_writing import well_formed


class Fields:
    """One object at a place. Its readers raise `BadInput` naming the place, the key and what was expected."""

    def __init__(self, data: object, where: str) -> None:
        if not isinstance(data, Mapping):
            raise BadInput(f"{where}: an object was expected, not {_kind(data)}")
        self.data: Mapping[str, Any] = data
        self.where = where

    def text(self, key: str) -> str:
        """A text that must be there; a number is read as its text, as ids are written both ways."""
        value = self.optional_text(key)
        if value is None:
            raise BadInput(f"{self.where}: {key} is missing; it is a text")
        return value

    def optional_text(self, key: str) -> str | None:
        """A text, None where there is none."""
        value = self.data.get(key)
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        if value is None or isinstance(value, str):
            return value and well_formed(value)
        raise self._wrong(key, "a text", value)

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of texts, empty where there is none."""
        values = self._list(key)
        for at, value in enumerate(values):
            if not isinstance(value, str):
                raise self._wrong(f"{key}.{at}", "a text", value)
        return tuple(map(well_formed, values))

    def mapping(self, key: str) -> Mapping[str, Any] | None:
        """An object, None where there is none."""
        value = self.data.get(key)
        if value is None or isinstance(value, Mapping):
            return value
        raise self._wrong(key, "an object", value)

    def numbers(self, key: str) -> Mapping[str, float]:
        """An object whose values are numbers, empty where there is none."""
        values = self.mapping(key) or {}
        for name, value in values.items():
            if not isinstance(value, int | float) or isinstance(value, bool):
                raise self._wrong(f"{key}.{name}", "a number", value)
        return values

    def child(self, key: str) -> "Fields":
        """An object that must be there, to be read on."""
        if key not in self.data or self.data[key] is None:
            raise BadInput(f"{self.where}: {key} is missing; it is an object")
        return Fields(self.data[key], f"{self.where}: {key}")

    def children(self, key: str) -> tuple["Fields", ...]:
        """A list of objects, empty where there is none."""
        return tuple(Fields(value, f"{self.where}: {key}.{at}") for at, value in enumerate(self._list(key)))

    def _list(self, key: str) -> list[Any]:
        value = self.data.get(key)
        if value is None or isinstance(value, list):
            return value or []
        raise self._wrong(key, "a list", value)

    def _wrong(self, key: str, expected: str, value: object) -> BadInput:
        return BadInput(f"{self.where}: {key} should be {expected} and is {_kind(value)}")


def _kind(value: object) -> str:
    return "null" if value is None else f"{type(value).__name__} ({str(value)[:40]!r})"
