"""Fuzz every target for a while, or run one input again.

    python -m fuzz --minutes 1                         # each target for a minute: `make fuzz`
    python -m fuzz --only sql --only toml --minutes 10
    python -m fuzz --again toml FILE                   # what a target makes of one input
    python -m fuzz --list

Needs Atheris (`requirements-fuzz.txt`), but for --again and --list. What is found lies in --out, an input and its
traceback for each place that it comes from; the exit code is 1 then.
"""

import argparse
import re
import resource
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from fuzz.target import CORPUS, Target
from fuzz.targets import TARGETS

_STATUS = re.compile(r"cov: (\d+) ft: (\d+) corp: (\d+)")
_DONE = re.compile(r"stat::number_of_executed_units:\s+(\d+)")
_MEMORY_MB, _HANGS_S, _LONGEST = 3000, 20, 60_000


@dataclass(frozen=True)
class Ran:
    """What came of fuzzing one target. `edges` are places of the code that were reached, `kept` inputs that led on."""

    name: str
    runs: int
    cpu_s: float
    edges: int
    kept: int
    found: tuple[str, ...]

    def line(self) -> str:
        """It in a line."""
        found = ", ".join(self.found) if self.found else "nothing found"
        cost = f"{self.runs:>11,} runs {self.cpu_s:>7.0f} CPU s {self.edges:>7,} edges {self.kept:>6,} kept"
        return f"{self.name:16} {cost}  {found}"


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
        ran = [_fuzzed(TARGETS[name], chosen.minutes, chosen.out) for name in chosen.only or TARGETS]
        sys.exit(any(one.found for one in ran))


def _again(name: str, file: str) -> None:
    if name not in TARGETS:
        sys.exit(f"there is no target {name!r}; there are {', '.join(TARGETS)}")
    TARGETS[name].try_out(Path(file).read_bytes())
    print("read, or refused as documented")


def _fuzzed(target: Target, minutes: float, out: Path) -> Ran:
    """Run the engine over a copy of the corpus, which it adds to."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with tempfile.TemporaryDirectory() as grown:
        command = [
            sys.executable, "-m", "fuzz.engine", target.name, str(out), grown, str(CORPUS / target.name),
            f"-max_total_time={round(minutes * 60)}", f"-timeout={_HANGS_S}", f"-rss_limit_mb={_MEMORY_MB}",
            f"-max_len={_LONGEST}", f"-artifact_prefix={out}/{target.name}-", "-print_final_stats=1", "-verbosity=1",
        ]  # fmt: skip
        out.mkdir(parents=True, exist_ok=True)
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    said, after = done.stdout, resource.getrusage(resource.RUSAGE_CHILDREN)
    found = [line.removeprefix("FOUND ") for line in said.splitlines() if line.startswith("FOUND ")]
    if done.returncode:
        (out / f"{target.name}.log").write_text(said, "utf-8")
        found.append(f"ended with {done.returncode}: see {out / target.name}.log")
    status = _STATUS.findall(said) or [("0", "0", "0")]
    runs = _DONE.findall(said) or ["0"]
    ran = Ran(
        name=target.name, runs=int(runs[-1]), cpu_s=after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
        edges=int(status[-1][0]), kept=int(status[-1][2]), found=tuple(found),
    )  # fmt: skip
    print(ran.line(), flush=True)
    return ran


if __name__ == "__main__":
    main()
