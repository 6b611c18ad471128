"""Published tasks over a toolkit class in the user's own checkout: read whole, played alone, judged by the database.

The published setting has a model play the user. Here nobody does: the orchestrator reads the whole scenario, as in
tau2's solo mode, so that a run needs no second model and the final database alone decides.
"""

from collections.abc import Mapping, Sequence
from dataclasses import field
from datetime import UTC, datetime
from pathlib import Path

from orchestra_lib.codec import to_data
from orchestra_lib.errors import BadInput
from orchestra_lib.grade import Grade
from orchestra_lib.published.python_toolkit import PythonToolkit, load_python_toolkit
from orchestra_lib.published.task import USER, GoldenAction, PublishedTask
from orchestra_lib.published.tau2 import load_tau2_domain
from orchestra_lib.published.toolscale import load_toolscale
from orchestra_lib.record import record

SOLO = "published tasks are played without a user: the orchestrator reads the whole scenario, easier than as published"


@record
class Playable:
    """One task: what the orchestrator reads, and the calls that would do it."""

    id: str
    text: str
    golden: tuple[GoldenAction, ...]


@record
class Scene:
    """The tools of a domain over its database, a fresh one for each run."""

    toolkit: PythonToolkit
    wanted: dict[str, tuple[str, bool]] = field(default_factory=dict)
    """The hash that golden calls lead to, and whether all of them went well, by what they are."""

    @property
    def tools(self) -> tuple[str, ...]:
        return tuple(tool.spec.name for tool in self.toolkit.tools)

    async def verdict(self, golden: Sequence[GoldenAction], run_id: str) -> Grade:
        """Whether a run left the database as the golden calls leave it; it is forgotten then."""
        key = repr([to_data(one) for one in golden])
        if key not in self.wanted:
            changes = await self.toolkit.replay(tuple(golden), run_id=f"golden of {run_id}")
            ends = changes[-1].after if changes else self.toolkit.initial_hash
            self.wanted[key] = (ends, not any(one.failed for one in changes))
        ends, went_well = self.wanted[key]
        reached = self.toolkit.final_hash(run_id) == ends
        self.toolkit.forget(run_id)
        if not went_well:
            return Grade(at=datetime.now(UTC), by="state", outcome=None, reason="the golden calls fail on this class")
        words = "the database is as the golden calls leave it" if reached else "the database is not as wanted"
        return Grade(at=datetime.now(UTC), by="state", outcome=reached, reason=words)


def load_scene(folder: Path, toolkit: str) -> Scene:
    """The scene of a domain's folder alone. Raises `BadInput` for what cannot be read."""
    return Scene(toolkit=load_python_toolkit(toolkit, load_tau2_domain(folder).tables))


def published_tasks(
    file: Path | None, folder: Path, toolkit: str
) -> tuple[Scene, Sequence[Playable], Mapping[str, int]]:
    """The scene, its tasks, and how many others were left out by why; without a file those of the folder.

    Raises `BadInput` for what cannot be read, and where no task is of this domain.
    """
    domain, scene = load_tau2_domain(folder), load_scene(folder, toolkit)
    tasks = domain.tasks if file is None else load_toolscale(file, folder.parent)
    left_out: dict[str, int] = {}
    kept = []
    for task in tasks:
        why = _unplayable(task, domain.name)
        if why is None:
            kept.append(Playable(id=task.id, text=_text(domain.policy, task), golden=task.golden))
        else:
            left_out[why] = left_out.get(why, 0) + 1
    if not kept:
        raise BadInput(f"{file or folder} has no task of {domain.name} to play; name the folder of a domain it has")
    return scene, kept, left_out


def _unplayable(task: PublishedTask, domain: str) -> str | None:
    if task.domain not in (None, domain):
        return f"not of {domain}"
    if any(one.requestor == USER for one in task.golden):
        return "the user acts too"
    return None if task.initial_state is None else "begins with a changed database"


def _text(policy: str, task: PublishedTask) -> str:
    return (
        f"{policy.strip()}\n\nThe request of a customer follows. Do what the policy allows with the tools, ask nothing "
        f"back, and then say what you did.\n\n{task.scenario.text}"
    )
