"""Names that say nothing: two syllables each. A quarter of them is held out of all training."""

import zlib
from itertools import product

FIRST = (
    "ba", "ce", "do", "fa", "gi", "he", "ju", "ka", "le", "mi", "no", "pa",
    "ri", "sa", "te", "ul", "ve", "wi", "xa", "yo", "ze", "or", "an", "el",
)  # fmt: skip
SECOND = (
    "bar", "cot", "dun", "fer", "gol", "hin", "jas", "kem", "lor", "mus", "net", "pil",
    "ran", "sod", "tav", "vex", "wig", "xon", "yar", "zul", "mak", "rit", "sel", "dov",
)  # fmt: skip


def is_held_out(name: str) -> bool:
    """Whether no exercise of training may use the name; both of its syllables occur in names that are used."""
    return zlib.crc32(f"name {name}".encode()) % 4 == 0


def syllables(name: str) -> tuple[str, str] | None:
    """The two syllables of a name of ours; None for any other name."""
    for first in FIRST:
        if name.startswith(first) and name[len(first) :] in SECOND:
            return first, name[len(first) :]
    return None


ALL = tuple(first + second for first, second in product(FIRST, SECOND))
KNOWN = tuple(name for name in ALL if not is_held_out(name))
HELD_OUT = tuple(name for name in ALL if is_held_out(name))
