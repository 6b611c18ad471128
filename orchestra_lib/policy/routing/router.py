"""Orchestrators that route: the rule of the oracle over chances that were learned, and the cascade."""

import asyncio
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from itertools import combinations
from typing import Protocol

from orchestra_lib.policy.baseline import Baseline, Merit, Rule, cheapest_first, good_calls, observed, typical_usd
from orchestra_lib.policy.oracle import Known, merit
from orchestra_lib.policy.routing.factors import Factors
from orchestra_lib.policy.routing.neighbours import Neighbours
from orchestra_lib.policy.routing.outcomes import Floats, Outcome, tabled
from orchestra_lib.profile import ABLE
from orchestra_lib.protocols import Embedder, Situation
from orchestra_lib.tool import ToolSpec
from orchestra_lib.trajectory import Call

KNN, MF, CASCADE = "knn-router", "mf-router", "cascade"

_NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?")
_LABEL = re.compile(r"^.*?\banswer\s*(?:is|[:=])\s*", re.IGNORECASE)


class Learned(Protocol):
    """What was learned of `tools`: the chance of each to solve a task."""

    tools: tuple[str, ...]

    def chances(self, text: str) -> Floats: ...


METHODS: Mapping[str, Callable[..., Learned]] = {KNN: Neighbours, MF: Factors}


class Lessons:
    """The two estimators over the same outcomes, each fitted when it is first asked: texts are embedded then."""

    def __init__(self, outcomes: Sequence[Outcome], embedder: Embedder) -> None:
        self._outcomes, self._embedder = outcomes, embedder
        self._lock = threading.Lock()
        self._fitted: dict[str, Learned] = {}

    @cached_property
    def counts(self) -> Mapping[str, int]:
        """How many outcomes tell of each tool."""
        return {tool: sum(tool in one.solved for one in self._outcomes) for tool in tabled(self._outcomes).tools}

    def fitted(self, method: str) -> Learned:
        """What one estimator has learned; blocks for seconds the first time."""
        with self._lock:
            if method not in self._fitted:
                self._fitted[method] = METHODS[method](tabled(self._outcomes), self._embedder)
            return self._fitted[method]

    def chances(self, method: str, text: str) -> Mapping[str, float]:
        """The chance of every known tool."""
        learned = self.fitted(method)
        return dict(zip(learned.tools, learned.chances(text).tolist(), strict=True))


class Router(Baseline):
    """A `PreparedPolicy`: what it fits before its first move is no part of a run's time."""

    def __init__(self, name: str, rule: Rule, lessons: Lessons) -> None:
        super().__init__(name, rule)
        self._lessons = lessons

    async def prepare(self) -> None:
        """Fit the estimator, where that is not done."""
        await asyncio.to_thread(self._lessons.fitted, self.spec.name)


def router(name: str, lessons: Lessons) -> Router:
    """Calls the tool that the oracle would call if `name`'s estimate of chances were true.

    Prices come from the table of the run and seconds from the tools' own specs, as every orchestrator sees them.
    """

    def rule(situation: Situation, specs: Sequence[ToolSpec]) -> list[Merit]:
        setting = situation.setting
        chances = lessons.chances(name, setting.task.text)
        known = {
            spec.name: Known(
                name=spec.name,
                chance=chances[spec.name],
                cost_usd=typical_usd(spec, setting.prices),
                latency_s=spec.typical_latency_s,
            )
            for spec in specs
            if spec.name in chances
        }
        able = [one for one in known.values() if one.chance >= ABLE]
        return [_merit(known.get(spec.name), able, situation, lessons) for spec in specs]

    return Router(name, rule, lessons)


def _merit(one: Known | None, able: Sequence[Known], situation: Situation, lessons: Lessons) -> Merit:
    if one is None:
        return Merit(score=None, note="no recorded outcome tells of it")
    says = f"{lessons.counts[one.name]} recorded outcomes say"
    return merit(one, able, situation.setting.preference, says=says)


def cascade() -> Baseline:
    """Asks the cheapest, then the next dearer, until two answers agree; where none do, the dearest answer stands.

    Agreement between models in place of a trained check, after agreement-based cascading (arXiv 2407.02348). It reads
    no preference.
    """

    def agreed(situation: Situation) -> Call | None:
        good = good_calls(situation)
        return next((b for a, b in combinations(good, 2) if agree(observed(a), observed(b))), None)

    return Baseline(CASCADE, cheapest_first, settled=agreed)


def agree(a: str, b: str) -> bool:
    """Whether two answers claim the same: their last numbers where both have one, else their last lines in plain words.

    Cruder than a judge, which knows a reference to compare with; nothing of it grades anything.
    """
    numbers = [_NUMBER.findall(text) for text in (a, b)]
    if all(numbers):
        first, second = (float(found[-1].replace(",", "")) for found in numbers)
        return first == second
    return not any(numbers) and _words(a) == _words(b) != ""


def _words(text: str) -> str:
    lines = text.strip().splitlines()
    return " ".join(re.findall(r"\w+", _LABEL.sub("", lines[-1]).casefold())) if lines else ""
