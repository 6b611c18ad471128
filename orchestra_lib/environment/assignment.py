"""An assignment: what a user of a domain wants, what the user knows, and the golden calls that would do it."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from enum import StrEnum
from pathlib import Path
from typing import Any

from orchestra_lib.codec import from_data, to_text
from orchestra_lib.errors import BadInput
from orchestra_lib.record import record


class AssignmentKind(StrEnum):
    """What its golden calls come to: some write, only reads with something to say, or a refusal."""

    WRITE = "write"
    READ = "read"
    REFUSAL = "refusal"


@record
class GoldenCall:
    """One call that the right agent makes."""

    operation: str
    arguments: Mapping[str, Any]


@record
class UserFact:
    """Something the user tells when asked: `says` in the user's words, `asked_by` the words that ask for it.

    `value` is what a golden argument may come from, `name` what it is.
    """

    name: str
    says: str
    asked_by: tuple[str, ...]
    value: Any = None


@record
class Information:
    """What the agent has to tell the user: a number with its unit where it has one, or a text.

    `unit` is a word such as `hours`, `%` or `$`; `aliases` are other ways to say it. Dates match however written.
    """

    value: str | float | int
    unit: str | None = None
    aliases: tuple[str, ...] = ()
    what: str = ""


@record
class Assignment:
    """One task in a domain.

    `instruction` are the user's opening words, `followups` requests that come after the first is settled, `facts`
    what else the user knows, `insists` what the user answers to a refusal, once. `parameters` are values of policy
    parameters that differ from the domain's. `difficulty` names its parts, each a count.
    """

    id: str
    domain: str
    instruction: str
    kind: AssignmentKind
    golden: tuple[GoldenCall, ...]
    facts: tuple[UserFact, ...] = ()
    followups: tuple[str, ...] = ()
    insists: str | None = None
    persona: str = ""
    required: tuple[Information, ...] = ()
    parameters: Mapping[str, Any] = field(default_factory=dict)
    difficulty: Mapping[str, int] = field(default_factory=dict)
    intents: tuple[str, ...] = ()
    split: str = "train"
    seed: int | None = None
    source: str = ""

    @property
    def words(self) -> str:
        """All that the user can say: opening, follow-ups, facts."""
        return "\n".join([self.instruction, *self.followups, *(fact.says for fact in self.facts)])


def to_line(assignment: Assignment) -> str:
    """One line of a JSONL file, without the line end."""
    return to_text(assignment)


def from_line(line: str, *, where: str) -> Assignment:
    """Read one line. Raises `BadInput` that names `where` and the field."""
    try:
        data = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{where}: not JSON ({error})") from None
    return from_data(data, Assignment, where=where)


def read_assignments(file: Path) -> Iterator[Assignment]:
    """The assignments of a JSONL file in its order. Raises `BadInput` that names file and line."""
    try:
        with file.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, start=1):
                if line.strip():
                    yield from_line(line, where=f"{file}:{number}")
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"{file}: cannot be read ({error})") from None


def write_assignments(assignments: Iterable[Assignment], file: Path) -> int:
    """Write them as JSONL, whole or not at all; gives how many."""
    part, count = file.with_name(f"{file.name}.part"), 0
    try:
        with part.open("w", encoding="utf-8", newline="\n") as out:
            for one in assignments:
                out.write(f"{to_line(one)}\n")
                count += 1
        part.replace(file)
    finally:
        part.unlink(missing_ok=True)
    return count
