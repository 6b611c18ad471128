"""Assignments as runs of the workbench: where they lie, the task and the tools they make, the verdict on a run.

A run keeps its assignment whole and the SHA-256 of its domain, and the domain is kept once under the home folder, so
that it is judged as on its day after the files have changed.
"""

import gzip
import json
import os
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from threading import get_ident
from typing import Any

from orchestra_lib import chat
from orchestra_lib.check import Check, CheckKind
from orchestra_lib.codec import fingerprint, from_data, to_data
from orchestra_lib.environment.assignment import Assignment, read_assignments
from orchestra_lib.environment.changes import Change, changes
from orchestra_lib.environment.domain import DOMAINS, World, domain_names, load_world, records_of
from orchestra_lib.environment.domain_tools import chat_task, domain_task, domain_tools, state_of, verdict_of
from orchestra_lib.environment.schema import Domain
from orchestra_lib.environment.success import Verdict, golden_of, replay
from orchestra_lib.environment.user import ModelUser, StatedUser, User
from orchestra_lib.errors import BadInput, StoreFault
from orchestra_lib.json_writing import dumps
from orchestra_lib.judge.state import Found
from orchestra_lib.paths import DATA
from orchestra_lib.protocols import ChatModel, Tool
from orchestra_lib.record import record
from orchestra_lib.task import Assigned, Task
from orchestra_lib.trajectory import Trajectory

SAMPLE = DATA / "toolscale_sample"
"""Assignments that ship, to look at and to play without making any."""


@record
class Judged:
    """What a run in a domain came to: the verdict, and what it and the golden calls changed.

    `as_then` is False when the domain of that day is kept nowhere and that of today had to do.
    """

    verdict: Verdict
    changed: tuple[Change, ...]
    golden: tuple[Change, ...]
    as_then: bool = True


class Assignments:
    """The assignments of a home folder, before those that ship, with the domains they belong to."""

    def __init__(self, home: Path, domains: Path = DOMAINS) -> None:
        self.folder = home / "toolscale"
        self._kept, self._domains = home / "worlds", domains

    def files(self) -> Mapping[str, Path]:
        """The file of each domain that has one: `DOMAIN.jsonl`, made here or else shipped.

        What was made of one domain alone lies in a folder of its name and comes first.
        """
        folders = (SAMPLE, self.folder, *(self.folder / name for name in domain_names(self._domains)))
        found = {file.stem: file for folder in folders for file in sorted(folder.glob("*.jsonl"))}
        return {name: file for name, file in sorted(found.items()) if name in domain_names(self._domains)}

    def of(self, domain: str) -> tuple[Assignment, ...]:
        """The assignments of a domain, none when there is no file. Raises `BadInput` for an unreadable one."""
        file = self.files().get(domain)
        if file is None:
            return ()
        stat = file.stat()
        return _read(file, stat.st_mtime_ns, stat.st_size)

    def find(self, name: str) -> Assignment:
        """The one that `DOMAIN/ID` names. Raises `BadInput`."""
        domain, _, wanted = name.partition("/")
        found = next((one for one in self.of(domain) if one.id == wanted), None)
        if found is None:
            known = ", ".join(f"{one}/…" for one in self.files()) or "none"
            raise BadInput(
                f"there is no assignment {name[:120]!r}; write DOMAIN/ID as the ToolScale page does, there are {known}"
            )
        return found

    def world(self, domain: str) -> World:
        """A domain as its files have it now. Raises `BadInput`."""
        return _world(domain, self._domains, _stamp(self._domains / domain))[0]

    def assigned(self, assignment: Assignment, user: str | None) -> Assigned:
        """What a run of this assignment keeps of it."""
        _, digest = _world(assignment.domain, self._domains, _stamp(self._domains / assignment.domain))
        return Assigned(domain=assignment.domain, world=digest, assignment=to_data(assignment), user=user)

    def keep(self, assigned: Assigned) -> None:
        """Keep the domain of a run beside it, once for all runs in it. Raises `StoreFault`."""
        file = self._file(assigned)
        if file.exists():
            return
        world, digest = _world(assigned.domain, self._domains, _stamp(self._domains / assigned.domain))
        if digest != assigned.world:
            return  # the files have changed this very moment: the verdict will say that it is not as then
        part = file.with_suffix(f".{os.getpid()}-{get_ident()}.part")  # several may come to the same domain at once
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            part.write_bytes(gzip.compress(dumps(_plain(world)).encode("utf-8"), mtime=0))
            part.replace(file)
        except OSError as error:
            raise StoreFault(f"the domain of the run cannot be kept in {file} ({error.strerror})") from None

    def world_of(self, assigned: Assigned) -> tuple[World, bool]:
        """The domain of a run, and whether it is that of its day. Raises `BadInput` when there is none at all."""
        try:
            world, digest = _world(assigned.domain, self._domains, _stamp(self._domains / assigned.domain))
        except BadInput:
            world, digest = None, ""
        if digest != assigned.world and (file := self._file(assigned)).is_file():
            return _kept(file), True
        if world is None:
            raise BadInput(f"the domain {assigned.domain[:60]!r} of this run is neither kept nor shipped any more")
        return world, digest == assigned.world

    def _file(self, assigned: Assigned) -> Path:
        if not assigned.world.isalnum():  # a run may come from anybody's file
            raise BadInput(f"the run's domain has no digest but {assigned.world[:80]!r}")
        return self._kept / f"{assigned.world}.json.gz"

    def judged(self, trajectory: Trajectory) -> Judged:
        """What a run came to, from its record. Raises `BadInput` for one without an assignment."""
        assigned = trajectory.setting.assigned
        if assigned is None:
            raise BadInput(f"run {trajectory.id} has no database to look at: it was played in no domain")
        assignment = assignment_of(assigned)
        world, as_then = self.world_of(assigned)
        varied = with_parameters(world, assignment)
        golden_of(varied, assignment)
        return Judged(
            verdict=verdict_of(world, assignment, trajectory),
            changed=changes(state_of(varied, trajectory)),
            golden=changes(replay(varied, assignment.golden)[0]),
            as_then=as_then,
        )

    def look(self, trajectory: Trajectory) -> Found:
        """The three conditions of a run, as a grader asks for them."""
        judged = self.judged(trajectory)
        verdict = judged.verdict
        stale = () if judged.as_then else ("judged in the domain of today, that of the run is not kept",)
        return Found(
            conditions={"state": verdict.state_ok, "said": verdict.said_ok, "touched": verdict.touched_ok},
            reasons=(*verdict.reasons, *(f"conduct, not judged: {one}" for one in verdict.conduct), *stale),
        )


