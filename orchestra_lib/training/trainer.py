"""TRL's `GRPOTrainer` with our rollouts, our rewards and a loss that only kept tokens enter.

It leans on two private methods of TRL 1.16, `_generate_and_score_completions` and `_compute_loss`, and so is pinned
to it. TRL's own advantages and normaliser are replaced: it would count samples that are left out.
"""

import math
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from accelerate.utils import gather_object
from safetensors import SafetensorError
from transformers.trainer_utils import PREFIX_CHECKPOINT_DIR, rotate_checkpoints
from trl import GRPOTrainer

from orchestra_lib.errors import BadInput, StoreFault
from orchestra_lib.training.course import Course
from orchestra_lib.training.rewarding import Scored, score
from orchestra_lib.training.rollouts import Background, Player, Rollout
from orchestra_lib.training.settings import Grpo
from orchestra_lib.training.steps import numbers
from orchestra_lib.training.tally import Came, came, tally

PART = ".part"
"""A checkpoint is written here and appears under its name only when it is whole."""

_TORCH_WRITES = "PytorchStreamWriter"
"""What torch names, in an error of no kind of its own, when it cannot write a file."""

Row = Mapping[str, Any]


class Diverged(StoreFault):
    """The loss is no number: the step was not taken, and the weights are those of the step before."""


class OrchestraTrainer(GRPOTrainer):  # type: ignore[misc]  # trl is not typed
    """Trains on what a `Player` plays. `seen` gets the rollouts of each generation with their scores."""

    beta: float

    def __init__(
        self,
        *,
        player: Player,
        course: Course,
        grpo: Grpo,
        seen: Callable[[int, Sequence[Rollout], Sequence[Scored]], None],
        **trl: Any,
    ) -> None:
        self._player, self._course, self._grpo, self._seen = player, course, grpo, seen
        self._background = Background()
        self._rows: Sequence[Row] = ()
        self._scored: list[Scored] = []
        self.came: list[Came] = []
        self.rollout_cpu_s = 0.0
        super().__init__(reward_funcs=[_reward], rollout_func=self._rollouts, **trl)

    def close(self) -> None:
        """End the thread that plays."""
        self._background.close()

    def _rollouts(self, prompts: Sequence[Any], trainer: Any) -> dict[str, list[Any]]:
        """TRL's `rollout_func`: it hands over prompts alone, and the rows are those of the call under way."""
        begun = time.process_time()
        numbers = [int(row["exercise"]) for row in self._rows]
        self._check_whole(numbers)
        size = self._grpo.rollouts
        exercises = {number: self._course.exercise(number) for number in dict.fromkeys(numbers)}
        was_training = self.model.training
        self.model.eval()
        try:
            todo = [(exercises[number], place % size) for place, number in enumerate(numbers)]
            played = self._background.run(self._player.play(todo))
        finally:
            self.model.train(was_training)
        self._scored = score(played, self._grpo)
        self.rollout_cpu_s += time.process_time() - begun
        rows = [came(rollout, scored) for rollout, scored in zip(played, self._scored, strict=True)]
        self.came = gather_object(rows) if self.accelerator.num_processes > 1 else rows
        self._seen(self.state.global_step + 1, played, self._scored)
        return {
            "prompt_ids": [rollout.prompt for rollout in played],
            "completion_ids": [rollout.completion for rollout in played],
            "logprobs": [rollout.logprobs for rollout in played],
            "env_mask": [scored.mask for scored in self._scored],
            "worth": [scored.reward or 0.0 for scored in self._scored],
        }

    def _check_whole(self, numbers: Sequence[int]) -> None:
        size = self._grpo.rollouts
        for start in range(0, len(numbers), size):
            group = numbers[start : start + size]
            if len(group) < size or len(set(group)) > 1:
                raise BadInput(
                    f"process {self.accelerator.process_index} has {len(group)} rollouts of exercises "
                    f"{sorted(set(group))} where a group of {size} of one should stand: rewards compare whole groups, "
                    "so make grpo.prompts a multiple of the number of processes"
                )

    def _generate_and_score_completions(self, inputs: Sequence[Row]) -> dict[str, Any]:
        self._rows = inputs
        with self._reference_later():
            made: dict[str, Any] = super()._generate_and_score_completions(inputs)
        device = made["completion_ids"].device
        kept = [scored.advantage if scored.kept else 0.0 for scored in self._scored]
        made["advantages"] = torch.tensor(kept, dtype=torch.float32, device=device)
        made["num_items_in_batch"] = self.accelerator.gather(_in_loss(made).sum()).sum()
        return made

    def _compute_loss(self, model: Any, inputs: dict[str, Any]) -> torch.Tensor:
        kept = int(_in_loss(inputs).any(dim=1).sum())
        counts = self.accelerator.gather(torch.tensor([kept], device=self.accelerator.device))
        # TRL gathers a number of each row, so that all processes need as many.
        rows = max(1, int(counts.max()))
        left = _without_excluded(inputs, rows)
        if self.beta and "ref_per_token_logps" not in left:
            left["ref_per_token_logps"] = self._reference(left)
        loss: torch.Tensor = super()._compute_loss(model, left)
        if self.loss_type in _MEAN_OF_ROWS:
            loss = loss * (rows * len(counts) / max(1, int(counts.sum())))
        return loss

    @contextmanager
    def _reference_later(self) -> Iterator[None]:
        """Leave out the pass of the reference policy, which `_compute_loss` makes over kept rows alone.

        Not where the same rollouts are used again, nor for adapters, whose reference TRL finds in its own way.
        """
        beta = self.beta
        if self.num_iterations == 1 and self.ref_model is not None:
            self.beta = 0.0
        try:
            yield
        finally:
            self.beta = beta

    def _reference(self, inputs: Mapping[str, Any]) -> torch.Tensor:
        with torch.no_grad():
            logprobs, _, _ = self._get_per_token_logps_and_entropies(
                self.ref_model,
                torch.cat([inputs["prompt_ids"], inputs["completion_ids"]], dim=1),
                torch.cat([inputs["prompt_mask"], inputs["completion_mask"]], dim=1),
                inputs["completion_ids"].size(1),
            )
        found: torch.Tensor = logprobs
        return found

    def training_step(self, *args: Any, **kwargs: Any) -> torch.Tensor:
        loss: torch.Tensor = super().training_step(*args, **kwargs)
        if not bool(torch.isfinite(self.accelerator.gather(loss)).all()):
            raise Diverged(
                f"the loss of step {self.state.global_step + 1} is {_shown(float(loss))}: the step is not taken and "
                "training ends; resume from the last checkpoint with a lower grpo.learning_rate or a grpo.kl"
            )
        return loss

    def log(self, logs: dict[str, float], start_time: float | None = None) -> None:
        """What TRL logs, and what the rollouts came to, to every reporter."""
        if self.came and "loss" in logs:
            logs.update(numbers(tally(self.came)))
        super().log(logs, start_time)

    def _get_output_dir(self, trial: Any) -> str:
        """Where a checkpoint is written: beside the others, under a name that no resume looks at."""
        return str(Path(self.args.output_dir) / PART)

    def _save_checkpoint(self, model: Any, trial: Any) -> None:
        part, folder = Path(self._get_output_dir(trial)), Path(self.args.output_dir)
        name = f"{PREFIX_CHECKPOINT_DIR}-{self.state.global_step}"
        try:
            super()._save_checkpoint(model, trial)
            self.accelerator.wait_for_everyone()
            if self.args.should_save:
                (part / name).replace(folder / name)
        except (OSError, RuntimeError, SafetensorError) as error:
            if type(error) is RuntimeError and _TORCH_WRITES not in str(error):
                raise
            last = max((one.name for one in folder.glob(f"{PREFIX_CHECKPOINT_DIR}-*")), key=_number, default=None)
            raise StoreFault(
                f"the checkpoint of step {self.state.global_step} cannot be written to {folder} ({error}); "
                f"{f'{last} is whole' if last else 'there is none before it'}: make room and resume"
            ) from None
        finally:
            if self.args.should_save:
                shutil.rmtree(part, ignore_errors=True)
        if self.args.should_save:
            rotate_checkpoints(output_dir=str(folder), save_total_limit=self.args.save_total_limit, use_mtime=False)

    def create_model_card(self, *args: Any, **kwargs: Any) -> None:
        """None: the run's folder says how it was trained."""


