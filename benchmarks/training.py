"""What a training step costs: our rollouts beside TRL's own tool loop, and a whole step of the tiny policy.

    OMP_NUM_THREADS=1 python -m benchmarks.training --json

First one step of 64 rollouts with three calls of a tool that takes a second, in one process, with one small network,
by `GRPOTrainer` both times: once with TRL's `environment_factory`, whose loop plays one rollout's calls after
another's, once with our `rollout_func`, which besides keeps the whole record of each. Both are given the same moves
word for word, so that only the loops differ. Seconds are wall time, since waiting is what is compared, without the
seconds in which the process waited for a core that others had, as the scheduler counts them (Linux; elsewhere keep
the machine free); but never less than three waits and the CPU time, since a tool's wait may pass meanwhile. A step
without waiting comes before, so that nothing is done for the first time.

Then CPU seconds of this process for a step of `configs/tiny.toml` at 96 rollouts, and the share that playing has of
them.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")

import asyncio
import tempfile
import time
import warnings
from collections import Counter
from datetime import UTC, date, datetime
from pathlib import Path
from statistics import median

from datasets import Dataset
from transformers import PrinterCallback, Qwen3Config, Qwen3ForCausalLM, TrainerCallback
from transformers.utils.logging import disable_progress_bar
from trl import GRPOTrainer
from trl.chat_template_utils import qwen3_chat_template

from benchmarks.claims import Claim, Rival, claim, note, parser, show
from orchestra_lib.codec import from_data
from orchestra_lib.limits import Limits
from orchestra_lib.paths import DATA
from orchestra_lib.preference import Preference
from orchestra_lib.pricing import Price, PriceTable
from orchestra_lib.protocols import PolicySpec, Situation, ToolResult
from orchestra_lib.task import Task
from orchestra_lib.tool import ToolSpec
from orchestra_lib.training.chat_dialect import ChatDialect
from orchestra_lib.training.course import Exercise
from orchestra_lib.training.plain_tokenizer import plain_tokenizer
from orchestra_lib.training.rollouts import Player
from orchestra_lib.training.run_folder import RunFolder
from orchestra_lib.training.running import train
from orchestra_lib.training.sampler import Sampled
from orchestra_lib.training.settings import Playing, Settings, resolve
from orchestra_lib.training.trainer import OrchestraTrainer
from orchestra_lib.training.trl_settings import trl_config
from orchestra_lib.trajectory import Setting

CALLS = 3
TASK = "Wait as often as you are asked to."
GROUP = 8
SPEC = ToolSpec(
    name="wait",
    title="Wait",
    description="Takes its time.",
    parameters={
        "type": "object",
        "properties": {"number": {"type": "integer", "description": "Which call it is."}},
        "required": ["number"],
    },
)
MOVES = [f'<tool_call>\n{{"name": "wait", "arguments": {{"number": {n}}}}}\n</tool_call>' for n in range(CALLS)]


def main() -> None:
    options = parser(__doc__)
    chosen = options.parse_args()
    rollouts, wait_s, steps, prompts = (GROUP, 0.05, 2, 4) if chosen.quick else (64, 1.0, 10, 12)
    warnings.filterwarnings("ignore", "`is_gradient_checkpointing`", FutureWarning)
    disable_progress_bar()
    with tempfile.TemporaryDirectory() as folder:
        show([*_loops(rollouts, wait_s, Path(folder)), *_tiny(steps, prompts, Path(folder))], as_json=chosen.json)


def _loops(rollouts: int, wait_s: float, folder: Path) -> list[Claim]:
    tokenizer = _tokenizer()
    moves = [[*tokenizer(text)["input_ids"], tokenizer.eos_token_id] for text in (*MOVES, "done")]
    ours_s = _ours(rollouts, wait_s, tokenizer, moves, folder)
    note(f"ours: {ours_s:.2f} s")
    theirs_s = _theirs(rollouts, wait_s, tokenizer, moves, folder)
    note(f"TRL's environment_factory: {theirs_s:.2f} s")
    name = f"a step of {rollouts} rollouts x {CALLS} calls of {wait_s:g} s"
    return [claim(name, ours_s, "s", rival=Rival(name="TRL environment_factory", value=theirs_s), ratio_at_most=1 / 20)]


def _tokenizer():
    """One that knows the words of these prompts, which are then as short as they are for a trained one."""
    plain = plain_tokenizer([*MOVES, TASK], template=qwen3_chat_template)
    setting = _Course(_Pace(0.0)).exercise(0).setting
    situation = Situation(setting=setting, turns=(), spent_usd=0.0, elapsed_s=0.0)
    text = plain.decode(ChatDialect(plain).prompt(situation))
    return plain_tokenizer([text] * 8 + MOVES, size=1500, template=qwen3_chat_template)


def _network(tokenizer) -> Qwen3ForCausalLM:
    return Qwen3ForCausalLM(
        Qwen3Config(
            vocab_size=len(tokenizer), hidden_size=32, intermediate_size=64, num_hidden_layers=1,
            num_attention_heads=2, num_key_value_heads=2, head_dim=16, max_position_embeddings=4096,
            eos_token_id=tokenizer.eos_token_id, pad_token_id=tokenizer.pad_token_id,
        )
    )  # fmt: skip


def _settings(rollouts: int, **trl) -> Settings:
    grpo = {"steps": 2, "prompts": rollouts // GROUP, "rollouts": GROUP, "max_new_tokens": 512}
    data = {"name": "benchmark", "scale": "none", "grpo": grpo, "trl": {"save_strategy": "no", **trl}}
    return from_data(data, Settings, where="benchmark")


class _Waiting:
    """A live tool."""

    spec = SPEC

    def __init__(self, pace: "_Pace") -> None:
        self._pace = pace

    async def call(self, arguments, *, run_id: str) -> ToolResult:
        await asyncio.sleep(self._pace.wait_s)
        return ToolResult(text="waited")

    async def release(self, run_id: str) -> None:
        pass


class _Pace(TrainerCallback):
    """Takes the time of each step; from the second one on tools take theirs."""

    def __init__(self, wait_s: float) -> None:
        self.wait_s, self._later_s = 0.0, wait_s
        self.seconds: list[float] = []

    def on_step_begin(self, *told, **_) -> None:
        self._begun, self._cpu = _now_s(), time.process_time()

    def on_step_end(self, *told, **_) -> None:
        least_s = CALLS * self.wait_s + time.process_time() - self._cpu
        self.seconds.append(max(least_s, _now_s() - self._begun))
        self.wait_s = self._later_s


def _now_s() -> float:
    """A clock that stands still while a thread of ours could run and has no core."""
    waits = (file.read_text().split()[1] for file in Path("/proc/self/task").glob("*/schedstat"))
    return time.monotonic() - sum(map(int, waits)) / 1e9


class _Course:
    def __init__(self, pace: _Pace) -> None:
        self._pace = pace

    def exercise(self, number: int) -> Exercise:
        prices = {"wait": Price(call_usd=0.001, source="benchmark")}
        setting = Setting(
            run_id="benchmark",
            started_at=datetime(2026, 1, 1, tzinfo=UTC),
            task=Task(text=TASK),
            orchestrator="benchmark",
            protocol="chat",
            preference=Preference(),
            sentence="Be quick.",
            tools=(SPEC,),
            prices=PriceTable(name="benchmark", dated=date(2026, 1, 1), source="benchmark", prices=prices),
            limits=Limits(),
        )
        return Exercise(
            id=f"wait-{number}", kind="live", setting=setting, tools=lambda n: [_Waiting(self._pace)],
            grade=lambda trajectory: trajectory.id.endswith(("0", "2", "4", "6")),
        )  # fmt: skip


class _Forced:
    """A sampler that is told what to say."""

    def __init__(self, moves) -> None:
        self._moves, self._said = moves, Counter[int]()

    async def generate(self, ids, stream) -> Sampled:
        self._said[id(stream)] += 1
        move = self._moves[self._said[id(stream)] - 1]
        return Sampled(list(move), [0.0] * len(move))

    def forget(self, stream) -> None:
        del self._said[id(stream)]


def _ours(rollouts, wait_s, tokenizer, moves, folder) -> float:
    settings = _settings(rollouts)
    player = Player(
        _Forced(moves), ChatDialect(tokenizer), Playing(clock="wall"), name="benchmark", seed=0,
        policy=PolicySpec(name="benchmark"),
    )  # fmt: skip
    pace, exercises = _Pace(wait_s), 2 * settings.grpo.prompts
    rows = {"prompt": ["exercise"] * exercises, "exercise": list(range(exercises))}
    trainer = OrchestraTrainer(
        player=player, course=_Course(pace), grpo=settings.grpo, seen=lambda *told: None, model=_network(tokenizer),
        args=trl_config(settings, folder / "ours"), train_dataset=Dataset.from_dict(rows), processing_class=tokenizer,
    )  # fmt: skip
    try:
        seconds = _step(trainer, pace)
    finally:
        trainer.close()
    _check([sum(row.tools.values()) for row in trainer.came])
    return seconds


class _Factory(GRPOTrainer):
    """TRL's own loop, told what to say."""

    rounds = 0

    def _generate_single_turn(self, prompt_ids, *rest, **named):
        move = self.moves[self.rounds % len(self.moves)]
        self.rounds += 1
        return [list(move) for _ in prompt_ids], None