def assignment_in(place: str) -> Assignment:
    """The one that `FILE.jsonl:ID` names, or the only one of `FILE.jsonl`. Raises `BadInput`.

    Only a command line may name files; pages and orders of others cannot.
    """
    name, separator, wanted = place.rpartition(".jsonl:")
    found = tuple(read_assignments(Path(f"{name}.jsonl" if separator else place)))
    if separator:
        found = tuple(one for one in found if one.id == wanted)
    if len(found) != 1:
        words = "one assignment of that id" if separator else "one assignment, or write FILE.jsonl:ID"
        raise BadInput(f"{place}: it has {len(found):,} that fit; name a file with {words}")
    return found[0]


def assignment_of(assigned: Assigned) -> Assignment:
    """The assignment that a run kept. Raises `BadInput`."""
    return from_data(assigned.assignment, Assignment, where=f"assignment of a run in {assigned.domain[:60]}")


def with_parameters(world: World, assignment: Assignment) -> World:
    """The domain with the policy parameters of an assignment."""
    return world.with_parameters(assignment.parameters) if assignment.parameters else world


def task_of(world: World, assignment: Assignment, protocol: str) -> Task:
    """What the orchestrator is asked: under `chat` with the policy, which other protocols show by themselves."""
    task = chat_task(world, assignment) if protocol == chat.PROTOCOL else domain_task(assignment)
    return replace(task, check=Check(kind=CheckKind.STATE))


def tools_of(world: World, assignment: Assignment, model: ChatModel | None, seed: int | None) -> tuple[Tool, ...]:
    """The operations and `ask_user`; `model` plays the user, or nobody but the rules."""
    user: User = StatedUser(assignment) if model is None else ModelUser(assignment, model, seed=seed)
    return domain_tools(world, user)


@lru_cache(maxsize=32)
def _read(file: Path, _changed_ns: int, _size: int) -> tuple[Assignment, ...]:
    return tuple(read_assignments(file))


def _stamp(folder: Path) -> tuple[int, ...]:
    """When the files of a domain were last written."""
    return tuple(file.stat().st_mtime_ns for file in sorted(folder.glob("*.json")))


@lru_cache(maxsize=16)
def _world(domain: str, folder: Path, _changed: tuple[int, ...]) -> tuple[World, str]:
    world = load_world(domain, folder)
    return world, fingerprint(_plain(world))


@lru_cache(maxsize=8)
def _kept(file: Path) -> World:
    try:
        data = json.loads(gzip.decompress(file.read_bytes()))
        domain = from_data(data["domain"], Domain, where=str(file))
        return World(domain, records_of(data["records"], domain, where=str(file)))
    except (OSError, EOFError, ValueError, TypeError, KeyError) as error:
        raise BadInput(f"{file}: not a domain as a run keeps it ({error})") from None


def _plain(world: World) -> dict[str, Any]:
    return {"domain": to_data(world.domain), "records": world.records}
