"""Who can conduct on this machine, and why some cannot now."""

import logging
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Protocol

from orchestra_lib import chat, toolorchestra
from orchestra_lib.chat import CallStyle
from orchestra_lib.errors import BadInput, WeightsFault
from orchestra_lib.experts import Experts
from orchestra_lib.language_models import CODER, FREE_LOOP, OPENAI, LanguageModels
from orchestra_lib.model.minilm import MiniLM
from orchestra_lib.players import policy_of
from orchestra_lib.policy.baseline import at_random, cheapest, nearest, strongest
from orchestra_lib.policy.chat_model import ChatPolicy
from orchestra_lib.policy.conductor.answered import Answered, load_questions
from orchestra_lib.policy.conductor.estimator import Estimator, WordEmbedder
from orchestra_lib.policy.conductor.examples import load_examples
from orchestra_lib.policy.conductor.policy import Conductor
from orchestra_lib.policy.oracle import ORACLE
from orchestra_lib.policy.routing.outcomes import known_outcomes
from orchestra_lib.policy.routing.router import CASCADE, KNN, MF, Lessons, cascade, router
from orchestra_lib.protocols import Policy, PolicySpec
from orchestra_lib.record import record
from orchestra_lib.tool import RECORDED

_BASELINES = {
    "random": "Random tool",
    "strongest": "Dearest tool",
    "cheapest": "Cheapest able tool",
    "nearest": "Nearest description",
    CASCADE: "Cascade until two agree",
}
_ROUTERS = {
    KNN: ("Neighbour router", "learned from recorded outcomes, of tools by their names: the nearest tasks"),
    MF: ("Factor router", "learned from recorded outcomes, of tools by their names: factors of tasks and tools"),
}
_BOTH = (chat.PROTOCOL, toolorchestra.PROTOCOL)
"""What a language model can conduct over; the others speak chat only."""
_log = logging.getLogger(__name__)


@record
class Offer:
    """One orchestrator in a picker. `off` says why it cannot be used now; None means it can.

    `protocols` are those it can conduct over, the usual one first. `simulated` ones conduct simulated experts alone.
    """

    name: str
    title: str
    note: str
    off: str | None = None
    protocols: tuple[str, ...] = (chat.PROTOCOL,)
    simulated: bool = False


class Conductors(Protocol):
    """More orchestrators than are known here, such as trained ones. `policy` raises `BadInput`."""

    def offers(self) -> Sequence[Offer]: ...
    def policy(self, name: str) -> Policy: ...


