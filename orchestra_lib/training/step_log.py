"""The steps of a run as they end: made of what TRL logs, what the rollouts came to and the time that passed."""

import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from orchestra_lib.training import run_folder
from orchestra_lib.training.alarms import alarms
from orchestra_lib.training.run_folder import RunFolder
from orchestra_lib.training.settings import Settings
from orchestra_lib.training.steps import Step
from orchestra_lib.training.tally import tally
from orchestra_lib.training.trackio_log import TrackioLog
from orchestra_lib.training.trainer import OrchestraTrainer

_LOGGED = {
    "entropy": "entropy", "kl": "kl", "loss": "loss", "grad_norm": "grad_norm", "lr": "learning_rate",
}  # fmt: skip
"""Fields of a step, and what TRL calls them."""


class StepLog:
    """Writes each step to the folder, to stderr and, where the settings say so, to trackio; `steps` are all so far.

    Only one of several processes `writes`.
    """

    def __init__(self, settings: Settings, folder: RunFolder, *, writes: bool) -> None:
        self._settings, self._folder, self._writes = settings, folder, writes
        self.steps = list(folder.steps())
        self._trackio: TrackioLog | None = None

    @contextmanager
    def following(self, trainer: OrchestraTrainer) -> Iterator[None]:
        """While this runs steps can be added; it starts the clocks of the first. Raises `BadInput` of `TrackioLog`."""
        self._clocks = _Clocks(trainer)
        if not (self._settings.trackio and self._writes):
            yield
            return
        self._trackio = TrackioLog(self._settings, self.steps)
        try:
            yield
        finally:
            self._trackio.close()

    def add(self, trainer: OrchestraTrainer, logs: Mapping[str, Any], *, warned: str | None = None) -> Step:
        """The step that has ended, or the one under way that `warned` ends."""
        told: dict[str, Any] = {
            **self._clocks.passed(trainer),
            **tally(trainer.came),
            **{name: _known(logs.get(key)) for name, key in _LOGGED.items()},
        }
        at = trainer.state.global_step + (0 if warned is None else 1)
        step = Step(step=at, at=run_folder.now(), **told)
        found = alarms([*self.steps, step], self._settings.alarms)
        step = replace(step, alarms=found if warned is None else (warned, *found))
        self.steps.append(step)
        if self._writes:
            self._folder.add_step(step)
            print(_line(step, self._settings.grpo.steps), file=sys.stderr, flush=True)
        if self._trackio is not None:
            self._trackio.add(step)
        return step


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
