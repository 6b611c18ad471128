"""Changes to inputs that keep their form: one value of a JSON document becomes another, or moves."""

import json
import random
from typing import Any

from fuzz.target import Form

ODD: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2**31, 2**63, -(2**63) - 1, 10**40, 0.5, -0.0, 1e308, float("nan"), float("inf"), "",
    " ", "0", "null", "\ud800", "\x00", "a" * 300, "../../x", "<script>", "2026-01-01T00:00:00Z", "9999-12-31T23:59:59",
    "0001-01-01T00:00:00+23:59", [], {}, [[]], [None], {"": None}, {"type": []}, {"$ref": "#/a"}, {"role": "tool"},
)  # fmt: skip
"""Values that readers forget."""
MARKS = (b'"', b"{", b"}", b"[", b"]", b"\\", b"\n", b"\x00", b"\xff", b"<", b"9" * 20)
"""Bytes that mean something to a reader."""
_NEST = 120


def changed(data: bytes, form: Form, rng: random.Random) -> bytes | None:
    """The input with one value changed, None where it has no such form."""
    if form == "jsonl":
        lines = data.split(b"\n")
        place = rng.randrange(len(lines))
        line = changed(lines[place], "json", rng)
        return None if line is None else b"\n".join([*lines[:place], line, *lines[place + 1 :]])
    if form != "json":
        return None
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return None
    places = list(_places(value))
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        value = _change(value, places, rng)
    try:
        return json.dumps(value, ensure_ascii=rng.random() < 0.5).encode("utf-8", "surrogatepass")
    except (ValueError, RecursionError):
        return None


def garbled(data: bytes, rng: random.Random) -> bytes:
    """The bytes with a few of them changed, left out or repeated: what a fuzzer's own mutator does, and no more."""
    made = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(made) + 1)
        end = min(len(made), at + rng.randint(1, 8))
        match rng.randrange(4):
            case 0:
                made[at:end] = rng.randbytes(end - at)
            case 1:
                del made[at:end]
            case 2:
                made[at:at] = made[at:end] * 2
            case 3:
                made[at:at] = rng.choice(MARKS)
    return bytes(made)


def _places(value: Any) -> Any:
    """Every container of a document with each of its keys."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in list(pairs):
        yield value, key
        yield from _places(part)


def _change(value: Any, places: list[tuple[Any, Any]], rng: random.Random) -> Any:
    if not places or rng.random() < 0.02:
        return rng.choice(ODD)
    within, key = rng.choice(places)
    other, name = rng.choice(places)
    try:
        match rng.randrange(6):
            case 0 | 1:
                within[key] = rng.choice(ODD)
            case 2:
                within[key] = json.loads(json.dumps(other[name]))
            case 3:
                del within[key]
            case 4 if isinstance(within, list):
                within.insert(key, within[key])
            case 4:
                within[str(rng.choice(ODD))] = within[key]
            case 5:
                for _ in range(rng.choice((1, 2, _NEST))):
                    within[key] = [within[key]] if rng.random() < 0.5 else {"a": within[key]}
    except (LookupError, ValueError, RecursionError):  # what stood there is gone already, or holds itself
        pass
    return value
