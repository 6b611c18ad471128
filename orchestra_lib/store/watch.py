"""Which journals are new or have grown since they were taken in, at the price of a few `stat` calls.

Among many journals those that are done cost nothing: a new one costs a look at the names in the folder.
"""

import time
from collections.abc import Iterable, Mapping

from orchestra_lib.store.journal import Journal, Stamp

_SETTLED_NS = 10**9
"""A folder changed less than a second ago may change again without another time stamp."""


class Watch:
    """Remembers the stamp of every journal taken in. Finished journals never change; the others are looked at again.

    What another process did to finished ones in the meantime is seen once, by the first look.
    """

    def __init__(self, journal: Journal, known: Mapping[str, Stamp], unfinished: Iterable[str]) -> None:
        self._journal = journal
        self._known = dict(known)
        self._unfinished = set(unfinished)
        self._done: set[str] = set()
        self._quiet: int | None = None

    def changed(self) -> dict[str, Stamp]:
        """Run ids whose journals are to be taken in, with the stamps to remember. Raises `StoreFault`."""
        # A run whose process died does not grow any more: closing it is what makes it end in the lists.
        self._journal.recover(self._unfinished)
        folder = self._journal.changed_ns()
        if folder is not None and folder == self._quiet:
            stamps = {run_id: stamp for run_id in self._unfinished if (stamp := self._journal.stamp(run_id))}
        else:
            stamps = self._journal.stamps(but=self._done)
            self._done |= {run_id for run_id, stamp in stamps.items() if self._is_done(run_id, stamp)}
        changed = {run_id: stamp for run_id, stamp in sorted(stamps.items()) if self._known.get(run_id) != stamp}
        for run_id in self._journal.recover(changed):
            changed[run_id] = self._journal.stamp(run_id) or changed[run_id]
        settled = folder is not None and time.time_ns() - folder > _SETTLED_NS
        self._quiet = folder if settled and not changed else None
        return changed

    def is_current(self, run_id: str, stamp: Stamp) -> bool:
        """Whether the journal was taken in as it is."""
        return self._known.get(run_id) == stamp

    def _is_done(self, run_id: str, stamp: Stamp) -> bool:
        return self.is_current(run_id, stamp) and run_id not in self._unfinished

    def taken_in(self, run_id: str, stamp: Stamp, *, unfinished: bool) -> None:
        """Remember that this much of the journal is in the store."""
        self._known[run_id] = stamp
        if unfinished:
            self._unfinished.add(run_id)
        else:
            self._unfinished.discard(run_id)

    def forget(self, run_id: str) -> None:
        """Know nothing of a run: its journal is gone, or has come back and is to be taken in again."""
        self._known.pop(run_id, None)
        self._unfinished.discard(run_id)
        self._done.discard(run_id)
        self._quiet = None
