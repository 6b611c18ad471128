"""Orchestrators without a model, to compare others with: `random`, `strongest`, `cheapest`, `nearest`.

Each ranks the tools on offer by one plain rule, asks the best with the text of the task, goes on to the next
when a call fails, and answers with the last good observation. It takes part like any other policy and says
what it went by; it remembers nothing between turns, so a run can be resumed and forked anywhere.
"""

import asyncio
import random
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from typing import Any

from orchestra_lib.generation import Channel, Delta, Estimate, Generation
from orchestra_lib.pricing import Attempt, PriceTable, Usage, cost_usd
from orchestra_lib.protocols import Embedder, PolicySpec, Situation
from orchestra_lib.record import record
from orchestra_lib.tool import CallStatus, ToolCall, ToolKind, ToolSpec
from orchestra_lib.trajectory import Call

TYPICAL_USAGE = Usage(input_tokens=1_000, output_tokens=500)
"""Tokens of the call by which costs are compared."""

NO_ANSWER = "No answer: no tool on offer gave one."

_NOT_WORDS = frozenset({"code", "source", "script", "program", "sql", "expression"})
"""Parameters that take a language of their own: the words of a task would only be a syntax error."""

_BY_KIND = (ToolKind.GENERALIST, ToolKind.SPECIALIST, ToolKind.DOMAIN, ToolKind.BASIC)


@record
class Merit:
    """Why a tool stands where it stands; a higher `score` is tried first, None comes last."""

    score: float | None
    note: str


Rule = Callable[[Situation, Sequence[ToolSpec]], Sequence[Merit]]
"""The merit of each tool, in the order given."""


Settled = Callable[[Situation], Call | None]
"""The call whose observation is the answer; None: ask on."""


class Baseline:
    """Plays by one `rule`. The rule runs in a thread, since it may embed texts.

    `settled` says when to answer, with the first good observation unless told otherwise. Where nothing is left to ask
    the last good one is the answer.
    """

    def __init__(self, name: str, rule: Rule, settled: Settled | None = None) -> None:
        self.spec = PolicySpec(name=name)
        self._rule, self._settled = rule, settled or _last_good

    async def act(self, situation: Situation) -> AsyncGenerator[Delta | Generation, None]:
        """One call, or the answer."""
        good = self._settled(situation)
        estimates: tuple[Estimate, ...] = ()
        if good is None:
            estimates, arguments = await asyncio.to_thread(self._rank, situation)
            chosen = next((estimate for estimate in estimates if estimate.tool in arguments), None)
            good = _last_good(situation) if chosen is None else None
        if good is not None:
            said = f"{good.call.tool} gave this."
            yield Delta(channel=Channel.REASONING, text=said)
            yield _answer(observed(good), said, estimates)
            return
        said = (
            f"By the rule {self.spec.name!r}: {chosen.tool}, {chosen.note}."
            if chosen
            else f"By the rule {self.spec.name!r} no tool is left that takes the task."
        )
        yield Delta(channel=Channel.REASONING, text=said)
        if chosen is None:
            yield _answer(NO_ANSWER, said, estimates)
        else:
            call_id = f"call_{len(situation.turns) + 1}_1"
            call = ToolCall.of(call_id, chosen.tool, arguments[chosen.tool])
            yield Generation(raw_text="", reasoning=said, calls=(call,), estimates=estimates)

    def _rank(self, situation: Situation) -> tuple[tuple[Estimate, ...], Mapping[str, Mapping[str, str]]]:
        """Every tool, best first and those ruled out last, and what to ask each that is left."""
        setting = situation.setting
        tried = {call.call.tool for turn in situation.turns for call in turn.calls}
        arguments: dict[str, Mapping[str, str]] = {}
        out: list[Estimate] = []
        for spec in setting.tools:
            why, given = _obvious_arguments(spec, setting.task.text)
            if spec.name in tried:
                why = "it had its chance"
            if why:
                out.append(_estimate(spec, setting.prices, Merit(score=None, note=why)))
            else:
                arguments[spec.name] = given
        able = [spec for spec in setting.tools if spec.name in arguments]
        ranked = zip(able, self._rule(situation, able) if able else (), strict=True)
        # The sort is stable: equal tools stay in the order in which they are offered.
        best = sorted(ranked, key=lambda pair: (pair[1].score is None, -(pair[1].score or 0.0)))
        return (*(_estimate(spec, setting.prices, merit) for spec, merit in best), *out), arguments


