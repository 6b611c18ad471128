"""Rows of a JSONL file of conversations: our own export of messages, and others in OpenAI's form.

A row that also holds the whole record, as rollouts of training do, is taken as that.
"""

import json
from collections.abc import Iterator
from dataclasses import fields, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from orchestra_lib.codec import fingerprint, from_data
from orchestra_lib.errors import BadInput
from orchestra_lib.event import fold
from orchestra_lib.importing.conversation import UNKNOWN_MODEL, Source, tool_specs, trajectory_of
from orchestra_lib.importing.fields import Object, as_object, objects, text
from orchestra_lib.importing.row import Row
from orchestra_lib.store.journal import RUN_ID
from orchestra_lib.trajectory import Trajectory
from orchestra_lib.unfolding import unfold

MAX_ROW_BYTES = 64 * 2**20


def rows(file: Path, *, now: datetime) -> Iterator[Row]:
    """Every row of the file; blank lines are none. `now` dates runs whose file gives no times."""
    with file.open("rb") as lines:
        number = 0
        while line := lines.readline(MAX_ROW_BYTES + 1):
            number += 1
            name = f"row {number}"
            if len(line) > MAX_ROW_BYTES:
                while line and not line.endswith(b"\n"):
                    line = lines.readline(MAX_ROW_BYTES)
                yield Row(name=name, problem=f"longer than {MAX_ROW_BYTES // 2**20} MiB; split the conversation")
            elif line.strip():
                yield _row(line, name, file.name, now)


def _row(line: bytes, name: str, file: str, now: datetime) -> Row:
    try:
        return Row(name=name, trajectory=_trajectory(line, f"{file} {name}", now))
    except BadInput as error:
        return Row(name=name, problem=str(error))


def _trajectory(line: bytes, where: str, now: datetime) -> Trajectory:
    try:
        data = json.loads(line.decode("utf-8-sig"), parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise BadInput(f"not JSON ({error}); every line is one JSON object") from None
    row = as_object(data, "the line")
    if "messages" not in row:
        named = ", ".join(list(row)[:8]) or "nothing"
        raise BadInput(f"it has no messages (but {named[:120]}); a row is {{messages: [{{role, content}}, …]}}")
    if row.get("trajectory") is not None:
        return _recorded(row["trajectory"], where)
    messages, tools = objects(row, "messages"), _tools(row)
    if not messages:
        raise BadInput("messages is empty; a conversation has at least what a user says")
    try:
        content = fingerprint({"messages": messages, "tools": tools})
    except (ValueError, RecursionError) as error:
        raise BadInput(f"it holds what JSON cannot say ({error})") from None
    called = text(row, "id")
    return trajectory_of(
        Source(
            run_id=f"import-{content[:24]}",
            origin=f"{where}{f', there {called[:80]}' if called else ''} (OpenAI messages, without times)",
            started_at=now,
            messages=messages,
            tools=tool_specs(tools),
            model=text(row, "model") or UNKNOWN_MODEL,
        )
    )


def _recorded(data: object, where: str) -> Trajectory:
    """A whole record. It says itself what it is, but not that it was made here."""
    trajectory: Trajectory = from_data(data, Trajectory, where="trajectory")
    if trajectory.stop is None:
        raise BadInput(f"trajectory {trajectory.id[:80]!r} has not ended; leave it out")
    try:
        told = fold(unfold(trajectory))
    except ValueError as error:
        raise BadInput(f"trajectory {trajectory.id[:80]!r} is none that can be kept ({error}); leave it out") from None
    if told != trajectory:
        parts = [part.name for part in fields(Trajectory) if getattr(told, part.name) != getattr(trajectory, part.name)]
        raise BadInput(
            f"trajectory {trajectory.id[:80]!r} contradicts itself in {', '.join(parts)}: no run comes to that; export "
            "it again, or leave trajectory out and keep its messages"
        )
    if not RUN_ID.fullmatch(trajectory.id):
        raise BadInput(f"{trajectory.id[:80]!r} is no run id: use up to 128 letters, digits, '.', '_' and '-'")
    setting = replace(trajectory.setting, origin=f"{where}, there {(trajectory.setting.origin or trajectory.id)[:80]}")
    return replace(trajectory, setting=setting)


def _tools(row: Object) -> list[Object]:
    """The tools of a row: a list, the same as JSON text, or OpenAI's older `functions`."""
    given: Any = row.get("tools", row.get("functions"))
    if isinstance(given, str):
        try:
            given = json.loads(given or "[]")
        except (ValueError, RecursionError):
            raise BadInput("tools is a text that is no JSON") from None
    return objects({"tools": given}, "tools")


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is no JSON number")
