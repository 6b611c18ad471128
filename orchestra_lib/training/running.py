"""A training run from its settings to its folder: begun, gone on with, stopped and finished.

A run resumes exactly: exercises and the chance of every rollout follow from the seed and their number, and the rest
(weights, optimiser, schedule) stands in the checkpoint.
"""

import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
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
from orchestra_lib.training import run_folder
from orchestra_lib.training.alarms import alarms
from orchestra_lib.training.checkpoints import check_same_tokenizer, write_card
from orchestra_lib.training.rewarding import Scored
from orchestra_lib.training.rollouts import Player, Rollout
from orchestra_lib.training.rows import rows_of
from orchestra_lib.training.run_folder import FINAL, RunFolder, State, Status
from orchestra_lib.training.sampler import LocalSampler, Sampler
from orchestra_lib.training.scales import Parts, parts
from orchestra_lib.training.server_sampler import ServerSampler
from orchestra_lib.training.settings import Settings, saved
from orchestra_lib.training.steps import Step
from orchestra_lib.training.tally import tally
from orchestra_lib.training.trainer import Diverged, OrchestraTrainer
from orchestra_lib.training.trl_settings import trl_config

_INITIAL = "initial"
_EVERY_S = 5.0
"""So often the status says that the process lives, also within a step."""


class Stopped(Exception):  # control flow, not an error
    """An alarm ends the run."""


def train(settings: Settings, *, resume: bool = False) -> dict[str, Any]:
    """Train, or go on from the last checkpoint, and return a summary: state, step, folder, the last step's numbers.

    SIGTERM ends it after the step under way, with a checkpoint. Raises `BadInput` for settings that cannot be, a
    folder with a run that is not to be resumed, and a checkpoint of another tokenizer; `StoreFault` for a full disk;
    `Diverged` when the loss is no number.
    """
    assert settings.output_dir is not None
    folder = RunFolder(Path(settings.output_dir))
    torch.set_num_threads(settings.policy.threads)
    if not _is_main():  # the main process keeps the folder for all
        return _Run(settings, folder, max(folder.checkpoints(), default=0) if resume else 0).go()
    with folder.held():
        return _Run(settings, folder, _begun(folder, resume)).go()


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
    def __init__(self, settings: Settings, folder: RunFolder, begun: int) -> None:
        self._settings, self._folder, self._begun = settings, folder, begun
        self._main = _is_main()
        now = run_folder.now()
        before = folder.status
        self._status = Status(
            state=State.STARTING, pid=os.getpid(), step=begun, steps=settings.grpo.steps,
            started_at=before.started_at if before else now, heartbeat_at=now,
        )  # fmt: skip
        self._steps = list(folder.steps())
        self._ended = threading.Event()
        self._lock = threading.Lock()
        self.stopping = False

    def go(self) -> dict[str, Any]:
        if self._main:
            self._folder.write_config(saved(self._settings))
        self._tell(State.STARTING)
        try:
            with self._heartbeat(), self._until_terminated():
                made = parts(self._settings)
                self._check(made)
                trainer = self._trainer(made)
                try:
                    self._tell(State.RUNNING)
                    self._train(trainer)
                    return self._finish(trainer, made)
                finally:
                    trainer.close()
        except Stopped as alarm:
            self._tell(State.STOPPED, str(alarm))
            return self._summary()
        except OrchestraError as error:
            self._tell(State.FAILED, str(error))
            raise
        except BaseException as error:
            self._tell(State.FAILED, f"{type(error).__name__}: {error}"[:500])
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
            sampler, made.dialect, settings.rollouts, name=settings.name, seed=settings.seed,
            policy=PolicySpec(name=made.name),
        )  # fmt: skip
        rounds = -(-grpo.steps // grpo.iterations)
        rows = Dataset.from_dict(
            {"prompt": ["exercise"] * (rounds * grpo.prompts), "exercise": list(range(rounds * grpo.prompts))}
        )
        trainer = OrchestraTrainer(
            player=player, course=made.course, grpo=grpo, seen=self._keep_rollouts, model=network,
            args=trl_config(settings, self._folder.path), train_dataset=rows, processing_class=made.tokenizer,
            peft_config=made.adapters, callbacks=[_Watch(self)],
        )  # fmt: skip
        trainer.remove_callback(PrinterCallback)  # the run's own line says it
        disable_progress_bar()
        return trainer

    def _train(self, trainer: OrchestraTrainer) -> None:
        last = self._folder.checkpoints().get(self._begun)
        self._clocks = _Clocks(trainer)
        self.logged = self._log_of(trainer)
        try:
            with warnings.catch_warnings():
                # TRL 1.16 asks for the old name of what transformers 5.24 has renamed.
                warnings.filterwarnings("ignore", "`is_gradient_checkpointing`", FutureWarning)
                trainer.train(resume_from_checkpoint=None if last is None else str(last))
        except Diverged as error:
            self._add(trainer, {}, (str(error),))
            raise

    def _log_of(self, trainer: OrchestraTrainer) -> Callable[[dict[str, Any]], None]:
        return lambda logs: self._add(trainer, logs, ())

    def _add(self, trainer: OrchestraTrainer, logs: dict[str, Any], warned: tuple[str, ...]) -> None:
        """The line of a step."""
        if not trainer.came:
            return
        told: dict[str, Any] = {
            **self._clocks.passed(trainer),
            **tally(trainer.came),
            **{name: _known(logs.get(key)) for name, key in _LOGGED.items()},
        }
        step = Step(step=trainer.state.global_step + (1 if warned else 0), at=run_folder.now(), **told)
        found = (*warned, *alarms([*self._steps, step], self._settings.alarms))
        step = replace(step, alarms=found)
        self._steps.append(step)
        if self._main:
            self._folder.add_step(step)
            print(_line(step, self._settings.grpo.steps), file=sys.stderr, flush=True)
        self._tell(State.RUNNING, found[0] if found else "", step.step)
        if found and self._settings.alarms.stop and not warned and step.kept:
            raise Stopped(found[0])

    def _keep_rollouts(self, step: int, played: Sequence[Rollout], scored: Sequence[Scored]) -> None:
        if self._main:
            self._folder.write_rollouts(step, rows_of(played, scored, self._settings.rollouts.keep_groups))

    def _finish(self, trainer: OrchestraTrainer, made: Parts) -> dict[str, Any]:
        done = trainer.state.global_step
        if self.stopping and done < self._settings.grpo.steps:
            self._tell(State.STOPPED, "stopped by a signal; resume it to go on", done)
            return self._summary()
        final = self._folder.path / FINAL
        trainer.save_model(str(final))
        if self._main:
            write_card(final, made, self._settings, done)
        self._tell(State.FINISHED, "", done)
        return self._summary()

    def _summary(self) -> dict[str, Any]:
        last = self._steps[-1] if self._steps else None
        return {
            "state": str(self._status.state),
            "message": self._status.message,
            "step": self._status.step,
            "steps": self._status.steps,
            "folder": str(self._folder.path),
            "last": None if last is None else to_data(last),
        }

    def _tell(self, state: State, message: str = "", step: int | None = None) -> None:
        with self._lock:
            at = self._status.step if step is None else step
            self._status = replace(self._status, state=state, message=message, step=at, heartbeat_at=run_folder.now())
            if self._main:
                self._folder.write_status(self._status)

    @contextmanager
    def _heartbeat(self) -> Iterator[None]:
        """Say every few seconds that the process lives."""

        def beat() -> None:
            while not self._ended.wait(_EVERY_S):
                self._tell(self._status.state, self._status.message)

        thread = threading.Thread(target=beat, name="heartbeat", daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._ended.set()
            thread.join()

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

    def __init__(self, run: _Run) -> None:
        self._run = run

    def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, Any] | None = None, **_: Any) -> None:
        if logs and "train_runtime" not in logs:
            self._run.logged(logs)

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> Any:
        # All processes end after the same step, whichever of them was told to.
        if any(gather_object([self._run.stopping])) if args.world_size > 1 else self._run.stopping:
            self._run.stopping = control.should_save = control.should_training_stop = True
        return control


