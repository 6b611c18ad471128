"""What people say about runs afterwards: tags, notes, groups, and which runs they deleted.

One line for each thing said, in `annotations.jsonl`, appended and never changed: the query store is filled
from it again whenever its tables are, so that nothing said is lost with them. Every process reads what
others append.
"""

import fcntl
import json
import logging
import os
from collections.abc import Sequence
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path

from orchestra_lib.codec import SCHEMA_VERSION, from_data, to_text, well_formed
from orchestra_lib.durability import sync_folder
from orchestra_lib.errors import BadInput, StoreFault
from orchestra_lib.record import record
from orchestra_lib.store.journal_file import write_all

MAX_TAG_CHARS = 40
MAX_NOTE_CHARS = 20_000
_log = logging.getLogger(__name__)


class AnnotationKind(StrEnum):
    """What a line says of its run; the last one counts."""

    TAGGED = "tagged"
    UNTAGGED = "untagged"
    DELETED = "deleted"
    RESTORED = "restored"
    GRADED = "graded"
    """A grade was added to the run's journal, which tells it: whoever has taken that in looks again."""
    NOTED = "noted"
    GROUPED = "grouped"
    UNGROUPED = "ungrouped"


@record
class Annotation:
    """One thing said about one run. `value` is the tag, the note or the name of the group, None where there is none."""

    at: datetime
    run_id: str
    kind: AnnotationKind
    value: str | None = None


@record
class Note:
    """What a person noted about a run, and when."""

    text: str
    at: datetime


@record
class Said:
    """Annotations in the order in which they were made, and where the file was read up to, in bytes."""

    annotations: tuple[Annotation, ...]
    bytes: int


class Annotations:
    """The annotations of one home folder."""

    def __init__(self, home: Path) -> None:
        self.path = home / "annotations.jsonl"

    def append(self, kind: AnnotationKind, run_ids: Sequence[str], value: str | None = None) -> None:
        """Say the same of several runs; on disk for good when this returns. Raises `StoreFault`."""
        now = datetime.now(UTC)
        said = (Annotation(at=now, run_id=run_id, kind=kind, value=value) for run_id in run_ids)
        data = "".join(f'{{"schema":{SCHEMA_VERSION},{to_text(one)[1:]}\n' for one in said).encode()
        try:
            descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX)
                _end_line(descriptor)
                write_all(descriptor, data)
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
            sync_folder(self.path.parent)
        except OSError as error:
            raise StoreFault(f"cannot write {self.path}: {error.strerror}") from error

    def size(self) -> int:
        """The size of the file in bytes; 0 when nothing was ever said."""
        try:
            return self.path.stat().st_size
        except OSError:
            return 0

    def read(self, start: int = 0) -> Said:
        """What was said after byte `start`; a line that cannot be read is logged and left out. Raises `StoreFault`."""
        try:
            with self.path.open("rb") as file:
                file.seek(start)
                content = file.read()
        except FileNotFoundError:
            return Said(annotations=(), bytes=0)
        except OSError as error:
            raise StoreFault(f"cannot read {self.path}: {error.strerror}") from error
        *lines, torn = content.split(b"\n")
        read = (self._annotation(line) for line in lines if line.strip())
        return Said(annotations=tuple(one for one in read if one), bytes=start + len(content) - len(torn))

    def _annotation(self, line: bytes) -> Annotation | None:
        try:
            data = json.loads(line)
            version = data.pop("schema", None)
            if version != SCHEMA_VERSION:
                raise BadInput(f"schema {version!r}, this workbench reads {SCHEMA_VERSION}")
            return from_data(data, Annotation, where="annotation")
        except (ValueError, RecursionError, AttributeError, BadInput) as error:
            _log.warning("a line of %s is left out: %s", self.path, error)
            return None


def checked_tag(text: str) -> str:
    """A tag as it is kept. Raises `BadInput` for an empty one, one over 40 characters or with line ends."""
    tag = well_formed(" ".join(text.split()))
    if not tag:
        raise BadInput("the tag is empty; write a word, for example demo")
    if len(tag) > MAX_TAG_CHARS:
        raise BadInput(f"the tag has {len(tag)} characters; keep it under {MAX_TAG_CHARS}")
    if not tag.isprintable():
        raise BadInput("the tag has characters that cannot be seen; write a plain word")
    return tag


def checked_note(text: str) -> str | None:
    """A note as it is kept, None for one without words. Raises `BadInput` for one of over 20,000 characters."""
    note = well_formed(text).replace("\x00", "\ufffd").strip()
    if len(note) > MAX_NOTE_CHARS:
        raise BadInput(f"the note has {len(note):,} characters; keep it under {MAX_NOTE_CHARS:,}")
    return note or None


def _end_line(descriptor: int) -> None:
    """End a line that a crash left half: what follows it must not be lost with it."""
    size = os.fstat(descriptor).st_size
    if size and os.pread(descriptor, 1, size - 1) != b"\n":
        write_all(descriptor, b"\n")
