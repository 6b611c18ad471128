"""What people say of stored runs: tags, notes, groups, deleted and restored; and that a run has a new grade.

Each is written down first and then heard by the store, so that it holds in this process when a method returns and
in every other one as soon as it looks.
"""

import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from orchestra_lib.errors import BadInput
from orchestra_lib.store.annotations import AnnotationKind, Annotations, checked_note, checked_tag
from orchestra_lib.store.artefacts import Artefacts
from orchestra_lib.store.groups import OWN, checked_group
from orchestra_lib.store.trash import Trash

Rows = Sequence[dict[str, Any]]


class Remarks:
    """The remarks of one store.

    `known` refuses an id without a run, `hear` takes in what was written down, `rows` reads the tables; `lock` is the
    store's own.
    """

    def __init__(
        self,
        annotations: Annotations,
        trash: Trash,
        *,
        lock: threading.RLock,
        known: Callable[[str], None],
        hear: Callable[[], object],
        rows: Callable[[str, dict[str, Any]], Rows],
    ) -> None:
        self._annotations, self._trash, self._lock = annotations, trash, lock
        self._known, self._hear, self._rows = known, hear, rows

    def tag(self, run_ids: Sequence[str], tag: str, *, on: bool) -> None:
        """Give runs a tag, or take it from them."""
        tag = checked_tag(tag)
        self._all_known(run_ids)
        self._say(AnnotationKind.TAGGED if on else AnnotationKind.UNTAGGED, run_ids, tag)

    def write_note(self, run_id: str, text: str) -> None:
        """Keep a text about a run in place of the one before; one without words takes it away."""
        note = checked_note(text)
        self._known(run_id)
        self._say(AnnotationKind.NOTED, [run_id], note)

    def group(self, name: str, run_ids: Sequence[str], *, on: bool) -> None:
        """Put runs into a group, or take them out of it."""
        name = checked_group(name)
        self._all_known(run_ids)
        if not on and (own := self._rows(OWN, {"name": name, "ids": list(run_ids)})):
            raise BadInput(f"run {own[0]['id']} was started in the group {name!r}; make another group without it")
        self._say(AnnotationKind.GROUPED if on else AnnotationKind.UNGROUPED, run_ids, name)

    def graded(self, run_ids: Sequence[str]) -> None:
        """Have every process take these journals in again, because grades follow their ends."""
        self._say(AnnotationKind.GRADED, run_ids)

    def delete(self, run_id: str, *, has_journal: Callable[[], bool]) -> None:
        """Take a run out of every list, its journal into the trash."""
        self._known(run_id)
        with self._lock:
            if has_journal():
                self._trash.take(run_id)
            self._say(AnnotationKind.DELETED, [run_id])

    def restore(self, run_id: str) -> None:
        """Have a deleted run back."""
        with self._lock:
            self._trash.give_back(run_id)
            self._say(AnnotationKind.RESTORED, [run_id])

    def purge(
        self,
        artefacts: Artefacts,
        *,
        older_than_s: float,
        unused_for_s: float,
        unreadable: Callable[[], Sequence[object]],
    ) -> int:
        """Remove for good what was deleted longer ago than this, with the artefacts that no other run names."""
        due = self._trash.due(older_than_s=older_than_s)
        for run_id in due:
            named = () if unreadable() else self._unnamed(self._trash.artefacts(run_id))
            self._trash.purge(run_id)
            for sha256 in named:
                artefacts.remove(sha256, unused_for_s=unused_for_s)
        return len(due)

    def _unnamed(self, hashes: Iterable[str]) -> tuple[str, ...]:
        """Those of the artefacts that no stored run names."""
        named = 'EXISTS (SELECT 1 FROM trajectories WHERE contains(raw::VARCHAR, concat(\'"sha256":"\', hash)))'
        sql = f"SELECT hash FROM (SELECT unnest($hashes::VARCHAR[]) AS hash) WHERE NOT {named}"  # noqa: S608
        return tuple(row["hash"] for row in self._rows(sql, {"hashes": list(hashes)}))

    def _all_known(self, run_ids: Sequence[str]) -> None:
        """Looks closely at those alone that are in no table yet, so that thousands can be spoken of at once."""
        rows = self._rows("SELECT id FROM trajectories WHERE id IN (SELECT unnest($ids))", {"ids": list(run_ids)})
        here = {row["id"] for row in rows}
        for run_id in run_ids:
            if run_id not in here:
                self._known(run_id)

    def _say(self, kind: AnnotationKind, run_ids: Sequence[str], value: str | None = None) -> None:
        self._annotations.append(kind, run_ids, value)
        with self._lock:
            self._hear()
