"""The process of one embedded model as its owner sees it: started when first needed, found again, ended.

One process per model and home: a second program (the CLI beside the app) finds the running one
through a file under the home that only its owner can read, and uses it.
"""

import asyncio
import json
import os
import re
import secrets
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import IO

from filelock import FileLock, Timeout

from orchestra_lib.codec import dumps, to_data
from orchestra_lib.errors import BadInput, ProviderFault
from orchestra_lib.model.beginnings import Beginnings
from orchestra_lib.model.registry import Entry, Registry
from orchestra_lib.model.worker import Order

START_TIMEOUT_S = 300.0
_PASSED_ON = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "VIRTUAL_ENV")


class EmbeddedServer:
    """One model's server process. Safe to start from several tasks, threads and processes at once.

    `parallel` replies run at the same time and share `context` tokens equally. `batch` is how many prompt
    tokens are read between two looks at the connection: half a second's worth at 1.5B, so that a cancel is quick;
    larger ones were measured no faster on one core.
    """

    def __init__(
        self, gguf: Path, name: str, home: Path, *, parallel: int = 2, context: int = 8192, batch: int = 16
    ) -> None:
        if not re.fullmatch(r"[A-Za-z0-9._-]+", name):
            raise BadInput(f"the model name {name!r} must consist of letters, digits, '.', '_' and '-'")
        self._name = name
        self._order = Order(
            gguf=str(gguf),
            name=name,
            key="",
            parallel=parallel,
            context=context,
            batch=batch,
            threads=1,
            cache=str(home / "cache"),
        )
        self._registry = Registry(path=home / "run" / f"model-{name}.json")
        self._lock = threading.Lock()
        self._process: subprocess.Popen[str] | None = None
        self._entry: Entry | None = None

    @property
    def parallel(self) -> int:
        """How many replies can run at the same time."""
        return self._order.parallel

    @property
    def pid(self) -> int | None:
        """The serving process, also one that another program started; None before the first start."""
        return self._entry.pid if self._entry else None

    @property
    def borrowed(self) -> bool:
        """True when another program started the process."""
        return self._process is None

    @property
    def beginnings(self) -> Beginnings:
        """Where the prompt caches of shared beginnings are kept."""
        return Beginnings(Path(self._order.cache), self._name, Path(self._order.gguf))

    async def start(self) -> Entry:
        """Make sure that the model is served and say where and with which key. Raises `ProviderFault`."""
        return await asyncio.to_thread(self._ensure)

    def stop(self) -> None:
        """End the process if this object started it; a borrowed one goes on."""
        with self._lock:
            if self._process is not None:
                _end(self._process)
                if self._entry is not None:
                    self._registry.forget(self._entry)
            self._process = self._entry = None

    def alive(self) -> bool:
        """True when the server still answers."""
        if self._process is not None:
            return self._process.poll() is None
        return self._entry is not None and self._entry.answers()

    def lost(self) -> bool:
        """True when the process has ended, or ends within a moment: a broken connection is seen first."""
        if self._process is not None:
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(timeout=0.5)
        return not self.alive()

    def _ensure(self) -> Entry:
        with self._lock:
            if self._entry is not None and self.alive():
                return self._entry
            try:
                self._registry.path.parent.mkdir(parents=True, exist_ok=True)
                with FileLock(self._registry.path.with_suffix(".lock"), timeout=START_TIMEOUT_S):
                    self._entry = self._borrow() or self._launch()
            except (Timeout, OSError) as error:
                raise ProviderFault(f"the embedded model {self._name} could not be started ({error})") from None
            return self._entry

    def _borrow(self) -> Entry | None:
        if self._process is not None:
            _end(self._process)
        self._process = None
        entry = self._registry.read()
        return entry if entry is not None and entry.gguf == self._order.gguf and entry.answers() else None

    def _launch(self) -> Entry:
        key = secrets.token_urlsafe(32)
        Path(self._order.cache).mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile("w+", errors="replace") as log:
            process = _spawn(log)
            answer = _ask(process, dumps(to_data(replace(self._order, key=key))))
            if "address" not in answer:
                _end(process)
                raise ProviderFault(f"the embedded model {self._name} did not start: {_cause(answer, process, log)}")
        self._process = process
        entry = Entry(pid=process.pid, address=answer["address"], key=key, gguf=self._order.gguf)
        self._registry.write(entry)
        return entry


def _spawn(log: IO[str]) -> subprocess.Popen[str]:
    # Only what a process needs to run: no key of the user's reaches the worker. A session of its own
    # keeps Ctrl-C from ending it before the run that uses it is written down.
    environment = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    return subprocess.Popen(
        [sys.executable, "-m", "orchestra_lib.model.worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=log,
        encoding="utf-8",
        cwd=Path(__file__).parents[2],
        env={**environment, "OMP_WAIT_POLICY": "passive", "OMP_NUM_THREADS": "1"},
        start_new_session=True,
    )


def _ask(process: subprocess.Popen[str], order: str) -> dict[str, str]:
    """Send the order and wait for the answer; empty when the worker died or took too long."""
    assert process.stdin is not None
    assert process.stdout is not None
    alarm = threading.Timer(START_TIMEOUT_S, process.kill)
    alarm.daemon = True
    alarm.start()
    try:
        process.stdin.write(order + "\n")
        process.stdin.flush()
        line = process.stdout.readline()
    except BrokenPipeError:
        line = ""
    finally:
        alarm.cancel()
    answer = json.loads(line) if line else {}
    return {str(key): str(value) for key, value in answer.items()}


def _cause(answer: Mapping[str, str], process: subprocess.Popen[str], log: IO[str]) -> str:
    log.seek(0)
    last = next((line.strip() for line in reversed(log.readlines()) if line.strip()), "")
    return answer.get("error") or f"its process ended with code {process.returncode} {last[-200:]}".strip()


def _end(process: subprocess.Popen[str]) -> None:
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            pipe.close()
    try:
        process.wait(timeout=2)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
