"""Spans over OTLP to a collector that is a process of its own; counted on both sides."""

import importlib.util
import json
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from episodes import trajectory

from orchestra_lib.errors import BadInput, ProviderFault
from orchestra_lib.export import otlp
from orchestra_lib.export.otlp import send
from orchestra_lib.spans import spans

COLLECTOR = Path(__file__).with_name("collector.py")


@pytest.fixture(autouse=True)
def _no_patience(monkeypatch):
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "0.7")  # seconds in which the exporter tries again


@contextmanager
def collector(tmp_path, mode="take"):
    """Its address, and what it has taken."""
    file = tmp_path / "taken.jsonl"
    with subprocess.Popen([sys.executable, COLLECTOR, file, mode], stdout=subprocess.PIPE, text=True) as process:
        try:
            port = process.stdout.readline().strip()
            yield (
                f"http://127.0.0.1:{port}",
                lambda: [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else [],
            )
        finally:
            process.kill()


def runs(count=3):
    return [trajectory(f"run-{place}", turns=3, tool="coder") for place in range(count)]


def test_what_is_sent_is_what_the_collector_takes(tmp_path):
    with collector(tmp_path) as (address, taken):
        sent = send([*runs(), replace(trajectory("run-9"), stop=None)], endpoint=address)
        found = taken()
    made = [span for run in runs() for span in spans(run)]
    assert (sent.runs, sent.spans, sent.running) == (3, len(made), 1)
    assert [(one["trace"], one["id"], one["name"], one["start"], one["end"]) for one in found] == [
        (f"{span.trace_id:032x}", f"{span.span_id:016x}", span.name, span.start_ns, span.end_ns) for span in made
    ]
    assert [one["attributes"] for one in found] == [dict(span.attributes) for span in made]
    parents = ["" if span.parent_id is None else f"{span.parent_id:016x}" for span in made]
    assert [one["parent"] for one in found] == parents


def test_many_runs_go_in_several_requests(tmp_path, monkeypatch):
    monkeypatch.setattr(otlp, "_MAX_SPANS", 5)
    with collector(tmp_path) as (address, taken):
        assert send(runs(4), endpoint=address).spans == len(taken()) == 32


def _free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def test_a_collector_that_others_use_takes_and_passes_on_every_span(tmp_path):
    found = importlib.util.find_spec("rotel")
    if found is None:
        pytest.skip("the package rotel, a collector, is not installed")
    agent = Path(found.origin).with_name("rotel-agent")
    ours, port = runs(), _free_port()
    with collector(tmp_path) as (behind, taken):
        onward = ["--exporter", "otlp", "--otlp-exporter-protocol", "http", "--otlp-exporter-endpoint", behind]
        here = ["--otlp-http-endpoint", f"127.0.0.1:{port}", "--otlp-grpc-endpoint", f"127.0.0.1:{_free_port()}"]
        command = [agent, "start", *onward, *here]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            try:
                _wait_for(lambda: _answers(port))
                sent = send(ours, endpoint=f"http://127.0.0.1:{port}")
                _wait_for(lambda: len(taken()) >= sent.spans)
            finally:
                process.terminate()
        ids = {(one["trace"], one["id"]) for one in taken()}
    made = {(f"{span.trace_id:032x}", f"{span.span_id:016x}") for run in ours for span in spans(run)}
    assert ids == made
    assert sent.spans == len(made)


def _answers(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _wait_for(done):
    until = time.monotonic() + 20
    while not done():
        assert time.monotonic() < until, "not within 20 s"
        time.sleep(0.05)


def test_the_environment_names_the_collector_and_its_key(tmp_path, monkeypatch):
    with collector(tmp_path) as (address, taken):
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", address)
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-key=abc")
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip")
        send(runs(1))
        assert {(one["path"], one["key"]) for one in taken()} == {("/v1/traces", "abc")}


@pytest.mark.parametrize(
    "mode, words",
    [("refuse", "answered 400"), ("partial", "rejected 1.*too old"), ("web", "no OTLP"), ("moved", "answered 302")],
)
def test_what_was_not_taken_whole_is_an_error(tmp_path, mode, words):
    with collector(tmp_path, mode) as (address, _), pytest.raises(ProviderFault, match=words):
        send(runs(), endpoint=address)


def test_a_collector_that_is_down_is_named_with_what_was_taken_before(tmp_path, monkeypatch):
    monkeypatch.setattr(otlp, "_MAX_SPANS", 8)
    with collector(tmp_path) as (address, taken):
        pass

    began = time.monotonic()
    with pytest.raises(ProviderFault, match=rf"{address}/v1/traces .*nothing answers.*0 were taken"):
        send(runs(), endpoint=address)
    assert time.monotonic() - began < 10
    assert taken() == []


def test_an_endpoint_is_an_address():
    for wrong in ("localhost:4318", "ftp://x", "http://", "http://[::1", "http://a:b"):
        with pytest.raises(BadInput, match="--endpoint"):
            send(runs(1), endpoint=wrong)
