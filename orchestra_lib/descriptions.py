"""Descriptions of models that somebody wrote: every version with where it comes from, and which one is in use.

They lie in `descriptions/` of the home folder, a file of versions for each tool: lines are added and never changed.
What is in use stands in `in_use.json` there; a tool that is not named in it has the description that ships.
A description is a text of others: its length is bounded, it holds no control characters, and it is shown as text.
"""

import fcntl
import hashlib
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import field, replace
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote, unquote

from orchestra_lib.calibration import Share
from orchestra_lib.chat import inert
from orchestra_lib.codec import dumps, from_data, to_data
from orchestra_lib.errors import BadInput, StoreFault
from orchestra_lib.profilefit import Quantiles
from orchestra_lib.record import record

FOLDER = "descriptions"
IN_USE = "in_use.json"
MOST_CHARS = 700
"""A longer text is no description of a tool: every orchestrator pays to read it in every turn."""

SHIPPED = "shipped"
"""The name of the description that comes with a tool."""

MODEL, PERSON = "model:", "person:"
"""Begin the name of who wrote it."""

WRITTEN, EDITED, RESTORED = "written", "edited", "restored"
_HIDDEN = re.compile("[\x00-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]")


@record
class Measured:
    """What a model came to on the tasks that it is described by.

    `kinds` are shares of right answers by kind of task, `right` all of them; `ungraded` answers nothing could grade,
    `faults` calls brought none. `cost_usd` and `latency_s` are of one call, None where none is known; `unpriced` calls
    have no known cost.
    """

    right: Share
    kinds: Mapping[str, Share] = field(default_factory=dict)
    ungraded: int = 0
    faults: int = 0
    unpriced: int = 0
    cost_usd: Quantiles | None = None
    latency_s: Quantiles | None = None


@record
class Evidence:
    """What a description was written from: tasks by id and their runs, who wrote, and what both cost.

    `described` is the description that the model itself was offered by; costs are None where a part is unknown.
    """

    source: str
    seed: int
    tasks: tuple[str, ...]
    runs: tuple[str, ...]
    measured: Measured
    simulated: bool
    prices: str
    runs_usd: float | None
    writer_usd: float | None


@record
class Description:
    """One version. `how` is `written`, `edited` or `restored` (`of` which version); `by` is `model:NAME` or a person.

    `cut_from` is how many characters a writer gave where that were too many. `sha256` is that of `text`.
    """

    tool: str
    version: int
    text: str
    how: str
    by: str
    at: datetime
    sha256: str
    of: int | None = None
    cut_from: int | None = None
    evidence: Evidence | None = None


def cleaned(text: str) -> str:
    """The text on one line without what could hide or pass for a conversation.

    Raises `BadInput` for an empty text and one that is too long.
    """
    plain = " ".join(_HIDDEN.sub(" ", inert(text)).split())
    if not plain:
        raise BadInput("the description is empty; say in a sentence what the model is good and bad at")
    if len(plain) > MOST_CHARS:
        raise BadInput(f"the description has {len(plain):,} characters; keep it under {MOST_CHARS:,}")
    return plain


class DescriptionBook:
    """The descriptions of one home folder. Methods raise `StoreFault`, and `BadInput` for a file that was broken."""

    def __init__(self, home: Path, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._folder, self._now = home / FOLDER, now

    def tools(self) -> tuple[str, ...]:
        """The tools that have a description of one's own, by name."""
        return tuple(sorted(unquote(file.stem) for file in self._folder.glob("*.jsonl")))

    def history(self, tool: str) -> tuple[Description, ...]:
        """Every version of a tool's description, the first one first; none for an unknown tool."""
        file = self._file(tool)
        try:
            lines = file.read_text("utf-8").splitlines()
        except FileNotFoundError:
            return ()
        except OSError as error:
            raise StoreFault(f"{file} cannot be read: {error.strerror}") from None
        return tuple(_read(line, f"{file}, line {number}") for number, line in enumerate(lines, 1))

    def version(self, tool: str, version: int) -> Description:
        """One version. Raises `BadInput` naming those that there are."""
        found = self.history(tool)
        if not 1 <= version <= len(found):
            there = f"versions 1 to {len(found)}" if found else "no description of one's own"
            raise BadInput(f"{tool[:80]!r} has {there}, and no version {version}")
        return found[version - 1]

    def add(
        self,
        tool: str,
        text: str,
        *,
        how: str,
        by: str,
        of: int | None = None,
        cut_from: int | None = None,
        evidence: Evidence | None = None,
    ) -> Description:
        """Add a version and return it; what is in use does not change. Raises `BadInput` as `cleaned` does."""
        words = cleaned(text)
        with self._alone():
            found = Description(
                tool=tool, version=len(self.history(tool)) + 1, text=words, how=how, by=by, at=self._now(),
                sha256=hashlib.sha256(words.encode("utf-8")).hexdigest(), of=of, cut_from=cut_from, evidence=evidence,
            )  # fmt: skip
            with self._file(tool).open("a", encoding="utf-8") as file:
                file.write(dumps(to_data(found)) + "\n")
                file.flush()
                os.fsync(file.fileno())
        return found

    def edit(self, tool: str, text: str, *, by: str) -> Description:
        """A version that a person wrote. The same text as the newest version is that version again."""
        found = self.history(tool)
        if found and found[-1].text == cleaned(text):
            return found[-1]
        return self.add(tool, text, how=EDITED, by=by, evidence=found[-1].evidence if found else None)

    def restore(self, tool: str, version: int, *, by: str) -> Description:
        """An earlier version once more, as the newest."""
        old = self.version(tool, version)
        return self.add(
            tool, old.text, how=RESTORED, by=by, of=old.version, cut_from=old.cut_from, evidence=old.evidence
        )

    def use(self, tool: str, version: int | None) -> None:
        """Offer the tool by this version from now on, or by what ships (None)."""
        if version is not None:
            self.version(tool, version)
        with self._alone():
            chosen = {**self.in_use(), tool: version}
            kept = {name: number for name, number in sorted(chosen.items()) if number is not None}
            fresh = self._folder / f"{IN_USE}.new"
            fresh.write_text(dumps(kept) + "\n", "utf-8")
            os.replace(fresh, self._folder / IN_USE)

    def in_use(self) -> Mapping[str, int]:
        """Which version of which tool is in use; a tool that is left out has what ships."""
        file = self._folder / IN_USE
        try:
            data = json.loads(file.read_text("utf-8"))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as error:
            raise BadInput(f"{file} cannot be read ({error}); mend it, or move it away") from None
        found: Mapping[str, int] = from_data(data, dict[str, int], where=str(file))
        return found

    def current(self, tool: str) -> Description | None:
        """The description in use; None for what ships."""
        number = self.in_use().get(tool)
        return None if number is None else self.version(tool, number)

    def _file(self, tool: str) -> Path:
        return self._folder / f"{quote(tool, safe='')}.jsonl"

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """One writer at a time, also among processes."""
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            with (self._folder / ".lock").open("w") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                yield
        except OSError as error:
            raise StoreFault(f"the descriptions in {self._folder} could not be written: {error.strerror}") from None


def _read(line: str, where: str) -> Description:
    try:
        data = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{where}: not JSON ({error}); mend the line, or remove it") from None
    found: Description = from_data(data, Description, where=where)
    return replace(found, text=cleaned(found.text))
