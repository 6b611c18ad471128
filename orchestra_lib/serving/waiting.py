"""Runs that wait for their callers: found again by the ids of the calls they handed over, and not kept for ever."""

import asyncio
from collections.abc import Mapping

from orchestra_lib.record import record
from orchestra_lib.serving.served import Served

WAIT_S = 600.0
MOST = 256


@record
class Held:
    """A run, what the caller's conversation was when it was held, and the ids of its calls there and in the run."""

    served: Served
    digest: str
    ids: Mapping[str, str]
    timer: asyncio.TimerHandle


class WaitingRoom:
    """Holds runs for `wait_s` seconds, `most` at once: the one that waits longest makes room, and is stopped."""

    def __init__(self, wait_s: float = WAIT_S, most: int = MOST) -> None:
        self.wait_s = wait_s
        self._most = most
        self._held: dict[str, Held] = {}
        self._leaving: set[asyncio.Task[None]] = set()

    def hold(self, served: Served, digest: str, ids: Mapping[str, str]) -> None:
        """Keep a run until its caller comes back with results. `ids` maps its ids of calls to those of the run."""
        while len(self._held) >= self._most:
            self._end(next(iter(self._held)))
        timer = asyncio.get_running_loop().call_later(self.wait_s, self._end, served.run_id)
        self._held[served.run_id] = Held(served=served, digest=digest, ids=ids, timer=timer)

    def take(self, digest: str, answers: Mapping[str, str]) -> Served | None:
        """The run that waits for exactly these answers to exactly this conversation, with the answers given to it.

        None when there is none: it has ended meanwhile, or the conversation was edited.
        """
        for held in self._held.values():
            if held.digest == digest and held.ids.keys() == answers.keys() and answers:
                self._held.pop(held.served.run_id)
                held.timer.cancel()
                held.served.answer({held.ids[call_id]: text for call_id, text in answers.items()})
                return held.served
        return None

    def _end(self, run_id: str) -> None:
        held = self._held.pop(run_id, None)
        if held is not None:
            held.timer.cancel()
            task = asyncio.create_task(held.served.stop())
            self._leaving.add(task)
            task.add_done_callback(self._leaving.discard)

    async def close(self) -> None:
        """Stop every run that waits, and keep their records."""
        for run_id in list(self._held):
            self._end(run_id)
        await asyncio.gather(*self._leaving)
