"""Model weights: which there are, whether they are here, and fetching them.

A file counts as here only after its SHA-256 was checked once; a note beside it remembers that, by
size and time of change. Where it comes from: the model hub, or packages where the hub is out of reach.
"""

import errno
import json
import shutil
import threading
import tomllib
from collections.abc import Callable, Iterable
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

from filelock import FileLock, Timeout

from orchestra_lib.codec import from_data
from orchestra_lib.errors import BadInput, WeightsFault
from orchestra_lib.json_writing import dumps
from orchestra_lib.model import hub, packages
from orchestra_lib.model.digest import sha256_of
from orchestra_lib.model.draft import Draft, SourceFault, Tick, Weights
from orchestra_lib.model.progress import Progress, WeightsStatus, status_of

CATALOG = Path(__file__).parents[2] / "data" / "models" / "weights.toml"
_SPARE_BYTES = 64 << 20
__all__ = ["WeightsCatalog", "WeightsStatus"]


class WeightsCatalog:
    """The weights that the workbench knows, and the folder `home`/models where it keeps them.

    Methods raise `BadInput` for an unknown name. Several threads and processes may fetch at once:
    one does, the others wait for it.
    """

    def __init__(self, entries: Iterable[Weights], home: Path) -> None:
        self._entries = {entry.name: entry for entry in entries}
        self._folder = home / "models"
        self._live: dict[str, WeightsStatus] = {}

    @classmethod
    def load(cls, home: Path, path: Path = CATALOG) -> "WeightsCatalog":
        """Read the catalogue that ships with the workbench, or another."""
        data = tomllib.loads(path.read_text(encoding="utf-8"))
        return cls(from_data(data.get("weights", []), tuple[Weights, ...], where=path.name), home)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._entries)

    def get(self, name: str) -> Weights:
        """One entry of the catalogue."""
        if name not in self._entries:
            raise BadInput(f"unknown weights {name!r}; there are {', '.join(self._entries) or 'none'}")
        return self._entries[name]

    def status(self, name: str) -> WeightsStatus:
        """Where it stands, without waiting: from the fetch under way in this process, or from the disk."""
        weights = self.get(name)
        if any(self._checked(weights, place) for place in self._places(weights)):
            return status_of(weights, "ready", weights.bytes)
        if (live := self._live.get(name)) is not None:
            return live
        done = Draft(weights, self._target(weights)).size
        return status_of(weights, "partial" if done else "absent", done)

    def path(self, name: str) -> Path:
        """The checked file. Hashes one that lies there unchecked. Raises `WeightsFault` when there is none."""
        weights = self.get(name)
        for place in self._places(weights):
            if self._checked(weights, place) or self._check(weights, place):
                return place
        damaged = " is damaged: its SHA-256 is wrong" if self._target(weights).exists() else " is not here yet"
        raise WeightsFault(f"{weights.title}{damaged}; `orchestra models fetch {name}` downloads it")

    def fetch(
        self,
        name: str,
        on_progress: Callable[[WeightsStatus], None] | None = None,
        cancel: threading.Event | None = None,
    ) -> Path:
        """Make sure that the file is here and right, and return its path; blocks.

        Goes on where an earlier fetch stopped. Raises `WeightsFault` when no source has it, the disk
        is full or `cancel` is set; what has arrived stays for the next time.
        """
        progress = Progress(self.get(name), self._live, on_progress, cancel or threading.Event())
        try:
            place = self._fetch(self.get(name), progress)
        except (WeightsFault, OSError) as error:
            fault = error if isinstance(error, WeightsFault) else _disk_fault(name, error)
            progress.fail(str(fault))
            raise fault from None
        self._live.pop(name, None)
        progress.tell(status_of(self.get(name), "ready", self.get(name).bytes))
        return place

    def _fetch(self, weights: Weights, progress: Progress) -> Path:
        with suppress(WeightsFault):
            return self.path(weights.name)
        self._folder.mkdir(parents=True, exist_ok=True)
        with _locked(self._folder / f"{weights.file}.lock", progress.stop_if_cancelled):
            with suppress(WeightsFault):
                return self.path(weights.name)
            target = self._target(weights)
            target.unlink(missing_ok=True)
            draft = Draft(weights, target)
            _need_space(draft)
            _complete(draft, progress)
            self._remember(weights, target)
            return target

    def _target(self, weights: Weights) -> Path:
        return self._folder / weights.file

    def _places(self, weights: Weights) -> list[Path]:
        packaged = _installed(weights)
        return [place for place in (self._target(weights), packaged) if place is not None and place.is_file()]

    def _note(self, weights: Weights) -> Path:
        return self._folder / f"{weights.file}.checked"

    def _checked(self, weights: Weights, place: Path) -> bool:
        try:
            return bool(json.loads(self._note(weights).read_text()) == _mark(weights, place))
        except (OSError, ValueError):
            return False

    def _check(self, weights: Weights, place: Path) -> bool:
        if place.stat().st_size != weights.bytes or sha256_of(place) != weights.sha256:
            return False
        self._remember(weights, place)
        return True

    def _remember(self, weights: Weights, place: Path) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        self._note(weights).write_text(dumps(_mark(weights, place)))


