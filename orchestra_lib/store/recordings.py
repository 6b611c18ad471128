"""Recorded answers of models and tools, one JSON file for each thing that was asked.

A file lies under the SHA-256 of what was asked, `ab/abcd….json`, and holds the question beside the answers,
so that a person can read it. The same recording gives the same bytes.
"""

import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from orchestra_lib.codec import SCHEMA_VERSION, dumps, fingerprint
from orchestra_lib.errors import StoreFault


class Recordings:
    """The recordings of one folder. Two programs that record the same question at once: the last one stands."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def find(self, asked: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
        """The answers to this, in order. Raises `StoreFault` for a file that cannot be read."""
        path = self._path(asked)
        try:
            kept = json.loads(path.read_text("utf-8"))
        except FileNotFoundError:
            return ()
        except OSError as error:
            raise StoreFault(f"cannot read the recording {path}: {error.strerror}") from error
        except (ValueError, RecursionError) as error:
            raise StoreFault(f"the recording {path} is damaged ({error}); delete it and record again") from error
        if not isinstance(kept, dict) or kept.get("schema") != SCHEMA_VERSION or not _are_answers(kept.get("answers")):
            raise StoreFault(f"the recording {path} is none that this workbench knows; record again")
        answers: list[Mapping[str, Any]] = kept["answers"]
        return answers

    def keep(self, asked: Mapping[str, Any], answers: Sequence[Mapping[str, Any]]) -> None:
        """Write the answers to this in place of earlier ones, all or nothing. Raises `StoreFault`."""
        path = self._path(asked)
        line = dumps({"schema": SCHEMA_VERSION, "asked": asked, "answers": list(answers)})
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=".new-")
            try:
                with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                    file.write(line + "\n")
                os.replace(temporary, path)
            except BaseException:
                os.unlink(temporary)
                raise
        except OSError as error:
            raise StoreFault(f"cannot keep the recording {path}: {error.strerror}") from error

    def _path(self, asked: Mapping[str, Any]) -> Path:
        key = fingerprint(asked)
        return self.folder / key[:2] / f"{key}.json"


def _are_answers(answers: object) -> bool:
    return isinstance(answers, list) and bool(answers) and all(isinstance(answer, dict) for answer in answers)
