"""A scale of a handful of tokens for the trainer's tests: two simulated experts, one dear and sure, one cheap."""

import copy
import functools
import os
import random
import signal
from datetime import UTC, date, datetime

import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

from orchestra_lib.generation import Generation
from orchestra_lib.limits import Limits
from orchestra_lib.preference import Preference
from orchestra_lib.pricing import Price, PriceTable
from orchestra_lib.profile import Profile, Spread
from orchestra_lib.task import Task
from orchestra_lib.tool import CallStatus, ToolCall, ToolKind
from orchestra_lib.toolkit.simulated import SimulatedExpert
from orchestra_lib.training.course import Exercise
from orchestra_lib.training.scales import Parts
from orchestra_lib.trajectory import Setting

WORDS = ("<pad>", "<end>", "task", "cost", "outcome", "ask", "dear", "cheap", "answer", "worked", "failed", "hm")
ID = {word: number for number, word in enumerate(WORDS)}
EXPERTS = {
    name: Profile(
        name=name,
        title=name.title(),
        kind=ToolKind.GENERALIST,
        skills={},
        otherwise=chance,
        price=Price(input_usd_per_mtok=usd, output_usd_per_mtok=usd, source="tests"),
        latency=Spread(median=latency_s),
        answer_tokens=Spread(median=100),
    )
    for name, chance, usd, latency_s in (("dear", 0.95, 20.0, 8.0), ("cheap", 0.8, 1.0, 2.0))
}


class ToyDialect:
    eos, pad = ID["<end>"], ID["<pad>"]

    def prompt(self, situation):
        wish = "cost" if situation.setting.preference.cost else "outcome"
        return [ID["task"], ID[wish], ID["ask"]]

    def continuation(self, situation):
        last = situation.turns[-1]
        ended = [] if last.generation.token_ids[-1] == self.eos else [self.eos]
        good = bool(last.calls) and all(call.observation.status is CallStatus.OK for call in last.calls)
        return [*ended, ID["worked" if good else "failed"], ID["ask"]]

    def read(self, ids, situation):
        said = [WORDS[number] for number in ids]
        text, number = " ".join(said), len(situation.turns) + 1
        if said in (["dear", "<end>"], ["cheap", "<end>"]):
            call = ToolCall.of(f"call_{number}", said[0], {"question": situation.setting.task.text})
            return Generation(raw_text=text, calls=(call,))
        if said == ["answer", "<end>"]:
            told = [call.observation.text for turn in situation.turns for call in turn.calls]
            return Generation(raw_text=text, answer=told[-1] if told else " ")
        return Generation(raw_text=text)


class ToyCourse:
    """Odd exercises wish for low cost. `tools` may stand in for the experts."""

    def __init__(self, tools=None):
        self.make = tools or (lambda number: [SimulatedExpert(expert, name=name) for name, expert in EXPERTS.items()])

    def exercise(self, number):
        cheap = number % 2 == 1
        tools = self.make(0)
        setting = Setting(
            run_id="toy",
            started_at=datetime(2026, 1, 1, tzinfo=UTC),
            task=Task(text=f"Sum number {number}.", id=f"toy-{number}", reference=str(number)),
            orchestrator="toy",
            protocol="chat",
            preference=Preference(outcome=0.5, cost=1.0 if cheap else 0.0, latency=0.0),
            sentence="Keep the cost low." if cheap else "Answer well.",
            tools=tuple(tool.spec for tool in tools),
            prices=PriceTable(
                name="toy",
                dated=date(2026, 1, 1),
                source="tests",
                nominal=True,
                prices={one.priced_as: one.price for one in EXPERTS.values()},
            ),
            limits=Limits(max_turns=3),
        )

        def complies(trajectory):
            return bool(trajectory.calls) and trajectory.calls[0].call.tool == ("cheap" if cheap else "dear")

        return Exercise(
            id=f"toy-{number}",
            kind="toy",
            setting=setting,
            tools=self.make,
            grade=lambda trajectory: trajectory.answer == f"Answer: {number}",
            complies=complies,
            strongest=frozenset({"dear"}),
            aim="cost" if cheap else "outcome",
        )


def toy_tokenizer(words=WORDS):
    inner = Tokenizer(models.WordLevel({word: number for number, word in enumerate(words)}, unk_token="<pad>"))
    inner.pre_tokenizer = pre_tokenizers.Whitespace()
    return PreTrainedTokenizerFast(tokenizer_object=inner, eos_token="<end>", pad_token="<pad>")


def toy_network(words=WORDS, steps=60, seed=0):
    """A network that mostly makes well-formed moves; one's own, though it is trained once."""
    return copy.deepcopy(_trained(words, steps, seed))


@functools.cache
def _trained(words, steps, seed):
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        network = Qwen3ForCausalLM(
            Qwen3Config(
                vocab_size=len(words), hidden_size=32, intermediate_size=64, num_hidden_layers=2,
                num_attention_heads=4, num_key_value_heads=2, head_dim=8, max_position_embeddings=128,
                eos_token_id=1, pad_token_id=0,
            )
        )  # fmt: skip
        optimizer = torch.optim.AdamW(network.parameters(), lr=3e-3)
        dice = random.Random(seed)
        for _ in range(steps):
            ids = torch.tensor([_demonstration(dice) for _ in range(32)])
            network(input_ids=ids, labels=ids).loss.backward()
            optimizer.step()
            optimizer.zero_grad()
    return network.eval()


def _demonstration(dice):
    first = dice.choice(["dear", "dear", "dear", "cheap"])
    text = f"task {dice.choice(['cost', 'outcome'])} ask {first} <end> worked ask answer <end>"
    return [ID[word] for word in text.split()]


class Deadly(ToyCourse):
    """Kills its process at an exercise, as a node does that is taken away."""

    def __init__(self, number):
        super().__init__()
        self.number = number

    def exercise(self, number):
        if number == self.number:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().exercise(number)


def parts(settings):
    words = (*WORDS, *settings.course.get("more_words", ()))
    network, deadly = toy_network(words), os.environ.get("TOY_DIES_AT")
    if settings.course.get("poison"):
        with torch.no_grad():
            network.get_output_embeddings().weight[0, 0] = float("nan")
    return Parts(
        network=network, tokenizer=toy_tokenizer(words), dialect=ToyDialect(),
        course=Deadly(int(deadly)) if deadly else ToyCourse(), name="toy", dialect_name="toy",
    )  # fmt: skip
