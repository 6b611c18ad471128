"""Bitmaps by their bytes: what a browser may be shown as a picture, whatever a file says that it is."""

_STARTS = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
}
_ENDS = {"image/png": b"IEND\xaeB`\x82", "image/jpeg": b"\xff\xd9", "image/gif": b";"}
_PADDING = b"\0\r\n "
"""What some encoders leave behind the end."""


def bitmap_type(data: bytes) -> str | None:
    """The media type of a bitmap by its first bytes; None for all else, also for SVG, which can carry scripts."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for start, kind in _STARTS.items() if data.startswith(start)), None)


def is_whole(data: bytes) -> bool:
    """False for a bitmap that ends before its end mark; anything else counts as whole."""
    kind = bitmap_type(data)
    if kind == "image/webp":
        return len(data) >= 8 + int.from_bytes(data[4:8], "little")
    return kind is None or data.rstrip(_PADDING).endswith(_ENDS[kind])
