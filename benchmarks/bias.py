"""What the Bias page costs on a million calls: everything that all its charts are drawn from.

    python -m benchmarks.bias --json

The million calls are copies of some hundred made-up runs of twenty calls of six experts, simulated ones in every other
run, each with a task of its own, so that no task and no run is like another to the statistics. Times are CPU of this
process, DuckDB's threads included.
"""

import random
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from statistics import median

from benchmarks.claims import Claim, claim, parser, show
from benchmarks.large_store import RUN, large_store
from orchestra_lib.bias_report import bias_flow, bias_report
from orchestra_lib.codec import dumps, to_data
from orchestra_lib.preference import Preference
from orchestra_lib.profile import Profile
from orchestra_lib.profilelist import load_profiles
from orchestra_lib.simulated_tasks import simulated_task
from orchestra_lib.store.bias_sums import Scope
from orchestra_lib.store.store import Store
from orchestra_lib.toolkit.simulated import spec_of
from orchestra_lib.trajectory import Trajectory
from tests.episodes import trajectory

CALLS = 20
SEEDS = 320
ORCHESTRATORS = ("conductor", "qwen3-8b", "gpt-5", "claude-opus-4.1", "trained:tiny", "strongest", "cheapest")

MODELS = ("gpt-5", "gpt-5-mini", "qwen3-32b", "qwen2.5-coder-32b", "claude-opus-4.1", "llama-3.3-70b")


def main() -> None:
    chosen = parser(__doc__).parse_args()
    runs, repeats = (1_600, 3) if chosen.quick else (50_000, 15)
    show([*_charts(runs, repeats)], as_json=chosen.json)


def _charts(runs: int, repeats: int) -> Iterator[Claim]:
    home = large_store("bias", runs, map(_run, range(SEEDS)), SEEDS, _fresh)
    profiles = {one.priced_as: one for one in load_profiles(home).values()}
    with Store(home) as store:
        asked: dict[str, Scope] = {
            "all charts of the Bias page": Scope(),
            "all charts, one kind of task": Scope(kind="math"),
            "all charts, first turns alone": Scope(turn=1),
        }
        calls = bias_report(store, profiles).calls
        for name, scope in asked.items():
            taken = _cpu_ms(lambda scope=scope: _drawn(store, profiles, scope), repeats)  # type: ignore[misc]
            yield claim(f"{name} at {calls:,} calls", taken, "CPU ms", at_most=500)


def _drawn(store: Store, profiles: Mapping[str, Profile], scope: Scope) -> None:
    """What the page asks for: the report, and all transitions of one orchestrator."""
    dumps(to_data(bias_report(store, profiles, scope)))
    dumps(to_data(bias_flow(store, ORCHESTRATORS[0], scope)))


def _run(number: int) -> Trajectory:
    """A made-up run of a simulated task: twenty calls of experts that are drawn by lot."""
    chance = random.Random(number)  # a repeatable choice, no secret
    specs = tuple(spec_of(one) for one in load_profiles(Path()).values())
    if number % 2:  # real names, whose families are told and whose best choice nobody knows
        specs = tuple(replace(spec, model=model, simulated=False) for spec, model in zip(specs, MODELS, strict=True))
    made = trajectory(
        f"run-{number:07}",
        turns=CALLS + 1,
        minutes=number,
        tools=specs,
        tool=specs[0].name,
        orchestrator=ORCHESTRATORS[number % len(ORCHESTRATORS)],
        preference=Preference(cost=0.2 * (number % 5)),
    )
    turns = tuple(
        replace(
            turn,
            calls=tuple(replace(one, call=replace(one.call, tool=chance.choice(specs).name)) for one in turn.calls),
        )
        for turn in made.turns
    )
    task = simulated_task(7, number).task
    return replace(made, turns=turns, setting=replace(made.setting, task=task), outcome=chance.random() < 0.6)


def _fresh(table: str, key: str) -> Mapping[str, str]:
    """Each copy is of a task of its own."""
    return {"started_at": "t.started_at + to_minutes(copy)", "task": f"t.task || {RUN}", "raw": "'{}'::JSON"}


def _cpu_ms(ask: Callable[[], object], repeats: int) -> float:
    ask()
    taken = []
    for _ in range(repeats):
        started = time.process_time()
        ask()
        taken.append((time.process_time() - started) * 1000)
    return median(taken)


if __name__ == "__main__":
    main()
