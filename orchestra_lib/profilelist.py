"""The profiles at hand: those that ship, and the user's own files beside them."""

import json
from collections.abc import Iterable
from pathlib import Path

from orchestra_lib.codec import from_data
from orchestra_lib.errors import BadInput
from orchestra_lib.paths import DATA
from orchestra_lib.profile import PREFIX, Profile

SHIPPED = DATA / "profiles"
"""The profiles that ship."""

FOLDER = "profiles"
"""Where the user's own lie under the home folder."""


def load_profiles(home: Path) -> dict[str, Profile]:
    """Every profile by name, those that ship first; a user's file replaces a shipped one of the same name.

    Raises `BadInput` naming the file and the field when a profile cannot be read.
    """
    return _named(SHIPPED.glob("*.json")) | _named((home / FOLDER).glob("*.json"))


def load_profile(file: Path) -> Profile:
    """Read one JSON file into a profile. Raises `BadInput` naming the file and the field."""
    where = f"profile {file}"
    try:
        data = json.loads(file.read_text("utf-8"))
    except OSError as error:
        raise BadInput(f"{where} cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{where}: not JSON ({error})") from None
    return from_data(data, Profile, where=where)


def find_profile(home: Path, name: str) -> Profile:
    """A profile by its name, with or without `sim:`. Raises `BadInput` naming what there is."""
    profiles = load_profiles(home)
    plain = name.removeprefix(PREFIX)
    if plain not in profiles:
        raise BadInput(f"there is no profile {plain[:80]!r}; the profiles are {', '.join(profiles)}")
    return profiles[plain]


def _named(files: Iterable[Path]) -> dict[str, Profile]:
    profiles = (load_profile(file) for file in sorted(files))
    return {profile.name: profile for profile in profiles}
