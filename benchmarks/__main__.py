"""All benchmarks, one after another, into one table: what is claimed, measured, and whether it holds.

    python -m benchmarks                      # writes docs/benchmarks.md: a quarter of an hour on two quiet cores
    python -m benchmarks --all                # also those that take minutes of CPU each
    python -m benchmarks --only engine store  # these alone, to the terminal
    python -m benchmarks --quick              # to see that each works: to the terminal, and its figures mean nothing

Each runs alone in a process of its own; keep the machine free, since wall times need it quiet. One that cannot run
here, or is left out, stands in the table with the reason. Exit code 1 means that one broke off; a claim that fails is
a result.
"""

import os
import shutil
import sys
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.claims import note
from benchmarks.machine import this_machine
from benchmarks.report import document
from benchmarks.running import Result, run
from orchestra_lib.paths import home
from orchestra_lib.record import record

DOCUMENT = Path(__file__).parents[1] / "docs" / "benchmarks.md"
LIMIT_S = 900
LONG_LIMIT_S = 7200


@record
class Benchmark:
    """A script: if it prints claims or a table of its own, why only `--all` runs it, its options, what it lacks."""

    name: str
    claims: bool = True
    long: str | None = None
    options: Callable[[], Sequence[str]] = tuple
    missing: Callable[[], str | None] = lambda: None


def _no_chromium() -> str | None:
    found = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    return None if found else "there is no Chromium here; scripts/system-packages.sh installs it"


def _no_weights() -> str | None:
    from orchestra_lib.language_models import CODER, GENERALIST
    from orchestra_lib.model.weights import WeightsCatalog  # a second of imports that others do without

    catalog = WeightsCatalog.load(home())
    absent = [name for name in (CODER, GENERALIST) if catalog.status(name).state != "ready"]
    return f"weights are not here: {', '.join(absent)}; `orchestra models fetch` brings them" if absent else None


def _afresh_at_home() -> Sequence[str]:
    return "--home", str(home()), "--fresh"


BENCHMARKS = (
    Benchmark(name="engine"),
    Benchmark(name="evaluate"),
    Benchmark(name="serve"),
    Benchmark(name="environment"),
    Benchmark(name="reward"),
    Benchmark(name="store"),
    Benchmark(name="bias"),
    Benchmark(name="training"),
    Benchmark(name="ray"),
    Benchmark(name="page", missing=_no_chromium),
    Benchmark(name="lab", missing=_no_chromium),
    Benchmark(name="baselines", claims=False),
    Benchmark(name="recorded_routers", claims=False),
    Benchmark(name="ablation", claims=False),
    Benchmark(name="routers", claims=False, long="it takes minutes"),
    Benchmark(name="soak", long="it takes seven minutes"),
    Benchmark(name="learning", long="it takes six minutes of CPU"),
    Benchmark(name="embedded", claims=False, long="it takes minutes", options=_afresh_at_home, missing=_no_weights),
)


def main() -> None:
    chosen = _options()
    machine = this_machine()
    results = []
    for one in chosen.only or BENCHMARKS:
        note(f"{one.name} …")
        results.append(_result(one, chosen))
        note(f"{one.name}: {_heard(results[-1])}")
    text = document(results, machine, " ".join(["python -m benchmarks", *sys.argv[1:]]))
    if chosen.out is None:
        sys.stdout.write(text)
    else:
        chosen.out.write_text(text, encoding="utf-8")
        note(f"written to {chosen.out}")
    sys.exit(any(one.fault is not None for one in results))


def _options() -> Namespace:
    options = ArgumentParser(description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    known = {one.name: one for one in BENCHMARKS}
    options.add_argument("--only", nargs="+", metavar="NAME", choices=known, help=f"of {', '.join(known)}")
    options.add_argument("--all", action="store_true", help="also those that take minutes each")
    options.add_argument("--quick", action="store_true", help="seconds each, to see that they work")
    options.add_argument("--out", type=Path, help="where the table goes (docs/benchmarks.md, if all are run)")
    chosen = options.parse_args()
    if chosen.out is None and not (chosen.only or chosen.quick):
        chosen.out = DOCUMENT
    chosen.only = chosen.only and [known[name] for name in chosen.only]
    return chosen


def _result(one: Benchmark, chosen: Namespace) -> Result:
    if one.long and not (chosen.all or chosen.only):
        return Result(name=one.name, left_out=f"{one.long}; --all runs it")
    if absent := one.missing():
        return Result(name=one.name, left_out=absent)
    options = [*one.options(), *(["--quick"] if chosen.quick else [])]
    return run(one.name, options, claims=one.claims, limit_s=LONG_LIMIT_S if one.long else LIMIT_S)


def _heard(result: Result) -> str:
    if reason := result.left_out or result.fault:
        return reason
    failed = sum(one.holds is False for one in result.claims)
    return f"{result.wall_s or 0:.0f} s, {len(result.claims)} claims, {failed} fail"


if __name__ == "__main__":
    main()
