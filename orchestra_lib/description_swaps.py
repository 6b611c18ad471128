"""The same tasks played by the same orchestrator with two descriptions of one model, to see what the words do.

Every task is played three times: with the first description, with it once more under another seed, and with the other.
The runs are runs like any other; `description_effects` finds them again.
"""

from collections.abc import AsyncGenerator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial

from orchestra_lib.casting import Order
from orchestra_lib.descriptions import SHIPPED
from orchestra_lib.errors import BadInput
from orchestra_lib.event import fold
from orchestra_lib.keeping import kept, play_all
from orchestra_lib.limits import Limits
from orchestra_lib.play import play
from orchestra_lib.preference import Preference
from orchestra_lib.protocols import Describable, Policy, Tool
from orchestra_lib.record import record
from orchestra_lib.roster import Roster
from orchestra_lib.store.uses import mark
from orchestra_lib.swapping import MOST_TASKS, TAG
from orchestra_lib.task import Task
from orchestra_lib.training_tasks import TrainingTask, training_sample
from orchestra_lib.trajectory import Setting, Trajectory
from orchestra_lib.workbench import Workbench, new_run_id

ARMS = 3
"""So often each task is played."""


@record
class DescriptionSwap:
    """What to play: `between` are two descriptions of `tool`, each a number of a version, `shipped`, or a text.

    `tools` are on offer, None for all that are on. Raises `BadInput`.
    """

    orchestrator: str
    tool: str
    between: tuple[str, str]
    tasks: int = 20
    source: str | None = None
    seed: int = 0
    tools: tuple[str, ...] | None = None
    preference: Preference = Preference()
    limits: Limits = Limits()
    prices: str = "nominal"

    def __post_init__(self) -> None:
        if not 1 <= self.tasks <= MOST_TASKS:
            raise BadInput(f"{self.tasks} tasks cannot be swapped; take 1 to {MOST_TASKS:,}")


def texts_of(roster: Roster, swap: DescriptionSwap) -> tuple[str, str]:
    """Both descriptions. Raises `BadInput` for a version that there is not, and for two that are the same."""
    first, other = (_text(roster, swap.tool, one) for one in swap.between)
    if first == other:
        raise BadInput(f"--between names the same description of {swap.tool} twice; name two that differ")
    return first, other


def _text(roster: Roster, tool: str, named: str) -> str:
    if named == SHIPPED:
        return roster.shipped_description(tool)
    if named.isdecimal():
        return roster.descriptions.version(tool, int(named)).text
    raise BadInput(f"--between {named[:40]!r}: give the number of a version, or {SHIPPED}; --set makes a version")


def version_labels(roster: Roster) -> Mapping[tuple[str, str], str]:
    """What each description of a model is called, by the name that prices the model and the mark of the text."""
    found: dict[tuple[str, str], str] = {}
    for spec, _ in roster.tools():
        for one in reversed(roster.descriptions.history(spec.name)):
            found[spec.priced_as, mark(one.text)] = f"version {one.version}"
        found[spec.priced_as, mark(roster.shipped_description(spec.name))] = SHIPPED
    return found


async def play_description_swaps(
    workbench: Workbench, swap: DescriptionSwap, *, jobs: int = 4
) -> AsyncGenerator[Trajectory, None]:
    """Play them all, graded, journalled and stored with the tag of swaps; yields each run as it is stored.

    Raises `BadInput` before anything is played, `StoreFault`.
    """
    first, other = texts_of(workbench.roster, swap)
    sample = training_sample(swap.source, workbench.home, count=swap.tasks, seed=swap.seed)
    order = _order(swap, sample.tasks[0])
    policy, tools = workbench.casting.cast(order, None)
    named = {tool.spec.name: tool for tool in tools}
    if swap.tool not in named:
        raise BadInput(f"{swap.tool[:80]!r} is not on offer, so that nobody reads it; there are {', '.join(named)}")
    changing = named[swap.tool]
    if not isinstance(changing, Describable):
        raise BadInput(f"{swap.tool} is no model: its description is part of how it works; choose a model")
    setting = workbench.setting(order)
    arms = [
        tuple(changing.described(text) if tool is changing else tool for tool in tools)
        for text in (first, first, other)
    ]
    todo = [
        partial(_one, workbench, policy, offered, _placed(setting, task, arm, swap.seed))
        for task in sample.tasks
        for arm, offered in enumerate(arms)
    ]
    async for run in play_all(workbench, todo, tags=(TAG,), jobs=jobs):
        yield run


def _order(swap: DescriptionSwap, task: TrainingTask) -> Order:
    return Order(
        task=task.text, reference=task.reference, orchestrator=swap.orchestrator, tools=swap.tools,
        preference=swap.preference, limits=swap.limits, prices=swap.prices,
    )  # fmt: skip


def _placed(setting: Setting, task: TrainingTask, arm: int, seed: int) -> Setting:
    """The setting of one run, but for the descriptions: who conducts and at which prices was looked up once."""
    return replace(setting, task=Task(text=task.text, id=task.id, reference=task.reference), seed=ARMS * seed + arm)


async def _one(workbench: Workbench, policy: Policy, tools: tuple[Tool, ...], like: Setting) -> Trajectory:
    specs = tuple(tool.spec for tool in tools)
    setting = replace(like, run_id=new_run_id(), started_at=datetime.now(UTC), tools=specs)
    run = fold([event async for event in play(setting, policy, tools, artefacts=workbench.artefacts)])
    return await kept(workbench, run)
