"""Training as plain data: runs in a list, one run from its folder, the rollouts of a step, runs side by side."""

import tomllib
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from app import training_files as files
from app.training_files import Data, Steps
from app.training_rollouts import RolloutFiles, trajectory_in
from orchestra_lib.errors import BadInput
from orchestra_lib.tool import ToolSpec
from orchestra_lib.training import conducting
from orchestra_lib.training.launching import Launcher

GOING_ON = ("starting", "running")
SHOWN = ("accuracy", "cost_usd", "latency_s", "malformed_rate", "strongest_share")
"""Figures of the last steps in the list of runs."""

LAST = 5
"""Steps that a figure of now is the mean of: one step's is noise."""

_STALE_S = 180.0
_SPARK = 60
_ON_MARKETS = ("tiny", "small")  # scales whose experts are simulated, also before a first rollout says so


# ---- state


def state_view(folder: Path, launcher: Launcher, now: datetime) -> Data:
    """How a run stands, in a state, a word and, where something is wrong, a line that says what."""
    pid, launch, log = launcher.pid(folder), launcher.launch(folder), launcher.log(folder)
    begun = {"pid": pid, "launched": launch is not None, "log": list(log)}
    nothing = {"step": None, "steps": None, "started_at": None, "heartbeat_at": None}
    try:
        said = files.status(folder)
    except BadInput as error:
        if pid is not None:
            return {**begun, **nothing, "state": "starting", "message": "the trainer reads its libraries"}
        if launch is not None and not files.is_run(folder):
            return {**begun, **nothing, "state": "failed", "message": _last_words(log)}
        return {**begun, **nothing, "state": "unreadable", "message": str(error)}
    if launch is not None and pid is not None and said["state"] not in GOING_ON and _before(said, launch.started_at):
        return {**begun, **said, "pid": pid, "state": "starting", "message": "it is being resumed"}
    if said["state"] in GOING_ON and pid is None:
        return {**begun, **said, "pid": None, **_silent(said, launch is not None, log, now)}
    return {**begun, **said, "pid": pid}


def _before(said: Data, started_at: datetime) -> bool:
    """Whether a status was written before a process began that has not said anything yet."""
    quiet = _seconds_since(said["heartbeat_at"], started_at)
    return quiet is None or quiet > 0


def _silent(said: Data, ours: bool, log: Sequence[str], now: datetime) -> Data:
    """A run that says it goes on, without a process here: it may go on elsewhere while its heart beats."""
    quiet = _seconds_since(said["heartbeat_at"], now)
    if not ours and quiet is not None and quiet < _STALE_S:
        return {"message": said["message"] or "it goes on in a process that was not started here", "elsewhere": True}
    why = f": {words}" if ours and (words := _last_words(log)) != _NO_WORDS else ""
    return {"state": "failed", "message": f"its process ended without saying so{why}"}


_NO_WORDS = "its process ended and wrote nothing"


def _last_words(log: Sequence[str]) -> str:
    """The line that says what went wrong: the last that looks like an error, else the last."""
    errors = [line for line in log if "error" in line.lower() or line.startswith("orchestra:")]
    return (errors or list(log) or [_NO_WORDS])[-1]


def _seconds_since(text: str | None, now: datetime) -> float | None:
    try:
        then = datetime.fromisoformat(text or "")
    except ValueError:
        return None
    return (now - (then if then.tzinfo else then.replace(tzinfo=UTC))).total_seconds()


# ---- the list


def run_line(name: str, folder: Path, launcher: Launcher, steps: Steps, now: datetime) -> Data:
    """What the list says of a run: how it stands and the mean of its last steps."""
    state = state_view(folder, launcher, now)
    last = steps.rows[-LAST:]
    return {
        "id": name,
        "title": folder.name,
        "folder": str(folder),
        **{key: state[key] for key in ("state", "message", "step", "steps", "started_at", "heartbeat_at")},
        "last_step": steps.rows[-1]["step"] if steps.rows else None,
        "figures": {one: mean(row[one] for row in last) for one in SHOWN},
        "compliance": {aim: mean(row["compliance"].get(aim) for row in last) for aim in _aims(last)},
        "spark": {one: _thinned([row[one] for row in steps.rows]) for one in ("accuracy", "cost_usd")},
        "alarms": sum(bool(row["alarms"] or row["odd"]) for row in steps.rows),
        "config": settings_of(folder),
        "simulated": _simulated(folder, RolloutFiles(launcher.home)),
        "final": files.final(folder) is not None,
    }


