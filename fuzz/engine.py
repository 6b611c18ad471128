"""One target under Atheris, in a process of its own: `python -m fuzz.engine NAME CRASHES [libFuzzer's options]`.

What a target raises is kept once for each place that it comes from, and the fuzzer goes on; libFuzzer itself keeps
what hangs, takes too much memory or ends the process.
"""

import hashlib
import random
import sys
import traceback
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["orchestra_lib", "app"]):
    from fuzz.targets import TARGETS

from fuzz.mutation import changed
from fuzz.target import Target

_OWN = 0.6
"""The share of changes that keep the form of the input."""


class Watch:
    """Runs a target and keeps one input for each place that an unexpected error comes from."""

    def __init__(self, target: Target, crashes: Path) -> None:
        self._target, self._crashes = target, crashes
        self._seen: set[str] = set()

    def __call__(self, data: bytes) -> None:
        try:
            self._target.try_out(data)
        except Exception as error:
            place = _place(error)
            if place in self._seen:
                return
            self._seen.add(place)
            self._crashes.mkdir(parents=True, exist_ok=True)
            name = f"{self._target.name}-{hashlib.sha256(place.encode()).hexdigest()[:12]}"
            (self._crashes / name).write_bytes(data)
            (self._crashes / f"{name}.txt").write_text("".join(traceback.format_exception(error)), "utf-8", "replace")
            print(f"FOUND {name}: {place}", flush=True)


def _place(error: BaseException) -> str:
    """The kind of an error and the last line of ours that it passed."""
    ours = [frame for frame in traceback.extract_tb(error.__traceback__) if "site-packages" not in frame.filename]
    last = ours[-1]
    return f"{type(error).__name__} at {Path(last.filename).name}:{last.lineno}: {str(error)[:100]!a}"[:220]


def main() -> None:
    """Fuzz the named target until libFuzzer's options say that it is enough."""
    name, crashes, *options = sys.argv[1:]
    target = TARGETS[name]

    def mutate(data: bytes, max_size: int, seed: int) -> bytes:
        rng = random.Random(seed)  # noqa: S311  # a choice of inputs
        made = changed(data, target.form, rng) if rng.random() < _OWN else None
        return atheris.Mutate(data, max_size) if made is None or len(made) > max_size else made

    atheris.Setup([sys.argv[0], *options], Watch(target, Path(crashes)), custom_mutator=mutate)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
