"""`orchestra serve`, `mcp` and `tools` as commands: keys, limits and mistakes, before anything listens."""

import socket

import pytest
from typer.testing import CliRunner

from orchestra_lib.cli import app
from orchestra_lib.cli.serve import _key
from orchestra_lib.errors import BadInput

RUNNER = CliRunner()


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("ORCHESTRA_HOME", str(tmp_path))
    return tmp_path


def refusal(*arguments):
    """The `BadInput` that a command ends with."""
    result = RUNNER.invoke(app, arguments)
    assert isinstance(result.exception, BadInput), result.output
    return str(result.exception)


def test_the_key_comes_from_a_variable_or_is_made_anew_each_time():
    assert _key(None, "K", {"K": "from-the-environment"}) == ("from-the-environment", False)
    assert _key("on-the-line", None, {}) == ("on-the-line", False)
    (first, made), (second, _) = _key(None, None, {}), _key(None, None, {})
    assert made
    assert len(first) >= 32
    assert first != second


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--api-key", "a", "--api-key-env", "K"), "give --api-key or --api-key-env, not both"),
        (("--api-key-env", "NOT_SET_ANYWHERE"), "NOT_SET_ANYWHERE is empty or not set"),
        (("--api-key", "short"), "the key has 5 characters; give it at least 8"),
        (("--orchestrator", "nobody"), "there is no orchestrator 'nobody'"),
        (("--tools", "nothing"), "there is no tool 'nothing'"),
        (("--parallel", "0"), "--parallel 0"),
        (("--cost-limit", "-1"), "a limit is above 0"),
    ],
)
def test_what_cannot_be_served_is_said_before_anything_listens(arguments, words):
    assert words in refusal("serve", *arguments)


def test_a_port_that_is_taken_is_said():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        told = refusal("serve", "--port", str(port), "--orchestrator", "conductor-no-model", "--api-key", "long-enough")
    assert f"cannot listen on 127.0.0.1:{port}" in told


def test_servers_are_named_on_the_command_line_alone_and_mistakes_are_said(home):
    assert "give a command or a url" in refusal("tools", "add-mcp", "x")
    assert "no name for a server" in refusal("tools", "add-mcp", "1x", "--url", "http://localhost:9/mcp")
    assert "there is no MCP server 'x'" in refusal("tools", "remove-mcp", "x")
    assert "there is no MCP server 'x'" in refusal("tools", "check", "x")
    (home / "mcp.toml").write_text("[servers.x]\ncomand = ['a']\n", "utf-8")
    assert "comand" in refusal("tools", "mcp")
    listed = RUNNER.invoke(app, ["tools", "list", "--json"])
    assert '"local_search"' in listed.output
