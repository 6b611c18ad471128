"""Fuzz every target for a while, or run one input again.

    python -m fuzz --minutes 1                         # each target for a minute: `make fuzz`
    python -m fuzz --only sql --only toml --minutes 10
    python -m fuzz --again toml FILE                   # what a target makes of one input
    python -m fuzz --list

A row for each target: inputs that were run, CPU seconds, places of the code that the seeds and earlier runs reach
and that this run reached beyond them, inputs kept for the next run, and places that a bug was raised from. All lies
in --out: what was found, an input and its traceback each, `corpus/`, where the next run begins, and what libFuzzer
said. The exit code is 1 when something was found. Needs Atheris (`requirements-fuzz.txt`), but for --again and --list.
"""

import argparse
import json
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from fuzz.targets import TARGETS

_STATUS = re.compile(r"^#\d+\t(\w+) +cov: (\d+) ft: \d+ corp: (\d+)", re.MULTILINE)
_DONE = re.compile(r"stat::number_of_executed_units:\s+(\d+)")
_HEAD = f"{'target':16} {'executions':>11} {'CPU s':>7} {'edges':>6} {'new':>6} {'corpus':>7} {'crashes':>7}"


@dataclass(frozen=True)
class Ran:
    """What came of fuzzing one target. `edges` are places of the code that were reached, `new` those that neither the
    seeds nor earlier runs reach, `corpus` the inputs that lead to them all, `found` a line for each crash."""

    name: str
    runs: int
    cpu_s: float
    edges: int
    new: int
    corpus: int
    found: tuple[str, ...]

    def line(self) -> str:
        """It as a row of the table."""
        reached = f"{self.edges:>6,} {self.new:>6,} {self.corpus:>7,}"
        return f"{self.name:16} {self.runs:>11,} {self.cpu_s:>7.1f} {reached} {len(self.found):>7}"


def main() -> None:
    """Read the options and do as they say."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--minutes", type=float, default=1.0, help="for each target, of the clock")
    options.add_argument("--only", action="append", choices=list(TARGETS), metavar="TARGET", help="and no other")
    options.add_argument("--out", type=Path, default=Path("fuzz-found"), help="where what is found is put")
    options.add_argument("--again", nargs=2, metavar=("TARGET", "FILE"), help="run one input, and nothing else")
    options.add_argument("--list", action="store_true", help="name the targets")
    chosen = options.parse_args()
    if chosen.list:
        print("\n".join(TARGETS))
    elif chosen.again:
        _again(*chosen.again)
    else:
        print(_HEAD, flush=True)
        ran = []
        for one in _fuzzed(chosen.only or list(TARGETS), chosen.minutes, chosen.out):
            ran.append(one)
            print(one.line(), flush=True)
        found = [line for one in ran for line in one.found]
        runs = sum(one.runs for one in ran)
        print(f"{runs:,} executions of {len(ran)} targets, {len(found)} crashes", *found, sep="\n")
        sys.exit(bool(found))


def _again(name: str, file: str) -> None:
    if name not in TARGETS:
        sys.exit(f"there is no target {name!r}; there are {', '.join(TARGETS)}")
    TARGETS[name].try_out(Path(file).read_bytes())
    print("read, or refused as documented")


def _fuzzed(names: Sequence[str], minutes: float, out: Path) -> Iterator[Ran]:
    """What came of each target, as soon as it has ended."""
    out.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "fuzz.engine", str(out), str(round(minutes * 60)), *names]
    with (
        (out / "engine.log").open("wb") as log,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True) as engine,
    ):
        assert engine.stdout is not None
        for line in engine.stdout:
            name, code, cpu_s = json.loads(line)
            yield told(name, (out / f"{name}.log").read_text("utf-8", "replace"), code, cpu_s)
    if engine.returncode:
        sys.exit(f"the engine ended with {engine.returncode}: see {out}/engine.log; `make fuzz` installs what it needs")


def told(name: str, said: str, code: int, cpu_s: float) -> Ran:
    """What came of a target, by what libFuzzer said and the exit code of its process."""
    found = [line.removeprefix("FOUND ") for line in said.splitlines() if line.startswith("FOUND ")]
    if code:
        found.append(f"{name}: ended with {code}; see its log")
    reached = [(what, int(edges), int(inputs)) for what, edges, inputs in _STATUS.findall(said)]
    before = next((edges for what, edges, _ in reached if what == "INITED"), 0)
    _, edges, corpus = reached[-1] if reached else ("", 0, 0)
    runs = _DONE.findall(said) or ["0"]
    return Ran(
        name=name, runs=int(runs[-1]), cpu_s=cpu_s, edges=edges, new=edges - before, corpus=corpus, found=tuple(found)
    )


if __name__ == "__main__":
    main()
