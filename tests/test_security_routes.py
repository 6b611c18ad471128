"""Every route of the whole app, as FastAPI and Gradio list them: shut before the login, to other names, to other sites.

Routes are read from the app and not written down here, so that a new one is held to the same claims.
"""

import asyncio
import re
from itertools import product

import httpx2
import pytest
from fastapi.testclient import TestClient
from starlette.websockets import WebSocketDisconnect
from toolbench import ToolRoster

from app.login import COOKIE
from app.main import create_app
from orchestra_lib.workbench import Workbench

HERE = "http://127.0.0.1:7860"
CANARY = "canary-4f1d"
SAFE = {"GET", "HEAD"}
LOGIN = {"/login", "/logout"}
OUTSIDE = (
    "..%2f..%2fcanary.txt", "%2e%2e%2f%2e%2e%2fcanary.txt", "..%5c..%5ccanary.txt", "{home}%2fcanary.txt", "x" * 300,
    "....%2f%2fcanary.txt", "..%252fcanary.txt", "canary.txt%00.toml", "file:%2f%2f{home}%2fcanary.txt", "canary",
)  # fmt: skip


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A home folder two folders below a file that no route may hand out."""
    above = tmp_path_factory.mktemp("above")
    (above / "canary.txt").write_text(CANARY)
    return above / "one" / "home"


@pytest.fixture(scope="module")
def workbench(home):
    opened = Workbench(home, roster=ToolRoster(home))
    (home / "canary.txt").write_text(CANARY)
    yield opened
    opened.store.close()


def made(workbench, **options):
    async def go():
        return create_app(workbench, **options)

    return asyncio.run(go())  # without a loop that runs, Gradio begins loops that it never closes


@pytest.fixture(scope="module")
def app(workbench):
    return made(workbench)


@pytest.fixture(scope="module")
def locked(workbench):
    return made(workbench, password="correct horse battery")


def ask(served, *requests):
    """(method, path, answer) of every (method, path[, options]), one after another in one loop."""

    async def go():
        transport = httpx2.ASGITransport(served, raise_app_exceptions=False)
        async with httpx2.AsyncClient(transport=transport, base_url=HERE) as client:
            return [
                (method, path, await client.request(method, path, **(options[0] if options else {})))
                for method, path, *options in requests
            ]

    return asyncio.run(go())


def ask_all(served, routes, **options):
    """Every route with something in its place-holders; the path is given back as it is listed."""
    answers = ask(served, *((method, filled(path), options) for method, path in routes))
    return [(*route, answer) for route, (*_, answer) in zip(routes, answers, strict=True)]


def walk(routes, before=""):
    """(method, path) of everything that can be asked for, also within routers and apps that are mounted."""
    for route in routes:
        if (inner := getattr(route, "original_router", None)) is not None:
            yield from walk(inner.routes, before + route.include_context.prefix)
        elif inner := getattr(getattr(route, "app", None), "routes", None):
            yield from walk(inner, before + route.path)
        elif not getattr(route, "methods", None):
            yield from product(["GET"], [f"{before}{route.path}/main.js"])
        else:
            yield from product(route.methods, [before + route.path])


def filled(path, value="x"):
    return re.sub(r"\{[^}]+\}", value, path)


@pytest.fixture(scope="module")
def routes(app):
    found = sorted(set(walk(app.routes)))
    assert len(found) > 150
    assert {("POST", "/api/runs"), ("GET", "/api/runs/{run_id}/events"), ("GET", "/tools"), ("GET", "/wb/main.js")} <= {
        *found
    }
    return found


CLOSED = ("/gradio_api", "/monitoring", "/openapi.json", "/pwa_icon/")
"""Gradio's own, of which our pages need none."""


@pytest.mark.parametrize("headers", [{}, {"cookie": f"{COOKIE}=x", "accept": "text/html"}])
def test_no_route_answers_before_the_login(locked, routes, headers):
    """Pages, files, streams: also with a made-up cookie."""
    for method, path, answer in ask_all(locked, [one for one in routes if one[1] not in LOGIN], headers=headers):
        led = answer.headers.get("location", "").startswith("/login?")
        assert led or answer.status_code == (404 if path.startswith(CLOSED) else 401), (method, path)


def test_what_answers_before_it_is_the_login_alone(locked):
    asked = [
        ("GET", "/login"),
        ("POST", "/login", {"data": {"password": "guess"}}),
        ("POST", "/logout"),
        ("GET", "/logout"),
    ]
    assert [answer.status_code for *_, answer in ask(locked, *asked)] == [200, 401, 303, 401]


def test_no_route_answers_to_a_name_that_was_rebound(app, routes):
    for method, path, answer in ask_all(app, routes, headers={"host": "evil.example:7860"}):
        assert answer.status_code == (404 if path.startswith(CLOSED) else 403), (method, path)


