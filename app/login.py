"""One password before everything, for a workbench that others can reach.

Whoever knows it gets a cookie that no script reads and no other site sends; programs send it as a bearer token.
Wrong guesses are counted, per address and altogether, and answered ever later. Nothing is served before the
login but its own page: no other route, no file, no stream; and a stream ends with the login.
"""

import base64
import hmac
import html
import importlib.util
import time
from collections import defaultdict, deque
from collections.abc import Callable
from functools import cache
from http.cookies import CookieError, SimpleCookie
from pathlib import Path
from urllib.parse import parse_qs, quote, urlsplit

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from app.sessions import STAY_S, Sessions, digest
from orchestra_lib.errors import BadInput

COOKIE = "orchestra"
SHORTEST = 8
"""Characters that a password has at least."""
_WINDOW_S, _TRIES, _TRIES_OF_ALL = 60.0, 5, 50
_MAX_FORM = 10_000
_STATIC = Path(__file__).parent / "static"
_FONTS = "templates/frontend/static/fonts/IBMPlexSans"
"""Where Gradio keeps the font of all pages."""


class Login:
    """ASGI middleware that lets nobody by without the password. `clock` counts seconds."""

    def __init__(self, app: ASGIApp, password: str, clock: Callable[[], float] = time.monotonic) -> None:
        check_password(password)
        self._app, self._clock = app, clock
        self._secret = digest(password)
        self._sessions = Sessions(clock)
        self._wrong: dict[str, deque[float]] = defaultdict(deque)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        if scope["type"] == "websocket":
            if self._known(headers):
                await self._sessions.serve(_cookie(headers), self._app, scope, receive, send)
            else:
                await receive()
                await send({"type": "websocket.close", "code": 1008})
            return
        request = Request(scope, receive)
        answer = await self._answer(request, headers)
        if answer is None and self._known(headers):
            await self._sessions.serve(_cookie(headers), self._app, scope, receive, send)
        else:
            await (answer or self._app)(scope, receive, send)

    async def _answer(self, request: Request, headers: Headers) -> Response | None:
        """What to answer in place of the app; None lets the request through."""
        path, who = request.url.path, request.client.host if request.client else "?"
        if path == "/login":
            return await self._login(request, who, headers)
        if path == "/logout" and request.method == "POST":
            self._sessions.end(_cookie(headers))
            return _with_cookie(RedirectResponse("/login", 303), "", 0, request)
        if self._known(headers):
            return None
        bearer = headers.get("authorization", "").partition("Bearer ")[2]
        if bearer:
            if (wait := self._wait(who)) > 0:
                return _too_many(wait)
            if self._right(bearer, who):
                return None
        if request.method == "GET" and "text/html" in headers.get("accept", ""):
            query = f"?{request.url.query}" if request.url.query else ""
            return RedirectResponse(f"/login?next={quote(path + query, safe='')}", 303)
        words = "log in first: this workbench has a password; programs send it as `Authorization: Bearer …`"
        return JSONResponse({"error": words}, 401, {"www-authenticate": "Bearer"})

    async def _login(self, request: Request, who: str, headers: Headers) -> Response:
        goal = _local(request.query_params.get("next", "/"))
        if request.method == "GET":
            return RedirectResponse(goal, 303) if self._known(headers) else _page(goal)
        if request.method != "POST":
            return JSONResponse({"error": "use GET or POST"}, 405)
        if (wait := self._wait(who)) > 0:
            return _page(goal, f"Too many wrong passwords. Try again in {wait:.0f} seconds.", 429, wait)
        body = b""
        async for chunk in request.stream():
            body += chunk
            if len(body) > _MAX_FORM:
                return _page(goal, "That is no password.", 413)
        given = parse_qs(body.decode("utf-8", "replace")).get("password", [""])[0]
        if not self._right(given, who):
            return _page(goal, "That is not the password.", 401)
        return _with_cookie(RedirectResponse(goal, 303), self._sessions.begin(), STAY_S, request)

    def _known(self, headers: Headers) -> bool:
        return self._sessions.knows(_cookie(headers))

    def _right(self, given: str, who: str) -> bool:
        if hmac.compare_digest(digest(given), self._secret):
            self._wrong.pop(who, None)
            return True
        now = self._clock()
        self._wrong[who].append(now)
        self._wrong[""].append(now)
        return False

    def _wait(self, who: str) -> float:
        """Seconds until this address may guess again."""
        now = self._clock()
        waits = [0.0]
        for key, most in ((who, _TRIES), ("", _TRIES_OF_ALL)):
            tries = self._wrong.get(key, deque())
            while tries and tries[0] <= now - _WINDOW_S:
                tries.popleft()
            if not tries:
                self._wrong.pop(key, None)
            if len(tries) >= most:
                waits.append(tries[-most] + _WINDOW_S - now)
        return max(waits)


