"""An event loop that never waits: its clock jumps to whatever comes next."""

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

from orchestra_lib.errors import BadInput

T = TypeVar("T")


class _Still(Exception):  # never leaves this module
    """Nothing will ever happen again."""


class _Jumping(selectors.DefaultSelector):
    """Waits for nothing: where there is nothing to do until a timer is due, the clock jumps to it."""

    now_s = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if ready or (timeout is not None and timeout <= 0):
            return ready
        if timeout is None:
            raise _Still
        self.now_s += timeout
        return []


class _Loop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._jumping = _Jumping()
        super().__init__(self._jumping)

    def time(self) -> float:
        return self._jumping.now_s


def run_without_waiting(work: Coroutine[Any, Any, T]) -> T:
    """Run it on a loop of its own. Raises `BadInput` where it waits for something that will never come."""
    try:
        with asyncio.Runner(loop_factory=_Loop) as runner:
            return runner.run(work)
    except _Still:
        raise BadInput("the replay stands still: the loop waits for something that the record does not have") from None
