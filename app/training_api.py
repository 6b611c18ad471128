"""The routes of Training: run folders and their steps, rollouts opened as trajectories, runs started and stopped."""

import asyncio
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from fastapi import APIRouter, Request, Response

from app import training_files as files
from app import training_views as views
from app.answers import NotFound, json_body
from app.training_rollouts import RolloutFiles, rollouts_view, trajectory_in
from app.training_seeds import seeds_view
from app.training_starting import launch_view, plan_view, starting_view
from app.training_twice import TASKS_SEED, obstacle, play_twice
from orchestra_lib.codec import dumps, from_data
from orchestra_lib.errors import BadInput
from orchestra_lib.record import record
from orchestra_lib.simulated_tasks import simulated_task
from orchestra_lib.training import conducting, launching
from orchestra_lib.training.launching import Launcher
from orchestra_lib.training.run_folder import STEPS
from orchestra_lib.unfolding import unfold
from orchestra_lib.workbench import Workbench

MOST_FOLDERS = 12
_SHIPPED = "shipped:"


@record
class Begin:
    """A run to start: a config that ships, the name of its folder, settings over the config."""

    config: str
    name: str
    sets: tuple[str, ...] = ()
    beside: bool = False


@record
class About:
    """A run to stop, to resume, or of which a rollout is opened."""

    run: str
    beside: bool = False
    step: int = 0
    number: int = 0


@record
class Twice:
    """A task to be played before and after: its number, and what the user wishes."""

    run: str
    number: int = 0
    wish: str = "cost"


def router(workbench: Workbench, launcher: Launcher) -> APIRouter:
    """Everything under `/training`. A run is its name under the home folder, or the whole path of its folder."""
    made = APIRouter(tags=["training"])
    reader, kept = files.StepsReader(), RolloutFiles(launcher.home)

    def policies() -> conducting.TrainedPolicies:
        return conducting.TrainedPolicies(launcher.folder, conducting.SHIPPED)

    def folder_of(run: str) -> Path:
        if run.startswith(_SHIPPED):
            folder = conducting.SHIPPED / launching.checked_name(run.removeprefix(_SHIPPED))
        else:
            folder = Path(run) if Path(run).is_absolute() else launcher.folder / launching.checked_name(run)
        if not files.is_folder(folder) and launcher.launch(folder) is None:
            raise NotFound(f"there is no run folder {str(folder)[:300]}")
        return folder

    @made.get("/training")
    async def listed(request: Request) -> Response:
        """Every run under the home folder, and of the folders that are given as `also`."""
        also = request.query_params.getlist("also")[:MOST_FOLDERS]
        return await _json(lambda: _listed(launcher, reader, also))

    @made.get("/training/run")
    async def one(run: str) -> Response:
        """A run but for its steps: how it stands, its settings, what there is of it."""

        def found() -> Any:
            folder = folder_of(run)
            view = views.run_view(run, folder, launcher, reader.read(folder), datetime.now(UTC))
            return {**view, "no_twice": obstacle(folder, policies())}

        return await _json(found)

    @made.post("/training/twice")
    async def twice(request: Request) -> Response:
        """One simulated task played by the policy as it began and as it was trained; both are kept as trajectories."""
        wanted = from_data(await json_body(request), Twice, where="training")
        played = await play_twice(workbench, folder_of(wanted.run), policies(), number=wanted.number, wish=wanted.wish)
        return Response(dumps(played), media_type="application/json")

    @made.get("/training/steps")
    async def steps(run: str, after: int = -1) -> Response:
        """The steps above `after`, and how the run stands: what a page that follows it asks for."""

        def found() -> Any:
            folder = folder_of(run)
            state = views.state_view(folder, launcher, datetime.now(UTC))
            steps = views.steps_view(reader.read(folder), after)
            return {**steps, "now": state, "rollout_steps": kept.steps(folder)}

        return await _json(found)

    @made.get("/training/seeds")
    async def seeds(run: str) -> Response:
        """The runs that differ from this one by their seed alone, and what their steps come to together."""
        return await _json(lambda: seeds_view(folder_of(run), reader.read, lambda folder: _name(folder, launcher)))

    @made.get("/training/evaluation")
    async def evaluation(run: str) -> Response:
        """What an evaluation of the run wrote, null without one; whether one goes on, and why the last one failed."""
        return await _json(lambda: views.evaluation_view(folder_of(run), launcher))

    @made.post("/training/evaluation", status_code=202)
    async def evaluate(request: Request) -> dict[str, int]:
        """Measure a trained policy on held-out draws, in a process of its own."""
        about = from_data(await json_body(request), About, where="training")
        return {"pid": await asyncio.to_thread(lambda: launcher.evaluate(folder_of(about.run)))}

    @made.get("/training/task")
    async def task(number: int = 0) -> dict[str, str]:
        """A simulated task, which trained policies conduct: those of the numbers that no training draws."""
        return {"task": simulated_task(TASKS_SEED, abs(number) % 1_000_000).text}

    @made.get("/training/rollouts")
    async def rollouts(run: str, step: int) -> Response:
        """The rollouts of a step with what each was worth: all that the store has, or those that the folder kept."""

        def found() -> Any:
            try:
                return rollouts_view(kept.rows(folder_of(run), step), step)
            except BadInput as error:
                raise NotFound(str(error)) from None

        return await _json(found)

    @made.post("/training/rollouts/open")
    async def opened(request: Request) -> dict[str, str]:
        """Keep one rollout in the store, where the other pages find it; one that is there already is left as it is."""
        about = from_data(await json_body(request), About, where="rollout")
        return {"id": await asyncio.to_thread(lambda: _open(workbench, kept, folder_of(about.run), about))}

    @made.get("/training/configs")
    async def configs() -> Response:
        """The settings that ship, why one cannot be started here, and what is training now."""
        return await _json(lambda: starting_view(launcher, launching.configs()))

    @made.get("/training/plan")
    async def planned(config: str) -> Response:
        """The dry run of a config for a cluster: what a step, a GPU and the experts come to, and what is in the way."""
        return await _json(lambda: plan_view(config, launcher, launching.configs(), workbench.roster))

    @made.post("/training/start", status_code=202)
    async def start(request: Request) -> dict[str, Any]:
        """Start a training run as a process of its own, which outlives the app."""
        begin = from_data(await json_body(request), Begin, where="training")
        wanted = (begin.config, begin.name, begin.sets)
        return launch_view(await asyncio.to_thread(lambda: launcher.start(*wanted, beside=begin.beside)))

    @made.post("/training/stop", status_code=202)
    async def stop(request: Request) -> dict[str, int]:
        """Ask a run to end after its step, with a checkpoint."""
        about = from_data(await json_body(request), About, where="training")
        return {"pid": await asyncio.to_thread(lambda: launcher.stop(folder_of(about.run)))}

    @made.post("/training/resume", status_code=202)
    async def resume(request: Request) -> dict[str, Any]:
        """Go on with a run from its last checkpoint."""
        about = from_data(await json_body(request), About, where="training")
        going = await asyncio.to_thread(lambda: launcher.resume(folder_of(about.run), beside=about.beside))
        return launch_view(going)

    return made


