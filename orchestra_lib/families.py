"""Families of models, by name: data with their source, which a user's own file can overrule.

A family that nobody states is unknown, which is counted and never guessed.
"""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import field
from functools import cache
from pathlib import Path
from typing import Any

from orchestra_lib.codec import from_data
from orchestra_lib.errors import BadInput
from orchestra_lib.paths import DATA
from orchestra_lib.profile import PREFIX
from orchestra_lib.record import record

SHIPPED = DATA / "families" / "families.toml"
FILE = "families.toml"
"""The user's own, under the home folder."""

YOURS = "your families.toml"
"""Where a family comes from that the user's file states of one model."""


@record
class Family:
    """A line of models of one maker. `form` is a regular expression, searched in the name in small letters.

    Raises `BadInput` for one that is none.
    """

    form: str
    maker: str
    source: str

    def __post_init__(self) -> None:
        try:
            re.compile(self.form)
        except re.error as error:
            raise BadInput(f"form = {self.form[:80]!r} is no regular expression ({error}); mend it") from None


@record
class Families:
    """Families by their name, and what `models` are said to be whatever they are called (empty: unknown)."""

    families: Mapping[str, Family] = field(default_factory=dict)
    models: Mapping[str, str] = field(default_factory=dict)

    def of(self, name: str) -> str | None:
        """The family of a model or an orchestrator, None where it is unknown; a simulated one has none.

        A distilled model counts to the family that is named first in its name.
        """
        if name in self.models:
            return self.models[name] or None
        if name.startswith(PREFIX):
            return None
        found = [
            (match.start(), word)
            for word, one in self.families.items()
            if (match := re.search(one.form, name.lower())) is not None
        ]
        return min(found)[1] if found else None

    def source(self, name: str) -> str | None:
        """Where it stands that a model is of its family; None where the family is unknown."""
        found = self.of(name)
        if found is None:
            return None
        return YOURS if name in self.models or found not in self.families else self.families[found].source


def load_families(home: Path) -> Families:
    """The families that ship under those of the user's own file. Raises `BadInput` naming the file and the remedy."""
    shipped, file = shipped_families(), home / FILE
    if not file.is_file():
        return shipped
    own = _read(file)
    return Families(families={**shipped.families, **own.families}, models=own.models)


@cache
def shipped_families() -> Families:
    """The families that ship, alone."""
    return _read(SHIPPED)


def _read(file: Path) -> Families:
    try:
        data: Any = tomllib.loads(file.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise BadInput(f"{file} cannot be read ({error}); mend it, or move it away") from None
    try:
        found: Families = from_data(data, Families, where="families")
    except BadInput as error:
        raise BadInput(f"{file}: {error}") from None
    return found