def _complete(draft: Draft, progress: Progress) -> None:
    """Fill and check the draft from the first source that can."""
    reasons: list[str] = []
    progress.tick(draft.size)
    for name, fill in _sources(draft.weights):
        try:
            fill(draft, progress.tick)
            progress.checking()
            draft.finish()
            return
        except SourceFault as fault:
            reasons.append(f"{name}: {fault}")
    why = "; ".join(reasons) or "no source is known for it"
    raise WeightsFault(
        f"{draft.weights.name} could not be fetched ({why}). Check the network and try again, "
        f"or put {draft.weights.file} into {draft.path.parent} yourself"
    )


def _sources(weights: Weights) -> Iterable[tuple[str, Callable[[Draft, Tick], None]]]:
    if hub.offers(weights):
        yield "model hub", hub.fill
    if weights.pieces:
        yield "packages", packages.fill


def _need_space(draft: Draft) -> None:
    biggest = max((piece.bytes for piece in draft.weights.pieces), default=0)
    need = draft.weights.bytes - draft.size + biggest + _SPARE_BYTES
    free = shutil.disk_usage(draft.path.parent).free
    if free < need:
        raise WeightsFault(
            f"{draft.weights.name} needs {need / 1e6:,.0f} MB on the disk and {free / 1e6:,.0f} MB are free; make room"
        )


class _locked:
    """The lock of one file between processes; gives up when asked to."""

    def __init__(self, path: Path, stop: Callable[[], None]) -> None:
        self._lock = FileLock(path)
        self._stop = stop

    def __enter__(self) -> None:
        while True:
            self._stop()
            with suppress(Timeout):
                self._lock.acquire(timeout=0.5)
                return

    def __exit__(self, *_: object) -> None:
        self._lock.release()


def _installed(weights: Weights) -> Path | None:
    """The file within an installed package that holds it whole; find_spec runs none of the package's code."""
    if len(weights.pieces) != 1:
        return None
    package, _, rest = weights.pieces[0].member.partition("/")
    spec = find_spec(package)
    return Path(spec.submodule_search_locations[0]) / rest if spec and spec.submodule_search_locations else None


def _mark(weights: Weights, place: Path) -> dict[str, object]:
    """What tells a checked file from any other. Its folder is no part of it: a home that moves is not hashed anew."""
    about = place.stat()
    return {"file": place.name, "bytes": about.st_size, "changed_ns": about.st_mtime_ns, "sha256": weights.sha256}


def _disk_fault(name: str, error: OSError) -> WeightsFault:
    full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
    remedy = "free disk space and try again" if full else "check the folder of the workbench's home"
    return WeightsFault(f"{name} could not be written ({error.strerror or error}); {remedy}")
