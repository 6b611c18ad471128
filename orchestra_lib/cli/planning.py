"""`orchestra train CONFIG --dry-run`: the plan of a large run, printed; nothing is started."""

import urllib.error
import urllib.request

from orchestra_lib.cli.terminal import print_json, print_table, printable
from orchestra_lib.codec import to_data
from orchestra_lib.paths import home
from orchestra_lib.roster import Roster
from orchestra_lib.training.planning import Plan, can_answer, plan
from orchestra_lib.training.settings import Settings

_PATIENCE_S = 3


def dry_run(settings: Settings, *, as_json: bool = False) -> int:
    """Print the plan; 0 when nothing stands in its way, else 1. Raises `BadInput` for what cannot be planned."""
    made = plan(settings, answers=can_answer(Roster(home())), reachable=_reachable)
    if as_json:
        print_json(to_data(made))
    else:
        _print(made)
    return 1 if made.problems else 0


def _print(made: Plan) -> None:
    for heading, rows in made.rows.items():
        print_table((heading, "", "how it comes about"), [(row.name, row.value, row.how) for row in rows])
        print()
    for remark in made.remarks:
        print(printable(f"note: {remark}"))
    for problem in made.problems:
        print(printable(f"problem: {problem}"))
    if not made.problems:
        print("nothing stands in its way")


def _reachable(url: str) -> str | None:
    try:
        with urllib.request.urlopen(f"{url.rstrip('/')}/health", timeout=_PATIENCE_S):  # noqa: S310  # checked to be http
            return None
    except (urllib.error.URLError, OSError, ValueError) as error:
        return str(getattr(error, "reason", error))
