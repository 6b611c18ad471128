"""The course in the app: notebooks as they were saved, to read only, and how to open them for real.

A page is made of the saved file, without a kernel. What stands in it, our own markup and what a run printed alike, goes
through the allowlist of `markup`; figures are data, which `static/notebook.js` draws.
"""

import html
import json
import os
import re
from collections.abc import Iterator, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

from fastapi import APIRouter, HTTPException, Request
from fastapi.responses import FileResponse, HTMLResponse
from jupyter_core.paths import jupyter_runtime_dir
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

from app import markup, project_files
from orchestra_lib.hosts import LOOPBACK
from orchestra_lib.json_writing import dumps

_PLACE = "notebooks"
FOLDER = project_files.ROOT / _PLACE
_PLOTLY, _HTML, _TEXT = "application/vnd.plotly.v1+json", "text/html", "text/plain"
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
        if not project_files.NOTEBOOK.fullmatch(stem) or not file.is_file():
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
    return _whole("Notebooks", f'<h1>Notebooks</h1>{about}<ol class="nb-list">{rows}</ol>')


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
    return _whole(_title(cells), bar + "".join(_drawn(cells)) + end)


def _whole(title: str, body: str) -> str:
    return markup.page(title, body, name="notebook", scripts=["/notebooks/plotly.min.js"])


def _drawn(cells: list[Cell]) -> Iterator[str]:
    for cell in cells:
        if cell["cell_type"] == "markdown":
            yield f'<section class="nb-md">{_markdown(_source(cell))}</section>'
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
        return f'<div class="nb-html" tabindex="0">{markup.cleaned("".join(data[_HTML]), _PLACE)}</div>'
    return _plain("".join(data.get(_TEXT, "")))


def _plain(text: str) -> str:
    return f'<pre class="nb-text" tabindex="0">{html.escape(_ANSI.sub("", text))}</pre>'


def _markdown(text: str) -> str:
    return markup.written(markup.from_markdown(text, _PLACE))
