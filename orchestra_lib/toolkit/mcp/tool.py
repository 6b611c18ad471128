"""One tool of an MCP server as a tool of the engine. Whatever it says is a third party's word."""

import base64
import binascii
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from orchestra_lib.errors import BadInput, ServerFault
from orchestra_lib.json_writing import spoken
from orchestra_lib.protocols import ToolResult
from orchestra_lib.tool import File, ToolSpec
from orchestra_lib.toolkit.foreign_schema import plain_parameters
from orchestra_lib.toolkit.mcp.entry import MAX_TOOLS, Listing, Offered, ServerEntry
from orchestra_lib.toolkit.mcp.session import CONNECT_S, Session

if TYPE_CHECKING:
    from mcp.types import Tool as Listed

MAX_DESCRIPTION = 1_500
_NO_NAME = re.compile(r"[^A-Za-z0-9_-]")
_UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]+")
_MEDIA = re.compile(r"[a-z]+/[A-Za-z0-9.+-]{1,60}")


def listing_of(tools: "Sequence[Listed]") -> Listing:
    """What a server lists, as it can be offered; what cannot is left out with the reason."""
    offered: dict[str, Offered] = {}
    refused: dict[str, str] = {}
    for tool in tools:
        name = tool.name[:200]
        wire = _NO_NAME.sub("_", name)
        try:
            if len(offered) >= MAX_TOOLS:
                raise BadInput(f"the server lists more than {MAX_TOOLS} tools")
            if not wire.strip("_"):
                raise BadInput("its name has no letter or digit")
            if wire in {_NO_NAME.sub("_", other) for other in offered}:
                raise BadInput("another tool of the server has this name, as models can write it")
            parameters = plain_parameters(tool.input_schema, where=name)
        except BadInput as error:
            refused[name] = str(error)
            continue
        title = _said(tool.title or "", 80) or None
        described = _said(tool.description or "", MAX_DESCRIPTION)
        offered[name] = Offered(name=name, description=described, parameters=parameters, title=title)
    return Listing(tools=tuple(offered.values()), refused=refused)


def _said(text: str, most: int) -> str:
    """Words of a server on one line, without characters that nobody sees."""
    line = " ".join(_UNSEEN.sub(" ", text).split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


class McpTool:
    """Calls its server; the server checks the arguments once more by its own schema."""

    def __init__(self, offered: Offered, entry: ServerEntry, session: Session) -> None:
        name = f"{session.name}-{_NO_NAME.sub('_', offered.name)}"[:64]
        self.spec = ToolSpec(
            name=name,
            title=offered.title or f"{session.name}: {offered.name}"[:80],
            description=f"{offered.description or 'Not described.'} (Described by its provider, {session.name}.)",
            parameters=offered.parameters,
            timeout_s=entry.timeout_s + CONNECT_S + 1.0,  # the first call may have to start the server
            third_party=session.name,
        )
        self._offered, self._session = offered, session

    async def call(self, arguments: Mapping[str, Any], *, run_id: str) -> ToolResult:
        """What the server's tool returns: its texts, and what else there is as files. Raises `ServerFault`."""
        result = await self._session.call(self._offered.name, arguments)
        texts, files = [], []
        for place, block in enumerate(result.content, start=1):
            text, file = _read(block, place)
            texts += [text] if text else []
            files += [file] if file else []
        if not texts and result.structured_content is not None:
            texts = [spoken(result.structured_content)]
        text = "\n".join(texts) or ("" if files else "Done; nothing was returned.")
        return ToolResult(text=text, files=tuple(files), failed=result.is_error)

    async def release(self, run_id: str) -> None:
        """The connection is shared by all runs, and stays."""


def _read(block: Any, place: int) -> tuple[str, File | None]:
    match block.type:
        case "text":
            return block.text, None
        case "image" | "audio":
            return "", _file(block.data, block.mime_type, place)
        case "resource_link":
            return f"[{_said(block.name, 80)}: {_said(str(block.uri), 300)}]", None
        case "resource" if (text := getattr(block.resource, "text", None)) is not None:
            return text, None
        case "resource":
            return "", _file(block.resource.blob, block.resource.mime_type or "", place)
        case other:
            return f"[content of the type {_said(str(other), 40)}, which is not read]", None


def _file(data: str, media_type: str, place: int) -> File:
    kind = media_type if _MEDIA.fullmatch(media_type) else "application/octet-stream"
    try:
        content = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        raise ServerFault("the MCP server sent a file that is not base64") from None
    ending = {"image/png": "png", "image/jpeg": "jpg", "audio/wav": "wav", "text/plain": "txt"}.get(kind, "bin")
    return File(name=f"part-{place}.{ending}", media_type=kind, data=content)