def at_random() -> Baseline:
    """Any tool with equal chance, drawn from the run's seed and task, or from its id where it has no seed.

    Many tasks under one seed are so many lots, and not one.
    """

    def rule(situation: Situation, specs: Sequence[ToolSpec]) -> list[Merit]:
        setting = situation.setting
        seed = setting.run_id if setting.seed is None else f"{setting.seed}/{setting.task.text}"
        lots = (random.Random(f"{seed}/{spec.name}").random() for spec in specs)  # noqa: S311  # a lot, not a secret
        return [Merit(score=lot, note=f"drawn from {len(specs)} by lot") for lot in lots]

    return Baseline("random", rule)


def strongest() -> Baseline:
    """The model that costs most per output token: its price is all that every table says of its strength."""

    def rule(situation: Situation, specs: Sequence[ToolSpec]) -> list[Merit]:
        return [_strength(spec, situation.setting.prices) for spec in specs]

    return Baseline("strongest", rule)


def cheapest() -> Baseline:
    """The tool whose typical call costs least, among those that can be asked the task as it stands."""
    return Baseline("cheapest", cheapest_first)


def cheapest_first(situation: Situation, specs: Sequence[ToolSpec]) -> list[Merit]:
    """The rule of `cheapest`; what has no price comes last."""
    costs = (typical_usd(spec, situation.setting.prices) for spec in specs)
    return [
        Merit(score=None, note="its price is unknown")
        if cost is None
        else Merit(score=-cost, note=f"a typical call costs ${cost:.6f}")
        for cost in costs
    ]


def nearest(embedder: Embedder) -> Baseline:
    """The tool whose description is most like the task."""

    def rule(situation: Situation, specs: Sequence[ToolSpec]) -> list[Merit]:
        texts = [situation.setting.task.text, *(f"{spec.title}. {spec.description}" for spec in specs)]
        vectors = embedder.embed(texts)
        return [
            Merit(score=float(likeness), note=f"likeness of its description to the task {likeness:.2f}")
            for likeness in vectors[1:] @ vectors[0]
        ]

    return Baseline("nearest", rule)


def _strength(spec: ToolSpec, prices: PriceTable) -> Merit:
    price = prices.find(spec.priced_as)
    rank = 1.0 - _BY_KIND.index(spec.kind) / len(_BY_KIND)  # tells equal prices apart, and the unpriced
    if price is None or price.output_usd_per_mtok is None:
        return Merit(score=rank - 1.0, note=f"a {spec.kind} tool without a price per token")
    words = f"${price.output_usd_per_mtok:g} per million output tokens"
    return Merit(score=1e3 + 1e3 * price.output_usd_per_mtok + rank, note=words)


def _estimate(spec: ToolSpec, prices: PriceTable, merit: Merit) -> Estimate:
    return Estimate(
        tool=spec.name,
        cost_usd=typical_usd(spec, prices),
        latency_s=spec.typical_latency_s,
        score=merit.score,
        note=merit.note,
    )


def typical_usd(spec: ToolSpec, prices: PriceTable) -> float | None:
    """What a call of `TYPICAL_USAGE` costs; None without a price."""
    attempt = Attempt(priced_as=spec.priced_as, usage=TYPICAL_USAGE, wall_s=spec.typical_latency_s or 0.0)
    return cost_usd(attempt, prices.find(spec.priced_as))


def _obvious_arguments(spec: ToolSpec, task: str) -> tuple[str, Mapping[str, str]]:
    """The task as the one text that a tool asks for, or why that cannot be."""
    properties: Mapping[str, Any] = spec.parameters.get("properties", {})
    wanted = list(spec.parameters.get("required", ())) or list(properties)
    if len(wanted) != 1:
        return f"it takes {len(wanted)} arguments, not one text", {}
    name, schema = wanted[0], properties.get(wanted[0], {})
    if schema.get("type") != "string" or schema.keys() & {"enum", "const", "pattern", "format"}:
        return f"its {name} takes no free text", {}
    if name in _NOT_WORDS:
        return f"it takes {name} and not words", {}
    if len(task) > schema.get("maxLength", len(task)):
        return f"its {name} takes {schema['maxLength']:,} characters and the task has {len(task):,}", {}
    return "", {name: task}


def good_calls(situation: Situation) -> list[Call]:
    """The calls that brought something, in order."""
    return [call for turn in situation.turns for call in turn.calls if observed(call)]


def _last_good(situation: Situation) -> Call | None:
    return next(reversed(good_calls(situation)), None)


def observed(call: Call) -> str:
    """What a call brought; empty when it failed."""
    observation = call.observation
    return observation.text.strip() if observation is not None and observation.status is CallStatus.OK else ""


def _answer(text: str, why: str, estimates: tuple[Estimate, ...] = ()) -> Generation:
    return Generation(raw_text="", reasoning=why, content=text, answer=text, estimates=estimates)
