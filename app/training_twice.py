"""One simulated task twice: by a policy as it began and as it was trained, under the same experts, wish and lots."""

import asyncio
from pathlib import Path

from app.comparison import side_view
from app.training_files import Data
from app.training_views import settings_of
from orchestra_lib.errors import BadInput
from orchestra_lib.event import fold
from orchestra_lib.limits import Limits
from orchestra_lib.preference import Preference, describe
from orchestra_lib.simulated_tasks import simulated_task
from orchestra_lib.training.conducting import PREFIX, Checkpoint, TrainedPolicies
from orchestra_lib.training.tiny.course import MAX_TURNS
from orchestra_lib.trajectory import Trajectory
from orchestra_lib.workbench import Order, Workbench

TASKS_SEED = 77
"""Of tasks that no training draws."""

WISHES = {
    "cost": Preference(outcome=0.3, cost=1.0, latency=0.0),
    "latency": Preference(outcome=0.3, cost=0.0, latency=1.0),
    "outcome": Preference(outcome=1.0, cost=0.1, latency=0.0),
}
"""The wishes of training that name no tool."""

_WARM_START = "tiny-warm-start"


def pair(folder: Path, policies: TrainedPolicies) -> tuple[Checkpoint, Checkpoint]:
    """What a run began with and what came of it. Raises `BadInput` saying which of them cannot conduct, and why."""
    known = policies.checkpoints()
    after = known.get(folder.name)
    if after is None or after.folder not in (folder, folder / "final"):
        raise BadInput("there is no trained policy of this run yet; it comes with the run's end")
    began = settings_of(folder).get("policy.checkpoint")
    place = None if began is None else Path(str(began)).expanduser().resolve()
    before = (
        known.get(_WARM_START) if place is None else next((one for one in known.values() if one.folder == place), None)
    )
    if before is None:
        raise BadInput(
            f"what the run began with ({began or _WARM_START}) is none of the policies that can conduct here"
        )
    for one in (before, after):
        if one.problem is not None:
            raise BadInput(f"{one.name} cannot conduct: {one.problem}")
    return before, after


def obstacle(folder: Path, policies: TrainedPolicies) -> str | None:
    """Why the pair of a run cannot be played; None when it can."""
    try:
        pair(folder, policies)
    except BadInput as error:
        return str(error)
    return None


async def play_twice(workbench: Workbench, folder: Path, policies: TrainedPolicies, *, number: int, wish: str) -> Data:
    """Play both and keep both as trajectories. Raises `BadInput`."""
    if wish not in WISHES:
        raise BadInput(f"wish = {wish[:40]!r}; use one of {', '.join(WISHES)}")
    checkpoints = await asyncio.to_thread(pair, folder, policies)
    preference, task = WISHES[wish], simulated_task(TASKS_SEED, abs(number) % 1_000_000)
    runs = []
    for one in checkpoints:
        order = Order(
            task=task.text, orchestrator=PREFIX + one.name, preference=preference, seed=abs(number),
            limits=Limits(max_turns=MAX_TURNS),
        )  # fmt: skip
        checked = await asyncio.to_thread(workbench.play, order)
        runs.append(fold([event async for event in checked]))
    sides = [_side(title, run) for title, run in zip(("before", "after"), runs, strict=True)]
    return {"task": task.text, "sentence": describe(preference, {}), "number": number, "wish": wish, "sides": sides}


def _side(title: str, run: Trajectory) -> Data:
    return {
        "title": title,
        "run": side_view(run),
        "cost_usd": run.bill().cost_usd,
        "latency_s": run.latency_s,
        "outcome": run.outcome,
        "calls": [call.call.tool for call in run.calls][:20],
    }
