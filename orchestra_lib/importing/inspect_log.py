"""Logs of inspect_ai (inspect.aisi.org.uk, log schema 2): a zip archive of JSON (`.eval`), or one `.json` file.

Every sample is a trajectory. Its conversation is the sample's `messages`; its events tell times, usage and errors. A
model that was asked within a tool stands on that call's ledger, one that was asked by a scorer is the judge.
"""

import json
import math
import sys
import zlib
from collections.abc import Iterator
from datetime import datetime
from lzma import LZMAError
from pathlib import Path
from typing import IO, Any

from orchestra_lib.errors import BadInput
from orchestra_lib.importing.fields import Object, as_object, objects, text
from orchestra_lib.importing.inspect_sample import trajectory_of_sample
from orchestra_lib.importing.row import Row

if sys.version_info >= (3, 14):
    import zipfile

    from compression import zstd
else:  # inspect_ai compresses with Zstandard, which older standard libraries cannot read
    from backports import zstd
    from backports.zstd import zipfile

_NOT_UNPACKED = (
    RuntimeError, NotImplementedError, OSError, EOFError, zipfile.BadZipFile, zlib.error, LZMAError, zstd.ZstdError,
    UnicodeDecodeError,
)  # fmt: skip
"""What a member that is damaged, misnamed, locked with a password or packed in an unknown way raises."""
ZIP = b"PK\x03\x04"
SCHEMA = 2
"""The newest schema of logs that is known here."""
MAX_SAMPLE_BYTES = 512 * 2**20
MAX_JSON_BYTES = 256 * 2**20
_HEADERS = ("header.json", "_journal/start.json")
"""What tells of the evaluation: at its end, or, for one that did not end, from its start."""


def rows(file: Path, *, now: datetime) -> Iterator[Row]:
    """Every sample of the log. Raises `BadInput` for what is no log; `now` dates samples without times."""
    with file.open("rb") as opened:
        if opened.read(len(ZIP)) == ZIP:
            yield from _zipped(file, now)
        else:
            yield from _plain(file, now)


def _zipped(file: Path, now: datetime) -> Iterator[Row]:
    try:
        with zipfile.ZipFile(file) as archive:
            names = archive.namelist()
            header = next((name for name in _HEADERS if name in names), None)
            if header is None:
                raise BadInput(f"{file} is an archive, but no log of inspect_ai: it has no {_HEADERS[0]}")
            evaluation = _evaluation(_member(archive, header), file)
            for name in names:
                if name.startswith("samples/") and name.endswith(".json"):
                    yield _row(lambda name=name: _member(archive, name), name, evaluation, file, now)
    except (zipfile.BadZipFile, EOFError, NotImplementedError, UnicodeDecodeError) as error:
        # Also a version of zip that is still to come, and a name that is said to be UTF-8 and is not.
        raise BadInput(f"{file} is no whole zip archive ({error}); copy it again from where it was written") from None


def _member(archive: "zipfile.ZipFile", name: str) -> Object:
    """One file of the archive. Raises `BadInput`."""
    size = archive.getinfo(name).file_size
    if size > MAX_SAMPLE_BYTES:
        raise BadInput(f"it has {size:,} bytes; the limit is {MAX_SAMPLE_BYTES:,}")
    try:
        with archive.open(name) as member:
            return as_object(_load(member), name)
    except _NOT_UNPACKED as error:
        raise BadInput(f"it cannot be unpacked ({error})") from None


def _plain(file: Path, now: datetime) -> Iterator[Row]:
    size = file.stat().st_size
    if size > MAX_JSON_BYTES:
        raise BadInput(
            f"{file} has {size:,} bytes and would be held in memory whole; turn it into an .eval log first: "
            "inspect log convert --to eval"
        )
    with file.open("rb") as opened:
        try:
            log = as_object(_load(opened), "the file")
        except BadInput as error:
            raise BadInput(f"{file} is no log of inspect_ai: {error}") from None
    evaluation = _evaluation(log, file)
    for place, sample in enumerate(objects(log, "samples"), start=1):
        yield _row(lambda sample=sample: sample, f"sample {place}", evaluation, file, now)


def _load(opened: IO[bytes]) -> Any:
    """JSON as inspect_ai writes it: with NaN and infinities, which become null."""
    try:
        return json.loads(opened.read().decode(), parse_constant=lambda _: None, parse_float=_finite)
    except (ValueError, RecursionError) as error:
        raise BadInput(f"not JSON ({error})") from None


def _finite(digits: str) -> float | None:
    value = float(digits)
    return value if math.isfinite(value) else None


def _evaluation(header: Object, file: Path) -> Object:
    version = header.get("version")
    if isinstance(version, int) and version > SCHEMA:
        raise BadInput(f"{file}: log schema {version}, but this workbench reads {SCHEMA}; update it to read newer logs")
    if version != SCHEMA or not isinstance(header.get("eval"), dict):
        raise BadInput(f"{file} is no inspect_ai log of schema {SCHEMA}; convert older ones with inspect log convert")
    return as_object(header["eval"], "eval")


def _row(load: Any, name: str, evaluation: Object, file: Path, now: datetime) -> Row:
    try:
        sample = load()
        named = f"sample {text(sample, 'id')} epoch {text(sample, 'epoch')}"
        return Row(name=named, trajectory=trajectory_of_sample(sample, evaluation, f"{file.name} {named}", now))
    except BadInput as error:
        return Row(name=name, problem=str(error))
