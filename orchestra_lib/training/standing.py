"""How a run stands, in its folder's `status.json`: said when it changes, and every few seconds while it lives."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from orchestra_lib.training import run_folder
from orchestra_lib.training.run_folder import RunFolder, State, Status

_EVERY_S = 5.0
"""So often the status says that the process lives, also within a step."""


class Standing:
    """The status of the run of this process. Only one of several processes `writes` it."""

    def __init__(self, folder: RunFolder, *, step: int, steps: int, writes: bool) -> None:
        self._folder, self._writes = folder, writes
        self._ended, self._lock = threading.Event(), threading.Lock()
        now, before = run_folder.now(), folder.status
        self.status = Status(
            state=State.STARTING, pid=os.getpid(), step=step, steps=steps,
            started_at=before.started_at if before else now, heartbeat_at=now,
        )  # fmt: skip

    def tell(self, state: State, message: str = "", step: int | None = None) -> None:
        """Say how it stands, at the step of before when none is given."""
        with self._lock:
            at = self.status.step if step is None else step
            self.status = replace(self.status, state=state, message=message, step=at, heartbeat_at=run_folder.now())
            if self._writes:
                self._folder.write_status(self.status)

    @contextmanager
    def alive(self) -> Iterator[None]:
        """While this runs, say every few seconds that the process lives."""

        def beat() -> None:
            while not self._ended.wait(_EVERY_S):
                self.tell(self.status.state, self.status.message)

        thread = threading.Thread(target=beat, name="heartbeat", daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._ended.set()
            thread.join()
