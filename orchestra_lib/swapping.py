"""Swap controls: the same simulated tasks played under offers whose names, order, prices or descriptions are permuted.

Every task is played six times: as it is, as it is once more with another seed, and with the names, the places, the
prices and the skills that are told of the experts each moved round by one or more. What answers, the profile, stays
with the expert.
"""

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from functools import partial
from typing import TypeVar

from orchestra_lib.errors import BadInput
from orchestra_lib.event import fold
from orchestra_lib.keeping import kept, play_all
from orchestra_lib.limits import Limits
from orchestra_lib.play import play
from orchestra_lib.preference import Preference, describe
from orchestra_lib.pricing import PriceTable
from orchestra_lib.profile import Profile, description, price_table
from orchestra_lib.profilelist import find_profile
from orchestra_lib.protocols import ParticularPolicy, Policy, Tool
from orchestra_lib.record import record
from orchestra_lib.simulated_tasks import SimulatedTask, simulated_tasks
from orchestra_lib.swap_pairs import ASPECTS
from orchestra_lib.toolkit.simulated import SimulatedExpert
from orchestra_lib.trajectory import Setting, Trajectory
from orchestra_lib.workbench import Workbench, new_run_id

EXPERTS = ("small", "mid", "maths", "strongest")
NAMES = ("bavex", "cedun", "dofer", "fagol", "gikem", "henet", "jurit", "kasel")
"""Names that say nothing, of syllables that trained tiny policies know."""

TAG = "bias swap"
"""The tag of the runs that were played for a swap."""

MOST_TASKS = 1_000
BASE, AGAIN = "base", "again"
VERSIONS = (BASE, AGAIN, *ASPECTS)

T = TypeVar("T")


@record
class Swap:
    """What to play. `names` are dealt to `experts`, which are profiles, in order. Raises `BadInput`."""

    orchestrator: str
    tasks: int
    experts: tuple[str, ...] = EXPERTS
    names: tuple[str, ...] = NAMES
    preference: Preference = Preference()
    seed: int = 0
    first: int = 0
    limits: Limits = Limits()

    def __post_init__(self) -> None:
        if not 1 <= self.tasks <= MOST_TASKS:
            raise BadInput(f"--swap {self.tasks}: play 1 to {MOST_TASKS:,} tasks; each is played six times")
        if len(set(self.experts)) < len(self.experts) or len(self.experts) < 2:
            raise BadInput("a swap needs two experts or more, each once")
        if len(set(self.names)) < len(self.names) or len(self.names) < len(self.experts):
            raise BadInput(f"{len(self.experts)} experts need as many names, each once; there are {len(self.names)}")


@record
class _Seat:
    """An expert on offer: who answers, under which name, at whose price and with whose skills told."""

    profile: Profile
    name: str
    priced: Profile
    said: Profile

    @property
    def words(self) -> str:
        """What it says of itself."""
        return description(replace(self.profile, skills=self.said.skills), price=self.priced.price)


async def play_swaps(workbench: Workbench, swap: Swap, *, jobs: int = 8) -> AsyncGenerator[Trajectory, None]:
    """Play them all, graded, journalled and stored with the tag `bias swap`; yields each run as it is stored.

    Raises `BadInput` before anything is played, `StoreFault`.
    """
    policy = workbench.roster.orchestrator(swap.orchestrator)
    profiles = [find_profile(workbench.home, name) for name in swap.experts]
    sample = _tools(_seats(profiles, swap.names, BASE, 1))
    if isinstance(policy, ParticularPolicy) and (why := policy.refusal([tool.spec for tool in sample])) is not None:
        raise BadInput(f"{swap.orchestrator} cannot be swapped: {why}")
    todo = [
        partial(_one, workbench, policy, profiles, swap, task, version)
        for task in simulated_tasks(swap.seed, swap.tasks, first=swap.first)
        for version in VERSIONS
    ]
    async for run in play_all(workbench, todo, tags=(TAG,), jobs=jobs):
        yield run


async def _one(
    workbench: Workbench, policy: Policy, profiles: Sequence[Profile], swap: Swap, task: SimulatedTask, version: str
) -> Trajectory:
    by = 1 + task.number % (len(profiles) - 1)
    seats = _seats(profiles, swap.names, version, by)
    tools = _tools(seats)
    specs = tuple(tool.spec for tool in tools)
    prices = _prices(seats)
    if policy.spec.priced_as:
        own = next((one for one in workbench.price_tables() if one.name == "nominal"), prices)
        prices = prices.with_rows_of(own.only([policy.spec.priced_as]))
    setting = Setting(
        run_id=new_run_id(),
        started_at=datetime.now(UTC),
        task=task.task,
        orchestrator=swap.orchestrator,
        protocol=policy.spec.protocol,
        preference=swap.preference,
        sentence=describe(swap.preference, {spec.name: spec.title for spec in specs}),
        tools=specs,
        prices=prices,
        limits=swap.limits,
        seed=1_000 * task.number + VERSIONS.index(version),
    )
    run = fold([event async for event in play(setting, policy, tools, artefacts=workbench.artefacts)])
    return await kept(workbench, run)


def _seats(profiles: Sequence[Profile], names: Sequence[str], version: str, by: int) -> list[_Seat]:
    count = len(profiles)
    dealt = _round(names[:count], by) if version == "name" else list(names[:count])
    priced = _round(profiles, by) if version == "price" else profiles
    told = _round(profiles, by) if version == "description" else profiles
    seats = [
        _Seat(profile=one, name=name, priced=price, said=said)
        for one, name, price, said in zip(profiles, dealt, priced, told, strict=True)
    ]
    return _round(seats, by) if version == "position" else seats


def _round(items: Sequence[T], by: int) -> list[T]:
    return [*items[by:], *items[:by]]


def _tools(seats: Sequence[_Seat]) -> tuple[Tool, ...]:
    return tuple(
        SimulatedExpert(seat.profile, name=seat.name, price=seat.priced.price).described(seat.words) for seat in seats
    )


def _prices(seats: Sequence[_Seat]) -> PriceTable:
    stated: Mapping[str, Profile] = {
        seat.profile.name: replace(seat.profile, price=seat.priced.price) for seat in seats
    }
    return price_table(stated.values(), name="simulated", dated=date(2026, 11, 30))
