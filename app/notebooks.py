"""The course in the app: notebooks as they were saved, to read only, and how to open them for real.

A page is made of the saved file, without a kernel. What stands in it, our own markup and what a run printed alike, goes
through an allowlist of tags, so that no script, handler or address of another kind than a link is left; figures are
data, which `static/notebook.js` draws.
"""

import html
import json
import os
import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import mistune
from fastapi import APIRouter, HTTPException, Request
from fastapi.responses import FileResponse, HTMLResponse
from jupyter_core.paths import jupyter_runtime_dir
from lxml_html_clean import Cleaner
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

from orchestra_lib.hosts import LOOPBACK
from orchestra_lib.json_writing import dumps

FOLDER = Path(__file__).resolve().parent.parent / "notebooks"
_NAME = re.compile(r"[0-9]{2}_[a-z0-9_]{1,60}")
_PLOTLY, _HTML, _TEXT = "application/vnd.plotly.v1+json", "text/html", "text/plain"
_TAGS = frozenset({
    "a", "b", "blockquote", "br", "code", "details", "div", "em", "h1", "h2", "h3", "h4", "hr", "i", "li", "ol", "p",
    "pre", "span", "strong", "summary", "table", "tbody", "td", "th", "thead", "tr", "ul",
})  # fmt: skip
_ATTRIBUTES = frozenset({"href", "class", "colspan", "rowspan", "target", "rel"})
_ADDRESS = re.compile(r"(https?://|/|#)", re.IGNORECASE)
_OUR_PAGES = re.compile(r"http://127\.0\.0\.1:7860(/[^\"]*)")
_ANSI = re.compile(r"\x1b\[[0-9;]*m")

Cell = Mapping[str, Any]


def router() -> APIRouter:
    """`/notebooks`, a page a notebook, and the script that draws their figures."""
    made = APIRouter(include_in_schema=False)

    @made.get("/notebooks")
    def listed() -> HTMLResponse:
        return HTMLResponse(_list())

    @made.get("/notebooks/plotly.min.js")
    def script() -> FileResponse:
        file = Path(str(files("plotly") / "package_data" / "plotly.min.js"))
        return FileResponse(file, media_type="text/javascript", headers={"cache-control": "max-age=86400"})

    @made.get("/notebooks/{name}")
    def page(name: str, request: Request) -> HTMLResponse:
        stem = name.removesuffix(".ipynb")
        file = FOLDER / f"{stem}.ipynb"
        if not _NAME.fullmatch(stem) or not file.is_file():
            raise HTTPException(404, f"there is no notebook {name[:80]!r}; /notebooks lists them")
        here = request.url.hostname in LOOPBACK
        return HTMLResponse(_page(file, lab_address() if here else None))

    return made


def titles() -> Mapping[str, str]:
    """The question of each notebook by its name, in the order of the course."""
    return {file.stem: _title(_cells(file)) for file in sorted(FOLDER.glob("[0-9]*.ipynb"))}


def lab_address(folder: Path = FOLDER) -> str | None:
    """The address of a JupyterLab that runs over this folder, without its token; None where there is none."""
    for file in sorted(Path(jupyter_runtime_dir()).glob("jpserver-*.json")):
        try:
            told = json.loads(file.read_text("utf-8"))
            os.kill(int(told["pid"]), 0)  # a server that was killed leaves its file behind
            if Path(told["root_dir"]).resolve() == folder:
                return str(told["url"])
        except (OSError, ValueError, KeyError, TypeError):
            continue
    return None


def _cells(file: Path) -> list[Cell]:
    cells: list[Cell] = json.loads(file.read_text("utf-8"))["cells"]
    return cells


def _title(cells: list[Cell]) -> str:
    return _source(cells[0]).partition("\n")[0].removeprefix("# ")


def _source(cell: Cell) -> str:
    return "".join(cell["source"])


def _list() -> str:
    rows = "".join(
        f'<li><a class="wb-link" href="/notebooks/{name}">{html.escape(title)}</a> '
        f'<span class="wb-mut">{html.escape(name)}</span></li>'
        for name, title in titles().items()
    )
    about = (
        "<p>Each notebook asks a question and answers it in its last cell. Here they stand as they were saved; "
        'to run them, say <code class="nb-do">make notebooks</code> in the project’s folder.</p>'
    )
    return _shell("Notebooks", f'<h1>Notebooks</h1>{about}<ol class="nb-list">{rows}</ol>')


