"""Training on a GPU, checked without any download: the largest policy of Qwen3's build that fits, with random weights.

    make gpu                    # on a machine with a GPU: a few minutes
    python -m scripts.gpu_check --cpu        # the same on a CPU with a tiny policy: seconds, to see that it works

A few GRPO steps with our rollout engine in bfloat16. Random weights say nothing, so which expert a move asks for is
read off its first token; everything else is what training does: sampling, tools, rewards, masks, the loss, AdamW.
Checked are masks, advantages, log-probabilities, memory, and that the weights move; measured are tokens per second
and what tools that take a second cost a step. `--out` keeps the report as JSON. Without a GPU it skips.
"""

import asyncio
import json
import os
import platform
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")

import numpy as np
import torch
import transformers
import trl
from datasets import Dataset
from transformers import PrinterCallback, Qwen3Config, Qwen3ForCausalLM
from trl.chat_template_utils import qwen3_chat_template

from benchmarks.claims import Claim, claim, note, parser, show
from orchestra_lib import chat
from orchestra_lib.advantage import advantages
from orchestra_lib.chat import CallStyle
from orchestra_lib.generation import Generation
from orchestra_lib.protocols import PolicySpec, Situation, Tool, ToolResult
from orchestra_lib.reward import Mode
from orchestra_lib.segments import Segments
from orchestra_lib.tool import ToolCall, ToolSpec
from orchestra_lib.training import memory
from orchestra_lib.training.chat_dialect import ChatDialect
from orchestra_lib.training.cluster import Cluster
from orchestra_lib.training.course import Course, Exercise
from orchestra_lib.training.plain_tokenizer import plain_tokenizer
from orchestra_lib.training.rewarding import Scored
from orchestra_lib.training.rollouts import Player, Rollout
from orchestra_lib.training.sampler import LocalSampler
from orchestra_lib.training.settings import Grpo, Playing, PolicySettings, Settings
from orchestra_lib.training.shape import Shape, shape_of
from orchestra_lib.training.tiny.course import TinyCourse
from orchestra_lib.training.tiny.market import Markets
from orchestra_lib.training.trainer import OrchestraTrainer
from orchestra_lib.training.trl_settings import trl_config

LARGEST_FIRST = ("Qwen/Qwen3-8B", "Qwen/Qwen3-4B", "Qwen/Qwen3-1.7B", "Qwen/Qwen3-0.6B")
TINY = Shape(
    hidden=64, layers=2, heads=4, kv_heads=2, head=16, intermediate=128, vocabulary=2048, tied=False, positions=4096
)
_FITS = 0.9
"""Of a GPU's memory at most this share is planned for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Sizes of the check. `latency_s` is what each tool call takes in the slow steps."""

    name: str
    shape: Shape
    device: str
    dtype: str
    prompts: int = 4
    rollouts: int = 8
    new_tokens: int = 64
    steps: int = 3
    latency_s: float = 1.0

    @property
    def samples(self) -> int:
        return self.prompts * self.rollouts


def main(arguments: Sequence[str] | None = None) -> int:
    """Check, print, keep; 0 when every claim holds or there is no GPU."""
    options = parser(__doc__)
    options.add_argument("--cpu", action="store_true", help="a tiny policy on the CPU")
    options.add_argument("--shape", choices=LARGEST_FIRST, help="another policy than the largest that fits")
    options.add_argument("--steps", type=int, default=3, help="steps without and again with tool latency")
    options.add_argument("--out", type=Path, help="where to keep the report")
    chosen = options.parse_args(arguments)
    if not (chosen.cpu or torch.cuda.is_available()):
        note("gpu_check: skipped, as torch sees no GPU here (torch.cuda.is_available() is false); --cpu runs it tiny")
        return 0
    plan = _plan(chosen.cpu, chosen.shape, chosen.steps)
    claims, about = check(plan)
    show(claims, as_json=chosen.json)
    if chosen.out:
        chosen.out.write_text(
            json.dumps({**about, "claims": [_plain(one) for one in claims]}, indent=2) + "\n", "utf-8"
        )
    return 0 if all(one.holds is not False for one in claims) else 1


