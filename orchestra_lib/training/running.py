"""A training run from its settings to its folder: begun, gone on with, stopped and finished.

A run resumes exactly: exercises and the chance of every rollout follow from the seed and their number, and the rest
(weights, optimiser, schedule) stands in the checkpoint.
"""

import os
import signal
import threading
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")  # both hooks are experimental, and trl is pinned

import torch
from accelerate.utils import gather_object
from datasets import Dataset
from transformers import PrinterCallback, TrainerCallback
from transformers.utils.logging import disable_progress_bar

from orchestra_lib.codec import to_data
from orchestra_lib.errors import BadInput, OrchestraError
from orchestra_lib.protocols import PolicySpec
from orchestra_lib.store.rollouts import StepRollouts, Worth
from orchestra_lib.training.checkpoints import check_same_tokenizer, write_card
from orchestra_lib.training.rewarding import Scored
from orchestra_lib.training.rollouts import Player, Rollout
from orchestra_lib.training.rows import rows_of
from orchestra_lib.training.run_folder import FINAL, RunFolder, State
from orchestra_lib.training.sampler import LocalSampler, Sampler
from orchestra_lib.training.scales import Parts, parts
from orchestra_lib.training.server_sampler import ServerSampler
from orchestra_lib.training.settings import Settings, saved
from orchestra_lib.training.standing import Standing
from orchestra_lib.training.step_log import StepLog
from orchestra_lib.training.trainer import Diverged, OrchestraTrainer
from orchestra_lib.training.trl_settings import trl_config

_INITIAL = "initial"


class Stopped(Exception):  # control flow, not an error
    """An alarm ends the run."""


def train(settings: Settings, *, resume: bool = False, home: Path | None = None) -> dict[str, Any]:
    """Train, or go on from the last checkpoint, and return a summary: state, step, folder, the last step's numbers.

    Every rollout is kept in the store of `home`, unless that is None or the settings say otherwise. SIGTERM ends the
    run after the step under way, with a checkpoint. Raises `BadInput` for settings that cannot be, a folder with a run
    that is not to be resumed, and a checkpoint of another tokenizer; `StoreFault` for a full disk; `Diverged` when the
    loss is no number.
    """
    assert settings.output_dir is not None
    folder = RunFolder(Path(settings.output_dir))
    torch.set_num_threads(settings.policy.threads)
    if not _is_main():  # the main process keeps the folder for all
        return _Run(settings, folder, max(folder.checkpoints(), default=0) if resume else 0, home).go()
    with folder.held():
        return _Run(settings, folder, _begun(folder, resume), home).go()


def _is_main() -> bool:
    return int(os.environ.get("RANK", "0")) == 0


def _begun(folder: RunFolder, resume: bool) -> int:
    """The step to go on from; 0 for the beginning."""
    there = folder.status
    if there is not None and not resume:
        raise BadInput(f"{folder.path} holds a run already ({there.state}); resume it, or choose another output_dir")
    if resume and there is None:
        raise BadInput(f"{folder.path} holds no run that could go on; start it without --resume")
    last = max(folder.checkpoints(), default=0)
    if resume:
        folder.forget_after(last)
    return last


