"""The routes of a tool's description: its versions with where they come from, a new text, and which one is in use."""

import asyncio
from typing import Any

from fastapi import APIRouter, Request

from app.answers import NotFound, json_body
from orchestra_lib import codec
from orchestra_lib.descriptions import PERSON, Description, DescriptionBook
from orchestra_lib.record import record
from orchestra_lib.tool import ToolSpec
from orchestra_lib.workbench import Workbench

_BY = PERSON + "page"


@record
class Words:
    """A new text."""

    text: str


@record
class Choice:
    """Which version is in use; None is what ships."""

    version: int | None


def router(workbench: Workbench) -> APIRouter:
    """`GET`, `POST` and `PUT /tools/NAME/description`, and `POST …/restore/VERSION`."""
    made = APIRouter(tags=["tools and prices"])
    book = DescriptionBook(workbench.home)

    @made.get("/tools/{name}/description")
    async def shown(name: str) -> dict[str, Any]:
        """Every version of a tool's description, the newest first, which one is in use, and what is read now."""
        return await asyncio.to_thread(_shown, workbench, book, name)

    @made.post("/tools/{name}/description", status_code=201)
    async def write(name: str, request: Request) -> dict[str, Any]:
        """Keep a text as a new version. It is not in use until somebody says so."""
        words = codec.from_data(await json_body(request), Words, where="description")
        _spec(workbench, name)
        return _data(await asyncio.to_thread(book.edit, name, words.text, by=_BY))

    @made.post("/tools/{name}/description/restore/{version}", status_code=201)
    async def restore(name: str, version: int) -> dict[str, Any]:
        """Keep an earlier version once more, as the newest."""
        _spec(workbench, name)
        return _data(await asyncio.to_thread(book.restore, name, version, by=_BY))

    @made.put("/tools/{name}/description")
    async def use(name: str, request: Request) -> dict[str, Any]:
        """Offer the tool by this version from now on. Runs that go on keep what they began with."""
        choice = codec.from_data(await json_body(request), Choice, where="description")
        _spec(workbench, name)
        await asyncio.to_thread(book.use, name, choice.version)
        return {"in_use": choice.version}

    return made


def _spec(workbench: Workbench, name: str) -> ToolSpec:
    spec = next((spec for spec, _ in workbench.tools() if spec.name == name), None)
    if spec is None:
        raise NotFound(f"there is no tool {name[:80]!r}")
    return spec


def _shown(workbench: Workbench, book: DescriptionBook, name: str) -> dict[str, Any]:
    spec = _spec(workbench, name)
    history = [_data(one) for one in reversed(book.history(name))]
    return {"reads": spec.description, "in_use": book.in_use().get(name), "history": history}


def _data(found: Description) -> dict[str, Any]:
    data: dict[str, Any] = codec.to_data(found)
    return data
