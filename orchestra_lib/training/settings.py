"""The settings of a training run: one TOML file, `--set a.b=c` over it, saved whole in the run's folder.

The defaults of `grpo` are the paper's objective (arXiv 2511.21689, section 3.2) with the sizes of a laptop; what
departs from the paper has a name of its own there.
"""

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import Any, Literal

from orchestra_lib.advantage import MIN_STD
from orchestra_lib.codec import from_data
from orchestra_lib.configuration import merged, to_toml
from orchestra_lib.errors import BadInput
from orchestra_lib.record import record
from orchestra_lib.reward import Mode
from orchestra_lib.training.cluster import Cluster

Bad = Literal["mask", "penalise", "keep"]
"""What becomes of a badly formed move, or of a rollout without an answer: it leaves the loss, as in the paper; its
rollout is paid the penalty; or nothing at all."""

Part = Literal["outcome", "cost", "latency", "tools"]
"""A part of the reward, as `drop` names it: `tools` are the weights of all of them."""


@record
class Lora:
    """Low-rank adapters in place of all weights. `modules` are names of linear layers, or `all-linear`."""

    rank: int = 16
    alpha: int = 32
    dropout: float = 0.0
    modules: tuple[str, ...] = ("all-linear",)


@record
class PolicySettings:
    """The policy to train. `checkpoint` is a folder of weights and tokenizer; what None means the scale says.

    With `recompute` activations are worked out again in the backward pass: less memory, a third more work. `threads`
    are PyTorch's on a CPU: in a tiny network more than one only wait for each other, and another count rounds
    otherwise, so that a run that goes on would not be the same.
    """

    checkpoint: str | None = None
    dtype: Literal["float32", "bfloat16"] = "float32"
    attention: str = "sdpa"
    recompute: bool = False
    threads: int = 1
    lora: Lora | None = None


@record
class Grpo:
    """The algorithm. A step takes `prompts` groups of `rollouts` each, over all processes.

    `micro_batch` is how many rollouts go through the network at once on each process, None for all of them.
    `iterations` are optimiser steps on the same rollouts. Departures from the paper: `kl` (weight of the divergence
    from the policy it began with), `clip_high` other than `clip_low`, `loss` other than `grpo`, `entropy`
    (weight of a bonus), `malformed` and `no_answer` other than `mask`, where `penalise` pays such a rollout `-penalty`.
    What the paper's parts are good for is seen without them: `drop` takes the named ones out of every preference, with
    `gate` false a rollout that failed is paid for what it saved, and `min_std` 0 lets all groups into the loss.
    `max_new_tokens` bounds a turn, `context` a whole rollout with its prompt.
    """

    steps: int = 60
    prompts: int = 12
    rollouts: int = 8
    micro_batch: int | None = None
    iterations: int = 1
    learning_rate: float = 1e-6
    schedule: str = "constant"
    warmup_steps: int = 0
    weight_decay: float = 0.0
    adam_beta2: float = 0.999
    max_grad_norm: float = 1.0
    temperature: float = 1.0
    max_new_tokens: int = 128
    context: int | None = None
    loss: Literal["grpo", "dapo", "dr_grpo", "bnpo"] = "grpo"
    reward: Mode = Mode.PAPER
    drop: tuple[Part, ...] = ()
    gate: bool = True
    min_std: float = MIN_STD
    kl: float = 0.0
    clip_low: float = 0.2
    clip_high: float = 0.2
    entropy: float = 0.0
    malformed: Bad = "mask"
    no_answer: Bad = "mask"
    penalty: float = 0.0

    def __post_init__(self) -> None:
        for name in ("steps", "prompts", "iterations", "max_new_tokens"):
            if getattr(self, name) < 1:
                raise BadInput(f"grpo.{name} = {getattr(self, name)}; it is 1 or more")
        if self.rollouts < 2:
            raise BadInput(f"grpo.rollouts = {self.rollouts}; a group of fewer than 2 has nothing to compare")
        if not self.temperature > 0:
            raise BadInput(f"grpo.temperature = {self.temperature:g}; without chance all rollouts are the same")
        if not self.min_std >= 0:
            raise BadInput(f"grpo.min_std = {self.min_std!r}; it is a number from 0")
        if not self.learning_rate >= 0:
            raise BadInput(f"grpo.learning_rate = {self.learning_rate!r}; it is a number from 0")


@record
class Playing:
    """How rollouts are played. `at_once` bounds how many run at a time in a process.

    By the clock `stated` only what simulated and recorded tools say passes: the same seed gives the same seconds on
    every machine. By `wall` time passes as it does, for live tools. With `store` every rollout is kept in the store of
    the home folder. Those of `keep_groups` groups a step, None for all, are also kept in the run's folder, which may be
    looked at elsewhere.
    """

    at_once: int = 256
    clock: Literal["stated", "wall"] = "stated"
    store: bool = True
    keep_groups: int | None = 2


@record
class AlarmSettings:
    """When to warn, over the last `window` steps: one tool takes over `share` of all calls, or over `malformed` of the
    turns are no well-formed move. With `stop` a run ends there; a loss that is no number always ends it."""

    window: int = 10
    share: float = 0.9
    malformed: float = 0.15
    stop: bool = False


@record
class Saving:
    """A checkpoint `every` so many steps, of which the last `keep` stay."""

    every: int = 20
    keep: int = 2

    def __post_init__(self) -> None:
        if min(self.every, self.keep) < 1:
            raise BadInput(f"checkpoint.every = {self.every}, keep = {self.keep}; both are 1 or more")


@record
class Settings:
    """All of a run. `scale` names what is trained: tiny, small, or `package.module` of one's own.

    `course` are the scale's own settings, which it checks. `trl` goes to TRL's `GRPOConfig` as it is, over what is
    made of the rest. `vllm_url` is where a vLLM server of TRL's samples in place of this process; `cluster` says what
    machines a large run is planned for. With `trackio` the steps are also logged there. `output_dir` None is a folder
    of the run's name in the home folder.
    """

    name: str
    scale: str
    seed: int = 0
    output_dir: str | None = None
    policy: PolicySettings = field(default_factory=PolicySettings)
    course: Mapping[str, Any] = field(default_factory=dict)
    grpo: Grpo = field(default_factory=Grpo)
    rollouts: Playing = field(default_factory=Playing)
    alarms: AlarmSettings = field(default_factory=AlarmSettings)
    checkpoint: Saving = field(default_factory=Saving)
    vllm_url: str | None = None
    cluster: Cluster | None = None
    trackio: bool = False
    trl: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.checkpoint.every % self.grpo.iterations:
            raise BadInput(
                f"checkpoint.every = {self.checkpoint.every} falls amid rollouts that grpo.iterations = "
                f"{self.grpo.iterations} steps use; take a multiple of it"
            )


def resolve(file: Path, sets: Sequence[str] = (), *, home: Path) -> Settings:
    """The settings of a file with `a.b=c` over it, and the folder filled in. Raises `BadInput` naming key and file."""
    settings: Settings = from_data({"name": file.stem, **merged(file, sets)}, Settings, where=str(file))
    folder = settings.output_dir or str(home / "training" / settings.name)
    return replace(settings, output_dir=str(Path(folder).expanduser().resolve()))


def saved(settings: Settings) -> str:
    """The settings as TOML, which `resolve` reads back the same."""
    return to_toml(settings)
