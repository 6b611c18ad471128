"""Where two records differ first."""

from typing import Any

from orchestra_lib.record import record


@record
class Difference:
    """The first place where a replay made another record; None stands for nothing being there."""

    path: str
    recorded: Any
    replayed: Any


def first_difference(recorded: Any, replayed: Any, path: str = "") -> Difference | None:
    """The first place in which two values of plain JSON differ, None where they are equal."""
    if isinstance(recorded, dict) and isinstance(replayed, dict):
        pairs = [(f"{path}.{name}".lstrip("."), recorded.get(name), replayed.get(name)) for name in recorded | replayed]
    elif isinstance(recorded, list) and isinstance(replayed, list):
        longest = max(len(recorded), len(replayed))
        both = [[*values, *[None] * (longest - len(values))] for values in (recorded, replayed)]
        pairs = [(f"{path}[{at}]", *values) for at, values in enumerate(zip(*both, strict=True))]
    elif type(recorded) is type(replayed) and recorded == replayed:
        return None
    else:
        return Difference(path=path, recorded=recorded, replayed=replayed)
    for where, one, other in pairs:
        if (found := first_difference(one, other, where)) is not None:
            return found
    return None
