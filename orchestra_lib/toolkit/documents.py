"""Reads a user's text files into passages, and tells what it left out and why."""

import json
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from orchestra_lib.errors import BadInput
from orchestra_lib.toolkit.passage import Passage, split

MAX_TEXT_BYTES = 20 << 20
MAX_ROW_BYTES = 1 << 20
_MARKDOWN, _TEXT, _ROWS = {".md", ".markdown"}, {".txt", ".rst"}, {".jsonl"}


class Reader:
    """Passages of files and folders. `files`, `skipped` (reason to count) and `bad_rows` fill while it reads.

    Hidden, binary and huge files are skipped, links are not followed, and a row that cannot be
    used is named with its file and line.
    """

    def __init__(self) -> None:
        self.files = 0
        self.skipped: Counter[str] = Counter()
        self.bad_rows: list[str] = []

    def read(self, path: Path) -> Iterator[Passage]:
        """Raises `BadInput` when there is nothing at the path."""
        if path.is_dir():
            for folder, folders, names in os.walk(path):
                here = Path(folder)
                self._leave_out(here, folders)
                for name in sorted(names):
                    yield from self._file(here / name, str((here / name).relative_to(path.parent)))
        elif path.is_file():
            yield from self._file(path, path.name)
        else:
            raise BadInput(f"{path}: there is no such file or folder")

    def _leave_out(self, here: Path, folders: list[str]) -> None:
        links = [name for name in folders if (here / name).is_symlink()]
        hidden = [name for name in folders if name.startswith(".") and name not in links]
        self.skipped.update({"link": len(links), "hidden": len(hidden)})
        folders[:] = sorted(name for name in folders if name not in links and name not in hidden)

    def _file(self, path: Path, source: str) -> Iterator[Passage]:
        if reason := _unwanted(path):
            self.skipped[reason] += 1
            return
        if path.suffix.lower() in _ROWS:
            self.files += 1
            yield from self._rows(path, source)
            return
        try:
            text = path.read_bytes().decode("utf-8-sig")
        except UnicodeDecodeError:
            self.skipped["not UTF-8"] += 1
            return
        if "\0" in text:
            self.skipped["binary"] += 1
            return
        self.files += 1
        yield from split(text, title=path.stem, source=source, markdown=path.suffix.lower() in _MARKDOWN)

    def _rows(self, path: Path, source: str) -> Iterator[Passage]:
        number = 0
        with path.open("rb") as file:
            while line := file.readline(MAX_ROW_BYTES + 1):
                number += 1
                where = f"{source}:{number}"
                if len(line) > MAX_ROW_BYTES:
                    self.bad_rows.append(f"{where}: longer than {MAX_ROW_BYTES:,} bytes")
                    while line and not line.endswith(b"\n"):
                        line = file.readline(MAX_ROW_BYTES)
                elif line.strip():
                    yield from self._row(line, where)

    def _row(self, line: bytes, where: str) -> Iterator[Passage]:
        try:
            row = json.loads(line.decode("utf-8-sig"))
        except (ValueError, RecursionError):
            self.bad_rows.append(f"{where}: not JSON in UTF-8")
            return
        text = row.get("text") if isinstance(row, dict) else None
        title = row.get("title") or where if isinstance(row, dict) else where
        if not isinstance(text, str) or not text.strip() or not isinstance(title, str):
            self.bad_rows.append(f"{where}: a row is {{title?, text}} with a text that is not empty")
            return
        yield from split(text, title=title[:200], source=where)


def _unwanted(path: Path) -> str | None:
    """Why a file is left out, or None."""
    suffix = path.suffix.lower()
    if path.name.startswith("."):
        return "hidden"
    if path.is_symlink():
        return "link"
    if not path.is_file():
        return "not a file"
    if suffix not in _MARKDOWN | _TEXT | _ROWS:
        return "other kind"
    if not os.access(path, os.R_OK):
        return "unreadable"
    if suffix not in _ROWS and path.stat().st_size > MAX_TEXT_BYTES:
        return "huge"
    return None
