"""The routes of the Evaluation page: which reports are stored, one of them, and its file to share."""

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fastapi import APIRouter, Response
from starlette.responses import FileResponse

from app.answers import NotFound
from app.evaluation_views import Found, read, summary, view
from orchestra_lib.codec import dumps, from_data
from orchestra_lib.errors import BadInput
from orchestra_lib.evaluation.keeping import STUDY
from orchestra_lib.evaluation.pages import HTML
from orchestra_lib.evaluation.plan import PLAN, REPORT, Plan
from orchestra_lib.evaluation.running import FOLDER
from orchestra_lib.store.store import Store
from orchestra_lib.store.summary import Filter
from orchestra_lib.workbench import Workbench


def router(workbench: Workbench) -> APIRouter:
    """`GET /evaluations`, `GET /evaluations/{name}` and `GET /evaluations/{name}/report.html`."""
    made = APIRouter(tags=["evaluation"])
    home = workbench.home / FOLDER

    @made.get("/evaluations")
    async def listed() -> Response:
        """Every stored report, the latest first; one that cannot be read says why. What has none yet comes before."""
        rows = await asyncio.to_thread(lambda: [*_begun(home, workbench.store), *_listed(home)])
        return Response(dumps(rows), media_type="application/json")

    @made.get("/evaluations/{name}")
    async def one(name: str) -> Response:
        """A report as sheets, each figure with the runs behind it, and the published figures apart."""
        found = await asyncio.to_thread(lambda: view(_read(_files(home), name)))
        return Response(dumps(found), media_type="application/json")

    @made.get("/evaluations/{name}/report.html")
    async def page(name: str) -> FileResponse:
        """The report as one file to share."""
        file = _known(await asyncio.to_thread(_files, home), name).parent / HTML
        if not file.is_file():
            raise NotFound(f"the report {name!r} has no page yet; run its command again, which plays nothing anew")
        return FileResponse(file, filename=f"{name}.html", media_type="text/html")

    return made


def _files(home: Path) -> dict[str, Path]:
    """The report of each folder, the latest first: that of a study before that of its only part."""
    found = {}
    for folder in home.glob("*/"):
        file = next((one for one in (folder / STUDY, folder / REPORT) if one.is_file()), None)
        if file is not None:
            found[folder.name] = file
    return dict(sorted(found.items(), key=lambda pair: pair[1].stat().st_mtime, reverse=True))


def _known(files: Mapping[str, Path], name: str) -> Path:
    if name not in files:
        raise NotFound(f"there is no report {name[:80]!r}; `orchestra eval simulated` makes one")
    return files[name]


def _read(files: Mapping[str, Path], name: str) -> Found:
    file = _known(files, name)
    try:
        data = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise BadInput(f"the report {name!r} cannot be read ({error}); run its command again") from None
    return read(name, data if isinstance(data, dict) else {})


def _begun(home: Path, store: Store) -> list[dict[str, Any]]:
    """Evaluations that go on or were interrupted before their first report: what is known are the runs so far."""
    rows = []
    for file in home.glob(f"*/{PLAN}"):
        if any((file.parent / name).is_file() for name in (STUDY, REPORT)):
            continue
        try:
            plan = from_data(json.loads(file.read_text("utf-8")), Plan, where=file.parent.name)
        except (OSError, ValueError, BadInput):  # its own command says what is wrong with it
            continue
        played = store.count(Filter(tag=plan.id))
        suites, changed_s = [plan.conditions.suite], file.stat().st_mtime
        rows.append(
            {"name": file.parent.name, "suites": suites, "tag": plan.id, "played": played, "changed_s": changed_s}
        )
    return sorted(rows, key=lambda row: row["changed_s"], reverse=True)


def _listed(home: Path) -> list[dict[str, Any]]:
    files, rows = _files(home), []
    for name, file in files.items():
        changed_s = file.stat().st_mtime
        try:
            rows.append({**summary(_read(files, name)), "changed_s": changed_s})
        except BadInput as error:
            rows.append({"name": name, "problem": str(error), "changed_s": changed_s})
    return rows