class _Clocks:
    """Seconds since the last step: CPU of this process, CPU of playing in it, and wall."""

    def __init__(self, trainer: OrchestraTrainer) -> None:
        self._before = time.process_time(), trainer.rollout_cpu_s, time.monotonic()

    def passed(self, trainer: OrchestraTrainer) -> dict[str, float]:
        now = time.process_time(), trainer.rollout_cpu_s, time.monotonic()
        cpu_s, rollout_cpu_s, wall_s = (
            round(after - before, 4) for before, after in zip(self._before, now, strict=True)
        )
        self._before = now
        return {"cpu_s": cpu_s, "rollout_cpu_s": rollout_cpu_s, "wall_s": wall_s}


_LOGGED = {
    "entropy": "entropy", "kl": "kl", "loss": "loss", "grad_norm": "grad_norm", "lr": "learning_rate",
}  # fmt: skip


def _seeded(seed: int) -> None:
    torch.manual_seed(seed)


def _known(value: Any) -> float | None:
    """A logged number, None when it is none or was not logged."""
    return float(value) if isinstance(value, int | float) and abs(value) < float("inf") else None


def _line(step: Step, steps: int) -> str:
    def shown(value: float | None, form: str) -> str:
        return "—" if value is None else format(value, form)

    return (
        f"step {step.step}/{steps}  kept {step.kept}/{step.samples}  accuracy {shown(step.accuracy, '.2f')}  "
        f"cost {shown(step.cost_usd, '.4f')} USD  latency {shown(step.latency_s, '.1f')} s  "
        f"strongest {shown(step.strongest_share, '.2f')}  malformed {shown(step.malformed_rate, '.2f')}  "
        f"loss {shown(step.loss, '.4f')}{''.join(f'  ! {alarm}' for alarm in step.alarms)}"
    )