class Orchestrators:
    """The conductor, language models, baselines and routers of a home folder, and `others`, which may still grow."""

    def __init__(self, home: Path, models: LanguageModels, experts: Experts, others: Sequence[Conductors]) -> None:
        self._home, self._models, self._experts, self._others = home, models, experts, others

    @cached_property
    def estimator(self) -> Estimator:
        """What the conductor chooses by; the first use loads the embeddings."""
        return Estimator(load_examples(), self._embedder)

    @cached_property
    def _answered(self) -> Answered | None:
        """What the documents answer; hashed words are too crude to tell what is asked."""
        return Answered(load_questions(), self._embedder) if self._embedder else None

    @cached_property
    def _embedder(self) -> MiniLM | None:
        return _embedder()

    @cached_property
    def _lessons(self) -> Lessons:
        return Lessons(known_outcomes(self._home), self._embedder or WordEmbedder())

    def offers(self) -> tuple[Offer, ...]:
        """Who can conduct here, the default first."""
        waiting = self._models.missing(CODER)
        helped = "without a model until its weights are here" if waiting else "a 1.5B model writes arguments"
        return (
            Offer(
                name="conductor", title="Conductor", note=f"chooses by labelled examples and your preferences; {helped}"
            ),
            Offer(
                name="conductor-no-model",
                title="Conductor, no model",
                note="the same without any model, for small machines",
            ),
            Offer(
                name=FREE_LOOP,
                title="Qwen2.5-Coder 1.5B",
                note="experimental: the small model chooses freely",
                off=waiting,
                protocols=_BOTH,
            ),
            *(Offer(name=name, title=title, note="a baseline without a model") for name, title in _BASELINES.items()),
            *(Offer(name=name, title=title, note=note) for name, (title, note) in _ROUTERS.items()),
            self._openai_offer(),
            *self._local_offers(),
            *self._endpoint_offers(),
            *self._oracle_offers(),
            *(offer for source in self._others for offer in source.offers()),
        )

    def _openai_offer(self) -> Offer:
        model = self._models.openai_model
        return Offer(
            name=OPENAI + (model or "MODEL"),
            title=model or "Any OpenAI-compatible endpoint",
            note=f"at {self._models.openai_address}",
            off=self._models.openai_off(),
            protocols=_BOTH,
        )

    def _local_offers(self) -> Iterator[Offer]:
        local = self._models.local
        for name in local:
            title, note = local.words(name)
            off = self._models.missing(local.model(name).name)
            yield Offer(name=name, title=title, note=note, off=off, protocols=_BOTH)

    def _endpoint_offers(self) -> Iterator[Offer]:
        endpoints = self._models.endpoints
        for endpoint in endpoints:
            if endpoint.orchestrator:
                name, title = endpoint.name, f"{endpoint.title} ({endpoint.provider})"
                note = f"at {endpoints.address(name)}"
                yield Offer(name=name, title=title, note=note, off=endpoints.off(name), protocols=_BOTH)

    def _oracle_offers(self) -> Iterator[Offer]:
        if self._experts.offered:
            note = "a benchmark: it knows the profiles of simulated experts and the kind of the task"
            yield Offer(name=ORACLE, title="Oracle of simulated experts", note=note)

    def policy(self, name: str) -> Policy:
        """Build one by name. Raises `BadInput` for an unknown name or one that is off."""
        if name.startswith(OPENAI):
            return self._openai(name.removeprefix(OPENAI))
        endpoints, local = self._models.endpoints, self._models.local
        if name in endpoints:
            endpoints.look_at(name)  # waits for the first look only, which the pages have long asked for
        if name == ORACLE:
            return self._experts.oracle()
        if name.startswith(RECORDED):
            raise BadInput(f"{name} answers as a tool or a judge; `orchestra replay` plays a recorded run again")
        off = {offer.name: offer.off for offer in self.offers()}
        if name not in off:
            known = ", ".join(known for known in off if not known.startswith(OPENAI) and "/" not in known)
            raise BadInput(
                f"there is no orchestrator {name!r}; there are {known}, openai:MODEL and those of `orchestra models`"
            )
        if off[name] is not None:
            raise BadInput(f"the orchestrator {name} is off: {off[name]}")
        for source in self._others:
            if any(offer.name == name for offer in source.offers()):
                return source.policy(name)
        if name == FREE_LOOP:
            return ChatPolicy(
                PolicySpec(name=name, priced_as=CODER, max_input_tokens=4096, max_output_tokens=400),
                self._models.embedded[CODER],
                style=CallStyle.CONSTRAINED,
            )
        if name in endpoints:
            return policy_of(endpoints, name)
        if name in local:
            return local.policy(name)
        if name in _BASELINES:
            return _baseline(name)
        if name in _ROUTERS:
            return router(name, self._lessons)
        helped = name == "conductor" and self._models.missing(CODER) is None
        model = self._models.embedded[CODER] if helped else None
        return Conductor(self.estimator, model, answered=self._answered, name=name)

    def _openai(self, model: str) -> Policy:
        spec = PolicySpec(name=OPENAI + model, priced_as=model, max_input_tokens=128_000, max_output_tokens=8192)
        return ChatPolicy(spec, self._models.openai(model), style=CallStyle.NATIVE)


def _baseline(name: str) -> Policy:
    plain = {"random": at_random, "strongest": strongest, "cheapest": cheapest, CASCADE: cascade}
    return plain[name]() if name in plain else nearest(_embedder() or WordEmbedder())


def _embedder() -> MiniLM | None:
    """The embedding model; without its package the estimator falls back to hashed words."""
    embedder = MiniLM()
    try:
        embedder.embed(["ready?"])
    except WeightsFault as error:
        _log.warning("%s", error)
        return None
    return embedder
