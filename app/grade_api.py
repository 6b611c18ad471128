"""The routes of grades and notes: a person's verdict, a check or a judge on request, and a text about a run."""

import asyncio
from typing import Any

from fastapi import APIRouter, Request

from app.answers import found, json_body
from app.runs import RunManager
from app.views import judge_view
from orchestra_lib import codec, grading
from orchestra_lib.check import Check
from orchestra_lib.errors import BadInput
from orchestra_lib.event import Graded
from orchestra_lib.record import record
from orchestra_lib.store.annotations import Note
from orchestra_lib.workbench import Workbench


@record
class GradeWish:
    """Who grades, and what a person says: `outcome` is solved, not_solved or unknown. A check may bring a reference."""

    by: str = grading.AUTO
    outcome: str | None = None
    reason: str | None = None
    reference: str | None = None
    check: Check | None = None


@record
class NoteText:
    """A note about a run; one without words takes the old one away."""

    text: str


def router(workbench: Workbench, runs: RunManager) -> APIRouter:
    """The routes over one workbench."""
    made = APIRouter()

    @made.post("/runs/{run_id}/grade")
    async def grade(run_id: str, request: Request) -> dict[str, Any]:
        wish = codec.from_data(await json_body(request), GradeWish, where="grade")
        if runs.live(run_id) is not None or runs.queue.place(run_id) is not None:
            raise BadInput(f"run {run_id} still goes on; grade it when it has ended")
        await found(runs, run_id)
        if wish.outcome is not None or wish.by.startswith("person:"):
            said = wish.outcome or ""
            event = await asyncio.to_thread(workbench.grade_by_person, run_id, wish.by, said, wish.reason)
        else:
            wanted = grading.Wish(by=wish.by, reference=wish.reference, check=wish.check)
            event = await workbench.grade(run_id, wanted)
        trajectory = await asyncio.to_thread(workbench.store.get, run_id)
        return {**graded_view(event), "derived": {"judge": judge_view(trajectory)} if event.attempts else {}}

    @made.get("/runs/{run_id}/note")
    async def note(run_id: str) -> dict[str, Any]:
        return note_view(await asyncio.to_thread(workbench.store.note_of, run_id))

    @made.put("/runs/{run_id}/note")
    async def write_note(run_id: str, request: Request) -> dict[str, Any]:
        wish = codec.from_data(await json_body(request), NoteText, where="note")
        await found(runs, run_id)
        return note_view(await asyncio.to_thread(workbench.store.write_note, run_id, wish.text))

    return made


def graded_view(event: Graded) -> dict[str, Any]:
    """What came of grading: a grade, or why there is none."""
    return {
        "seq": event.seq,
        "grade": codec.to_data(event.grade) if event.grade else None,
        "fault": codec.to_data(event.fault) if event.fault else None,
    }


def note_view(note: Note | None) -> dict[str, Any]:
    """A note as the page shows it; both null where there is none."""
    return {"text": note.text, "at": note.at.isoformat()} if note else {"text": None, "at": None}
