"""Which embedded model runs where: one small file per model under the home, for its owner's eyes only."""

import contextlib
import json
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx2

from orchestra_lib.codec import dumps, from_data, to_data
from orchestra_lib.errors import BadInput
from orchestra_lib.record import record

ASK_TIMEOUT_S = 3.0


@record
class Entry:
    """A running worker: its process id, address and key, and the weights file it serves."""

    pid: int
    address: str
    key: str
    gguf: str

    def answers(self) -> bool:
        """True when that process lives and its server takes the key."""
        try:
            os.kill(self.pid, 0)
        except OSError:
            return False
        return self.post("/tokenize", {"content": "hello"}, timeout_s=ASK_TIMEOUT_S)

    def post(self, path: str, body: Mapping[str, Any], *, timeout_s: float) -> bool:
        """Ask the server for something; False when it does not do it."""
        try:
            with httpx2.Client(trust_env=False, timeout=timeout_s) as client:
                answer = client.post(
                    f"{self.address}{path}", json=body, headers={"Authorization": f"Bearer {self.key}"}
                )
        except (OSError, httpx2.HTTPError, httpx2.InvalidURL):
            return False
        return answer.status_code == httpx2.codes.OK


@record
class Registry:
    """The file of one model. What is stale, unreadable or readable by others counts as absent."""

    path: Path

    def read(self) -> Entry | None:
        """The entry as written, alive or not."""
        try:
            with self.path.open("rb") as file:
                about = os.fstat(file.fileno())
                if about.st_uid != os.getuid() or stat.S_IMODE(about.st_mode) & 0o077:
                    return None
                text = file.read(10_000)
            return from_data(json.loads(text), Entry, where=self.path.name)
        except (OSError, ValueError, BadInput):
            return None

    def write(self, entry: Entry) -> None:
        """Put the entry in place at once; the key is never in a file that others can read."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        draft = self.path.with_suffix(f".{os.getpid()}.tmp")
        with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            file.write(dumps(to_data(entry)))
        draft.replace(self.path)

    def forget(self, entry: Entry) -> None:
        """Remove the entry if it is still the one written."""
        if self.read() == entry:
            with contextlib.suppress(OSError):
                self.path.unlink()
