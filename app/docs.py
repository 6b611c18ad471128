"""The API described: OpenAPI as JSON, and a plain page of it that needs nothing from elsewhere."""

import html
from collections.abc import Iterable, Mapping
from typing import Any

from fastapi import APIRouter, FastAPI
from fastapi.responses import HTMLResponse

from app.api import Wish
from app.sql_api import Question
from app.tools_api import Copy, Rows
from orchestra_lib import codec
from orchestra_lib.model.own_endpoints import NewEndpoint
from orchestra_lib.model.trial import Trial
from orchestra_lib.trajectory import Trajectory
from orchestra_lib.workbench import Order

Data = Mapping[str, Any]
_WORDS = {
    "post /api/runs": "Start a run, or queue it while others go on. Answers its id at once.",
    "post /api/runs/{run_id}/stop": "Stop a run, or take it out of the queue; what it did so far is kept.",
    "get /api/runs/{run_id}/events": "Follow a run as server-sent events; `after` or Last-Event-ID resumes behind one.",
    "get /api/runs/{run_id}": "Whether a run goes on, and how it ended.",
    "delete /api/runs/{run_id}": "Move a run into the trash.",
    "post /api/runs/{run_id}/restore": "Take a run out of the trash again.",
    "get /api/runs/{run_id}/trajectory": "The whole record of a run: setting, turns, calls, observations, attempts.",
    "get /api/runs/{run_id}/observations/{call_id}": "What one call brought, whole, as text.",
    "get /api/runs/{run_id}/ledger": "What a run paid for, attempt by attempt, with the price and its source.",
    "get /api/runs/{run_id}/messages": "The messages as the model read them.",
    "get /api/runs/{run_id}/raw": "What the model wrote, turn by turn, before it was read.",
    "get /api/runs/{run_id}/copy/{form}": "A run as JSON, curl, Python or a notebook cell, to paste elsewhere.",
    "get /api/runs/{run_id}/tags": "The tags of a run.",
    "get /api/runs/{run_id}/trash": "A run that lies in the trash.",
    "get /api/runs/{run_id}/find": "Where a text occurs in a run.",
    "get /api/artefacts/{sha256}": "A file that a call produced, by its hash.",
    "get /api/trajectories": "Stored trajectories, newest first, fifty at a time; `before` is a page's `older`.",
    "get /api/trajectories/overview": "Figures of the trajectories that a filter lets through.",
    "get /api/trajectories/export": "The trajectories that a filter lets through, as a file.",
    "post /api/trajectories/tags": "Add tags to trajectories, or take them off.",
    "get /api/compare": "Two runs aligned by call or turn, with what differs; three to eight as a matrix of facts.",
    "get /api/reward": "A group of rollouts with all that its rewards follow from, and its costs under every table.",
    "get /api/reward/groups": "The groups of rollouts, the one with the latest run first.",
    "get /api/rail": "Where the runs with these ids stand, and how many wait.",
    "get /api/state": "What can be chosen now, weights on their way, and runs that go on.",
    "post /api/preference": "A preference in the very words that the orchestrator will read.",
}
"""What a route does where its function does not say it."""

_BODY: Mapping[str, Any] = {
    "post /api/runs": Order,
    "post /api/preference": Wish,
    "post /api/endpoints": NewEndpoint,
    "post /api/prices": Copy,
    "post /api/prices/{name}/rows": Rows,
    "post /api/sql": Question,
}
_ANSWER: Mapping[str, Any] = {
    "get /api/runs/{run_id}/trajectory": Trajectory,
    "post /api/endpoints/{name}/test": Trial,
}
_HEAD = (
    "<p>The pages are made of the same routes. Answers are JSON unless said otherwise; a refused request is answered "
    'with <code>{"error": "what to do"}</code>. Unknown is <code>null</code>, never 0; money is US dollars, times '
    "are seconds since the run began. Behind a login, send <code>Authorization: Bearer PASSWORD</code>. "
    'The whole description: <a class="wb-link" href="/api/openapi.json">/api/openapi.json</a></p>'
    '<pre class="wb-args">curl -s http://127.0.0.1:7860/api/trajectories\n'
    "curl -s http://127.0.0.1:7860/api/runs -H 'content-type: application/json' \\\n"
    '  -d \'{"task": "What is 48213 * 977?"}\'</pre>'
)