def mean(values: Any) -> float | None:
    """The mean of the numbers that are known; None when none is."""
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _aims(rows: Sequence[Data]) -> list[str]:
    return list(dict.fromkeys(aim for row in rows for aim in row["compliance"]))


def _thinned(values: Sequence[float | None]) -> list[float | None]:
    """At most so many points, each the mean of its stretch."""
    size = -(-len(values) // _SPARK) or 1
    return [mean(values[at : at + size]) for at in range(0, len(values), size)]


# ---- one run


def run_view(name: str, folder: Path, launcher: Launcher, steps: Steps, now: datetime) -> Data:
    """Everything of a run but its steps and rollouts, which are asked for apart."""
    text, config, rollouts = files.config_text(folder), _config(folder), RolloutFiles(launcher.home)
    kept = rollouts.steps(folder)
    tools = _tools(folder, rollouts, (kept[0], kept[-1]) if kept else ())
    return {
        "id": name,
        "title": folder.name,
        "folder": str(folder),
        **state_view(folder, launcher, now),
        "bad_lines": steps.bad,
        "problem": steps.problem,
        "config_text": text,
        "config": flat(config),
        "simulated": _simulated(folder, rollouts),
        "checkpoints": files.checkpoints(folder),
        "final": files.finite(files.final(folder)),
        "rollout_steps": kept,
        "stored_as": rollouts.stored_as(folder),
        "tool_kinds": {one.name[:80]: str(one.kind) for one in tools},
        "command": list(launch.command[-12:]) if (launch := launcher.launch(folder)) else None,
    }


def steps_view(steps: Steps, after: int) -> Data:
    """The steps above `after`; `last` tells a reader whose own last is greater that the run went back to begin anew."""
    rows = [row for row in steps.rows if row["step"] > after]
    return {"rows": rows, "last": steps.rows[-1]["step"] if steps.rows else 0, "bad": steps.bad}


def _config(folder: Path) -> Mapping[str, Any]:
    try:
        return tomllib.loads(files.config_text(folder) or "")
    except tomllib.TOMLDecodeError:
        return {}


def settings_of(folder: Path) -> Data:
    """The settings that a run resolved to, flat; none where they were not saved."""
    return flat(_config(folder))


def flat(config: Mapping[str, Any]) -> Data:
    """The settings that tell one run from another, flat: `grpo.lr` and the like."""
    flat: Data = {}

    def walk(part: Mapping[str, Any], before: str) -> None:
        for key, value in part.items():
            if isinstance(value, Mapping):
                walk(value, f"{before}{key}.")
            elif isinstance(value, (str, int, float, bool, list)):
                flat[f"{before}{key}"[:80]] = files.finite(value) if not isinstance(value, list) else str(value)[:200]

    walk(config, "")
    return dict(list(flat.items())[:200])


def _simulated(folder: Path, rollouts: RolloutFiles) -> bool | None:
    """Whether simulated experts answer: by the scale, else by the first rollouts kept; None where nothing tells."""
    if _config(folder).get("scale") in _ON_MARKETS or (files.final(folder) or {}).get("dialect") == "tiny":
        return True
    tools = _tools(folder, rollouts, rollouts.steps(folder)[:1])
    return any(tool.simulated for tool in tools) if tools else None


def _tools(folder: Path, rollouts: RolloutFiles, steps: Sequence[int]) -> list[ToolSpec]:
    """What was on offer in the kept rollouts of some steps."""
    found: list[ToolSpec] = []
    for step in steps:
        try:
            for row in rollouts.rows(folder, step)[:64]:
                found += trajectory_in(row).setting.tools
        except BadInput:
            continue
    return found


def evaluation_view(folder: Path, launcher: Launcher) -> Data:
    """What an evaluation came to, and how one that was started here stands."""
    card = files.final(folder) or {}
    return {
        "evaluation": files.evaluation(folder),
        "going": launcher.evaluating(folder),
        "problem": launcher.evaluation_problem(folder),
        # What ships was measured over its seeds, by the command that its file names.
        "can": card.get("dialect") == "tiny" and not folder.is_relative_to(conducting.SHIPPED),
    }
