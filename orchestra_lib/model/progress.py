"""How a fetch of weights goes, in words and figures for a page and a terminal."""

import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Literal

from orchestra_lib.errors import WeightsFault
from orchestra_lib.model.draft import Weights
from orchestra_lib.record import record

_RATE_WINDOW_S = 10.0
_TELL_EVERY_S = 0.25

State = Literal["absent", "partial", "fetching", "checking", "ready", "failed"]


@record
class WeightsStatus:
    """Where a weights file stands. `rate_bps` is bytes per second, `eta_s` seconds left; None when unknown.

    `absent` and `partial` wait for a fetch, `partial` with some bytes here; `error` says why one failed.
    """

    name: str
    state: State
    done_bytes: int
    total_bytes: int
    rate_bps: float | None = None
    eta_s: float | None = None
    error: str | None = None


class Progress:
    """Tells how a fetch goes: at most four times a second, with the rate of the last ten seconds."""

    def __init__(
        self,
        weights: Weights,
        live: dict[str, WeightsStatus],
        listener: Callable[[WeightsStatus], None] | None,
        cancel: threading.Event,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._weights = weights
        self._live = live
        self._listener = listener
        self._cancel = cancel
        self._seen: deque[tuple[float, int]] = deque()
        self._clock = clock
        self._told_at = -_TELL_EVERY_S

    def tick(self, done: int) -> None:
        """So many bytes are here. Raises `WeightsFault` when the fetch was cancelled."""
        self.stop_if_cancelled()
        now = self._clock()
        self._seen.append((now, done))
        while now - self._seen[0][0] > _RATE_WINDOW_S:
            self._seen.popleft()
        if now - self._told_at >= _TELL_EVERY_S:
            self._told_at = now
            self.tell(status_of(self._weights, "fetching", done, self._rate()))

    def checking(self) -> None:
        """All bytes are here and are being hashed."""
        self.tell(status_of(self._weights, "checking", self._weights.bytes))

    def fail(self, message: str) -> None:
        """The fetch ended without the file."""
        done = self._seen[-1][1] if self._seen else 0
        failed = WeightsStatus(
            name=self._weights.name, state="failed", done_bytes=done, total_bytes=self._weights.bytes, error=message
        )
        self._live[self._weights.name] = failed
        self.tell(failed)

    def tell(self, status: WeightsStatus) -> None:
        """Pass a status on to whoever follows the fetch."""
        if status.state != "ready":
            self._live[status.name] = status
        if self._listener is not None:
            self._listener(status)

    def stop_if_cancelled(self) -> None:
        """Raise `WeightsFault` when whoever asked for the fetch no longer wants it."""
        if self._cancel.is_set():
            raise WeightsFault(f"fetching {self._weights.name} was stopped; the next fetch goes on from here")

    def _rate(self) -> float | None:
        (start, before), (end, now) = self._seen[0], self._seen[-1]
        return (now - before) / (end - start) if end - start >= 1.0 and now > before else None


def status_of(weights: Weights, state: State, done: int, rate: float | None = None) -> WeightsStatus:
    """A status with the time left worked out from the rate."""
    eta_s = (weights.bytes - done) / rate if rate else None
    return WeightsStatus(
        name=weights.name, state=state, done_bytes=done, total_bytes=weights.bytes, rate_bps=rate, eta_s=eta_s
    )
