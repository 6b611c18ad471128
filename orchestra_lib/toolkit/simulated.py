"""Simulated experts as tools: a stated profile answers, right or wrong by lot, and every record says so."""

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import replace
from typing import Any

from orchestra_lib.errors import ProviderFault
from orchestra_lib.pricing import Attempt, Price, Usage
from orchestra_lib.profile import Profile, description, draw
from orchestra_lib.protocols import Situation, ToolResult
from orchestra_lib.record import record
from orchestra_lib.simulated_tasks import find, wrong_answer
from orchestra_lib.task import Task
from orchestra_lib.tool import ToolSpec
from orchestra_lib.toolkit.model_tool import question

_CHARS_PER_TOKEN = 4
_TIMEOUT_S = 120.0


@record
class Placed:
    """Of which kind and how difficult a task is, as far as anybody says; `others` are plausible wrong answers."""

    kind: str | None = None
    difficulty: str | None = None
    others: tuple[str, ...] = ()


def placed(task: Task) -> Placed:
    """The kind and difficulty of a simulated task; of any other nothing is known."""
    known = find(task.text)
    return Placed() if known is None else Placed(kind=known.kind, difficulty=known.difficulty, others=known.others)


class SimulatedExpert:
    """A profile as a tool that answers the task of its run.

    It is right by the reference of the task, whatever it is asked, with the chance that `profile` states for the
    task's kind and difficulty, which `place` tells. Draws follow `seed`, or the seed of the run, or its id where
    it has none: call n of an expert about a task always comes to the same. Seconds are reported on the bill and not
    waited for, unless it `sleeps`. `name` and `price` stand in for the profile's own in the spec.
    Raises `ProviderFault` when the profile's endpoint fails by lot, and for a task without a reference.
    """

    def __init__(
        self,
        profile: Profile,
        *,
        name: str | None = None,
        seed: int | None = None,
        sleeps: bool = False,
        price: Price | None = None,
        figures: bool = True,
        place: Callable[[Task], Placed] = placed,
    ) -> None:
        self.profile = profile
        self.spec = spec_of(profile, name=name, price=price, figures=figures)
        self._seed, self._sleeps, self._place = seed, sleeps, place
        self._begun: Counter[tuple[str, int]] = Counter()

    def described(self, description: str) -> "SimulatedExpert":
        """The same expert by another description; both count their calls together."""
        other = copy(self)
        other.spec = replace(self.spec, description=description)
        return other

    def spec_for(self, arguments: Mapping[str, Any]) -> ToolSpec:
        """The same for every question."""
        return self.spec

    async def call_in(self, situation: Situation, arguments: Mapping[str, Any]) -> ToolResult:
        """The next draw for the task of the run."""
        setting = situation.setting
        seed = self._seed if self._seed is not None else setting.seed
        number = self._number(situation)
        return await self._answer(
            setting.task, str(arguments["question"]), setting.run_id if seed is None else seed, number
        )

    async def call(self, arguments: Mapping[str, Any], *, run_id: str) -> ToolResult:
        """An answer about the question itself, where it is a simulated task word for word."""
        asked = str(arguments["question"])
        known = find(asked)
        task = Task(text=asked or " ?") if known is None else known.task
        self._begun[run_id, 0] += 1
        return await self._answer(task, asked, run_id if self._seed is None else self._seed, self._begun[run_id, 0])

    async def release(self, run_id: str) -> None:
        """Forget the calls of a run."""
        for key in [key for key in self._begun if key[0] == run_id]:
            del self._begun[key]

    def _number(self, situation: Situation) -> int:
        """Which call of this expert it is in the run, from 1: those of earlier turns, also before a fork, and of this.

        Calls of one turn begin in the order in which the model wrote them.
        """
        name, turns = self.spec.name, situation.turns
        before = sum(call.call.tool == name for turn in turns for call in turn.calls)
        self._begun[situation.setting.run_id, len(turns)] += 1
        return before + self._begun[situation.setting.run_id, len(turns)]

    async def _answer(self, task: Task, asked: str, seed: str | int, number: int) -> ToolResult:
        place, reference = self._place(task), task.reference
        if reference is None:
            raise ProviderFault(
                f"{self.spec.name} is simulated and the task has no reference, so that nothing says which answer is "
                "right; give the task a reference, or take a simulated task",
                (Attempt(priced_as=self.profile.priced_as, wall_s=0.0, billed=False, error="no reference"),),
            )
        chance = self.profile.chance(place.kind, place.difficulty)
        drawn = draw(self.profile, chance or 0.0, seed=seed, task=task.id or task.text, number=number)
        if self._sleeps:
            await asyncio.sleep(drawn.latency_s)
        if drawn.failed:
            attempt = Attempt(
                priced_as=self.profile.priced_as, wall_s=drawn.latency_s, billed=False, error="simulated failure"
            )
            raise ProviderFault("the simulated endpoint failed, as its profile says it may", (attempt,))
        usage = Usage(
            input_tokens=self.profile.prompt_tokens + -(-len(asked) // _CHARS_PER_TOKEN),
            output_tokens=drawn.answer_tokens,
            estimated=True,
        )
        attempts = (Attempt(priced_as=self.profile.priced_as, usage=usage, wall_s=drawn.latency_s),)
        if chance is None:
            words = f"{self.spec.name} knows nothing of such tasks."
            return ToolResult(text=words, attempts=attempts, failed=True)
        said = reference if drawn.right else wrong_answer(reference, place.others, drawn.lot)
        return ToolResult(text=f"Answer: {said}", attempts=attempts)


def spec_of(profile: Profile, *, name: str | None = None, price: Price | None = None, figures: bool = True) -> ToolSpec:
    """The spec of a profile as a tool. Under another `name` neither spec nor description says which profile it is,
    but for `model`, which prices it and which no model reads."""
    return ToolSpec(
        name=name or tool_name(profile.name),
        title=f"{profile.title} (simulated)" if name is None else f"{name} (simulated)",
        description=description(profile, price=price, figures=figures),
        parameters=question("The question, whole"),
        kind=profile.kind,
        model=profile.priced_as,
        max_input_tokens=profile.prompt_tokens + 20_000 // _CHARS_PER_TOKEN,
        max_output_tokens=max(1, round(profile.answer_tokens.most)),
        timeout_s=max(_TIMEOUT_S, 2 * profile.latency.most),
        typical_latency_s=profile.latency.median,
        simulated=True,
    )


def tool_name(name: str) -> str:
    """The tool's name of a profile; servers take no colon."""
    return f"sim_{name}"
