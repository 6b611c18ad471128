"""What a reader gets at an address where there is no page: a page that says so and leads on."""

from starlette.datastructures import Headers
from starlette.responses import HTMLResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_PAGE = """<!doctype html><html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">
<title>No such page · Orchestra Workbench</title><link rel="icon" href="/wb/mark.svg">
<link rel="stylesheet" href="/wb/tokens.css"><link rel="stylesheet" href="/wb/components.css">
<link rel="stylesheet" href="/wb/workbench.css"><link rel="stylesheet" href="/wb/docs.css">
<script type="module" src="/wb/docs.js"></script></head>
<body><div class="wb"><header class="wb-top"><a class="wb-brand" href="/">Orchestra Workbench</a></header>
<main class="wb-state lv-empty"><h2>There is no such page</h2>
<p>The address was mistyped, or it is of another version of the workbench.</p>
<p class="lv-ex"><a class="wb-btn primary" href="/">Live</a> <a class="wb-btn" href="/trajectories">Trajectories</a>
<a class="wb-btn" href="/documents">Documents</a> <a class="wb-btn" href="/notebooks">Notebooks</a></p>
</main></div></body></html>"""


class Lost:
    """ASGI middleware: a browser that leads somewhere unknown gets a page; the API and scripts keep their answers."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not _leads_to_a_page(scope):
            await self._app(scope, receive, send)
            return
        lost = False

        async def told(message: Message) -> None:
            nonlocal lost
            if message["type"] == "http.response.start" and message["status"] == 404:
                lost = True
                await HTMLResponse(_PAGE, 404)(scope, receive, send)
            elif not lost:
                await send(message)

        await self._app(scope, receive, told)


def _leads_to_a_page(scope: Scope) -> bool:
    if scope["type"] != "http" or scope["method"] != "GET" or scope["path"].startswith(("/api", "/wb/")):
        return False
    return "text/html" in Headers(scope=scope).get("accept", "")
