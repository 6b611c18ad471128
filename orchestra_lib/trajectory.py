"""The record of one episode: turns, why it ended, and the ledger behind its bill."""

import math
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import chain
from typing import Any

from orchestra_lib.billing import JUDGE, Bill, bill
from orchestra_lib.errors import BadInput, Fault
from orchestra_lib.generation import Generation
from orchestra_lib.grade import Grade
from orchestra_lib.limits import Limits
from orchestra_lib.preference import Preference
from orchestra_lib.pricing import Attempt, PriceTable
from orchestra_lib.record import record
from orchestra_lib.task import Assigned, Task
from orchestra_lib.tool import CallStatus, Observation, ToolCall, ToolSpec

ORCHESTRATOR = "orchestrator"
"""The payee's name of the orchestrator itself on a bill and in faults."""

MOST_TURNS = 2**31
"""No run comes near it, and the tables hold what is below it."""


class StopReason(StrEnum):
    """Why an episode ended; a closed list with one meaning each."""

    ANSWERED = "answered"
    MAX_TURNS = "max_turns"
    COST_LIMIT = "cost_limit"
    TIME_LIMIT = "time_limit"
    TOKEN_LIMIT = "token_limit"
    LOOP = "loop"
    """The orchestrator kept repeating a call that had been refused as a repeat."""
    CANCELLED = "cancelled"
    FAULT = "fault"
    """The world failed: the orchestrator's endpoint, the disk, or the process itself."""


@record
class Fork:
    """Where a run branched off: the turns before `turn` are those of `run_id`, and that one is played anew.

    `edited` says that the calls of `turn` are a person's and not the orchestrator's. `restored` says of each tool
    that remembers earlier calls what was done so that it remembers those, and of others that they may have forgotten.
    """

    run_id: str
    turn: int
    edited: bool = False
    restored: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not abs(self.turn) < MOST_TURNS:
            raise BadInput(f"fork at turn {self.turn}; turns count from 0 to {MOST_TURNS:,}")


@record
class Setting:
    """All that a run was started with; enough to start it again.

    `sentence` is the preference in the words that the model read. `prices` holds the rows this
    run could need. `started_at` is aware UTC, anything else is a ValueError; every other time counts
    seconds from it. `group` is shared by rollouts that were started to be compared. `origin` says where an
    imported run came from; None is this workbench. `conversation` holds an imported run's messages in OpenAI's form,
    None for any other run. `timed` is False where the source gives no times: then every time in the record but
    `started_at`, the moment of the import, means nothing, and no latency is known. `assigned` is the assignment of
    a run in a domain. So many of the first turns as `given_turns` were played elsewhere and came with the
    conversation that a caller sent: they count for no statistics.
    """

    run_id: str
    started_at: datetime
    task: Task
    orchestrator: str
    protocol: str
    preference: Preference
    sentence: str
    tools: tuple[ToolSpec, ...]
    prices: PriceTable
    limits: Limits
    seed: int | None = None
    group: str | None = None
    fork: Fork | None = None
    origin: str | None = None
    conversation: tuple[Mapping[str, Any], ...] | None = None
    timed: bool = True
    assigned: Assigned | None = None
    given_turns: int = 0

    def __post_init__(self) -> None:
        if self.started_at.utcoffset() != timedelta(0):
            raise ValueError(f"started_at = {self.started_at.isoformat()} is not UTC")

    @property
    def title(self) -> str:
        """What the run is known by in lists: the task, in a domain the user's opening words without the policy."""
        opening = None if self.assigned is None else self.assigned.assignment.get("instruction")
        return opening if isinstance(opening, str) and opening else self.task.text

    @property
    def first_turn(self) -> int:
        """The number of the first turn that this run played itself: those before came with a fork or a conversation."""
        return self.fork.turn if self.fork is not None else self.given_turns + 1

    def tool(self, name: str) -> ToolSpec | None:
        """The tool of this name; None for one that is not on offer."""
        return next((spec for spec in self.tools if spec.name == name), None)


def stated_more_s(turn: "Turn", stating: Collection[str]) -> float:
    """How much longer the calls of a turn would have taken, had these tools waited."""
    passed_s, stated_s = 0.0, 0.0
    for call in turn.calls:
        if call.observation is not None:
            end_s = call.observation.finished_s - turn.started_s
            passed_s = max(passed_s, end_s)
            if call.call.tool in stating:
                end_s += call.stated_s - call.observation.latency_s
            stated_s = max(stated_s, end_s)
    return stated_s - passed_s


