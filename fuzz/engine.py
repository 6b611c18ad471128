"""Targets under Atheris: `python -m fuzz.engine OUT SECONDS NAME…`, which `python -m fuzz` runs.

The instrumented code is imported once; each target then runs in a process that is forked from there, and a line of
JSON tells when it has ended: its name, its exit status and the CPU seconds that it took. What it and libFuzzer say
is in `OUT/NAME.log`, and inputs that reached new code in `OUT/corpus/NAME`, where the next run begins.

What a target raises is kept once for each place that it comes from, and the fuzzer goes on; libFuzzer itself keeps
what hangs, takes too much memory or ends the process.
"""

import hashlib
import json
import os
import random
import sys
import traceback
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["orchestra_lib", "app"]):
    from fuzz.targets import TARGETS

from fuzz.mutation import changed
from fuzz.target import CORPUS, Target, clear

_OWN = 0.6
"""The share of changes that keep the form of the input."""
_MEMORY_MB, _HANGS_S, _LONGEST = 3000, 20, 60_000


class Watch:
    """Runs a target and keeps one input for each place that an unexpected error comes from."""

    def __init__(self, target: Target, out: Path) -> None:
        self._target, self._out = target, out
        self._seen: set[str] = set()

    def __call__(self, data: bytes) -> None:
        try:
            self._target.try_out(data)
        except Exception as error:
            place = _place(error)
            if place in self._seen:
                return
            self._seen.add(place)
            name = f"{self._target.name}-{hashlib.sha256(place.encode()).hexdigest()[:12]}"
            (self._out / name).write_bytes(data)
            (self._out / f"{name}.txt").write_text("".join(traceback.format_exception(error)), "utf-8", "replace")
            print(f"FOUND {name}: {place}", flush=True)


def _place(error: BaseException) -> str:
    """The kind of an error and the last line of ours that it passed."""
    ours = [frame for frame in traceback.extract_tb(error.__traceback__) if "site-packages" not in frame.filename]
    last = ours[-1]
    return f"{type(error).__name__} at {Path(last.filename).name}:{last.lineno}: {str(error)[:100]!a}"[:220]


def main() -> None:
    """Fuzz the named targets, one after another."""
    out, seconds, *names = sys.argv[1:]
    for name in names:
        pid = os.fork()
        if not pid:
            _fuzz(TARGETS[name], Path(out), int(seconds))
        try:
            _, status, used = os.wait4(pid, 0)
        finally:
            clear(pid)
        told = [name, os.waitstatus_to_exitcode(status), used.ru_utime + used.ru_stime]
        print(json.dumps(told), flush=True)


def _fuzz(target: Target, out: Path, seconds: int) -> None:
    """What the forked process does; it does not return."""
    grown = out / "corpus" / target.name
    grown.mkdir(parents=True, exist_ok=True)
    with (out / f"{target.name}.log").open("wb") as log:
        for stream in (sys.stdout, sys.stderr):
            os.dup2(log.fileno(), stream.fileno())

    def mutate(data: bytes, max_size: int, seed: int) -> bytes:
        rng = random.Random(seed)  # noqa: S311  # a choice of inputs
        made = changed(data, target.form, rng) if rng.random() < _OWN else None
        return atheris.Mutate(data, max_size) if made is None or len(made) > max_size else made

    options = [
        str(grown), str(CORPUS / target.name), f"-max_total_time={seconds}", f"-timeout={_HANGS_S}",
        f"-rss_limit_mb={_MEMORY_MB}", f"-max_len={_LONGEST}", f"-artifact_prefix={out}/{target.name}-",
        "-print_final_stats=1", "-verbosity=1",
    ]  # fmt: skip
    atheris.Setup([sys.argv[0], *options], Watch(target, out), custom_mutator=mutate)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