def _page(file: Path, lab: str | None) -> str:
    cells = _cells(file)
    names = list(titles())
    at = names.index(file.stem)
    before, after = (names[other] if 0 <= other < len(names) else None for other in (at - 1, at + 1))
    opened = (
        f'<a class="wb-btn primary sm" href="{html.escape(lab)}lab/tree/{file.name}" target="_blank" rel="noopener">'
        "Open in JupyterLab</a>"
        if lab
        else f'<span>To run it: <code class="nb-do">make notebooks</code>, then <code>{file.name}</code></span>'
    )
    steps = "".join(
        f'<a class="wb-btn ghost sm" href="/notebooks/{name}">{word}</a>'
        for name, word in ((before, "Previous"), (after, "Next"))
        if name
    )
    bar = (
        f'<div class="nb-bar" role="note"><span>As it was saved, to read only: sliders stand still, and links to runs '
        f'lead somewhere once you have run it.</span><span class="wb-sp"></span>{opened}{steps}</div>'
    )
    end = f'<nav class="nb-steps" aria-label="Other notebooks">{steps}</nav>'
    return _shell(_title(cells), bar + "".join(_drawn(cells)) + end)


def _shell(title: str, body: str) -> str:
    return f"""<!doctype html><html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width,initial-scale=1"><meta name="color-scheme" content="light dark">
<title>{html.escape(title)} · Orchestra Workbench</title>
<link rel="icon" href="/wb/mark.svg"><link rel="stylesheet" href="/wb/tokens.css">
<link rel="stylesheet" href="/wb/components.css"><link rel="stylesheet" href="/wb/docs.css">
<link rel="stylesheet" href="/wb/notebook.css"><script defer src="/notebooks/plotly.min.js"></script>
<script type="module" src="/wb/notebook.js"></script></head>
<body><div class="wb"><a class="wb-skip" href="#main">Skip to content</a>
<header class="wb-top"><a class="wb-brand" href="/">Orchestra Workbench</a>
<span class="wb-sp"></span><a class="wb-link" href="/notebooks">All notebooks</a></header>
<main class="nb" id="main" tabindex="-1">{body}</main></div></body></html>"""


def _drawn(cells: list[Cell]) -> Iterator[str]:
    for cell in cells:
        if cell["cell_type"] == "markdown":
            yield f'<section class="nb-md">{_cleaned(str(_markdown()(_source(cell))))}</section>'
        else:
            code = highlight(_source(cell), PythonLexer(), HtmlFormatter(nowrap=True, classprefix="py-"))
            outputs = "".join(map(_output, cell.get("outputs", ())))
            yield (
                f'<section class="nb-code"><pre class="nb-source" tabindex="0">{code}</pre>'
                f"{f'<div class=nb-out>{outputs}</div>' if outputs else ''}</section>"
            )


def _output(output: Cell) -> str:
    if output["output_type"] == "stream":
        return _plain("".join(output["text"]))
    data = output.get("data", {})
    if _PLOTLY in data:
        said = data[_PLOTLY].get("layout", {}).get("title", {}).get("text") or "a figure"
        figure = html.escape(dumps(data[_PLOTLY]), quote=True)
        return f'<div class="nb-figure" role="img" aria-label="{html.escape(str(said))}" data-figure="{figure}"></div>'
    if _HTML in data:
        return f'<div class="nb-html" tabindex="0">{_cleaned("".join(data[_HTML]))}</div>'
    return _plain("".join(data.get(_TEXT, "")))


def _plain(text: str) -> str:
    return f'<pre class="nb-text" tabindex="0">{html.escape(_ANSI.sub("", text))}</pre>'


@cache
def _markdown() -> mistune.Markdown:
    return mistune.create_markdown(escape=False, plugins=["table"])


def _cleaned(markup: str) -> str:
    """Allowed tags and attributes alone; our own addresses stay on this server, whatever its port."""
    made = Cleaner(
        allow_tags=_TAGS, kill_tags=("style", "script"), safe_attrs=_ATTRIBUTES, safe_attrs_only=True,
        remove_unknown_tags=False, add_nofollow=False,
    ).clean_html(f"<div>{markup}</div>")  # fmt: skip
    local = _OUR_PAGES.sub(r"\1", str(made)).replace("<th></th>", "<td></td>")  # an empty corner heads nothing
    return re.sub(r'href="([^"]*)"', _linked, local)


def _linked(found: re.Match[str]) -> str:
    """A link to a sister notebook opens it here; a file of the project has no page."""
    address = found[1]
    if address.endswith(".ipynb") and "/" not in address:
        return f'href="/notebooks/{address.removesuffix(".ipynb")}"'
    return found[0] if _ADDRESS.match(address) else 'class="nb-file"'
