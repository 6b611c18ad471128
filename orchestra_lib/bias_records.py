"""The parts of a report of bias, as plain records."""

from collections.abc import Mapping

from orchestra_lib.bias import OVER, Alarm, Estimate
from orchestra_lib.description_effects import Effect
from orchestra_lib.record import record
from orchestra_lib.swap_pairs import Move

PLAIN = ("basic", "domain")
"""Kinds of tools that are no models."""

NO_MODEL, SIMULATED, UNKNOWN = "no model", "simulated", "unknown"
"""What stands for a family: of a plain tool, of an expert that a profile plays, and of a model that nobody knows."""


@record
class Cell:
    """What of an orchestrator went to one expert, or to one family.

    `best` is the share that the best choice would have sent there, None where it is unknown of any call. `usd` and
    `seconds` are None where those of a call are. `over` marks a share that is at least 20 points above the best one.
    """

    name: str
    share: Estimate
    best: float | None
    usd: float | None
    seconds: float | None

    @property
    def over(self) -> bool:
        return self.best is not None and self.share.value is not None and self.share.value >= self.best + OVER


@record
class Line:
    """One orchestrator. `best_known` is the part of its calls for which the best choice is known.

    `cells` are its calls by expert, `families` by family or what stands for one.
    `strongest` and `own` are plain shares, the others shares less the best choice's; of one that is unknown `why` says
    why, by its name.
    """

    orchestrator: str
    family: str | None
    runs: int
    calls: int
    tasks: int
    simulated: bool
    best_known: float | None
    cells: tuple[Cell, ...]
    families: tuple[Cell, ...]
    strongest: Estimate
    strongest_index: Estimate
    own: Estimate
    own_index: Estimate
    why: Mapping[str, str]
    alarm: Alarm | None


@record
class Column:
    """One expert that was on offer. `tool` is its name as a tool, None where it had several.

    `family` is None for what is no model, for a simulated expert and where nobody knows it; `source` says where it
    stands.
    """

    model: str
    kind: str
    tool: str | None
    simulated: bool
    family: str | None
    source: str | None
    best: float | None

    @property
    def kin(self) -> str:
        """Its family, or what stands for one."""
        if self.family is not None:
            return self.family
        return SIMULATED if self.simulated else NO_MODEL if self.kind in PLAIN else UNKNOWN


@record
class Result:
    """What an orchestrator reached and what it cost, by task; `front` says whether nobody is cheaper and as good."""

    orchestrator: str
    accuracy: Estimate
    usd: Estimate
    runs: int
    ungraded: int
    unpriced: int
    simulated: bool
    nominal: bool
    front: bool


@record
class Slice:
    """How much of an orchestrator's calls in one part of its runs went to the strongest.

    `by` is kind, difficulty, domain or turn, `value` which one. `best` and `over` are as in a `Cell`.
    """

    by: str
    value: str
    orchestrator: str
    strongest: Estimate
    best: float | None

    @property
    def over(self) -> bool:
        return self.best is not None and self.strongest.value is not None and self.strongest.value >= self.best + OVER


@record
class Transition:
    """How often an orchestrator called `next` right after `came`, over all its calls.

    `came` is None before the first call, `next` after the last one, where a run `ended` so.
    """

    came: str | None
    next: str | None
    ended: str | None
    times: int


@record
class Flow:
    """Whom an orchestrator calls after whom. Of `cut` of its `runs` only the first calls are known in order."""

    orchestrator: str
    runs: int
    cut: int
    transitions: tuple[Transition, ...]


@record
class Step:
    """How many runs of an orchestrator reached these in their first calls; a shorter path `ended` so."""

    orchestrator: str
    path: tuple[str, ...]
    ended: str | None
    runs: int


@record
class BiasReport:
    """Everything that is known of bias within one scope. `simulated_calls` of `calls` were answered by a profile."""

    runs: int
    calls: int
    simulated_calls: int
    columns: tuple[Column, ...]
    lines: tuple[Line, ...]
    results: tuple[Result, ...]
    slices: tuple[Slice, ...]
    steps: tuple[Step, ...]
    moves: tuple[Move, ...]
    effects: tuple[Effect, ...]
    values: Mapping[str, Mapping[str, int]]