class _Run:
    def __init__(self, settings: Settings, folder: RunFolder, begun: int, home: Path | None) -> None:
        self._settings, self._folder, self._begun = settings, folder, begun
        self._main = _is_main()
        kept_in = home if settings.rollouts.store else None
        self._store = None if kept_in is None else StepRollouts(kept_in, folder.stored_as)
        self._standing = Standing(folder, step=begun, steps=settings.grpo.steps, writes=self._main)
        self._log = StepLog(settings, folder, writes=self._main)
        self.stopping = False

    def go(self) -> dict[str, Any]:
        if self._main:
            self._folder.write_config(saved(self._settings))
            if self._store is not None:  # also what an earlier run in a folder of this name left
                self._store.forget_after(self._begun)
        self._standing.tell(State.STARTING)
        try:
            with self._standing.alive(), self._until_terminated():
                disable_progress_bar()  # the run's own lines say how far it is
                made = parts(self._settings)
                self._check(made)
                trainer = self._trainer(made)
                try:
                    self._standing.tell(State.RUNNING)
                    self._train(trainer)
                    return self._finish(trainer, made)
                finally:
                    trainer.close()
        except Stopped as alarm:
            self._standing.tell(State.STOPPED, str(alarm))
            return self._summary()
        except OrchestraError as error:
            self._standing.tell(State.FAILED, str(error))
            raise
        except BaseException as error:
            self._standing.tell(State.FAILED, f"{type(error).__name__}: {error}"[:500])
            raise

    def _check(self, made: Parts) -> None:
        policy = self._settings.policy.checkpoint
        if policy is not None and Path(policy).is_dir():
            check_same_tokenizer(Path(policy), made.tokenizer)
        if self._begun:
            check_same_tokenizer(self._folder.checkpoints()[self._begun], made.tokenizer)

    def _trainer(self, made: Parts) -> OrchestraTrainer:
        settings, grpo = self._settings, self._settings.grpo
        _seeded(settings.seed)
        network = made.network
        origin = str(network.config._name_or_path)
        if grpo.kl and not (origin and Path(origin).is_dir()) and made.adapters is None:
            # TRL reads the policy to compare with from where the network came from.
            network.save_pretrained(self._folder.path / _INITIAL)
            network.config._name_or_path = str(self._folder.path / _INITIAL)
        bounds: dict[str, Any] = {
            "ends": [made.dialect.eos], "temperature": grpo.temperature, "max_new_tokens": grpo.max_new_tokens,
            "context": grpo.context,
        }  # fmt: skip
        sampler: Sampler = (
            LocalSampler(network, **bounds) if settings.vllm_url is None else ServerSampler(settings.vllm_url, **bounds)
        )
        player = Player(
            sampler, made.dialect, settings.rollouts, name=self._folder.stored_as, seed=settings.seed,
            policy=PolicySpec(name=made.name),
        )  # fmt: skip
        rounds = -(-grpo.steps // grpo.iterations)
        rows = Dataset.from_dict(
            {"prompt": ["exercise"] * (rounds * grpo.prompts), "exercise": list(range(rounds * grpo.prompts))}
        )
        trainer = OrchestraTrainer(
            player=player, course=made.course, grpo=grpo, seen=self._keep_rollouts, model=network,
            args=trl_config(settings, self._folder.path), train_dataset=rows, processing_class=made.tokenizer,
            peft_config=made.adapters,
        )  # fmt: skip
        trainer.add_callback(_Watch(self, trainer))
        trainer.remove_callback(PrinterCallback)  # the run's own line says it
        return trainer

    def _train(self, trainer: OrchestraTrainer) -> None:
        last = self._folder.checkpoints().get(self._begun)
        with warnings.catch_warnings(), self._log.following(trainer):
            # TRL 1.16 asks for the old name of what transformers 5.24 has renamed.
            warnings.filterwarnings("ignore", "`is_gradient_checkpointing`", FutureWarning)
            try:
                trainer.train(resume_from_checkpoint=None if last is None else str(last))
            except Diverged as error:
                step = self._log.add(trainer, {}, warned=str(error))
                self._standing.tell(State.RUNNING, step.alarms[0], step.step)
                raise

    def logged(self, trainer: OrchestraTrainer, logs: dict[str, Any]) -> None:
        """A step has ended. Raises `Stopped` where an alarm is to end the run."""
        if not trainer.came:
            return
        step = self._log.add(trainer, logs)
        self._standing.tell(State.RUNNING, step.alarms[0] if step.alarms else "", step.step)
        if step.alarms and self._settings.alarms.stop and step.kept:
            raise Stopped(step.alarms[0])

    def _keep_rollouts(self, step: int, played: Sequence[Rollout], scored: Sequence[Scored]) -> None:
        if self._store is not None:
            worth = (
                Worth(reward=one.reward, advantage=one.advantage, kept=one.kept, why=one.why or "") for one in scored
            )
            rollouts = zip((one.trajectory for one in played), worth, strict=True)
            self._store.put(step, rollouts, part=int(os.environ.get("RANK", "0")))
        if self._main:
            self._folder.write_rollouts(step, rows_of(played, scored, self._settings.rollouts.keep_groups))

    def _finish(self, trainer: OrchestraTrainer, made: Parts) -> dict[str, Any]:
        done = trainer.state.global_step
        if self.stopping and done < self._settings.grpo.steps:
            self._standing.tell(State.STOPPED, "stopped by a signal; resume it to go on", done)
            return self._summary()
        final = self._folder.path / FINAL
        trainer.save_model(str(final))
        if self._main:
            write_card(final, made, self._settings, done)
        self._standing.tell(State.FINISHED, "", done)
        return self._summary()

    def _summary(self) -> dict[str, Any]:
        last, status = self._log.steps[-1] if self._log.steps else None, self._standing.status
        return {
            "state": str(status.state),
            "message": status.message,
            "step": status.step,
            "steps": status.steps,
            "folder": str(self._folder.path),
            "last": None if last is None else to_data(last),
        }

    @contextmanager
    def _until_terminated(self) -> Iterator[None]:
        """While this runs SIGTERM asks for an end after the step; only a main thread can hear it."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return

        def asked(number: int, frame: Any) -> None:
            self.stopping = True

        before = signal.signal(signal.SIGTERM, asked)
        try:
            yield
        finally:
            signal.signal(signal.SIGTERM, before)


class _Watch(TrainerCallback):  # type: ignore[misc]  # transformers is not typed
    """Hands what TRL logs to the run, and the run's wish to end to TRL."""

    def __init__(self, run: _Run, trainer: OrchestraTrainer) -> None:
        self._run, self._trainer = run, trainer

    def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, Any] | None = None, **_: Any) -> None:
        if logs and "train_runtime" not in logs:
            self._run.logged(self._trainer, logs)

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> Any:
        # All processes end after the same step, whichever of them was told to.
        if any(gather_object([self._run.stopping])) if args.world_size > 1 else self._run.stopping:
            self._run.stopping = control.should_save = control.should_training_stop = True
        return control


def _seeded(seed: int) -> None:
    torch.manual_seed(seed)