FETCHED = ("sec-fetch-site", "sec-fetch-mode", "sec-fetch-dest")


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"},
        {"origin": "null"},
        dict(zip(FETCHED, ("cross-site", "no-cors", "image"), strict=True)),
        dict(zip(FETCHED, ("same-site", "cors", "empty"), strict=True)),
        dict(zip(FETCHED, ("cross-site", "navigate", "iframe"), strict=True)),
    ],
)
def test_a_page_of_another_site_can_ask_for_nothing(app, routes, headers):
    """A form, a picture, a script, a frame, `fetch`. With a reading request a browser says the site, not the origin."""
    held = [one for one in routes if "origin" not in headers or one[0] not in SAFE]
    for method, path, answer in ask_all(app, held, headers=headers):
        assert answer.status_code == (404 if path.startswith(CLOSED) else 403), (method, path)


def test_another_site_may_lead_to_a_page_and_read_none(app):
    link = dict(zip(FETCHED, ("cross-site", "navigate", "document"), strict=True))
    near = {"origin": "http://localhost:8888", "access-control-request-method": "POST"}
    led, *asked = ask(
        app,
        ("GET", "/tools", {"headers": link}),
        *(("GET", path, {"headers": near}) for path in ("/tools", "/config", "/api/state")),
        *(("OPTIONS", path, {"headers": near}) for path in ("/api/runs", "/", "/gradio_api/upload")),
    )
    assert led[2].status_code == 200
    for *_, answer in asked:
        assert not [name for name in answer.headers if name.startswith("access-control")]


@pytest.mark.parametrize(
    "path",
    [
        "file=/etc/passwd", "file=http://169.254.169.254/", "proxy=http://169.254.169.254/", "upload", "vibe-edit",
        "component_server", "queue/join", "dev/reload", "stream/x", "run/predict",
    ],
)  # fmt: skip
def test_gradios_own_routes_are_closed_however_they_are_written(app, path):
    ways = (f"/gradio_api/{path}", f"/%67radio_api/{path}", f"/gradio_api%2f{path}")
    answers = ask(app, *product(("GET", "POST", "HEAD"), ways))
    assert {answer.status_code for *_, answer in answers} == {404}


@pytest.mark.parametrize("name", ["x" * 256, "é" * 200, "/".join(["x" * 200] * 30)])
def test_a_name_that_no_disk_can_hold_is_not_found(app, name):
    folders = ("static", "assets", "svelte", "wb", "notebooks", "documents", "documents/pages", "documents/reference")
    answers = ask(app, *(("GET", f"/{folder}/{name}") for folder in folders))
    assert {answer.status_code for *_, answer in answers} == {404}


def test_an_unknown_address_leads_on_by_a_page_with_no_script_in_it(app):
    [(_, _, answer)] = ask(app, ("GET", "/nothing-here", {"headers": {"accept": "text/html"}}))
    assert (answer.status_code, "There is no such page" in answer.text) == (404, True)
    assert "sha256" not in answer.headers["content-security-policy"]


def test_a_socket_is_refused(app):
    client = TestClient(app, base_url=HERE)
    with pytest.raises(WebSocketDisconnect) as refused, client.websocket_connect("/gradio_api/queue"):
        pass
    assert refused.value.code == 1008


def test_no_part_of_an_address_leads_out_of_the_home_folder(app, home, routes):
    """Traversal in every parameter of a path, whatever the method; nothing breaks and nothing is written."""
    before = files(home)
    parts = [value.format(home=str(home).replace("/", "%2f")) for value in OUTSIDE]
    ours = [(method, path) for method, path in routes if "{" in path and not path.startswith(CLOSED)]
    asked = [
        (method, filled(path, value), {} if method in SAFE else {"json": {}})
        for (method, path), value in product(ours, parts)
    ]
    for method, path, answer in ask(app, *asked):
        assert answer.status_code < 500, (method, path, answer.text)
        assert CANARY not in answer.text, (method, path)
    assert files(home) == before


def files(home):
    return sorted(path for path in home.parent.parent.rglob("*") if "duckdb" not in path.name)


def test_no_query_of_an_address_does_either(app, home):
    values = ["../../canary.txt", f"{home}/canary.txt", f"file://{home}/canary.txt", "../canary", "\0", "x" * 3_000]
    values.append(f"/{'x' * 300}")  # a whole path, as a folder of training may be named by
    ((*_, described),) = ask(app, ("GET", "/api/openapi.json"))
    asked = []
    for path, methods in described.json()["paths"].items():
        names = [one["name"] for one in methods.get("get", {}).get("parameters", []) if one["in"] == "query"]
        asked += [("GET", filled(path), {"params": dict.fromkeys(names, value)}) for value in values if names]
    assert len(asked) > 50
    for _, path, answer in ask(app, *asked):
        assert answer.status_code < 500, (path, answer.text)
        assert CANARY not in answer.text, path
