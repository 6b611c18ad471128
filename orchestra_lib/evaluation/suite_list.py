"""Several suites at once: which limit, file and columns belong to which of them."""

from collections.abc import Sequence
from pathlib import Path

from orchestra_lib.errors import BadInput
from orchestra_lib.evaluation.suites import TOOLSCALE, Suite, is_file, load_suite


def load_suites(
    names: Sequence[str],
    home: Path,
    *,
    paths: Sequence[str] = (),
    limits: Sequence[str] = (),
    draw: int = 0,
    columns: str | None = None,
    tau2: Path | None = None,
    toolkit: str | None = None,
) -> list[Suite]:
    """Several suites. `limits` are a number for all of them or SUITE=N, `paths` a file or SUITE=FILE; `columns`, `tau2`
    and `toolkit` are for those that can have them. Raises `BadInput` as `load_suite` does."""
    files = {name: Path(file) for name, file in _by_suite("--path", "FILE", names, paths).items()}
    counts = _limits(names, limits)
    for given, flag, takes in (
        (columns, "--columns", is_file), (tau2, "--tau2", _is_toolscale), (toolkit, "--toolkit", _is_toolscale)
    ):  # fmt: skip
        if given is not None and len(names) > 1 and not any(map(takes, names)):
            raise BadInput(f"{flag} belongs to none of {', '.join(names)}; leave it out")
    loaded = [
        load_suite(
            name, home, path=files.get(name), limit=counts.get(name), draw=draw,
            columns=columns if len(names) == 1 or is_file(name) else None,
            tau2=tau2 if len(names) == 1 or _is_toolscale(name) else None,
            toolkit=toolkit if len(names) == 1 or _is_toolscale(name) else None,
        )
        for name in names
    ]  # fmt: skip
    _refuse_alike([suite.name for suite in loaded])
    return loaded


def _is_toolscale(name: str) -> bool:
    return name == TOOLSCALE


def _by_suite(flag: str, what: str, names: Sequence[str], values: Sequence[str]) -> dict[str, str]:
    """What is given for each suite, as SUITE=VALUE; of a single suite its name may be left out."""
    found: dict[str, str] = {}
    for given in values:
        name, separator, value = given.partition("=")
        if not separator or name not in names:
            if len(names) > 1:
                raise BadInput(f"{flag} {given!r}: of several suites write SUITE={what}, for one of {', '.join(names)}")
            name, value = names[0], given
        if name in found:
            raise BadInput(f"{flag}: {name} is given twice; give it one {what}")
        found[name] = value
    return found


def _limits(names: Sequence[str], limits: Sequence[str]) -> dict[str, int]:
    """How many tasks of each suite: a bare number is for all that have none of their own."""
    bare = [one for one in limits if "=" not in one]
    if len(bare) > 1:
        raise BadInput(f"--limit is given as {' and '.join(bare)}; give one number, or SUITE=N for each")
    own = _by_suite("--limit", "N", names, [one for one in limits if "=" in one])
    found = {}
    for name, text in {**{name: bare[0] for name in names if bare}, **own}.items():
        try:
            found[name] = int(text)
        except ValueError:
            raise BadInput(f"--limit {text!r} is no whole number; give how many tasks, or SUITE=N") from None
    return found


def _refuse_alike(names: Sequence[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise BadInput(f"two suites are called {name!r}; rename one of the files")
