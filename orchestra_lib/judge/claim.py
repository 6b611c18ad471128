"""Which part of an answer claims the result, where the answer marks one."""

import re

MAX_CHARS = 50_000
"""Graders read so much of the end of an answer: results stand there."""
_MAX_BOXES = 20

_HASHES = re.compile(r"^[ \t]*####[ \t]*(\S.*)$", re.MULTILINE)
_SAID = re.compile(r"\banswer\s{0,9}(?:\bis\b|\bare\b|[:=])\s{0,9}:?[ \t]{0,9}(\S[^\n]*)", re.IGNORECASE)
_BOLD = re.compile(r"\*\*([^*\n]+)\*\*")
_BOXED = re.compile(r"\\boxed\s*\{")


def ending(answer: str) -> str:
    """The part of an answer that is read."""
    return answer[-MAX_CHARS:]


def marked(answer: str) -> str | None:
    r"""The marked result, None where nothing is marked.

    The last `\boxed{…}`; else the last line that begins with `####`; else the rest of the line behind the last
    "answer is" or "answer:".
    """
    text = ending(answer)
    for found in list(_BOXED.finditer(text))[: -_MAX_BOXES - 1 : -1]:
        if (box := _braced(text, found.end())) is not None:
            return box
    for pattern in (_HASHES, _SAID):
        if lines := pattern.findall(text):
            return str(lines[-1]).replace("**", "").strip()
    return None


def bold(answer: str) -> tuple[str, ...]:
    """Every part in bold, in order."""
    return tuple(found.strip() for found in _BOLD.findall(ending(answer)))


def _braced(text: str, start: int) -> str | None:
    """What stands up to the brace that closes the one before `start`."""
    depth = 1
    for place in range(start, min(len(text), start + 2_000)):
        depth += {"{": 1, "}": -1}.get(text[place], 0)
        if depth == 0:
            return text[start:place].strip()
    return None
