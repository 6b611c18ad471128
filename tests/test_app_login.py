"""With a password nothing is served before the login, nor streamed after it: no page, no route, no file."""

import asyncio
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse, StreamingResponse
from starlette.routing import Route, WebSocketRoute
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

from app.login import COOKIE, Login, _local
from app.main import _check_doors
from app.sessions import STAY_S, Sessions
from orchestra_lib.cli.browser import _password
from orchestra_lib.errors import BadInput

PASSWORD = "correct horse battery"


class Clock:
    now = 1000.0

    def __call__(self):
        return self.now


def stream():
    yield "data: 1\n\n"


async def socket(websocket):
    await websocket.accept()
    await websocket.send_text("in")
    await websocket.close()


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def client(clock):
    inner = Starlette(
        routes=[
            Route("/", lambda _: PlainTextResponse("inside")),
            Route("/api/runs", lambda _: PlainTextResponse("runs"), methods=["GET", "POST"]),
            Route("/events", lambda _: StreamingResponse(stream(), media_type="text/event-stream")),
            WebSocketRoute("/socket", socket),
        ]
    )
    return TestClient(Login(inner, PASSWORD, clock), base_url="http://127.0.0.1:7860", follow_redirects=False)


def log_in(client, password=PASSWORD, goal="/"):
    return client.post("/login", params={"next": goal}, data={"password": password})


@pytest.mark.parametrize(
    "path", ["/", "/api/runs", "/events", "/wb/main.js", "/gradio_api/info", "/config", "/login/x"]
)
def test_everything_is_behind_the_login(client, path):
    answer = client.get(path)
    assert answer.status_code == 401
    assert "log in" in answer.json()["error"]
    assert client.post(path).status_code == 401


def test_a_socket_is_closed(client):
    with pytest.raises(WebSocketDisconnect), client.websocket_connect("/socket") as socket:
        socket.receive_text()


def test_a_browser_is_led_to_the_login_and_back_to_where_it_was(client):
    asked = client.get("/tools?tool=x", headers={"accept": "text/html"})
    assert asked.headers["location"] == "/login?next=%2Ftools%3Ftool%3Dx"
    page = client.get(asked.headers["location"])
    assert "<script" not in page.text
    assert log_in(client, goal="/tools?tool=x").headers["location"] == "/tools?tool=x"
    assert client.get("/").text == "inside"
    assert client.get("/events").text == "data: 1\n\n"


def test_the_login_page_brings_the_font_of_the_others_and_no_other_file(client):
    page = client.get("/login").text
    assert 'font-family:"IBM Plex Sans";font-weight:700;src:url(data:font/woff2;base64,d09GMg' in page
    assert not re.search(r'url\((?!data:)|src="|href="', page)


def test_no_script_reads_the_cookie_and_no_other_site_sends_it(client):
    cookie = log_in(client).headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert PASSWORD not in cookie


def test_a_wrong_password_lets_nobody_in_and_says_so(client):
    answer = log_in(client, "guess <b>")
    assert answer.status_code == 401
    assert "not the password" in answer.text
    assert "guess" not in answer.text
    assert COOKIE not in answer.headers.get("set-cookie", "")


def test_guesses_are_slowed_down_even_right_ones_and_then_allowed_again(client, clock):
    for _ in range(5):
        log_in(client, "guess")
    late = log_in(client)
    assert (late.status_code, late.headers["retry-after"]) == (429, "60")
    assert client.get("/", headers={"authorization": f"Bearer {PASSWORD}"}).status_code == 429
    clock.now += 61
    assert log_in(client).status_code == 303


def test_a_program_sends_the_password_as_a_bearer_token(client):
    assert client.get("/api/runs", headers={"authorization": f"Bearer {PASSWORD}"}).text == "runs"
    assert client.get("/api/runs", headers={"authorization": "Bearer guess"}).status_code == 401


def test_a_login_ends_by_itself_and_by_wish(client, clock):
    log_in(client)
    clock.now += STAY_S + 1
    assert client.get("/").status_code == 401
    log_in(client)
    assert client.get("/").text == "inside"
    client.post("/logout")
    assert client.get("/").status_code == 401


async def endless(scope, receive, send):
    """An answer of the type that its path names, which never ends of itself."""

    async def parts():
        while True:
            yield "data: 1\n\n"
            await asyncio.sleep(0.001)

    await StreamingResponse(parts(), media_type=scope["path"])(scope, receive, send)


async def begun(sessions, token, media_type):
    """What goes out to a login, a list that grows, and the task that answers."""
    sent = []

    async def receive():
        await asyncio.Event().wait()

    async def send(message):
        sent.append(message)

    scope = {"type": "http", "path": media_type, "asgi": {"spec_version": "2.3"}}
    serving = asyncio.create_task(sessions.serve(token, endless, scope, receive, send))
    while len(sent) < 3:
        await asyncio.sleep(0.001)
    return sent, serving


def test_a_stream_is_cut_by_the_logout_and_those_of_others_go_on(clock):
    async def play():
        sessions = Sessions(clock)
        ours, theirs = sessions.begin(), sessions.begin()
        sent, serving = await begun(sessions, ours, "text/event-stream")
        _, others = await begun(sessions, theirs, "text/event-stream")
        _, download = await begun(sessions, ours, "text/csv")
        sessions.end(ours)
        await asyncio.wait_for(serving, 5)
        assert sent[-1] == {"type": "http.response.body", "body": b""}
        assert not others.done()
        assert not download.done()
        _, serving = await begun(sessions, theirs, "text/event-stream")
        clock.now += STAY_S
        sessions.begin()  # whoever logs in next, what has run out is swept
        await asyncio.wait_for(asyncio.gather(serving, others), 5)
        download.cancel()
        await asyncio.wait({download})

    asyncio.run(play())


@pytest.mark.parametrize("cookie", ["x", "", "orchestra=", "orchestra=x; orchestra=y", "=;=;\x00", "a" * 5000])
def test_a_made_up_cookie_opens_nothing(client, cookie):
    assert client.get("/", headers={"cookie": f"{COOKIE}={cookie}"}).status_code == 401


@given(st.text())
def test_a_login_leads_nowhere_else(goal):
    led = _local(goal)
    assert led.startswith("/")
    assert not led.startswith(("//", "/\\"))


def test_a_short_password_is_refused(clock):
    with pytest.raises(BadInput, match="at least 8"):
        Login(Starlette(), "1234567", clock)


def test_others_are_let_in_with_a_login_or_on_purpose_only():
    _check_doors("127.0.0.1", None, without_login=False)
    _check_doors("0.0.0.0", PASSWORD, without_login=False)
    _check_doors("0.0.0.0", None, without_login=True)
    with pytest.raises(BadInput, match="--without-login"):
        _check_doors("0.0.0.0", None, without_login=False)


def test_the_password_comes_from_a_variable_or_a_file(tmp_path):
    file = tmp_path / "token"
    file.write_text(f"{PASSWORD}\n")
    assert _password("PW", None, {"PW": PASSWORD}) == _password(None, file, {}) == PASSWORD
    assert _password(None, None, {}) is None


@pytest.mark.parametrize("variable, name, words", [("PW", None, "not set"), (None, "gone", "cannot be read")])
def test_a_password_that_is_not_there_is_an_error(tmp_path, variable, name, words):
    with pytest.raises(BadInput, match=words):
        _password(variable, tmp_path / name if name else None, {})