def _plan(on_cpu: bool, wanted: str | None, steps: int) -> Plan:
    if on_cpu:
        return Plan(
            name="tiny", shape=TINY, device="cpu", dtype="float32", prompts=2, rollouts=4, new_tokens=6, steps=steps,
            latency_s=0.2,
        )  # fmt: skip
    total_gb = torch.cuda.get_device_properties(0).total_memory / memory.GB
    for name in [wanted] if wanted else LARGEST_FIRST:
        plan = Plan(name=name, shape=shape_of(name), device="cuda", dtype="bfloat16", steps=steps)
        needed = memory.total(_needed(plan))
        if needed <= _FITS * total_gb or wanted:
            note(f"{name}-shaped: {needed:.0f} GB planned of {total_gb:.0f} GB")
            return plan
    raise SystemExit(f"gpu_check: not even {LARGEST_FIRST[-1]} fits {total_gb:.0f} GB; name a smaller one")


def _needed(plan: Plan) -> tuple[memory.Item, ...]:
    cluster = Cluster(nodes=1, gpus=1, sharding="none")
    return memory.training(_settings(plan, "."), plan.shape, cluster, _MICRO_TOKENS)


_MICRO_TOKENS = 4 * 2048
"""Four rollouts of at most so many tokens go through the network at once."""


def _settings(plan: Plan, folder: str) -> Settings:
    return Settings(
        name="gpu-check",
        scale="check",
        output_dir=folder,
        policy=PolicySettings(
            dtype="bfloat16" if plan.dtype == "bfloat16" else "float32", recompute=plan.device == "cuda"
        ),
        grpo=Grpo(
            steps=plan.steps,
            prompts=plan.prompts,
            rollouts=plan.rollouts,
            micro_batch=4,
            learning_rate=1e-5,
            max_new_tokens=plan.new_tokens,
            context=2048,
            loss="dapo",
        ),
        rollouts=Playing(clock="wall"),
        trl={"save_strategy": "no"},
    )


def check(plan: Plan) -> tuple[list[Claim], dict[str, Any]]:
    """All of it: steps with tools that answer at once, then with tools that take their time."""
    begun = time.monotonic()
    torch.manual_seed(0)
    tokenizer = plain_tokenizer(_texts(), size=min(2048, plan.shape.vocabulary))
    network = _network(plan, tokenizer)
    note(f"{network.num_parameters():,} parameters with random weights after {time.monotonic() - begun:.0f} s")
    before = next(iter(network.get_decoder().layers[0].self_attn.q_proj.parameters())).detach().float().cpu().clone()
    quick = _run(plan, network, tokenizer, 0.0)
    slow = _run(plan, network, tokenizer, plan.latency_s)
    after = next(iter(network.get_decoder().layers[0].self_attn.q_proj.parameters())).detach().float().cpu()
    about = {
        "device": torch.cuda.get_device_name(0) if plan.device == "cuda" else platform.processor() or "CPU",
        "shape": plan.name,
        "parameters": network.num_parameters(),
        "dtype": plan.dtype,
        "versions": {"torch": torch.__version__, "transformers": transformers.__version__, "trl": trl.__version__},
        "samples": plan.samples,
        "new_tokens": plan.new_tokens,
        "took_s": round(time.monotonic() - begun, 1),
        "random_weights": True,
    }
    return [*_right(plan, quick, before, after), *_figures(plan, quick, slow)], about


