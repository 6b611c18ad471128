"""ToolScale from a model hub on loopback, and what is said when there is none."""

import io
import json
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pyarrow.parquet as pq
import pytest
from published_rows import as_table, row

from orchestra_lib.errors import BadInput, WorldFault
from orchestra_lib.published.hub import fetch_dataset
from orchestra_lib.published.toolscale import load_toolscale

COMMIT = "0" * 40


def hub_with(names, data):
    class Handler(BaseHTTPRequestHandler):
        def do_HEAD(self):
            self.do_GET()

        def do_GET(self):
            if "/resolve/" in self.path:
                body, kind = data, "application/octet-stream"
            else:
                about = {"id": "maker/set", "sha": COMMIT, "siblings": [{"rfilename": name} for name in names]}
                body, kind = json.dumps(about).encode(), "application/json"
            self.send_response(200)
            for name, value in {"Content-Type": kind, "Content-Length": len(body), "ETag": '"abc"'}.items():
                self.send_header(name, str(value))
            self.send_header("X-Repo-Commit", COMMIT)
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(body)

        def log_message(self, *_):
            pass

    return ThreadingHTTPServer(("127.0.0.1", 0), Handler)


@pytest.fixture
def hub(monkeypatch, tmp_path):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    servers = []

    def start(names, data=b""):
        servers.append(hub_with(names, data))
        threading.Thread(target=servers[-1].serve_forever, daemon=True).start()
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{servers[-1].server_address[1]}")

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def test_the_parquet_files_of_a_data_set_are_fetched_and_read(hub):
    table = io.BytesIO()
    pq.write_table(as_table([row("1", [("calculate", {"expression": "1 + 1"})])]), table)
    hub(["README.md", "data/train.parquet"], table.getvalue())
    [file] = fetch_dataset("maker/set")
    [task] = load_toolscale(file)
    assert task.golden[0].arguments == {"expression": "1 + 1"}


def test_a_data_set_without_a_table_is_refused(hub):
    hub(["README.md"])
    with pytest.raises(BadInput, match="maker/set has no Parquet file"):
        fetch_dataset("maker/set")


def test_a_hub_out_of_reach_is_the_worlds_fault_and_names_the_way_round(monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = taken.getsockname()[1]
    monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{address}")
    with pytest.raises(WorldFault, match="download its Parquet file by other means and give its path"):
        fetch_dataset("maker/set")
