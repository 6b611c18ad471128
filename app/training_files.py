"""Run folders of training as they lie on the disk: read while another process writes them, and never trusted whole."""

import json
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from orchestra_lib.errors import BadInput
from orchestra_lib.record import record
from orchestra_lib.training.conducting import CARD
from orchestra_lib.training.run_folder import CONFIG, EVALUATION, FINAL, STATUS, STEPS

Data = dict[str, Any]
NUMBERS = (
    "samples", "kept", "groups", "flat_groups", "accuracy", "cost_usd", "latency_s", "malformed_rate",
    "strongest_share", "calls", "completion_tokens", "entropy", "kl", "loss", "grad_norm", "lr", "cpu_s",
    "rollout_cpu_s", "wall_s",
)  # fmt: skip
"""What a step has one number of. Its `reward` is not among them: normalised in each group, it is no curve."""

MAPS = ("excluded", "compliance", "tool_shares")
"""What a step has a number of by name."""

MAX_STEPS, MAX_NAMES, MAX_FILE = 100_000, 40, 32 * 2**20
_CHECKPOINT = re.compile(r"checkpoint-(\d{1,9})")


@record
class Steps:
    """The steps of a run in order; `bad` lines could not be read, of which `problem` tells the first."""

    rows: tuple[Data, ...] = ()
    bad: int = 0
    problem: str | None = None


class StepsReader:
    """Reads only what has been added to a file since it was last asked for it."""

    def __init__(self) -> None:
        self._seen: dict[Path, tuple[tuple[int, int], int, dict[int, Data], int, str | None]] = {}

    def read(self, folder: Path) -> Steps:
        """The steps so far. A step that was played again after a resume counts as it was played last."""
        file = folder / STEPS
        try:
            with file.open("rb") as lines:
                stat = file.stat()
                mark, at, rows, bad, problem = self._seen.get(file, ((0, 0), 0, {}, 0, None))
                if mark != (stat.st_dev, stat.st_ino) or stat.st_size < at:
                    at, rows, bad, problem = 0, {}, 0, None
                lines.seek(at)
                while (line := lines.readline(MAX_FILE)).endswith(b"\n"):  # the last may be half written
                    at += len(line)
                    if not line.strip():
                        continue
                    try:
                        row = step_row(line)
                    except ValueError as error:
                        bad += 1
                        problem = problem or str(error)
                        continue
                    if len(rows) < MAX_STEPS:
                        rows[row["step"]] = row
        except FileNotFoundError:
            return Steps()
        except OSError as error:
            return Steps(problem=f"steps.jsonl cannot be read: {error.strerror or error}")
        self._seen[file] = ((stat.st_dev, stat.st_ino), at, rows, bad, problem)
        return Steps(rows=tuple(rows[step] for step in sorted(rows)), bad=bad, problem=problem)


def step_row(line: bytes) -> Data:
    """One step as finite numbers or None; `odd` names what was NaN or infinite. Raises `ValueError`."""
    try:
        data = json.loads(line)
    except (ValueError, RecursionError):
        raise ValueError(f"a line of steps.jsonl is no JSON: {line[:60]!r}") from None
    if not isinstance(data, dict) or not isinstance(data.get("step"), int) or data["step"] < 0:
        raise ValueError(f"a line of steps.jsonl names no step: {line[:60]!r}")
    odd: list[str] = []
    row: Data = {"step": data["step"], "at": _text(data.get("at"), 40)}
    for name in NUMBERS:
        row[name] = _number(data.get(name), name, odd)
    for name in MAPS:
        found = data.get(name)
        parts = list(found.items())[:MAX_NAMES] if isinstance(found, dict) else []
        row[name] = {key[:80]: _number(value, f"{name}.{key}", odd) for key, value in parts}
    _number(data.get("reward"), "reward", odd)
    alarms = data.get("alarms")
    row["alarms"] = [_text(one, 300) for one in alarms[:20] if one] if isinstance(alarms, list) else []
    row["odd"] = odd
    return row


