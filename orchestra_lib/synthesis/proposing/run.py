"""A run of proposals for the tasks of one domain: slots in waves until there are enough, in an order of their own.

Whatever ends first, the tasks come in the order of their slots. A slot draws its wish from the seed, its domain and its
number; one that an earlier run closed is read from the journal.
"""

import asyncio
from collections import Counter
from collections.abc import Mapping
from random import Random

from orchestra_lib.environment.assignment import Assignment
from orchestra_lib.environment.domain import World
from orchestra_lib.errors import BadInput, ProviderFault
from orchestra_lib.json_writing import dumps
from orchestra_lib.record import record
from orchestra_lib.synthesis.filters import Filters
from orchestra_lib.synthesis.lexicon import Lexicon
from orchestra_lib.synthesis.proposing.asking import Asker, MoneyGone
from orchestra_lib.synthesis.proposing.briefs import draw_wish, evolution_brief, task_brief
from orchestra_lib.synthesis.proposing.evolving import draw_operator, harder
from orchestra_lib.synthesis.proposing.journal import Journal
from orchestra_lib.synthesis.proposing.tasks import TaskCheck

MAX_JOBS = 64
_SLOTS_A_TASK = 3
"""So many slots are opened at most for each task that is wanted."""
_FAULTS = 3
"""After so many faults of the model's world the run gives up."""


@record
class Wanted:
    """How many tasks, and how: `evolve` is the share (0-1) of accepted ones that are made harder if that succeeds."""

    n: int
    seed: int = 7
    jobs: int = 2
    evolve: float = 0.3

    def __post_init__(self) -> None:
        if self.n < 1:
            raise BadInput(f"n = {self.n}; propose at least one task")
        if not 1 <= self.jobs <= MAX_JOBS:
            raise BadInput(f"{self.jobs} requests at once; use 1 to {MAX_JOBS}")
        if not 0 <= self.evolve <= 1:
            raise BadInput(f"evolve = {self.evolve}; a share lies between 0 and 1")


@record
class Outcome:
    """What came of it. `slots` were opened; `stopped` says what ended the run before there were enough, if anything.

    `twice` counts accepted tasks with the same golden calls as an earlier one, which are left out.
    """

    tasks: tuple[Assignment, ...]
    slots: int
    twice: int = 0
    stopped: str | None = None


class Proposals:
    """Proposes tasks in one world."""

    def __init__(self, world: World, lexicon: Lexicon, asker: Asker, *, model: str) -> None:
        self._world, self._lexicon, self._asker = world, lexicon, asker
        self._check = TaskCheck(world, lexicon, Filters(world, lexicon), model=model)
        self._stopped: str | None = None
        self._faults: list[ProviderFault] = []

    async def run(self, wanted: Wanted) -> Outcome:
        """Raises `ProviderFault` when the model cannot be reached again and again, `StoreFault`."""
        gate = asyncio.Semaphore(wanted.jobs)
        found: dict[int, Assignment] = {}
        tasks: list[Assignment] = []
        opened, twice, most = 0, 0, _SLOTS_A_TASK * wanted.n
        while len(tasks) < wanted.n and opened < most and self._stopped is None:
            wave = range(opened + 1, min(most, opened + wanted.n - len(tasks)) + 1)
            made = await asyncio.gather(*(self._slot(number, wanted, gate) for number in wave))
            found |= {number: one for number, one in zip(wave, made, strict=True) if one is not None}
            opened = wave[-1]
            tasks, twice = _different(found)
        if len(self._faults) >= _FAULTS:
            raise self._faults[-1]
        return Outcome(tasks=tuple(tasks[: wanted.n]), slots=opened, twice=twice, stopped=self._stopped)

    async def _slot(self, number: int, wanted: Wanted, gate: asyncio.Semaphore) -> Assignment | None:
        async with gate:
            if self._stopped is not None:
                return None
            try:
                return await self._proposed(number, wanted)
            except (MoneyGone, ProviderFault) as why:
                self._halt(why)
        return None

    def _halt(self, why: MoneyGone | ProviderFault) -> None:
        """Ask no more once the money is gone, or the model has failed too often; what is asked already goes on."""
        if isinstance(why, ProviderFault):
            self._faults.append(why)
        if isinstance(why, MoneyGone) or len(self._faults) >= _FAULTS:
            self._stopped = str(why)

    async def _proposed(self, number: int, wanted: Wanted) -> Assignment | None:
        name = self._world.domain.name
        slot = f"{name}/task/{number:05}"
        random = Random(f"{wanted.seed}/{slot}")  # noqa: S311 -- invented tasks, not secret
        wish = draw_wish(self._world, self._lexicon, random)
        seed = random.randrange(2**31)
        check = self._check.of(f"{name}-llm-{number:05}", wish)
        task = await self._asker.ask(slot, task_brief(self._world, wish), check, seed=seed)
        if task is None or wish.refusal or random.random() >= wanted.evolve:
            return task
        operator = draw_operator(random)
        brief = evolution_brief(self._world, wish, _plain(task), operator.how)
        check = harder(self._world, task, operator, check)
        try:
            evolved = await self._asker.ask(f"{name}/evolution/{number:05}", brief, check, seed=seed)
        except (MoneyGone, ProviderFault) as why:
            self._halt(why)
            return task
        return evolved or task


def _plain(task: Assignment) -> Mapping[str, object]:
    """A task in the form of a proposal."""
    return {
        "instruction": task.instruction,
        "facts": [{"name": one.name, "says": one.says, "asked_by": list(one.asked_by)} for one in task.facts],
        "followups": list(task.followups),
        "golden": [{"operation": one.operation, "arguments": dict(one.arguments)} for one in task.golden],
        "required": [{"value": one.value, "unit": one.unit or "", "what": one.what} for one in task.required],
    }


def _different(found: Mapping[int, Assignment]) -> tuple[list[Assignment], int]:
    """The tasks in the order of their slots without those that want the same as an earlier one; and how many so."""
    seen: set[str] = set()
    tasks: list[Assignment] = []
    for number in sorted(found):
        task = found[number]
        mark = dumps([[one.operation, one.arguments] for one in task.golden], sort_keys=True)
        if mark not in seen:
            seen.add(mark)
            tasks.append(task)
    return tasks, len(found) - len(tasks)


def rejections(journal: Journal) -> Mapping[str, int]:
    """How many tries were rejected, by kind of reason, the most frequent first."""
    counted = Counter(
        (one.reason or "").partition(":")[0] for one in journal.tries if one.reason is not None and not one.fault
    )
    return dict(counted.most_common())
