"""Baselines and the oracle on the same simulated tasks: what a trained orchestrator has to beat, and how far it can go.

    python -m benchmarks.baselines
    python -m benchmarks.baselines --tasks 400 --shuffled --json

Everything here is simulated: tasks, answers, prices and seconds follow stated profiles (`data/profiles`). Each policy
plays the same tasks with the same lots under each preference. *Compliance* is the share of runs whose first call goes
to the cheapest (fastest) of the able experts, by their profiles. Intervals are of 95 %.
"""

import asyncio
import json
from argparse import ArgumentParser
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory
from typing import Any

from orchestra_lib.calibration import Share, share
from orchestra_lib.event import fold
from orchestra_lib.judge.checks import compare_by_itself
from orchestra_lib.limits import Limits
from orchestra_lib.play import play
from orchestra_lib.policy.baseline import Baseline, at_random, cheapest, strongest
from orchestra_lib.policy.oracle import oracle
from orchestra_lib.preference import Preference, describe
from orchestra_lib.profile import ABLE, Profile, price_table, shuffled_names
from orchestra_lib.profilelist import SHIPPED, load_profile
from orchestra_lib.simulated_tasks import SimulatedTask, simulated_tasks
from orchestra_lib.store.artefacts import Artefacts
from orchestra_lib.toolkit.simulated import SimulatedExpert, placed
from orchestra_lib.trajectory import Setting, Trajectory

WISHES = {
    "outcome": Preference(outcome=1.0, cost=0.0, latency=0.0),
    "cost": Preference(outcome=0.0, cost=1.0, latency=0.0),
    "latency": Preference(outcome=0.0, cost=0.0, latency=1.0),
}


def main() -> None:
    options = ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--tasks", type=int, default=200)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--shuffled", action="store_true", help="deal names that say nothing, anew for every task")
    options.add_argument("--json", action="store_true")
    chosen = options.parse_args()
    profiles = [load_profile(file) for file in sorted(SHIPPED.glob("*.json"))]
    known = {one.priced_as: one for one in profiles}
    policies = (
        strongest(),
        cheapest(),
        at_random(),
        oracle(known, lambda task: (placed(task).kind, placed(task).difficulty)),
    )
    with TemporaryDirectory() as folder:
        for wish in WISHES:
            for policy in policies:
                tasks = list(simulated_tasks(chosen.seed, chosen.tasks))
                runs = [_play(policy, one, wish, profiles, chosen.shuffled, Path(folder)) for one in tasks]
                _print(_measured(policy.spec.name, wish, tasks, runs, known), as_json=chosen.json)


def _play(
    policy: Baseline, task: SimulatedTask, wish: str, profiles: Sequence[Profile], shuffled: bool, folder: Path
) -> Trajectory:
    names: Mapping[str, Profile] = shuffled_names(profiles, task.number) if shuffled else {}
    dealt = [SimulatedExpert(one, name=name) for name, one in names.items()]
    experts = dealt or [SimulatedExpert(one) for one in profiles]
    setting = Setting(
        run_id=task.id,
        started_at=datetime(2026, 1, 1, tzinfo=UTC),
        task=task.task,
        orchestrator=policy.spec.name,
        protocol=policy.spec.protocol,
        preference=WISHES[wish],
        sentence=describe(WISHES[wish], {}),
        tools=tuple(one.spec for one in experts),
        prices=price_table(profiles, name="simulated", dated=date(2026, 1, 1)),
        limits=Limits(),
        seed=task.seed,
    )

    async def events() -> Trajectory:
        return fold([event async for event in play(setting, policy, experts, artefacts=Artefacts(folder))])

    return asyncio.run(events())


def _measured(
    policy: str, wish: str, tasks: Sequence[SimulatedTask], runs: Sequence[Trajectory], known: Mapping[str, Profile]
) -> dict[str, Any]:
    right = sum(
        compare_by_itself(run.answer or "", task.reference)[1].outcome is True
        for task, run in zip(tasks, runs, strict=True)
    )
    kept = sum(_complies(wish, task, run, known) for task, run in zip(tasks, runs, strict=True))
    return {
        "simulated": True,
        "policy": policy,
        "preference": wish,
        "runs": len(runs),
        "accuracy": share(right, len(runs)),
        "compliance": None if wish == "outcome" else share(kept, len(runs)),
        "cost_usd": fmean(_known(run.bill().cost_usd) for run in runs),
        "latency_s": fmean(_known(run.latency_s) for run in runs),
    }


def _known(value: float | None) -> float:
    """A figure of a run. ValueError for one that is unknown, which no mean may take for 0."""
    if value is None:
        raise ValueError("a run has an unknown cost or latency; every profile states both")
    return value


def _complies(wish: str, task: SimulatedTask, run: Trajectory, known: Mapping[str, Profile]) -> bool:
    able = [one for one in known.values() if (one.chance(task.kind, task.difficulty) or 0.0) >= ABLE]
    if not able or not run.calls or wish == "outcome":
        return False
    first = next(spec for spec in run.setting.tools if spec.name == run.calls[0].call.tool)
    figures = {one.priced_as: one.typical_usd() if wish == "cost" else one.latency.median for one in able}
    return figures.get(first.priced_as) == min(figure for figure in figures.values() if figure is not None)


def _print(row: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        plain = {name: _plain(value) for name, value in row.items()}
        print(json.dumps(plain), flush=True)
        return
    kept = row["compliance"]
    words = "" if kept is None else f"  compliance {_words(kept)}"
    print(
        f"simulated  {row['preference']:8} {row['policy']:10} right {_words(row['accuracy'])}  "
        f"${row['cost_usd']:.5f}  {row['latency_s']:5.1f} s{words}",
        flush=True,
    )


def _plain(value: object) -> object:
    if isinstance(value, Share):
        return {"rate": value.rate, "low": value.low, "high": value.high, "of": value.of}
    return value


def _words(one: Share) -> str:
    return f"{one.rate:.3f} ({one.low:.3f} to {one.high:.3f})"


if __name__ == "__main__":
    main()