def _number(value: Any, name: str, odd: list[str]) -> float | int | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    if not math.isfinite(value):
        odd.append(name)
        return None
    return value


def _text(value: Any, most: int) -> str | None:
    return value[:most] if isinstance(value, str) else None


def is_folder(place: Path) -> bool:
    """Whether a folder is there to read; a path that no disk can hold, and one behind a closed door, is none."""
    try:
        return place.is_dir()
    except OSError:
        return False


def status(folder: Path) -> Data:
    """The status of a run as its trainer wrote it last. Raises `BadInput` for none and for one that is none."""
    if not (folder / STATUS).exists() and (folder / CARD).is_file():
        return {
            **dict.fromkeys(("step", "steps", "pid", "started_at", "heartbeat_at")),
            "state": "finished",
            "message": "it ships with the workbench: its steps were kept, its rollouts were not",
        }
    data = _object(folder / STATUS)
    state = data.get("state")
    if state not in ("starting", "running", "finished", "stopped", "failed"):
        raise BadInput(f"{folder / 'status.json'} tells no state that is known, but {str(state)[:40]!r}")
    whole = {name: value if isinstance(value := data.get(name), int) else None for name in ("step", "steps", "pid")}
    texts = {name: _text(data.get(name), 2_000) for name in ("message", "started_at", "heartbeat_at")}
    return {"state": state, **whole, **texts}


def config_text(folder: Path) -> str | None:
    """The resolved settings as they were saved; None when there are none."""
    try:
        with (folder / CONFIG).open("rb") as file:
            return file.read(256 * 1024).decode("utf-8", "replace")
    except OSError:
        return None


def evaluation(folder: Path) -> Any:
    """What an evaluation wrote; None when there was none. Raises `BadInput` for a file that is no JSON object."""
    file = folder / EVALUATION
    return finite(_object(file)) if file.exists() else None


def finite(value: Any) -> Any:
    """Plain data without numbers that JSON has no word for."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(key): finite(part) for key, part in value.items()}
    return [finite(part) for part in value] if isinstance(value, list) else value


def checkpoints(folder: Path) -> list[int]:
    """The steps that it can be resumed from."""
    found = (_CHECKPOINT.fullmatch(one.name) for one in entries(folder))
    return sorted(int(one[1]) for one in found if one)


def final(folder: Path) -> Data | None:
    """The card of the trained policy, of a run or of a checkpoint that ships; None while there is none."""
    for place in (folder / FINAL, folder):
        try:
            return _object(place / CARD)
        except BadInput:
            continue
    return None


def folders(home: Path) -> Iterator[Path]:
    """The run folders in a folder, or the folder itself where it is one; the newest first."""
    if is_run(home):
        yield home
        return
    inside = [one for one in entries(home) if one.is_dir() and not one.name.startswith(".")]
    yield from sorted(inside, key=_changed, reverse=True)


def is_run(folder: Path) -> bool:
    """Whether it looks like a run folder at all."""
    return any((folder / name).is_file() for name in (STATUS, CONFIG, STEPS))


def _changed(folder: Path) -> float:
    times = []
    for file in (folder / STEPS, folder / STATUS, folder):
        try:
            times.append(file.stat().st_mtime)
        except OSError:
            continue
    return max(times, default=0.0)


def entries(folder: Path) -> list[Path]:
    """What lies in a folder; nothing where it cannot be read."""
    try:
        return list(folder.iterdir())
    except OSError:
        return []


def _object(file: Path) -> Data:
    try:
        if file.stat().st_size > MAX_FILE:
            raise BadInput(f"{file} is over {MAX_FILE // 2**20} MiB, which no {file.name} is")
        data = json.loads(file.read_bytes())
    except OSError as error:
        raise BadInput(f"{file} cannot be read: {error.strerror or error}") from None
    except (ValueError, RecursionError):
        raise BadInput(f"{file} is no JSON; it was cut short, or something else wrote it") from None
    if not isinstance(data, dict):
        raise BadInput(f"{file} is no JSON object")
    return data
