"""Having the disk make sure of journals, for event loops with hundreds of runs: those that wait together go together.

A hand-over to a thread and back costs more than the wait itself on a fast disk, and a folder that got many new names
needs to be made sure of once.
"""

import asyncio
import os
import weakref
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TypeVar

from orchestra_lib.durability import sync_folder

_TOGETHER = 16
"""So many files at most one thread makes sure of, one after another."""
_DISK = ThreadPoolExecutor(16, thread_name_prefix="journal")
"""Waits for the disk: file systems put waits that come together into one write."""

_Named = TypeVar("_Named", int, Path)
_File = tuple[int, Path | None]
"""A descriptor, and the folder whose new name for it is to be made sure of too."""
_Waiting = tuple[_File, "asyncio.Future[None]"]


def together() -> "Together":
    """The one of the running event loop."""
    loop = asyncio.get_running_loop()
    if (found := _LOOPS.get(loop)) is None:
        found = _LOOPS[loop] = Together()
    return found


class Together:
    """The way of one event loop to the disk. A file waits only while others are on their way and it has few beside it.

    All is asked for in the loop's own thread.
    """

    def __init__(self) -> None:
        self._waiting: list[_Waiting] = []
        self._under_way = 0

    def sure(self, file: _File) -> "asyncio.Future[None]":
        """Done once the disk has the file, with an OSError where it cannot. The descriptor is to stay open till then.

        What was written before this was asked for is made sure of, and it goes on if nobody waits for it any more.
        """
        loop = asyncio.get_running_loop()
        done: asyncio.Future[None] = loop.create_future()
        self._waiting.append((file, done))
        if len(self._waiting) == 1 or len(self._waiting) % _TOGETHER == 0:
            loop.call_soon(self._send, loop)  # whoever else comes in this round of the loop comes along
        return done

    def _send(self, loop: asyncio.AbstractEventLoop) -> None:
        while len(self._waiting) >= _TOGETHER or (self._waiting and not self._under_way):
            batch, self._waiting = self._waiting[:_TOGETHER], self._waiting[_TOGETHER:]
            self._under_way += 1
            sent = loop.run_in_executor(_DISK, _sync, [file for file, _ in batch])
            sent.add_done_callback(partial(self._back, loop, batch))

    def _back(
        self,
        loop: asyncio.AbstractEventLoop,
        batch: Sequence[_Waiting],
        sent: "asyncio.Future[list[OSError | None]]",
    ) -> None:
        self._under_way -= 1
        if sent.cancelled():  # the loop is being torn down
            for _, done in batch:
                done.cancel()
            return
        for (_, done), error in zip(batch, sent.result(), strict=True):
            if not done.done():
                done.set_result(None) if error is None else done.set_exception(error)
        self._send(loop)


_LOOPS: "weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, Together]" = weakref.WeakKeyDictionary()


def _sync(files: Sequence[_File]) -> list[OSError | None]:
    """What kept each file from being made sure of, None where nothing did."""
    errors = [_error_of(os.fsync, descriptor) for descriptor, _ in files]
    failed = {folder: _error_of(sync_folder, folder) for folder in {folder for _, folder in files} if folder}
    return [error or (failed[folder] if folder else None) for error, (_, folder) in zip(errors, files, strict=True)]


def _error_of(sync: Callable[[_Named], None], what: _Named) -> OSError | None:
    try:
        sync(what)
    except OSError as error:
        return error
    return None
