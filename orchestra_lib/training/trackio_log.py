"""The steps of a run in trackio's database, for its dashboard: `trackio show --project orchestra`.

It lies in the run's folder, or where `TRACKIO_DIR` says; nothing leaves this machine unless `TRACKIO_SPACE_ID` or
`TRACKIO_SERVER_URL` is set. `steps.jsonl` is the truth: the log of a run that goes on is made anew from it, so that no
step stands twice.
"""

import os
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout, suppress
from pathlib import Path

from orchestra_lib.codec import to_data
from orchestra_lib.errors import BadInput
from orchestra_lib.training.settings import Settings
from orchestra_lib.training.steps import Step, numbers

PROJECT = "orchestra"
FOLDER = "trackio"
_WHERE = "TRACKIO_DIR"
_NO_NUMBERS = ("step", "at", "alarms")


class TrackioLog:
    """Logs the steps of a run under its folder's name, those that are there already first.

    Raises `BadInput` where trackio was bound to another folder when it was imported.
    """

    def __init__(self, settings: Settings, steps: Sequence[Step]) -> None:
        import trackio

        place = _place(settings)
        if place != trackio.TRACKIO_DIR:
            raise BadInput(
                f"trackio logs to {trackio.TRACKIO_DIR} in this process, not to {place}: train in a process of its own "
                f"(orchestra train), or set {_WHERE} before anything is imported"
            )
        config = to_data(settings)
        with suppress(ValueError):  # no such project yet
            for run in trackio.Api().runs(PROJECT):
                if (run.config or {}).get("output_dir") == config["output_dir"]:
                    run.delete()
        with redirect_stdout(sys.stderr):
            name = Path(config["output_dir"]).name
            trackio.init(project=PROJECT, name=name, config=config, embed=False, auto_log_cpu=False)
        self._trackio = trackio
        for step in steps:
            self.add(step)

    def add(self, step: Step) -> None:
        """Log the known numbers of a step, and how many alarms it had."""
        told = {name: value for name, value in to_data(step).items() if name not in _NO_NUMBERS}
        self._trackio.log({**numbers(told), "alarms": len(step.alarms)}, step=step.step)

    def close(self) -> None:
        """Write what is not written yet."""
        with redirect_stdout(sys.stderr):
            self._trackio.finish()


def bind(settings: Settings) -> None:
    """Say where trackio logs, before anything imports it: transformers does."""
    if settings.trackio:
        os.environ.setdefault(_WHERE, str(_place(settings)))


def _place(settings: Settings) -> Path:
    assert settings.output_dir is not None, "resolve the settings first"
    return Path(os.environ.get(_WHERE) or Path(settings.output_dir) / FOLDER)
