"""Keys of the environment are in no file, answer, page, log or line that the workbench makes; its folder is private.

A server that echoes the key in each kind of refusal is what most easily gets one into a record. What is searched:
every file under the home folder, the database's rows, every export, every reading route, both streams and the log;
for each key as it is, and as base64, hexadecimal and a URL would spell it.
"""

import base64
import json
import logging
import threading
import tomllib
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import quote

import pyarrow.parquet as pq
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from test_cli import orchestra as orchestra

from app import api, bias_api, description_api, docs, evaluation_api, sql_api, tools_api, toolscale_api, training_api
from app.runs import RunManager
from app.synth_job import SynthJob
from orchestra_lib.checkup.machine import _home
from orchestra_lib.paths import DATA
from orchestra_lib.store.store import Store
from orchestra_lib.training.launching import Launcher
from orchestra_lib.workbench import Workbench

SEARCH_KEYS = ("TAVILY_API_KEY", "BRAVE_API_KEY", "HF_TOKEN", "WORKBENCH_PASSWORD", "MY_SERVICE_KEY")


def key_names():
    files = (DATA / "endpoints").glob("*.toml")
    own = {line["key_env"] for file in files for line in tables(tomllib.loads(file.read_text("utf-8")))}
    return sorted({*own, *SEARCH_KEYS})


def tables(data):
    if isinstance(data, dict):
        if "key_env" in data:
            yield data
        for value in data.values():
            yield from tables(value)
    elif isinstance(data, list):
        for value in data:
            yield from tables(value)


KEYS = {name: f"sk-canary+{number:02}/{name[::-1].lower()}" for number, name in enumerate(key_names())}


def spellings(key):
    """The key, and what is in any base64 of a text that holds it, at each of the three places it can begin."""
    yield from (key, key.encode().hex(), quote(key), quote(key, safe=""), json.dumps(key.replace("/", "\\/"))[1:-1])
    for shift in range(3):
        spelled = base64.b64encode(b"x" * shift + key.encode()).decode().rstrip("=")
        yield spelled[(0, 2, 3)[shift] : -2]


WANTED = {spelling.encode(): name for name, key in KEYS.items() for spelling in spellings(key)}


def leaks(data):
    data = data.encode("utf-8", "replace") if isinstance(data, str) else data
    return {WANTED[spelling] for spelling in WANTED if spelling in data}


class Elsewhere(BaseHTTPRequestHandler):
    """Where a server may send a request on to: keeps what it hears."""

    def do_POST(self):
        self.server.heard.append(str(self.headers))
        self.send_error(404)

    def log_message(self, *_):
        return


class Echo(BaseHTTPRequestHandler):
    """Refuses in the way that the model's name says, with the key in all that a client may quote."""

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        key, way = self.headers["authorization"], asked["model"]
        words = f"bad key: {key} in {dict(self.headers)}"
        error = {"error": {"message": words, "code": key, "param": key, "type": key}}
        status, kind, body = {
            "refuses": (401, "application/json", json.dumps(error)),
            "breaks": (500, "application/json", json.dumps(error)),
            "page": (200, "text/html", f"<html>{words}</html>"),
            "plain": (403, "text/plain", words),
            "streams": (200, "text/event-stream", f"data: {json.dumps(error)}\n\n"),
            "nonsense": (200, "text/event-stream", f"data: {{{words}\n\n"),
            "moved": (307, "text/plain", words),
        }[way]
        self.send_response(status, "x")
        self.send_header("content-type", kind)
        self.send_header("www-authenticate", f"Bearer realm={key}")
        if way == "moved":
            self.send_header("location", f"{self.server.elsewhere}?key={quote(key)}")
        self.send_header("content-length", str(len(body.encode())))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_):
        return


WAYS = ("refuses", "breaks", "page", "plain", "streams", "nonsense", "moved")


