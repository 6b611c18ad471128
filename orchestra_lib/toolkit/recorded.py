"""A tool that is recorded, and its replay by tool name and arguments, without what the tool needs."""

import base64
import binascii
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from orchestra_lib.codec import fingerprint, from_data, to_data
from orchestra_lib.errors import BadInput, ProviderFault
from orchestra_lib.protocols import Recordings, SituatedTool, Tool, ToolResult
from orchestra_lib.tool import File, ToolSpec


class ToolRecorder:
    """A `Tool` that keeps what another one returns. What raises or comes with a fault of the world is not kept.

    Raises `BadInput` for a tool that works on the episode so far: its arguments do not say what it was asked.
    """

    def __init__(self, tool: Tool, recordings: Recordings) -> None:
        if isinstance(tool, SituatedTool):
            raise BadInput(
                f"{tool.spec.name} works on the episode so far and not on its arguments alone, so it cannot be "
                "recorded; record the models behind it"
            )
        self._tool, self._recordings = tool, recordings
        self._asked: set[str] = set()

    @property
    def spec(self) -> ToolSpec:
        return self._tool.spec

    async def call(self, arguments: Mapping[str, Any], *, run_id: str) -> ToolResult:
        result = await self._tool.call(arguments, run_id=run_id)
        if result.fault is None:
            asked = _asked(self.spec.name, arguments)
            key = fingerprint(asked)
            before = self._recordings.find(asked) if key in self._asked else ()
            self._recordings.keep(asked, [*before, _to_data(result)])
            self._asked.add(key)
        return result

    async def release(self, run_id: str) -> None:
        await self._tool.release(run_id)


class RecordedTool:
    """A `Tool` that returns what was recorded of the tool that `spec` describes.

    The n-th call with the same arguments gets the n-th result, and after the last the first again. `call`
    raises `ProviderFault` for arguments that were never recorded, and `StoreFault`.
    """

    def __init__(self, spec: ToolSpec, recordings: Recordings) -> None:
        self.spec = spec
        self._recordings = recordings
        self._given: Counter[str] = Counter()

    async def call(self, arguments: Mapping[str, Any], *, run_id: str) -> ToolResult:
        asked = _asked(self.spec.name, arguments)
        key = fingerprint(asked)
        answers = self._recordings.find(asked)
        if not answers:
            raise ProviderFault(f"nothing is recorded of {self.spec.name} for call {key[:16]}; record it with the tool")
        answer = answers[self._given[key] % len(answers)]
        self._given[key] += 1
        try:
            return _from_data(answer, where=f"recording {key[:16]} of {self.spec.name}")
        except BadInput as error:
            raise ProviderFault(f"{error}; record it again") from None

    async def release(self, run_id: str) -> None:
        """Nothing is kept for a run."""


def _asked(tool: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"tool": tool, "arguments": to_data(arguments, Any)}


def _to_data(result: ToolResult) -> dict[str, Any]:
    files = [
        {"name": file.name, "media_type": file.media_type, "data": base64.b64encode(file.data).decode()}
        for file in result.files
    ]
    return {**to_data(replace(result, files=())), "files": files}


def _from_data(data: Mapping[str, Any], *, where: str) -> ToolResult:
    result = from_data({**data, "files": ()}, ToolResult, where=where)
    try:
        files = tuple(
            File(name=file["name"], media_type=file["media_type"], data=base64.b64decode(file["data"], validate=True))
            for file in data["files"]
        )
    except (KeyError, TypeError, binascii.Error) as error:
        raise BadInput(f"{where}: its files cannot be read ({error!r})") from None
    return replace(result, files=files)
