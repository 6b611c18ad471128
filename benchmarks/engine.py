"""What our loop costs beside the bare `openai` client and the frameworks that are installed.

    python -m benchmarks.engine --json
    python -m benchmarks.engine --rivals PYTHON     # also those of another interpreter's environment

A scripted server without latency, in a process of its own, plays rollouts of nine model calls; each contestant
runs them 16 at once, alone in a fresh process, in turns with the others. CPU is user and system time of the whole
process; medians are compared. Ours keeps every event in a durable journal. Then 1,000 rollouts at once meet a
model that takes 200 ms: wall time, so keep the machine free for it.
"""

import sys
from collections.abc import Sequence
from statistics import median

from benchmarks import contestants
from benchmarks.claims import Claim, Rival, claim, note, parser, show
from benchmarks.contestants import LATENCY_S, Run
from benchmarks.scripted_server import CALLS, serving

MODEL_CALLS = CALLS + 1
AT_ONCE = 16
FEW = 100
"""So many episodes a core can feed at once, where every model call takes 200 ms."""
RIVALS = ("openai-agents", "pydantic-ai", "inspect_ai", "smolagents")


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--rivals", default=sys.executable, help="interpreter whose environment has the rivals")
    chosen = options.parse_args()
    rollouts, repeats, many = (4, 1, 20) if chosen.quick else (100, 5, 1000)
    cpu_ms, titles = _overhead(rollouts, repeats, chosen.rivals)
    show([*_compared(cpu_ms, titles), *_crowd(many, cpu_ms["bare"])], as_json=chosen.json)


def _overhead(rollouts: int, repeats: int, python: str) -> tuple[dict[str, float], dict[str, str]]:
    """CPU per model call of every contestant that is installed, and what to call it."""
    ours = {name: sys.executable for name in ("bare", "bare streaming", "ours")}
    pythons = ours | {name: python for name in RIVALS if contestants.version(name, python)}
    runs: dict[str, list[Run]] = {name: [] for name in pythons}
    with serving() as url:
        for repeat in range(repeats):
            for name, interpreter in pythons.items():
                runs[name].append(contestants.run(name, url, rollouts, AT_ONCE, python=interpreter))
                note(f"{name} {repeat + 1}/{repeats}: {_cpu_ms(runs[name][-1:], rollouts):.2f} ms CPU per model call")
    titles = {name: f"{name} {contestants.version(name, path)}" for name, path in pythons.items()}
    return {name: _cpu_ms(found, rollouts) for name, found in runs.items()}, titles


def _cpu_ms(runs: Sequence[Run], rollouts: int) -> float:
    return median(run.cpu_s for run in runs) * 1000 / (rollouts * MODEL_CALLS)


def _compared(cpu_ms: dict[str, float], titles: dict[str, str]) -> list[Claim]:
    bare = Rival(name=titles["bare"], value=cpu_ms["bare"])
    unit = "CPU ms per model call"
    first = claim("the engine beside the bare client", cpu_ms["ours"], unit, rival=bare, ratio_at_most=1.5)
    streaming = Rival(name=titles["bare streaming"], value=cpu_ms["bare streaming"])
    others = [
        claim(
            f"the engine beside {name}",
            cpu_ms["ours"],
            unit,
            rival=Rival(name=titles[name], value=value),
            ratio_at_most=1,
        )
        for name, value in cpu_ms.items()
        if name in RIVALS
    ]
    return [
        first,
        claim("the engine beside the bare client, streaming", cpu_ms["ours"], unit, rival=streaming),
        *others,
    ]


def _crowd(many: int, bare_ms: float) -> list[Claim]:
    """So many rollouts at once with a slow model.

    The ideal time is nine waits; or where that is longer, as it is for a thousand on one core, the CPU time that
    the bare client needs for as many calls when it is not crowded.
    """
    waits = MODEL_CALLS * LATENCY_S
    ideal = Rival(name="ideal", value=max(waits, many * MODEL_CALLS * bare_ms / 1000))
    with serving(LATENCY_S) as url:
        bare, ours = (contestants.run(name, url, many, many) for name in ("bare", "ours crowd"))
    alone = contestants.run("ours alone", "http://none", many, many, batches=2)
    fewer = min(FEW, many)
    few = contestants.run("ours alone", "http://none", fewer, fewer)
    crowd = f"{many:,} at once, model of {LATENCY_S * 1000:g} ms"
    note(f"{crowd}: CPU {ours.cpu_s:.1f} s of {ours.wall_s:.1f} s; bare {bare.cpu_s:.1f} s; alone {alone.cpu_s:.1f} s")
    first, second = alone.peaks_mb
    return [
        claim(f"{crowd}", ours.wall_s, "s", rival=ideal, ratio_at_most=1.3),
        claim(f"{crowd}, beside bare", ours.wall_s, "s", rival=Rival(name="bare", value=bare.wall_s), ratio_at_most=1),
        claim(f"{crowd}, no HTTP", alone.wall_s, "s", rival=Rival(name="nine waits", value=waits)),
        claim(
            f"{fewer} at once, no HTTP", few.wall_s, "s", rival=Rival(name="nine waits", value=waits), ratio_at_most=1.3
        ),
        claim(f"{crowd}: memory of each", (ours.peaks_mb[0] - ours.before_mb) * 1024 / many, "kB"),
        claim(
            f"{crowd}: peak memory of as many again, garbage collected between",
            second,
            "MB",
            rival=Rival(name="first", value=first),
            ratio_at_most=1.1,
        ),
    ]


if __name__ == "__main__":
    main()