@contextmanager
def listening(handler):
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def planted(monkeypatch, orchestra):
    """The command line with a key in every variable that can hold one, and an endpoint that echoes it."""
    for name, key in KEYS.items():
        monkeypatch.setenv(name, key)
    with listening(Elsewhere) as other, listening(Echo) as echo:
        other.heard, echo.elsewhere = [], f"http://127.0.0.1:{other.server_port}/x"
        monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{echo.server_port}/v1")
        yield orchestra
        assert [leaks(head) for head in other.heard if leaks(head)] == []  # sent on, a request leaves the key behind


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_no_key_is_in_anything_that_is_made(planted, tmp_path, caplog):
    caplog.set_level(logging.WARNING)  # what the command line sets
    said = []
    for way in WAYS:
        code, *streams = planted("run", "What is 2 + 2?", "--orchestrator", f"openai:{way}", "--json")
        assert (code, json.loads(streams[0])["status"]) == (1, "fault"), way
        said += streams
    with Store(tmp_path) as store:
        runs = [row[0] for row in store.query("SELECT id FROM trajectories").rows]
        assert len(runs) == len(WAYS)
        names = [row[0] for row in store.query("SELECT table_name FROM duckdb_tables()").rows]
        said += [str(store.query(f"SELECT * FROM {name}").rows) for name in names]
    for command in (
        ["list"], ["show", runs[0]], ["doctor"], ["models"], ["query", "FROM attempts"], ["bias"],
    ):  # fmt: skip
        said += planted(*command)[1:]
    for form in ("jsonl", "messages", "sharegpt", "trl", "csv", "parquet"):
        out = tmp_path / f"export.{form}"
        assert planted("export", str(out), "--format", form)[0] == 0
    said.append(str(pq.read_table(tmp_path / "export.parquet").to_pylist()))
    said += served(Workbench(tmp_path), runs[0])
    said += [record.getMessage() for record in caplog.records]
    assert [text[:400] for text in said if leaks(text)] == []
    found = {str(file): leaks(file.read_bytes()) for file in tmp_path.rglob("*") if file.is_file()}
    assert len(found) > len(WAYS)
    assert {file: names for file, names in found.items() if names} == {}


def served(workbench, run_id):
    """What every reading route answers."""
    app, runs = FastAPI(openapi_url=None), RunManager(workbench)
    api.install(app, workbench, runs)
    for router in (
        tools_api.router(workbench), description_api.router(workbench), bias_api.router(workbench),
        evaluation_api.router(workbench), sql_api.router(workbench),
        training_api.router(workbench, Launcher(workbench.home)),
        toolscale_api.router(workbench, runs, SynthJob(workbench.assignments.folder)),
    ):  # fmt: skip
        app.include_router(router, prefix="/api")
    docs.install(app)
    client = TestClient(app, base_url="http://127.0.0.1:7860", raise_server_exceptions=False)
    paths = [path for path, methods in client.get("/api/openapi.json").json()["paths"].items() if "get" in methods]
    answers = [client.get(path.replace("{run_id}", run_id).replace("{name}", "openai")) for path in paths]
    assert sum(answer.status_code == 200 for answer in answers) > 20
    workbench.store.close()
    return [f"{answer.headers}{answer.text}" for answer in answers]


def test_the_search_itself_finds_a_key_however_it_is_spelled():
    key = KEYS["OPENAI_API_KEY"]
    for spelled in (
        f"Bearer {key}", quote(f"a {key} b"), base64.b64encode(f"user:{key}".encode()), (f"x{key}").encode().hex(),
        base64.b64encode(f"us:{key}".encode()), base64.b64encode(f"u:{key}x".encode()), json.dumps({"a": key}),
    ):  # fmt: skip
        assert leaks(spelled) == {"OPENAI_API_KEY"}, spelled
    assert leaks("sk-canary") == set()


def test_a_new_home_folder_is_its_owners_alone_and_doctor_tells_of_one_that_is_not(tmp_path):
    home = tmp_path / "home"
    with Store(home):
        assert home.stat().st_mode & 0o777 == 0o700
    assert next(_home(home)).state.name == "OK"
    home.chmod(0o755)
    finding = next(_home(home))
    assert (finding.state.name, "open to others" in finding.found) == ("WARN", True)
    with Store(home):
        assert home.stat().st_mode & 0o777 == 0o755  # whoever opened it meant to