def _listed(launcher: Launcher, reader: files.StepsReader, also: list[str]) -> Any:
    now = datetime.now(UTC)
    found = {folder: _id(folder) for folder in files.folders(launcher.folder) if folder != launcher.folder}
    for launch in launcher.launches():  # one that has no folder yet, or failed before it had one
        if (folder := Path(launch.folder)).parent == launcher.folder:
            found.setdefault(folder, _id(folder))
    for folder in files.folders(conducting.SHIPPED):
        if (folder / STEPS).is_file():
            found[folder] = f"{_SHIPPED}{folder.name}"
    problems = []
    for given in also:
        place = Path(given)
        if not place.is_absolute() or not files.is_folder(place):
            problems.append({"folder": given[:300], "problem": "there is no such folder; give its whole path"})
            continue
        inside = list(files.folders(place))
        if not any(files.is_run(folder) for folder in inside):
            problems.append({"folder": given[:300], "problem": "it holds no training run"})
        found |= {folder: str(folder) for folder in inside if folder not in found and files.is_run(folder)}
    lines = [views.run_line(name, folder, launcher, reader.read(folder), now) for folder, name in found.items()]
    return {"runs": lines, "problems": problems, "folder": str(launcher.folder)}


def _name(folder: Path, launcher: Launcher) -> str:
    """How `run` names a folder."""
    if folder.parent == conducting.SHIPPED:
        return f"{_SHIPPED}{folder.name}"
    return _id(folder) if folder.parent == launcher.folder else str(folder)


def _id(folder: Path) -> str:
    """A run under the home folder goes by its name, where that is one."""
    try:
        return launching.checked_name(folder.name)
    except BadInput:
        return str(folder)


def _open(workbench: Workbench, kept: RolloutFiles, folder: Path, about: About) -> str:
    rows = kept.rows(folder, about.step)
    if not 0 <= about.number < len(rows):
        raise NotFound(f"step {about.step} has {len(rows)} kept rollouts and none of number {about.number}")
    run = trajectory_in(rows[about.number])
    if kept.stored_as(folder) is not None:
        workbench.store.sync()
    elif workbench.journal.put(unfold(run)):
        workbench.journal.sync()
        workbench.store.add(run)
    return run.id


async def _json(make: Any) -> Response:
    return Response(dumps(await asyncio.to_thread(make)), media_type="application/json")
