"""Load and faults: what the workbench keeps, tells and goes on with while something breaks or much comes at once.

    python -m benchmarks.soak                       # all scenarios, some seven minutes on two quiet cores
    python -m benchmarks.soak --only killed disk
    python -m benchmarks.soak --scale full --json   # 100 kills, 1,000 runs queued, what two do in an hour, …
    python -m benchmarks.soak --scale full --only browsers --paced   # and that hour by the clock

Every scenario drives the real loop, journal, store and, where there is one, the real app over HTTP; what is scripted
is the model. A line without a target says what was injected or measured, one with a target *holds* or *FAILS*. Exit
code 1 means that one fails. `browsers` and `long` need Chromium and are left out without it.
"""

import os
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from importlib import import_module

from benchmarks.claims import Claim, note, parser, show
from benchmarks.soaking.world import Scale

SCALES = {
    "quick": Scale(
        runs=3, turns=6, kills=3, tasks=6, rollouts=6, queued=40, clocks=4, hours=0.006, calls=200,
    ),
    "small": Scale(
        runs=64, turns=500, kills=30, tasks=60, rollouts=100, queued=1000, clocks=64, hours=0.1, calls=30_000,
    ),
    "full": Scale(
        runs=64, turns=500, kills=100, tasks=200, rollouts=500, queued=1000, clocks=256, hours=1.0, calls=30_000,
    ),
}  # fmt: skip


SCENARIOS: Mapping[str, str] = {
    "spans": "load.long_runs",
    "killed": "killing.killed",
    "disk": "faults.disk",
    "clock": "faults.clock",
    "endpoint": "faults.endpoint",
    "queue": "load.queue",
    "browsers": "pages.browsers",
    "long": "pages.long",
}
"""Where each is; imported when it is run, for the processes that are killed import this module again."""
_NEED_CHROMIUM = ("browsers", "long")


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--only", nargs="+", choices=list(SCENARIOS), metavar="SCENARIO", help="and no other")
    options.add_argument("--scale", choices=["small", "full"], default="small")
    options.add_argument("--paced", action="store_true", help="browsers take their time, as people do")
    chosen = options.parse_args()
    scale, failed = replace(SCALES["quick" if chosen.quick else chosen.scale], paced=chosen.paced), False
    for name in chosen.only or SCENARIOS:
        if name in _NEED_CHROMIUM and not (os.environ.get("CHROMIUM") or shutil.which("chromium")):
            note(f"{name} is left out: there is no Chromium here; scripts/system-packages.sh installs it")
            continue
        note(f"{name} …")
        module, _, function = SCENARIOS[name].partition(".")
        scenario: Callable[[Scale], Iterator[Claim]] = getattr(import_module(f"benchmarks.soaking.{module}"), function)
        for one in scenario(scale):
            show([one], as_json=chosen.json)
            sys.stdout.flush()
            failed = failed or one.holds is False
    sys.exit(failed)


if __name__ == "__main__":
    main()
