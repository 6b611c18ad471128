"""The rollouts of a training step: all of them from the store, or those that the run's folder kept."""

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from app.training_files import MAX_FILE, Data, entries, finite
from orchestra_lib.codec import from_data
from orchestra_lib.errors import BadInput
from orchestra_lib.store.rollouts import StepFile, step_files
from orchestra_lib.training.run_folder import ROLLOUTS, RunFolder
from orchestra_lib.trajectory import Trajectory

_FILE = re.compile(r"step-(\d{1,9})\.jsonl")


class RolloutFiles:
    """What is kept of the rollouts of run folders, in the store of a home folder and in the run folders themselves."""

    def __init__(self, home: Path) -> None:
        self._home = home

    def stored_as(self, folder: Path) -> str | None:
        """What the store calls a run; None when it holds none of its rollouts."""
        name = RunFolder(folder).stored_as
        return name if (self._home / "rollouts" / name).is_dir() else None

    def steps(self, folder: Path) -> list[int]:
        """The steps of which rollouts are kept."""
        found = (_FILE.fullmatch(one.name) for one in entries(folder / ROLLOUTS))
        return sorted({int(one[1]) for one in found if one} | {one.step for one in self._stored(folder)})

    def rows(self, folder: Path, step: int) -> list[Data]:
        """The rollouts of a step with what each was worth. Raises `BadInput` where none can be read."""
        stored = [one.path for one in self._stored(folder) if one.step == step]
        rows = [row for file in stored or [folder / ROLLOUTS / f"step-{step:06d}.jsonl"] for row in _lines(file, step)]
        return [{**row.pop("worth"), **row} if isinstance(row.get("worth"), dict) else row for row in rows]

    def _stored(self, folder: Path) -> Sequence[StepFile]:
        try:
            return step_files(self._home / "rollouts" / RunFolder(folder).stored_as)
        except OSError:
            return ()


def _lines(file: Path, step: int) -> Iterator[Data]:
    try:
        if file.stat().st_size > MAX_FILE:
            raise BadInput(f"{file} is over {MAX_FILE // 2**20} MiB; find its rollouts among the trajectories")
        lines = file.read_bytes().splitlines()
    except OSError:
        raise BadInput(f"no rollouts of step {step} were kept") from None
    for line in lines:
        try:
            data = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(data, dict):
            yield data


def rollouts_view(rows: Sequence[Data], step: int) -> Data:
    """The rollouts of a step in their groups."""
    made = [_rollout(number, row) for number, row in enumerate(rows)]
    return {"step": step, "rollouts": made}


def _rollout(number: int, row: Data) -> Data:
    try:
        run = trajectory_in(row)
    except BadInput as error:
        return {"number": number, "problem": str(error)[:300], "simulated": False, **_worth(row)}
    setting = run.setting
    titles = {spec.name: (spec.title, str(spec.kind)) for spec in setting.tools}
    bill = run.bill()
    calls = [
        {
            "tool": call.call.tool,
            "title": titles.get(call.call.tool, (call.call.tool, "basic"))[0],
            "kind": titles.get(call.call.tool, ("", "basic"))[1],
            "status": None if call.observation is None else str(call.observation.status),
        }
        for call in run.calls[:20]
    ]
    return {
        "number": number,
        "id": run.id,
        "task": setting.task.text[:300],
        "sentence": setting.sentence[:300],
        "outcome": run.outcome,
        "status": run.status,
        "answer": None if run.answer is None else run.answer[:200],
        "reasoning": [turn.generation.reasoning[:400] for turn in run.turns if turn.generation is not None][:8],
        "calls": calls,
        "cost_usd": bill.cost_usd,
        "latency_s": run.latency_s,
        "simulated": run.simulated,
        **_worth(row, group=setting.group),
    }


def _worth(row: Data, group: str | None = None) -> Data:
    numbers = {name: finite(row.get(name)) for name in ("reward", "advantage")}
    known = {name: value if isinstance(value, (int, float)) else None for name, value in numbers.items()}
    texts = {name: str(value)[:120] if (value := row.get(name)) else None for name in ("why", "kind")}
    named = row.get("group", group)
    return {**known, **texts, "kept": bool(row.get("kept")), "group": None if named is None else str(named)[:120]}


def trajectory_in(row: Data) -> Trajectory:
    """The rollout of a line as the run that it was. Raises `BadInput`."""
    found: Trajectory = from_data(row.get("trajectory"), Trajectory, where="a rollout")
    return found