def _network(plan: Plan, tokenizer: Any) -> Any:
    shape = plan.shape
    config = Qwen3Config(
        vocab_size=shape.vocabulary, hidden_size=shape.hidden, intermediate_size=shape.intermediate,
        num_hidden_layers=shape.layers, num_attention_heads=shape.heads, num_key_value_heads=shape.kv_heads,
        head_dim=shape.head, max_position_embeddings=shape.positions, tie_word_embeddings=shape.tied,
        attn_implementation="sdpa", eos_token_id=tokenizer.eos_token_id, pad_token_id=tokenizer.pad_token_id,
        bos_token_id=None,
    )  # fmt: skip
    usual = torch.get_default_dtype()
    torch.set_default_dtype(torch.bfloat16 if plan.dtype == "bfloat16" else torch.float32)
    try:
        with torch.device(plan.device):
            return Qwen3ForCausalLM(config)
    finally:
        torch.set_default_dtype(usual)


def _texts() -> list[str]:
    """What the tokenizer learns from: the exercises themselves, so that a prompt is a few hundred tokens."""
    course = TinyCourse(markets=Markets(seed=0))
    settings = [course.exercise(number).setting for number in range(20)]
    begun = [Situation(setting=one, turns=(), spent_usd=0.0, elapsed_s=0.0) for one in settings]
    told = [" ".join(message["content"] for message in chat.messages(one, CallStyle.HERMES)) for one in begun]
    return [*told, qwen3_chat_template]


class ByFirstToken(ChatDialect):
    """Reads a move off ids that mean nothing: the first turn asks an expert, the next repeats what it said."""

    def read(self, ids: Sequence[int], situation: Situation) -> Generation:
        """A call in the first turn, an answer after it."""
        if situation.turns:
            told = situation.turns[-1].calls[0].observation
            return Generation(raw_text="", answer=told.text if told else " ", token_ids=tuple(ids))
        tools = situation.setting.tools
        call = ToolCall.of("call_1_1", tools[ids[0] % len(tools)].name, {"question": situation.setting.task.text})
        return Generation(raw_text="", calls=(call,), token_ids=tuple(ids))


class Slow:
    """A simulated expert that really takes `seconds`."""

    def __init__(self, tool: Any, seconds: float) -> None:
        self._tool, self._seconds = tool, seconds

    @property
    def spec(self) -> ToolSpec:
        spec: ToolSpec = self._tool.spec
        return spec

    def spec_for(self, arguments: Mapping[str, Any]) -> ToolSpec:
        return self.spec

    async def call(self, arguments: Mapping[str, Any], *, run_id: str) -> ToolResult:
        raise NotImplementedError("the loop calls `call_in` of a situated tool")

    async def call_in(self, situation: Situation, arguments: Mapping[str, Any]) -> ToolResult:
        await asyncio.sleep(self._seconds)
        result: ToolResult = await self._tool.call_in(situation, arguments)
        return result

    async def release(self, run_id: str) -> None:
        await self._tool.release(run_id)


class SlowCourse:
    """Markets whose experts take their time; half of a group's rewards come from the lot of the expert asked."""

    def __init__(self, course: Course, seconds: float) -> None:
        self._course, self._seconds = course, seconds

    def exercise(self, number: int) -> Exercise:
        one = self._course.exercise(number)
        made: Callable[[int], list[Tool]] = lambda rollout: [Slow(tool, self._seconds) for tool in one.tools(rollout)]  # noqa: E731
        return replace(one, tools=made)


@dataclass(slots=True)
class Ran:
    """What the steps of one run left: per step its seconds, those of playing, and what was made of it."""

    step_s: list[float]
    rollout_s: list[float]
    made: list[dict[str, Any]]
    played: list[Sequence[Rollout]]
    scored: list[Sequence[Scored]]
    losses: list[float]
    peak_gb: float


