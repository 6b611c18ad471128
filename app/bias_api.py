"""The routes of the Bias page: the report of a scope, the runs behind a mark, and the drift of a training run."""

import asyncio
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from app.answers import NotFound
from app.filtering import read_filter
from orchestra_lib.bias import drift
from orchestra_lib.bias_report import bias_flow, bias_report
from orchestra_lib.codec import dumps, to_data
from orchestra_lib.description_effects import effects
from orchestra_lib.description_swaps import version_labels
from orchestra_lib.errors import BadInput
from orchestra_lib.families import load_families
from orchestra_lib.paper_bias import paper_bias
from orchestra_lib.profilelist import load_profiles
from orchestra_lib.store.bias_sums import BiasSums, Scope
from orchestra_lib.swap_pairs import moves
from orchestra_lib.training import conducting
from orchestra_lib.training.launching import TRAINING
from orchestra_lib.training.run_folder import STEPS, RunFolder
from orchestra_lib.workbench import Workbench

_ENDS = ("first", "other")
MOST_RUNS = 100
"""So many runs behind a mark are listed; all of them are counted."""


def router(workbench: Workbench) -> APIRouter:
    """`GET /bias` with the filters of the trajectories list and slices, and what belongs to its charts and marks."""
    made = APIRouter(tags=["bias"])

    @made.get("/bias")
    async def bias(request: Request) -> Response:
        """Shares, indices, swaps, transitions and results within the filters of the list, and the paper's figures."""
        scope = read_scope(request)

        def found() -> dict[str, Any]:
            profiles = {one.priced_as: one for one in load_profiles(workbench.home).values()}
            report = bias_report(workbench.store, profiles, scope, families=load_families(workbench.home))
            labels = version_labels(workbench.roster) if report.effects else {}
            told = [
                {
                    **to_data(one),
                    **{name: labels.get((one.model, getattr(one, name)), getattr(one, name)) for name in _ENDS},
                }
                for one in report.effects
            ]
            return {**to_data(report), "effects": told, "paper": _paper()}

        return Response(dumps(await asyncio.to_thread(found)), media_type="application/json")

    @made.get("/bias/runs")
    async def runs(
        request: Request,
        who: str = "",
        model: Annotated[list[str] | None, Query()] = None,
        path: Annotated[list[str] | None, Query()] = None,
        length: int | None = None,
        upto: int | None = None,
        came: str = "",
        after: Annotated[str, Query(alias="next")] = "",
        ended: str = "",
        aspect: str = "",
        rewritten: str = "",
    ) -> Response:
        """The runs behind a mark, the latest first: of whom, calling one of these, whose first calls were these.

        With `came` or `next` those in which that one was called right before or after: `came` alone is the last call
        of a run that `ended` so.
        """
        scope = read_scope(request)
        marks: dict[str, Any] = {}
        if who:
            marks["orchestrator"] = who
        if model:
            marks["models"] = model
        for name, value in zip(("first", "second", "third"), path or (), strict=False):
            if value:
                marks[name] = value
        marks |= {name: calls for name, calls in (("length", length), ("upto", upto)) if calls is not None}
        if came:
            marks |= {"pair": [came, after]} if after else {"last": came}
        if ended:
            marks["status"] = ended

        def found() -> dict[str, Any]:
            sums = BiasSums(workbench.store, scope)
            if aspect:
                found = sums.swaps()
                of = (one for one in moves(found) if (one.orchestrator, one.aspect) == (who, aspect))
                marks["ids"] = [run for one in of for run in one.runs]
            if rewritten:
                told = (one for one in effects(sums.swaps()) if (one.orchestrator, one.model) == (who, rewritten))
                marks["ids"] = [run for one in told for run in one.runs]
            count, rows = sums.behind(marks, limit=MOST_RUNS)
            return {"count": count, "runs": list(rows)}

        return Response(dumps(await asyncio.to_thread(found)), media_type="application/json")

    @made.get("/bias/flow")
    async def flow(request: Request, who: str) -> Response:
        """Whom an orchestrator calls after whom, over all calls of its runs."""
        scope = read_scope(request)
        found = await asyncio.to_thread(lambda: bias_flow(workbench.store, who, scope))
        return Response(dumps(to_data(found)), media_type="application/json")

    @made.get("/bias/drift")
    async def drifted(run: str = "") -> Response:
        """The share of the strongest over the steps of a training run, and which runs there are."""

        def found() -> dict[str, Any]:
            folders = _training(workbench)
            if run and run not in folders:
                raise NotFound(f"there is no training run {run[:80]!r} with steps")
            shown = run or next(iter(folders), "")
            steps = RunFolder(folders[shown]).steps() if shown else ()
            line = drift([(one.step, one.strongest_share, one.samples) for one in steps])
            return {"runs": list(folders), "run": shown, **to_data(line)}

        return Response(dumps(await asyncio.to_thread(found)), media_type="application/json")

    return made


def _training(workbench: Workbench) -> dict[str, Path]:
    """The training runs that have steps, by name: those of the home folder, then those that ship."""
    places = (("", workbench.home / TRAINING), ("shipped:", conducting.SHIPPED))
    return {
        f"{lead}{folder.name}": folder
        for lead, place in places
        for folder in sorted(place.glob("*/"))
        if (folder / STEPS).is_file()
    }


def read_scope(request: Request) -> Scope:
    """The scope that an address asks for. Raises `BadInput`."""
    query = request.query_params
    turn = query.get("turn") or None
    if turn is not None and not turn.isdecimal():
        raise BadInput(f"turn = {turn[:40]!r} is no number of a turn; use 1 to 4")
    return Scope(
        wanted=read_filter(query),
        kind=query.get("kind") or None,
        difficulty=query.get("difficulty") or None,
        domain=query.get("domain") or None,
        turn=None if turn is None else int(turn),
    )


def _paper() -> dict[str, Any]:
    """The pilot's sentences, and of each orchestrator in the table the share of the strongest and of its family."""
    paper = paper_bias()
    lines = [
        {"orchestrator": name, "strongest": paper.strongest_share(name), "own": paper.own_share(name)}
        for name in paper.calls_per_task
    ]
    return {
        "source": paper.source,
        "strongest": paper.strongest,
        "pilot": [to_data(one) for one in paper.pilot],
        "table": lines,
    }
