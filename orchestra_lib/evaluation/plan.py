"""The plan of an evaluation: under which conditions its runs are played, and what each of them is called.

It lies in one folder, `plan.json`. A run is called by its evaluation, its orchestrator, its task and its seed, so that
the same command goes on where the last one ended, also with more tasks, seeds or orchestrators; only the conditions
have to stay, or the runs would not be comparable.
"""

import fcntl
import json
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from functools import cache
from pathlib import Path

from orchestra_lib import chat
from orchestra_lib.casting import Order
from orchestra_lib.codec import fingerprint, from_data, to_data
from orchestra_lib.errors import BadInput, StoreFault
from orchestra_lib.evaluation.suites import Item
from orchestra_lib.json_writing import dumps, spoken
from orchestra_lib.limits import Limits
from orchestra_lib.preference import Preference
from orchestra_lib.record import record
from orchestra_lib.store.annotations import MAX_TAG_CHARS

PLAN, REPORT, _LOCK = "plan.json", "report.json", ".lock"
TAG = "eval:"
"""Runs of an evaluation are tagged with its suite, `eval:gsm8k`, and with its own id."""


@record
class Conditions:
    """What all runs of an evaluation have in common. `judge` grades what no check can; `user` plays the user."""

    suite: str
    protocol: str = chat.PROTOCOL
    tools: tuple[str, ...] | None = None
    preference: Preference = Preference()
    prices: str = "nominal"
    limits: Limits = Limits()
    user: str | None = None
    judge: str | None = None


@record
class Plan:
    """An evaluation by its id, which its runs are called by."""

    id: str
    conditions: Conditions

    @property
    def tags(self) -> tuple[str, str]:
        """What its runs are tagged with."""
        return tags_of(self.id, self.conditions.suite)

    def order(self, cell: "Cell") -> Order:
        """One run as the workbench plays it."""
        given, item = self.conditions, cell.item
        return Order(
            task=item.text, reference=item.reference, assignment=item.assignment, orchestrator=cell.orchestrator,
            seed=cell.seed, protocol=given.protocol, preference=given.preference, tools=given.tools,
            prices=given.prices, limits=given.limits, user=given.user if item.assignment is not None else None,
        )  # fmt: skip


@record
class Cell:
    """One orchestrator on one task with one seed."""

    orchestrator: str
    item: Item
    seed: int

    @property
    def key(self) -> str:
        """What its run is called within the evaluation."""
        return f"{_mark(self.orchestrator)}-{self.item.key}-{self.seed}"


@cache
def _mark(orchestrator: str) -> str:
    """What stands for an orchestrator in the names of its runs, which are asked for several times each."""
    return fingerprint(orchestrator)[:6]


def tags_of(plan_id: str, suite: str) -> tuple[str, str]:
    """What the runs of an evaluation are tagged with: the suite, and the evaluation."""
    return f"{TAG}{' '.join(suite.split())}"[:MAX_TAG_CHARS].strip(), plan_id


def run_id(plan: Plan, cell: Cell, attempt: int) -> str:
    """What a run of a cell is called; `attempt` counts from 1, as one that was cut off is played again."""
    return f"{plan.id}-{cell.key}" + (f".{attempt}" if attempt > 1 else "")


def place_of(plan_id: str, run: str) -> tuple[str, int]:
    """The key of the cell that a run belongs to, and the number of the attempt."""
    key, _, attempt = run.removeprefix(f"{plan_id}-").partition(".")
    return key, int(attempt or 1)


def settled(folder: Path, wanted: Conditions, *, limits_given: bool = True) -> Plan:
    """The plan of a folder, begun if it has none. Raises `BadInput` where it has one of other conditions.

    Without `limits_given` the limit of costs of the first time stays, which the budget of that time made.
    """
    file = folder / PLAN
    if not file.is_file():
        plan = Plan(id=f"ev-{secrets.token_hex(4)}", conditions=wanted)
        write_whole(file, dumps(to_data(plan)))
        return plan
    try:
        plan = from_data(json.loads(file.read_text("utf-8")), Plan, where=str(file))
    except (OSError, ValueError) as error:
        raise BadInput(f"{file} cannot be read ({error}); name another folder with --out") from None
    known = plan.conditions
    for part in fields(Conditions):
        here, there = getattr(wanted, part.name), getattr(known, part.name)
        if part.name == "limits" and not limits_given:
            here, there = (_but_cost(one) for one in (here, there))
        if here != there:
            raise BadInput(
                f"{folder} holds an evaluation with {part.name} {_said(there)}, and now {_said(here)} is asked for: "
                "its runs would not be comparable; ask for the same, or name another folder with --out"
            )
    return plan


def _but_cost(limits: Limits) -> dict[str, object]:
    return {part.name: getattr(limits, part.name) for part in fields(Limits) if part.name != "cost_usd"}


def _said(value: object) -> str:
    plain = value if value is None or isinstance(value, str | dict) else to_data(value, type(value))
    return spoken(plain)[:200]


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """The folder for this process alone. Raises `BadInput` while another one is at it, `StoreFault`."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise StoreFault(f"{folder} cannot be used ({error.strerror}); name another folder with --out") from None
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            words = f"another process is at the evaluation in {folder}; wait for it, or name another folder with --out"
            raise BadInput(words) from None
        yield
    finally:
        os.close(descriptor)


def keep_report(folder: Path, text: str) -> None:
    """Write the report of an evaluation beside its plan, whole or not at all. Raises `StoreFault`."""
    write_whole(folder / REPORT, text)


def write_whole(file: Path, text: str) -> None:
    """Write a text, whole or not at all. Raises `StoreFault`."""
    part = file.with_name(f".{file.name}.part")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        part.write_text(f"{text}\n", "utf-8")
        part.replace(file)
    except OSError as error:
        raise StoreFault(f"{file} cannot be written ({error.strerror}); name another folder with --out") from None
