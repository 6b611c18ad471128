"""Other sites cannot use a workbench on this machine, and its pages run no script but ours."""

import base64
import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.applications import Starlette
from starlette.responses import HTMLResponse, PlainTextResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from app.security import Guard, content_policy
from orchestra_lib.hosts import hostname

PAGE = "<html><script>let a = 1;</script><script src='/x.js'></script><script type='module'>b()</script></html>"


def client(host="127.0.0.1", base="http://127.0.0.1:7860"):
    routes = [
        Route("/", lambda _: HTMLResponse(PAGE)),
        Route("/act", lambda _: PlainTextResponse("done"), methods=["POST"]),
    ]
    return TestClient(Guard(Starlette(routes=routes), host), base_url=base)


@pytest.mark.parametrize("base", ["http://127.0.0.1:7860", "http://localhost:7860", "http://[::1]:7860"])
def test_loopback_names_are_answered(base):
    assert client(base=base).get("/").status_code == 200


@pytest.mark.parametrize("name", ["evil.example", "127.0.0.1.evil.example:7860", "localhost.evil.example", ""])
def test_a_rebound_name_is_refused(name):
    answer = client().get("/", headers={"host": name})
    assert answer.status_code == 403
    assert "localhost" in answer.json()["error"]


def test_a_server_for_others_answers_to_any_name():
    assert client(host="0.0.0.0").get("/", headers={"host": "lab.example"}).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:1"},
        {"sec-fetch-site": "cross-site"},
    ],
)
def test_another_site_cannot_change_anything(headers):
    assert client().post("/act", headers=headers).status_code == 403


@pytest.mark.parametrize("headers", [{}, {"origin": "http://127.0.0.1:7860"}, {"sec-fetch-site": "same-origin"}])
def test_our_pages_and_a_command_line_can(headers):
    assert client().post("/act", headers=headers).text == "done"


def test_a_page_lists_the_hashes_of_its_own_scripts_and_allows_no_others():
    answer = client().get("/")
    policy = answer.headers["content-security-policy"]
    for script in (b"let a = 1;", b"b()"):
        assert base64.b64encode(hashlib.sha256(script).digest()).decode() in policy
    scripts = next(part for part in policy.split(";") if part.strip().startswith("script-src"))
    assert "unsafe-inline" not in scripts
    assert answer.text == PAGE


def test_a_page_comes_uncompressed_so_that_its_scripts_can_be_hashed():
    answer = client().get("/", headers={"accept": "text/html", "accept-encoding": "gzip, br"})
    assert "content-encoding" not in answer.headers


@given(st.binary())
def test_any_page_gets_a_policy(page):
    assert content_policy(page).startswith("default-src 'self'")


@given(st.text())
def test_no_host_breaks_the_reading_of_its_name(host):
    assert isinstance(hostname(host), str)
