"""Addresses where there is no page: a reader is led on, a program is answered."""

import pytest
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from app.lost import Lost

READER = {"accept": "text/html,application/xhtml+xml,*/*;q=0.8"}


@pytest.fixture(scope="module")
def client():
    app = Starlette(routes=[Route("/there", lambda _request: PlainTextResponse("here it is"))])
    with TestClient(Lost(app)) as client:
        yield client


@pytest.mark.parametrize("path", ["/nothing-here", "/notebooks/nothing", "/trajectories/run-a"])
def test_a_reader_at_an_unknown_address_gets_a_page_that_leads_on(client, path):
    answer = client.get(path, headers=READER)
    assert answer.status_code == 404
    assert "There is no such page" in answer.text
    assert 'href="/trajectories"' in answer.text


@pytest.mark.parametrize("path", ["/api/runs/nothing", "/api/nothing", "/wb/nothing.js"])
def test_an_api_or_a_script_that_is_not_there_keeps_its_answer(client, path):
    assert client.get(path, headers=READER).text == "Not Found"


def test_a_program_that_asks_for_no_page_gets_none(client):
    assert client.get("/nothing-here", headers={"accept": "*/*"}).text == "Not Found"
    assert client.post("/nothing-here", headers=READER).text == "Not Found"


def test_a_page_that_is_there_is_passed_on(client):
    assert client.get("/there", headers=READER).text == "here it is"
