"""MCP servers on the Tools page's routes: listed with their health and removed; none can be added, no command named."""

import sys
from pathlib import Path

import pytest
from toolbench import tools_client

from orchestra_lib.toolkit.mcp.entry import FILE, Listing, Offered, ServerEntry, write_entry, write_listing

SERVER = str(Path(__file__).parent / "mcp_server.py")


@pytest.fixture
def client(tmp_path):
    add = Offered(name="add", description="Adds.", parameters={"type": "object", "properties": {}})
    commands = {"things": (sys.executable, SERVER), "gone": ("/no/such/program",)}
    for name, command in commands.items():
        write_listing(tmp_path, name, Listing(tools=(add,), refused={"far": "it refers elsewhere"}))
        write_entry(tmp_path, name, ServerEntry(command=command, call_usd=0.5))
    with tools_client(tmp_path) as client:
        yield client


def test_servers_are_listed_and_their_tools_stand_in_the_catalogue_with_their_price(client):
    found = client.get("/api/mcp").json()
    assert [(one["name"], one["tools"], one["checked"]) for one in found["servers"]] == [
        ("gone", ["add"], False), ("things", ["add"], False),
    ]  # fmt: skip
    row = next(row for row in client.get("/api/tools").json()["rows"] if row["id"] == "things-add")
    assert (row["where"], row["price"], row["off"]) == ("third party · things", "$0.5000 / call", None)
    assert "$0.5 per call" in row["reads"]["description"]


def test_a_check_says_what_is_wrong_and_switches_only_that_servers_tools_off(client):
    gone, things = (client.post(f"/api/mcp/{name}/check").json() for name in ("gone", "things"))
    assert "cannot be started" in gone["problem"]
    assert "describes add, die" in things["problem"]
    off = {row["id"]: row["off"] for row in client.get("/api/tools").json()["rows"]}
    assert off["gone-add"] == gone["problem"]
    assert off["local_search"] is None
    assert client.post("/api/mcp/none/check").status_code == 400


def test_a_server_is_removed_and_none_can_be_added(client):
    assert client.delete("/api/mcp/gone").json() == {"removed": "gone"}
    assert "gone" not in (client.home / FILE).read_text("utf-8")
    assert client.delete("/api/mcp/gone").status_code == 400
    before = (client.home / FILE).read_text("utf-8")
    for method in ("post", "put"):
        assert getattr(client, method)("/api/mcp", json={"name": "x", "command": ["id"]}).status_code == 405
    assert (client.home / FILE).read_text("utf-8") == before


def test_a_broken_file_is_said_and_the_rest_of_the_page_stays(tmp_path):
    (tmp_path / FILE).write_text("[servers.x]\ncommand = 5\n", "utf-8")
    with tools_client(tmp_path) as client:
        assert "command" in client.get("/api/mcp").json()["broken"]
        assert client.get("/api/tools").json()["rows"]
