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
RIVALS = ("openai-agents", "pydantic-ai", "inspect_ai", "smolagents")


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--rivals", default=sys.executable, help="interpreter whose environment has the rivals")
    chosen = options.parse_args()
    rollouts, repeats, many = (8, 1, 20) if chosen.quick else (200, 5, 1000)
    claims = [*_overhead(rollouts, repeats, chosen.rivals), *_crowd(many)]
    show(claims, as_json=chosen.json)


def _overhead(rollouts: int, repeats: int, python: str) -> list[Claim]:
    ours = {name: sys.executable for name in ("bare", "bare streaming", "ours")}
    pythons = ours | {name: python for name in RIVALS if contestants.version(name, python)}
    runs: dict[str, list[Run]] = {name: [] for name in pythons}
    with serving() as url:
        for repeat in range(repeats):
            for name, interpreter in pythons.items():
                runs[name].append(contestants.run(name, url, rollouts, AT_ONCE, python=interpreter))
                note(f"{name} {repeat + 1}/{repeats}: {_cpu_ms(runs[name][-1:], rollouts):.2f} ms CPU per model call")
    titles = {name: f"{name} {contestants.version(name, path)}" for name, path in pythons.items()}
    return _compared({name: _cpu_ms(found, rollouts) for name, found in runs.items()}, titles)


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


def _crowd(many: int) -> list[Claim]:
    """So many rollouts at once with a slow model: over HTTP beside the bare client, and the engine by itself."""
    with serving(LATENCY_S) as url:
        runs = {name: contestants.run(name, url, many, many) for name in ("bare", "ours")}
    alone = contestants.run("ours alone", "http://none", many, many, batches=2)
    ideal = Rival(name="ideal", value=MODEL_CALLS * LATENCY_S)
    bare = Rival(name="bare", value=runs["bare"].wall_s)
    crowd = f"{many:,} at once, model of {LATENCY_S * 1000:g} ms"
    first, second = alone.peaks_mb
    return [
        claim(f"{crowd} in this process", alone.wall_s, "s", rival=ideal, ratio_at_most=1.3),
        claim(f"{crowd}, over HTTP", runs["ours"].wall_s, "s", rival=ideal, ratio_at_most=1.3),
        claim(f"{crowd}, over HTTP, beside bare", runs["ours"].wall_s, "s", rival=bare, ratio_at_most=1.3),
        claim(f"{crowd}: memory of each", (first - alone.before_mb) * 1024 / many, "kB"),
        claim(
            f"{crowd}: memory after as many again",
            second,
            "MB",
            rival=Rival(name="the first", value=first),
            ratio_at_most=1.1,
        ),
    ]


if __name__ == "__main__":
    main()
