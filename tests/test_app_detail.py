"""One trajectory's tabs: the ledger by attempt, what was sent, what came back, and copies that run."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

from episodes import PRICES, events, trajectory
from scripted_workbench import HOSTILE
from test_app_api import finished

from app import detail_api, snippets
from orchestra_lib.configuration import order_of
from orchestra_lib.preference import Preference
from orchestra_lib.store.journal import Journal
from orchestra_lib.store.store import Store
from orchestra_lib.transcript import transcript

ROOT = Path(__file__).resolve().parent.parent


def python(text, home):
    return subprocess.run(
        [sys.executable, "-c", text], env={**os.environ, "ORCHESTRA_HOME": str(home)}, cwd=ROOT, timeout=60,
        capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_the_ledger_names_the_price_row_of_every_attempt():
    view = detail_api.ledger_view(trajectory())
    assert [row["payee"] for row in view["rows"]] == ["orchestrator", "search", "orchestrator"]
    assert view["rows"][0]["price"] == "$1.00 / $2.00 per M"
    assert view["rows"][0]["source"] == "test"
    assert view["table"]["dated"] == "2026-11-01"


def test_the_messages_are_those_of_the_last_request_and_end_with_the_answer():
    (asked,) = transcript(trajectory())
    assert [message["role"] for message in asked.messages] == ["system", "user", "assistant", "tool", "assistant"]
    assert asked.messages[-1]["content"] == "done"


def test_protocol_toolorchestra_shows_a_fresh_request_for_each_turn():
    asked = transcript(trajectory(protocol="toolorchestra"))
    assert [(one.turn, len(one.messages)) for one in asked] == [(0, 2), (1, 2)]
    assert asked[0].messages[0]["content"] == "You are good at using tools."


def test_the_tabs_of_a_run_are_read(client):
    run_id = finished(client, "hostile")
    messages = client.get(f"/api/runs/{run_id}/messages", params={"style": "hermes"}).json()
    assert messages["style"] == "hermes"
    assert HOSTILE in client.get(f"/api/runs/{run_id}/raw").json()["turns"][0]["text"]
    assert client.get(f"/api/runs/{run_id}/messages", params={"style": "x"}).status_code == 400
    for tab in ("ledger", "messages", "raw", "copy/curl"):
        assert client.get(f"/api/runs/nope/{tab}").status_code == 404
    assert client.get(f"/api/runs/{run_id}/copy/exe").status_code == 404


def test_a_copied_request_starts_the_same_run_again(client):
    run_id = finished(client, 'it\'s "quoted" $HOME `x`')
    line = client.get(f"/api/runs/{run_id}/copy/curl").text
    sent = subprocess.run(
        ["bash", "-c", f'curl() {{ printf %s "${{@: -1}}"; }}; {line}'], capture_output=True, text=True, check=True
    ).stdout
    again = client.post("/api/runs", content=sent)
    assert again.status_code == 201
    task = client.get(f"/api/runs/{again.json()['id']}/trajectory").json()["setting"]["task"]["text"]
    assert task == 'it\'s "quoted" $HOME `x`'


def test_a_copied_program_runs_the_same_order(tmp_path):
    task = "What is 3 * 4? '''\"\"\" \\"
    prices = replace(PRICES, name="nominal")
    stored = trajectory(orchestrator="conductor-no-model", task=task, tools=(), preference=Preference(), prices=prices)
    done = python(snippets.program(stored, ""), tmp_path)
    assert done.returncode == 0, done.stderr
    with Store(tmp_path) as store:
        (run,) = store.list()
        assert order_of(store.get(run.id).setting).task == stored.setting.task.text


def test_a_copied_cell_opens_the_stored_run(tmp_path):
    with Journal(tmp_path).open("run-1") as writer:
        for event in events():
            writer.append(event)
    done = python(snippets.cell(trajectory(), ""), tmp_path)
    assert done.returncode == 0, done.stderr
    assert "search" in done.stdout