def _theirs(rollouts, wait_s, tokenizer, moves, folder) -> float:
    calls, pace = Counter[int](), _Pace(wait_s)

    class Waiting:
        def reset(self, **row):
            pass

        async def wait(self, number: int) -> str:
            """Takes its time.

            Args:
                number: Which call it is.
            """
            calls[id(self)] += 1
            await asyncio.sleep(pace.wait_s)
            return "waited"

    settings = _settings(rollouts)
    prompt = [{"role": "user", "content": TASK}]
    trainer = _Factory(
        model=_network(tokenizer), args=trl_config(settings, folder / "theirs"), processing_class=tokenizer,
        reward_funcs=lambda completions, **_: [float(n % 2) for n in range(len(completions))],
        train_dataset=Dataset.from_dict({"prompt": [prompt] * 2 * settings.grpo.prompts}), environment_factory=Waiting,
    )  # fmt: skip
    trainer.moves = moves
    seconds = _step(trainer, pace)
    _check([count // 2 for count in calls.values()])
    return seconds


def _step(trainer, pace: _Pace) -> float:
    """The seconds of the step in which tools take their time."""
    trainer.remove_callback(PrinterCallback)
    trainer.add_callback(pace)
    trainer.train()
    return pace.seconds[1]


def _check(calls: list[int]) -> None:
    assert set(calls) == {CALLS}, f"rollouts made {sorted(set(calls))} calls where {CALLS} were to be made"


def _tiny(steps: int, prompts: int, folder: Path) -> list[Claim]:
    sets = [
        f"grpo.steps={steps}",
        f"grpo.prompts={prompts}",
        f"output_dir={str(folder / 'tiny')!r}",
        "checkpoint.every=1000",
    ]
    settings = resolve(DATA.parent / "configs" / "tiny.toml", sets, home=folder)
    train(settings, home=folder)
    made = RunFolder(folder / "tiny").steps()[1:]  # the first one also warms up
    times = [(step.cpu_s, step.rollout_cpu_s) for step in made if step.cpu_s and step.rollout_cpu_s is not None]
    cpu_s, share = median(whole for whole, _ in times), median(played / whole for whole, played in times)
    return [
        claim(f"a tiny step of {made[0].samples} rollouts", cpu_s, "CPU s", at_most=2.5),
        claim("playing, of a tiny step", share, "of its CPU time", at_most=1 / 3),
    ]


if __name__ == "__main__":
    main()
