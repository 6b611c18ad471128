"""Files written out in base64 within a text: taken out, so that no model pays to read them.

A picture of a megabyte is some million tokens as text. Data URIs of any type are found, and bitmaps
that stand bare, as in a notebook's output; also where JSON escaped or a mail broke them. What takes
their place is safe within a JSON string.
"""

import base64
import re

from orchestra_lib.bitmap import bitmap_type, is_whole
from orchestra_lib.tool import File

MIN_CHARS = 256
"""Shorter ones stay: they cost little, and code is full of them."""

MAX_FILES = 8
MAX_BYTES = 8 * 2**20
"""The largest file that is taken out of a text and kept, in bytes."""

_BINARY = "application/octet-stream"
_SIGN = r"[A-Za-z0-9+/_-]"
_BREAK = r"(?:\\r\\n|\\n|\r?\n)[ \t]*"
_BODY = rf"(?:{_SIGN}{{60,80}}{_BREAK}(?={_SIGN}))*+(?:{_SIGN}++|\\/|%2[BbFf])++(?:=|%3[Dd]){{0,2}}"
_INLINE = re.compile(
    r"(?i:data:(?P<declared>[\w.+-]+\\?/[\w.+-]+)?(?:;[\w.-]+=[\w.-]+)*;base64,)" + rf"(?P<uri>{_BODY})"
    r"|(?<![A-Za-z0-9+/])(?P<bare>(?=iVBORw0KGgo|\\?/9j\\?/|R0lGOD[dl]h|UklGR)" + rf"{_BODY})",
    re.ASCII,
)
_BREAKS = re.compile(_BREAK)
_WRITTEN = {"\\r": "", "\\n": "", "\\/": "/", "%2B": "+", "%2F": "/", "%3D": "="}
_ESCAPE = re.compile(r"\\r|\\n|\\/|%2[BF]|%3D", re.IGNORECASE)
_URL_SAFE = str.maketrans("-_", "+/", " \t\r\n=")


def take_out(text: str) -> tuple[str, tuple[File, ...]]:
    """The text with type, size and name in place of each file, and the files; of many only the first are kept."""
    found = _Found()
    return _INLINE.sub(found.words, text), tuple(found.files.values())


class _Found:
    """The files of one text so far, by their content: the same picture twice is one file."""

    def __init__(self) -> None:
        self.files: dict[bytes, File] = {}

    def words(self, match: re.Match[str]) -> str:
        written = match["uri"] or match["bare"]
        if len(written) < MIN_CHARS:
            return match[0]
        data, behind, whole = _read(written)
        kind = bitmap_type(data)
        if kind is None and match["bare"]:
            return match[0]
        media_type = kind or _declared(match["declared"])
        if not whole:
            return f"[{media_type}, cut off: {len(written):,} characters left out]"
        name = self._name(data, media_type)
        return f"[{media_type}, {len(data):,} bytes, {f'kept as {name}' if name else 'not kept'}]{behind}"

    def _name(self, data: bytes, media_type: str) -> str | None:
        if data not in self.files:
            if len(self.files) == MAX_FILES or len(data) > MAX_BYTES:
                return None
            number = len(self.files) + 1
            picture = media_type.startswith("image/")
            name = f"image-{number}.{media_type.removeprefix('image/')}" if picture else f"data-{number}.bin"
            self.files[data] = File(name=name, media_type=media_type, data=data)
        return self.files[data].name


def _read(written: str) -> tuple[bytes, str, bool]:
    """The bytes, what stands behind them, and whether none is missing.

    A word on the line below looks like more of the same: it is left out where the picture is whole without it.
    """
    *_, last = (0, *(found.start() for found in _BREAKS.finditer(written)))
    for end in (len(written), last):
        data, whole = _decoded(written[:end])
        if whole:
            return data, written[end:], True
    return _decoded(written)[0], "", False


def _decoded(written: str) -> tuple[bytes, bool]:
    """As many bytes as there are signs for, and whether they end where they should."""
    plain = _ESCAPE.sub(lambda found: _WRITTEN[found[0].upper() if found[0][0] == "%" else found[0]], written)
    signs = plain.translate(_URL_SAFE)
    odd = len(signs) % 4 == 1
    signs = signs[:-1] if odd else signs
    data = base64.b64decode(signs + "=" * (-len(signs) % 4))
    return data, bool(data) and not odd and is_whole(data)


def _declared(media_type: str | None) -> str:
    """What a data URI says that it is; a picture that is no bitmap is not to be shown as one."""
    kind = (media_type or _BINARY).replace("\\", "").lower()
    return _BINARY if kind.startswith("image/") else kind