def _reward(worth: Sequence[float], **_: Any) -> list[float]:
    """What TRL takes for rewards; its advantages of them are replaced."""
    return list(worth)


def _in_loss(inputs: Mapping[str, Any]) -> torch.Tensor:
    mask: torch.Tensor = inputs["completion_mask"] * inputs["tool_mask"]
    return mask


def _without_excluded(inputs: dict[str, Any], size: int) -> dict[str, Any]:
    """So many rows, those with something in the loss first, at their own longest lengths.

    Rows that are masked would go through the network for nothing.
    """
    rows = _in_loss(inputs).any(dim=1).long().argsort(descending=True, stable=True)[:size]
    count = len(inputs["completion_ids"])
    left = {name: value.index_select(0, rows) if _is_rows(value, count) else value for name, value in inputs.items()}
    prompt = int(left["prompt_mask"].sum(dim=1).max())
    completion = int(left["completion_mask"].sum(dim=1).max())
    for name in ("prompt_ids", "prompt_mask"):
        left[name] = left[name][:, -prompt:]
    for name in ("completion_ids", "completion_mask", "tool_mask", *_LOGPROBS):
        if left.get(name) is not None:
            left[name] = left[name][:, :completion]
    return left


_MEAN_OF_ROWS = ("grpo", "dr_grpo")
"""Losses that TRL averages over rows, masked ones too."""

_LOGPROBS = ("old_per_token_logps", "ref_per_token_logps", "sampling_per_token_logps", "importance_sampling_ratio")


def _is_rows(value: Any, count: int) -> bool:
    return isinstance(value, torch.Tensor) and value.dim() > 0 and len(value) == count


def _number(name: str) -> int:
    return int(name.rpartition("-")[2])


def _shown(value: float) -> str:
    return "no number" if math.isnan(value) else f"{value:g}"
