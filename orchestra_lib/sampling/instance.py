"""One instance for training: what is asked, what is on offer at which prices, what is wished, and how it is shown."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from orchestra_lib import chat, toolorchestra
from orchestra_lib.codec import dumps, to_data
from orchestra_lib.ensemble import NamedModel
from orchestra_lib.environment.assignment import to_line
from orchestra_lib.errors import BadInput, ContextOverflow
from orchestra_lib.limits import Limits
from orchestra_lib.policy.toolorchestra import ToolOrchestra, ToolOrchestraInDomain
from orchestra_lib.preference import Preference
from orchestra_lib.pricing import PriceTable
from orchestra_lib.protocols import Situation
from orchestra_lib.record import record
from orchestra_lib.sampling.cases import Case, Category
from orchestra_lib.sampling.offering import Offer
from orchestra_lib.sampling.prices import Regime
from orchestra_lib.task import Task
from orchestra_lib.toolorchestra.context import TRAINING
from orchestra_lib.toolorchestra.domain import DomainWords
from orchestra_lib.toolorchestra.tokens import WordPieces
from orchestra_lib.trajectory import Setting

PROTOCOLS = (chat.PROTOCOL, toolorchestra.PROTOCOL)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

Prompt = tuple[tuple[Mapping[str, Any], ...], tuple[Mapping[str, Any], ...]]
"""The messages and the tools as OpenAI's API takes them."""


@record
class Instance:
    """One case with all that was drawn for it. `seed` is its own, for its rollouts."""

    id: str
    case: Case
    protocol: str
    offer: Offer
    prices: PriceTable
    regime: Regime
    preference: Preference
    sentence: str
    seed: int

    def setting(self, run_id: str | None = None, *, started_at: datetime = _EPOCH, orchestrator: str = "") -> Setting:
        """What a rollout of it starts with."""
        case = self.case
        return Setting(
            run_id=run_id or self.id,
            started_at=started_at,
            task=Task(text=case.asked(self.protocol), id=case.id, reference=case.reference),
            orchestrator=orchestrator,
            protocol=self.protocol,
            preference=self.preference,
            sentence=self.sentence,
            tools=(*case.offered(self.protocol), *self.offer.specs),
            prices=self.prices,
            limits=Limits(),
            seed=self.seed,
        )


class _Uncounted:
    """For a domain's first prompt, of which nothing is ever cut: counting it took nine tenths of the time."""

    exact = False

    def starts(self, text: str) -> Sequence[int]:
        return ()


def prompt_of(instance: Instance, words: DomainWords) -> Prompt:
    """What the orchestrator reads first, made by the code that makes it in a run.

    Raises `BadInput` naming the case for a question that is longer than the protocol takes.
    """
    situation = Situation(setting=instance.setting(), turns=(), spent_usd=0.0, elapsed_s=0.0)
    if instance.protocol == chat.PROTOCOL:
        return chat.messages(situation, chat.CallStyle.NATIVE), chat.openai_tools(situation.setting)
    model = NamedModel(instance.protocol)
    if instance.case.category is Category.QA:
        try:
            asked = ToolOrchestra(model, instance.offer.kit, WordPieces(), regime=TRAINING).request(situation)
        except ContextOverflow as error:
            raise BadInput(f"{instance.case.source} {instance.case.id}: {error}") from None
    else:
        own = replace(words, kit=instance.offer.kit)
        asked = ToolOrchestraInDomain(model, own, instance.case.policy, _Uncounted()).request(situation)
    return tuple(asked.messages), tuple(asked.tools)


def row_of(instance: Instance, prompt: Prompt) -> dict[str, Any]:
    """An instance as a row for TRL: a conversational `prompt`, `tools`, and what a reward is made of.

    Everything with a form of its own is JSON text, so that no row's keys become another row's nulls.
    """
    case, (messages, tools) = instance.case, prompt
    return {
        "id": instance.id,
        "category": str(case.category),
        "case": case.id,
        "source": case.source,
        "domain": case.domain,
        "protocol": instance.protocol,
        "prompt": [{"role": message["role"], "content": message["content"]} for message in messages],
        "tools": dumps(tools),
        "reference": case.reference,
        "golden": dumps(case.golden),
        "say": dumps(case.say),
        "assignment": None if case.assignment is None else to_line(case.assignment),
        "preference": dumps(to_data(replace(instance.preference, sentence=None))),
        "instruction": instance.sentence,
        "extension": any(weight < 0 for weight in instance.preference.tools.values()),
        "regime": str(instance.regime),
        "prices": dumps(_said(to_data(instance.prices))),
        "models": dumps(instance.offer.models),
        "facts": dumps(case.facts),
        "seed": instance.seed,
    }


def _said(value: Any) -> Any:
    """Plain data without what it leaves open; it is read back the same."""
    if isinstance(value, Mapping):
        return {
            key: _said(part) for key, part in value.items() if part is not None and part is not False and part != []
        }
    return value