class Watched(OrchestraTrainer):
    """Keeps what TRL is given, and times it."""

    def __init__(self, ran: Ran, **options: Any) -> None:
        self._ran = ran
        super().__init__(**options)

    def _rollouts(self, prompts: Sequence[Any], trainer: Any) -> dict[str, list[Any]]:
        begun = _now()
        found = super()._rollouts(prompts, trainer)
        self._ran.rollout_s.append(_now() - begun)
        return found

    def _generate_and_score_completions(self, inputs: Any) -> dict[str, Any]:
        made = super()._generate_and_score_completions(inputs)
        with torch.no_grad():
            ids = torch.cat([made["prompt_ids"], made["completion_ids"]], dim=1)
            mask = torch.cat([made["prompt_mask"], made["completion_mask"]], dim=1)
            logps = self._get_per_token_logps_and_entropies(
                self.model, ids, mask, made["completion_ids"].size(1), batch_size=4
            )[0]
        keep = {name: made[name].cpu() for name in ("completion_mask", "tool_mask", "advantages")}
        self._ran.made.append({**keep, "logps": logps.float().cpu()})
        return made

    def training_step(self, *args: Any, **kwargs: Any) -> torch.Tensor:
        loss = super().training_step(*args, **kwargs)
        self._ran.losses.append(float(loss))
        return loss


class _Timing(transformers.TrainerCallback):
    def __init__(self, ran: Ran) -> None:
        self._ran, self._begun = ran, 0.0

    def on_step_begin(self, *_: Any, **__: Any) -> None:
        self._begun = _now()

    def on_step_end(self, *_: Any, **__: Any) -> None:
        self._ran.step_s.append(_now() - self._begun)


def _now() -> float:
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.monotonic()


def _run(plan: Plan, network: Any, tokenizer: Any, latency_s: float) -> Ran:
    ran = Ran(step_s=[], rollout_s=[], made=[], played=[], scored=[], losses=[], peak_gb=0.0)

    def seen(step: int, played: Sequence[Rollout], scored: Sequence[Scored]) -> None:
        ran.played.append(played)
        ran.scored.append(scored)

    with tempfile.TemporaryDirectory() as folder:
        settings = _settings(plan, folder)
        dialect = ByFirstToken(tokenizer)
        sampler = LocalSampler(
            network, ends=[], temperature=1.0, max_new_tokens=plan.new_tokens, context=settings.grpo.context
        )
        player = Player(
            sampler, dialect, settings.rollouts, name=settings.name, seed=0, policy=PolicySpec(name="random")
        )
        rows = list(range(plan.steps * plan.prompts))
        if plan.device == "cuda":
            torch.cuda.reset_peak_memory_stats()
        trainer = Watched(
            ran, player=player, course=SlowCourse(TinyCourse(markets=Markets(seed=0)), latency_s), grpo=settings.grpo,
            seen=seen, model=network, args=trl_config(settings, Path(folder)),
            train_dataset=Dataset.from_dict({"prompt": ["exercise"] * len(rows), "exercise": rows}),
            processing_class=tokenizer, callbacks=[_Timing(ran)],
        )  # fmt: skip
        trainer.remove_callback(PrinterCallback)
        try:
            with warnings.catch_warnings():  # TRL 1.16 uses a name that transformers 5.24 has replaced
                warnings.filterwarnings("ignore", "`is_gradient_checkpointing`", FutureWarning)
                trainer.train()
        finally:
            trainer.close()
    if plan.device == "cuda":
        ran.peak_gb = torch.cuda.max_memory_allocated() / memory.GB
    return ran