def install(app: FastAPI) -> None:
    """Serve `/api/openapi.json` and `/api/docs`."""
    made = APIRouter(tags=["description"])

    @made.get("/openapi.json")
    def description() -> Any:
        """This API as OpenAPI."""
        return described(app)

    @made.get("/docs", include_in_schema=False)
    def page() -> HTMLResponse:
        return HTMLResponse(_page(described(app)))

    app.include_router(made, prefix="/api")


def described(app: FastAPI) -> Any:
    """What FastAPI knows of its routes, with the words and the forms that stand here."""
    description = app.openapi()
    for path, operations in description["paths"].items():
        for method, operation in operations.items():
            name = f"{method} {path}"
            operation.setdefault("description", _WORDS.get(name) or operation["summary"])
            if name in _BODY:
                form = {"schema": codec.schema_of(_BODY[name])}
                operation["requestBody"] = {"required": True, "content": {"application/json": form}}
            if name in _ANSWER:
                operation["responses"]["200"]["content"] = {
                    "application/json": {"schema": codec.schema_of(_ANSWER[name])}
                }
    return description


def _page(description: Data) -> str:
    groups: dict[str, list[str]] = {}
    for path, operations in description["paths"].items():
        for method, operation in operations.items():
            groups.setdefault((operation.get("tags") or ["runs and records"])[0], []).append(
                _operation(method, path, operation)
            )
    body = "".join(f"<h2>{html.escape(tag)}</h2>{''.join(parts)}" for tag, parts in sorted(groups.items()))
    return f"""<!doctype html><html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width,initial-scale=1"><meta name="color-scheme" content="light dark">
<title>API · Orchestra Workbench</title>
<link rel="stylesheet" href="/wb/tokens.css"><link rel="stylesheet" href="/wb/components.css">
<link rel="stylesheet" href="/wb/docs.css"><script type="module" src="/wb/docs.js"></script></head>
<body><div class="wb"><header class="wb-top"><a class="wb-brand" href="/">Orchestra Workbench</a>
<span class="wb-sp"></span><a class="wb-link" href="/tools">Tools &amp; prices</a></header>
<main class="ad"><h1>API</h1>{_HEAD}{body}</main></div></body></html>"""


def _operation(method: str, path: str, operation: Data) -> str:
    words = html.escape(operation.get("description") or operation.get("summary", ""))
    name = f"{method}{path}".replace("/", "-").replace("{", "").replace("}", "")
    return (
        f'<section id="{html.escape(name)}"><h3><span class="wb-chip">{html.escape(method.upper())}</span> '
        f"<code>{html.escape(path)}</code></h3><p>{words}</p>"
        f"{_parameters(operation.get('parameters', ()))}{_fields(operation)}</section>"
    )


def _parameters(parameters: Iterable[Data]) -> str:
    rows = "".join(
        f"<tr><td><code>{html.escape(one['name'])}</code></td><td>{html.escape(one['in'])}</td>"
        f"<td>{html.escape(_type(one.get('schema', {})))}</td></tr>"
        for one in parameters
    )
    head = '<thead><tr><th scope="col">Parameter</th><th scope="col">in</th><th scope="col">type</th></tr></thead>'
    return f'<table class="wb-tbl tight">{head}<tbody>{rows}</tbody></table>' if rows else ""


def _type(schema: Data) -> str:
    if "anyOf" in schema:
        return " or ".join(_type(part) for part in schema["anyOf"])
    if "enum" in schema:
        return " or ".join(map(str, schema["enum"]))
    ending = f", {schema['default']!r} when left out" if schema.get("default") not in (None, "") else ""
    return f"{schema.get('type', 'any')}{ending}"


def _fields(operation: Data) -> str:
    """The fields of a body and of an answer whose form is known, one level deep."""
    body = operation.get("requestBody", {})
    answer = operation.get("responses", {}).get("200", {})
    return _form("Takes", body) + _form("Answers", answer)


def _form(verb: str, part: Data) -> str:
    form = part.get("content", {}).get("application/json", {}).get("schema", {})
    needed = set(form.get("required", ()))
    fields = [
        f"<code>{html.escape(name)}</code>" + ("" if verb == "Answers" or name in needed else " (optional)")
        for name in form.get("properties", ())
    ]
    return f'<p class="wb-note">{verb} {", ".join(fields)}</p>' if fields else ""