def check_password(password: str) -> None:
    """Raises `BadInput` for one that is too short."""
    if len(password) < SHORTEST:
        raise BadInput(f"the password has {len(password)} characters; give it at least {SHORTEST}")


def _cookie(headers: Headers) -> str:
    try:
        found = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
    except CookieError:
        return ""
    return found.value if found else ""


def _with_cookie(answer: Response, token: str, stay_s: float, request: Request) -> Response:
    secure = request.url.scheme == "https"
    answer.set_cookie(COOKIE, token, max_age=int(stay_s), httponly=True, samesite="strict", secure=secure, path="/")
    return answer


def _local(goal: str) -> str:
    """A path of this workbench, `/` for what would lead elsewhere."""
    parts = urlsplit(goal)
    plain = goal.startswith("/") and not goal.startswith(("//", "/\\")) and not parts.netloc and goal.isprintable()
    return goal if plain and not goal.startswith("/login") else "/"


def _too_many(wait_s: float) -> Response:
    words = f"too many wrong passwords; try again in {wait_s:.0f} seconds"
    return JSONResponse({"error": words}, 429, {"retry-after": f"{wait_s:.0f}"})


def _page(goal: str, problem: str = "", status: int = 200, wait_s: float | None = None) -> Response:
    said = f'<p class="lg-bad" role="alert" id="problem">{html.escape(problem)}</p>' if problem else ""
    described = ' aria-describedby="problem" aria-invalid="true"' if problem else ""
    page = f"""<!doctype html><html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width,initial-scale=1"><meta name="color-scheme" content="light dark">
<title>Log in · Orchestra Workbench</title><style>{_styles()}</style></head><body><div class="wb"><main class="lg">
<form class="wb-panel lg-box" method="post" action="/login?next={quote(goal, safe="")}">
<h1>Orchestra <span class="wb-mut">Workbench</span></h1>
<p class="wb-mut">Whoever started it on this machine has the password.</p>
<label class="lg-lab" for="password">Password</label>
<span class="wb-in"><input id="password" name="password" type="password" required autofocus
autocomplete="current-password"{described}></span>{said}
<button class="wb-btn primary">Log in</button></form></main></div></body></html>"""
    # Without a referrer a form's Origin would be "null", which nobody could tell from another site's.
    headers = {"cache-control": "no-store", "referrer-policy": "same-origin"} | (
        {"retry-after": f"{wait_s:.0f}"} if wait_s is not None else {}
    )
    return HTMLResponse(page, status, headers)


@cache
def _styles() -> str:
    """Our own sheets, written into the page since no file is served before the login."""
    tokens, parts = ((_STATIC / f"{name}.css").read_text("utf-8") for name in ("tokens", "components"))
    dark = tokens[tokens.index(".dark{") :].partition("}")[0].replace(".dark{", ":root{")
    return (
        f"{_font()}{tokens}@media (prefers-color-scheme:dark){{{dark}}}}}{parts}"
        "body{margin:0;background:var(--wb-bg)}.lg{min-height:100vh;display:grid;place-items:center;padding:16px}"
        ".lg-box{display:grid;gap:12px;width:min(360px,100%);padding:24px!important}.lg-box h1{font-size:20px;margin:0}"
        ".lg-lab{font-weight:600}.lg-box input{flex:1;border:0;background:none;font:inherit;color:inherit}"
        ":root body .wb .lg-box input:focus-visible{outline:0}"
        ".lg-bad{color:var(--wb-bad)}"
    )


def _font() -> str:
    """The font of all pages, in the sheet itself; nothing where this Gradio has it elsewhere."""
    gradio = importlib.util.find_spec("gradio")
    folder = Path(next(iter((gradio and gradio.submodule_search_locations) or ()), "")) / _FONTS
    faces = ((400, folder / "IBMPlexSans-Regular.woff2"), (700, folder / "IBMPlexSans-Bold.woff2"))
    return "".join(
        f'@font-face{{font-family:"IBM Plex Sans";font-weight:{weight};'
        f"src:url(data:font/woff2;base64,{base64.b64encode(file.read_bytes()).decode()})}}"
        for weight, file in faces
        if file.is_file()
    )