def _right(plan: Plan, ran: Ran, before: torch.Tensor, after: torch.Tensor) -> list[Claim]:
    """What must be so, on any machine."""
    sampled = told = wrong = 0
    apart: list[float] = []
    worst = 0.0
    for made, played, scored in zip(ran.made, ran.played, ran.scored, strict=True):
        for row, (rollout, score) in enumerate(zip(played, scored, strict=True)):
            length = len(rollout.completion)
            own = [place for first, end in rollout.spans.values() for place in range(first, end)]
            wrong += sorted(own) != [place for place, whose in enumerate(rollout.mask) if whose]
            wrong += int(made["completion_mask"][row].sum()) != length
            wrong += made["tool_mask"][row, :length].tolist() != score.mask
            sampled, told = sampled + len(own), told + length - len(own)
            ours, theirs = np.array(rollout.logprobs), made["logps"][row, :length].numpy()
            apart += np.abs(ours - theirs)[own].tolist()
        worst = max(worst, _advantages_apart(made["advantages"].numpy(), scored, plan.rollouts))
    kept = sum(score.kept for scored in ran.scored for score in scored)
    moved = float((after - before).abs().max())
    return [
        claim("rollouts with a wrong mask", wrong, "rollouts", at_most=0),
        claim("tokens of the policy, in the loss where kept", sampled, "tokens", at_least=1),
        claim("tokens of tools, out of the loss", told, "tokens", at_least=1),
        claim("advantages against the numpy reference, worst", worst, "", at_most=1e-5),
        claim("rollouts kept", kept, f"of {plan.samples * plan.steps}", at_least=1),
        claim("log-probabilities, sampled against trained, mean apart", float(np.mean(apart)), "nats", at_most=0.1),
        claim("losses that are no number", int((~np.isfinite(ran.losses)).sum()), "micro batches", at_most=0),
        claim("the largest change of a weight", moved, "", at_least=1e-8),
    ]


def _advantages_apart(given: Any, scored: Sequence[Scored], size: int) -> float:
    """How far what TRL is given lies from the reference, for rollouts that are kept; the others must have 0."""
    worst = 0.0
    for first in range(0, len(scored), size):
        group = range(first, first + size)
        counted = [at for at in group if scored[at].reward is not None]
        reward_N = np.array([scored[at].reward for at in counted], float)
        segments = Segments(np.zeros(len(counted), int))
        wanted = advantages(reward_N, np.ones(len(counted), bool), segments, Mode.PAPER).advantage_N
        by_place = dict(zip(counted, wanted, strict=True))
        for at in group:
            right = by_place[at] if scored[at].kept else 0.0
            worst = max(worst, abs(float(given[at]) - float(right)))
    return worst


def _figures(plan: Plan, quick: Ran, slow: Ran) -> list[Claim]:
    """What was measured: the first step of each run warms up and is left out where there are more."""
    step_s, slow_s = _typical(quick.step_s), _typical(slow.step_s)
    rollout_s = _typical(quick.rollout_s)
    played = quick.played[-1]
    sampled = sum(sum(rollout.mask) for rollout in played)
    whole = sum(len(rollout.prompt) + len(rollout.completion) for rollout in played)
    one_by_one = sum(len(rollout.trajectory.calls) for rollout in slow.played[-1]) * plan.latency_s
    on_gpu = plan.device == "cuda"
    figures = [
        claim("sampling", sampled / rollout_s, "tokens/s"),
        claim("a whole step, prompts and results too", whole / step_s, "tokens/s"),
        claim("step, tools answer at once", step_s, "s"),
        claim("of which playing", rollout_s, "s"),
        claim(f"step, every call takes {plan.latency_s:g} s", slow_s, "s"),
        # On a CPU that others use too, a bound on seconds would say nothing.
        claim("what latency adds to a step", slow_s - step_s, "s", at_most=one_by_one / 2 if on_gpu else None),
        claim("the same calls one by one", one_by_one, "s"),
    ]
    if on_gpu:
        planned = memory.total(_needed(plan))
        there = torch.cuda.get_device_properties(0).total_memory / memory.GB
        figures += [
            claim("memory at its peak", quick.peak_gb, "GB", at_most=there),
            claim("memory as planned", planned, "GB"),
        ]
    return figures


def _typical(seconds: Sequence[float]) -> float:
    later = list(seconds[1:]) or list(seconds)
    return float(np.median(later))


def _plain(one: Claim) -> dict[str, Any]:
    return {name: getattr(one, name) for name in ("name", "value", "unit", "target", "holds")}


if __name__ == "__main__":
    sys.exit(main())