_RAN = (CallStatus.OK, CallStatus.ERROR, CallStatus.TIMEOUT)


@record
class Call:
    """A call with its observation (None while it runs) and the ledger rows it caused."""

    call: ToolCall
    observation: Observation | None = None
    attempts: tuple[Attempt, ...] = ()

    @property
    def stated_s(self) -> float:
        """Seconds that the call's bill says, of a tool that does not wait; by the clock, where that is more."""
        passed_s = self.observation.latency_s if self.observation else 0.0
        return max(passed_s, math.fsum(attempt.wall_s for attempt in self.attempts))

    def took_s(self, setting: Setting) -> float | None:
        """Seconds that the call took, or that its tool states; None while it runs and where no times are known."""
        if self.observation is None or not setting.timed:
            return None
        spec = setting.tool(self.call.tool)
        return round(self.stated_s if spec and spec.states_its_time else self.observation.latency_s, 6)


@record
class Turn:
    """One generation and the calls it made. `finished_s` is None while the turn runs."""

    index: int
    started_s: float
    generated_s: float | None = None
    finished_s: float | None = None
    generation: Generation | None = None
    calls: tuple[Call, ...] = ()


@record
class Trajectory:
    """One episode, complete or still running (`stop` None).

    `outcome` is True or False when the task was graded and None when nobody graded it; it is that of the last of
    `grades`. `judge_attempts` are what grading took, billed apart from the run, and `judge_faults` the
    failures of graders, after which a run is as graded as before.
    `faults` lists every failure of the world on the way, also those that the run survived.
    """

    setting: Setting
    turns: tuple[Turn, ...] = ()
    stop: StopReason | None = None
    answer: str | None = None
    faults: tuple[Fault, ...] = ()
    outcome: bool | None = None
    finished_s: float | None = None
    judge_attempts: tuple[Attempt, ...] = ()
    judge_faults: tuple[Fault, ...] = ()
    grades: tuple[Grade, ...] = ()

    @property
    def id(self) -> str:
        return self.setting.run_id

    @property
    def status(self) -> str:
        return "running" if self.stop is None else str(self.stop)

    @property
    def simulated(self) -> bool:
        """True when any tool on offer answers from a simulated profile."""
        return any(spec.simulated for spec in self.setting.tools)

    @property
    def latency_s(self) -> float | None:
        """Seconds that the run took, None while unknown.

        Experts that are simulated or recorded say how long they took and do not wait; what they say counts in place of
        what passed, the longest call of a turn for the turn.
        """
        stating = {spec.name for spec in self.setting.tools if spec.states_its_time}
        if self.finished_s is None or not stating:
            return self.finished_s
        return round(math.fsum((self.finished_s, *(stated_more_s(turn, stating) for turn in self.turns))), 6)

    @property
    def calls(self) -> tuple[Call, ...]:
        return tuple(call for turn in self.turns for call in turn.calls)

    @property
    def own_calls(self) -> tuple[Call, ...]:
        """The calls of turns that were played here, and did not come with a caller's conversation."""
        return tuple(call for turn in self.turns[self.setting.given_turns :] for call in turn.calls)

    @property
    def tools_used(self) -> Mapping[str, int]:
        """How many calls of each tool ran here, well or badly. What was refused, or only claimed, is no use."""
        return Counter(
            call.call.tool for call in self.own_calls if call.observation and call.observation.status in _RAN
        )

    def ledger(self) -> Iterator[tuple[str, Attempt]]:
        """Every attempt of the run with its payee, in order: `orchestrator`, or the tool's name."""
        for turn in self.turns:
            for attempt in turn.generation.attempts if turn.generation else ():
                yield ORCHESTRATOR, attempt
            for call in turn.calls:
                for attempt in call.attempts:
                    yield call.call.tool, attempt

    def before_fork(self) -> Bill | None:
        """What was paid in the turns that the run shares with the one it branched off from; None for no fork."""
        if self.setting.fork is None:
            return None
        shared = tuple(turn for turn in self.turns if turn.index < self.setting.fork.turn)
        return replace(self, turns=shared, judge_attempts=()).bill()

    def bill(self, prices: PriceTable | None = None) -> Bill:
        """The bill under the recorded prices, or under another table; the judge stands apart from its totals."""
        judged = ((JUDGE, attempt) for attempt in self.judge_attempts)
        return bill(chain(self.ledger(), judged), prices or self.setting.prices)
