"""Trained checkpoints as orchestrators: found in folders, known by their card, loaded when they first conduct.

Nothing of torch is imported before that, and then in a thread, so that a page which only lists them stays quick.
"""

import asyncio
import json
import threading
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any, Protocol

from orchestra_lib.errors import BadInput, WeightsFault
from orchestra_lib.generation import Delta, Generation
from orchestra_lib.orchestrators import Offer
from orchestra_lib.paths import DATA
from orchestra_lib.protocols import Policy, PolicySpec, Situation
from orchestra_lib.record import record
from orchestra_lib.roster import Roster
from orchestra_lib.tool import ToolKind, ToolSpec
from orchestra_lib.training.launching import TRAINING
from orchestra_lib.training.run_folder import FINAL
from orchestra_lib.training.tiny.dialect import offered

SHIPPED = DATA / "checkpoints"
"""The checkpoints that ship."""

CARD = "orchestra.json"
PREFIX = "trained:"
MOST_TOOLS = 6
"""Simulated experts that a tiny policy is given when nobody says which. It was trained on three or four, and measured
with the six that ship (benchmarks/README.md)."""

_STAGES = {"skills": "skills only", "warm_start": "warm start", "sft": "warm start", "grpo": "GRPO"}
_NOTE = "conducts simulated experts alone, of tasks with a known answer; try a simulated task"
_MAX_INPUT, _MAX_OUTPUT = 512, 64


@record
class Checkpoint:
    """A trained policy on the disk. `problem` says why it cannot conduct."""

    name: str
    folder: Path
    dialect: str = ""
    stage: str = ""
    problem: str | None = None

    @property
    def title(self) -> str:
        stage = _STAGES.get(self.stage, self.stage.replace("_", " "))
        return f"{self.name} (trained{f': {stage}' if stage else ''}, simulated)"


def join(roster: Roster, home: Path) -> None:
    """Offer the trained policies of a home folder, and those that ship, among the orchestrators of a roster."""
    roster.others.append(TrainedPolicies(home / TRAINING))


class TrainedPolicies:
    """The checkpoints that ship and those of finished runs of one home folder; the user's own win."""

    def __init__(self, runs: Path, shipped: Path = SHIPPED) -> None:
        self._places = (shipped, runs)
        self._weights: dict[Path, Weights] = {}

    def checkpoints(self) -> dict[str, Checkpoint]:
        """What is there now, by name."""
        found = {}
        for place in self._places:
            for folder in sorted(place.glob("*/")):
                where = next((one for one in (folder / FINAL, folder) if (one / CARD).is_file()), None)
                if where is not None:
                    found[folder.name] = _read(folder.name, where)
        return found

    def offers(self) -> tuple[Offer, ...]:
        """What can be chosen in a picker."""
        return tuple(
            Offer(
                name=PREFIX + one.name, title=one.title, note=_NOTE,
                off=one.problem, simulated=True,
            )
            for one in self.checkpoints().values()
        )  # fmt: skip

    def policy(self, name: str) -> Policy:
        """One of `offers` to conduct with. Raises `BadInput`."""
        checkpoint = self.checkpoints().get(name.removeprefix(PREFIX))
        if checkpoint is None:
            raise BadInput(f"there is no trained policy {name[:80]!r}; train one with `orchestra train`")
        if checkpoint.problem is not None:
            raise BadInput(f"{name} cannot conduct: {checkpoint.problem}")
        weights = self._weights.setdefault(checkpoint.folder, Weights(checkpoint.folder))
        return TrainedPolicy(checkpoint, weights)


class Mover(Protocol):
    """What a checkpoint is once it is in memory: it makes the moves of any number of runs."""

    def move(self, situation: Situation, spec: PolicySpec) -> AsyncGenerator[Delta | Generation, None]: ...


class Weights:
    """A checkpoint that is read when it is first needed, once, and again when its file has changed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._loaded: Mover | None = None
        self._stamp: tuple[int, ...] = ()

    def loaded(self) -> Mover:
        """It in memory; blocks for seconds the first time. Raises `WeightsFault`."""
        with self._lock:
            try:
                stamp = tuple(file.stat().st_mtime_ns for file in sorted(self._folder.glob("*.safetensors")))
                if self._loaded is None or stamp != self._stamp:
                    self._loaded, self._stamp = _read_tiny(self._folder), stamp
            except (BadInput, OSError) as error:
                raise WeightsFault(str(error)) from None
            return self._loaded


class TrainedPolicy:
    """A checkpoint as a `ParticularPolicy` and a `PreparedPolicy`: over simulated experts, whose descriptions state
    price, time and skills.

    Raises `WeightsFault` from `act` when it cannot be loaded.
    """

    def __init__(self, checkpoint: Checkpoint, weights: Weights) -> None:
        self.spec = PolicySpec(
            name=PREFIX + checkpoint.name, max_input_tokens=_MAX_INPUT, max_output_tokens=_MAX_OUTPUT
        )
        self._weights = weights

    def choose(self, tools: Sequence[ToolSpec]) -> tuple[str, ...]:
        """Generalists before specialists, since a task may be of any kind."""
        able = [spec for spec in tools if _reason(spec) is None]
        able.sort(key=lambda spec: spec.kind is not ToolKind.GENERALIST)
        return tuple(spec.name for spec in able[:MOST_TOOLS])

    def refusal(self, tools: Sequence[ToolSpec]) -> str | None:
        """Why not these tools; None when it can."""
        bad = [f"{spec.name} {why}" for spec in tools if (why := _reason(spec)) is not None]
        if bad:
            return f"{'; '.join(bad[:3])}. It was trained on simulated experts: take tools such as sim:small, or none"
        return None if tools else "there is no simulated expert on offer; take tools such as sim:small,sim:strongest"

    async def prepare(self) -> None:
        """Read the weights into memory, where they are not: torch alone takes seconds. Raises `WeightsFault`."""
        await asyncio.to_thread(self._weights.loaded)

    async def act(self, situation: Situation) -> AsyncGenerator[Delta | Generation, None]:
        """The move of this turn."""
        mover = await asyncio.to_thread(self._weights.loaded)
        async with aclosing(mover.move(situation, self.spec)) as parts:
            async for part in parts:
                yield part


def _reason(spec: ToolSpec) -> str | None:
    if not spec.simulated:
        return "is no simulated expert"
    return None if offered(spec.description) else "states no price, time and skills"


def _read(name: str, folder: Path) -> Checkpoint:
    try:
        data: Any = json.loads((folder / CARD).read_text("utf-8"))
    except (OSError, ValueError):
        return Checkpoint(name=name, folder=folder, problem=f"{folder / CARD} cannot be read")
    if not isinstance(data, dict):
        return Checkpoint(name=name, folder=folder, problem=f"{folder / CARD} is no JSON object")
    texts = {key: str(data.get(key) or "")[:80] for key in ("dialect", "stage")}
    problem = None
    if texts["dialect"] != "tiny":
        problem = f"its dialect is {texts['dialect'] or 'unknown'!r}; only tiny policies conduct here so far"
    elif not any(folder.glob("*.safetensors")):
        problem = f"{folder} holds no weights"
    return Checkpoint(name=name, folder=folder, problem=problem, **texts)


def _read_tiny(folder: Path) -> Mover:
    from orchestra_lib.training.loaded import (
        LoadedTiny,
    )  # torch takes seconds, and a list of policies has no need of it

    return LoadedTiny(folder)
