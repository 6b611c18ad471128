"""The workbench as an MCP server, asked by the library's own client: over HTTP behind the key, and over stdin."""

import asyncio
import os
import sys
from contextlib import asynccontextmanager

import httpx2
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from serving import KEY, eventually, serving

from orchestra_lib.store.store import Store
from orchestra_lib.trajectory import StopReason

TOOLS = {"run_task", "list_trajectories", "get_trajectory", "query"}


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    with serving(tmp_path_factory.mktemp("home"), mcp=True, at_once=2) as house:
        yield house


@asynccontextmanager
async def connected(house, key=KEY):
    http = httpx2.AsyncClient(headers={"authorization": f"Bearer {key}"}, trust_env=False)
    async with http, Client(streamable_http_client(f"{house.url}/mcp", http_client=http)) as client:
        yield client


def asked(house, *calls):
    """The results of calls over one connection."""

    async def ask():
        async with connected(house) as client:
            return [await client.call_tool(name, arguments) for name, arguments in calls]

    return asyncio.run(ask())


def test_a_task_is_run_and_its_trajectory_is_listed_read_and_queried(house):
    (ran,) = asked(house, ("run_task", {"task": "What is it?", "orchestrator": "billed", "prefer": ["cost=1"]}))
    told = ran.structured_content
    assert (told["answer"], told["status"], told["tools_used"]) == ("It is so.", "answered", {"local_search": 1})
    run_id = told["run_id"]
    assert house.stored(run_id).setting.preference.cost == 1.0
    listed, whole, rows = asked(
        house,
        ("list_trajectories", {"orchestrator": "billed"}),
        ("get_trajectory", {"run_id": run_id}),
        ("query", {"sql": f"SELECT answer, turns FROM trajectories WHERE id = '{run_id}'"}),
    )
    assert run_id in {one["id"] for one in listed.structured_content["trajectories"]}
    assert [call["tool"] for call in whole.structured_content["calls"]] == ["local_search"]
    assert rows.structured_content["rows"] == [["It is so.", 2]]


@pytest.mark.parametrize(
    ("tool", "arguments", "words"),
    [
        ("run_task", {"task": "  "}, "the task is empty"),
        ("run_task", {"task": "x", "orchestrator": "nobody"}, "there is no orchestrator 'nobody' here"),
        ("run_task", {"task": "x", "prefer": ["cost=9"]}, "out of range"),
        ("run_task", {"task": "x", "max_turns": 99}, "above the server's limit of 50"),
        ("get_trajectory", {"run_id": "none"}, "none"),
        ("query", {"sql": "DROP TABLE trajectories"}, "not allowed in a query"),
        ("query", {"sql": "SELECT * FROM read_text('/etc/passwd')"}, "disabled"),
        ("list_trajectories", {"limit": 0}, "greater than or equal to 1"),
    ],
)
def test_what_cannot_be_done_is_a_failed_call_in_words(house, tool, arguments, words):
    (refused,) = asked(house, (tool, arguments))
    assert refused.is_error
    assert words in refused.content[0].text


def test_a_run_that_ends_without_an_answer_says_why(house):
    (broken,) = asked(house, ("run_task", {"task": "x", "orchestrator": "broken"}))
    assert (broken.structured_content["status"], broken.structured_content["answer"]) == ("fault", None)
    assert "refused the connection" in broken.structured_content["fault"]


def test_too_many_tasks_are_refused_and_who_gives_up_stops_the_run(house):
    async def crowd():
        async with connected(house) as client:
            waits = [
                asyncio.create_task(client.call_tool("run_task", {"task": f"w{n}", "orchestrator": "waiting"}))
                for n in range(2)
            ]
            await asyncio.sleep(1.0)
            refused = await client.call_tool("run_task", {"task": "x", "orchestrator": "brief"})
            for one in waits:
                one.cancel()
            await asyncio.wait(waits)
            return refused

    assert "2 tasks are running" in asyncio.run(crowd()).content[0].text

    def stops():
        return [run.stop for run in house.runs() if run.setting.orchestrator == "waiting"]

    eventually(lambda: stops() == [StopReason.CANCELLED] * 2)


def test_without_the_key_nothing_is_said(house):
    answer = httpx2.post(f"{house.url}/mcp", json={"jsonrpc": "2.0", "id": 1, "method": "tools/list"}, trust_env=False)
    assert answer.status_code == 401


def test_the_command_speaks_over_stdin_and_keeps_what_it_runs(tmp_path):
    command = StdioServerParameters(
        command=sys.executable,
        args=["-m", "orchestra_lib", "mcp", "--orchestrator", "conductor-no-model", "--tools", "code_interpreter"],
        env={"ORCHESTRA_HOME": str(tmp_path), "PATH": os.environ["PATH"]},
    )

    async def ask():
        async with Client(command) as client:
            tools = {tool.name for tool in (await client.list_tools()).tools}
            return tools, await client.call_tool("run_task", {"task": "What is 48213 * 977?"})

    tools, ran = asyncio.run(ask())
    assert tools == TOOLS
    assert ran.structured_content["answer"] == "47104101"
    with Store.open(tmp_path) as store:
        assert store.get(ran.structured_content["run_id"]).answer == "47104101"
