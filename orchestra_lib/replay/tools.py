"""The tools of a replay: each brings what was brought, when it was brought."""

import asyncio
from collections import defaultdict, deque
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from orchestra_lib.codec import to_text
from orchestra_lib.event import CallFinished
from orchestra_lib.protocols import ArtefactStore, Situation, Tool, ToolResult
from orchestra_lib.replay.script import Astray, Script
from orchestra_lib.tool import ASK_USER, CallStatus, File, ToolSpec
from orchestra_lib.trajectory import Trajectory


def recorded_tools(script: Script, artefacts: ArtefactStore) -> list[Tool]:
    """Every tool that the run was offered. Raises `BadInput` for a file that is no longer kept."""
    files = _files(script.recorded, artefacts)
    return [_tool(spec, script, files) for spec in script.recorded.setting.tools]


class _RecordedTool:
    """Brings what was brought, when it was brought; the arguments have passed the real checks before."""

    def __init__(self, spec: ToolSpec, script: Script, files: Mapping[str, bytes]) -> None:
        self.spec, self._script, self._files = spec, script, files
        self._waiting = self._calls()

    def _calls(self) -> dict[str, deque[str]]:
        """The ids of the recorded calls that began, by what they were asked, in order."""
        began: dict[str, deque[str]] = defaultdict(deque)
        first = self._script.recorded.setting.first_turn
        for turn in self._script.turns:
            if turn.index < first:
                continue
            for call in turn.calls:
                seen = call.observation
                if call.call.tool == self.spec.name and seen and seen.status is not CallStatus.REJECTED:
                    began[_asked(call.call.arguments)].append(call.call.id)
        return began

    async def call(self, arguments: Mapping[str, Any], *, run_id: str) -> ToolResult:
        waiting = self._waiting[_asked(arguments)]
        if not waiting:
            raise Astray(f"the record has no call of {self.spec.name} with these arguments that ran")
        call_id = waiting.popleft()
        event = self._script.finished[call_id]
        if event.observation.status is CallStatus.TIMEOUT:
            await asyncio.Event().wait()
        if event.observation.status is CallStatus.CANCELLED:
            await self._script.never(event.observation.finished_s)
        await self._script.done(call_id)
        return self._result(event)

    def _result(self, event: CallFinished) -> ToolResult:
        seen = event.observation
        return ToolResult(
            text=seen.text if seen.full is None else self._files[seen.full.sha256].decode("utf-8", "replace"),
            files=tuple(
                File(name=ref.name, media_type=ref.media_type, data=self._files[ref.sha256]) for ref in seen.artefacts
            ),
            attempts=event.attempts,
            failed=seen.status is CallStatus.ERROR,
            fault=event.fault,
            answer=self._script.answer_of(seen.call_id),
        )

    async def release(self, run_id: str) -> None:
        """Nothing is kept for a run."""


class _RecordedSituatedTool(_RecordedTool):
    """A tool that works on the episode: its repeats are none, and a call pays only the model that it chooses."""

    def spec_for(self, arguments: Mapping[str, Any]) -> ToolSpec:
        for name, schema in self.spec.parameters.get("properties", {}).items():
            choices = list(schema.get("enum", ()))
            if len(choices) == len(self.spec.models) and arguments.get(name) in choices:
                return replace(self.spec, models=(self.spec.models[choices.index(arguments[name])],))
        return self.spec

    async def call_in(self, situation: Situation, arguments: Mapping[str, Any]) -> ToolResult:
        return await self.call(arguments, run_id=situation.setting.run_id)


def _tool(spec: ToolSpec, script: Script, files: Mapping[str, bytes]) -> _RecordedTool:
    situated = bool(spec.models) or spec.name == ASK_USER or spec.simulated
    return (_RecordedSituatedTool if situated else _RecordedTool)(spec, script, files)


def _files(recorded: Trajectory, artefacts: ArtefactStore) -> Mapping[str, bytes]:
    """Every file that the calls brought, by its hash."""
    seen = [call.observation for call in recorded.calls if call.observation]
    refs = [ref for one in seen for ref in (*one.artefacts, *([one.full] if one.full else ()))]
    return {ref.sha256: artefacts.get(ref.sha256) for ref in refs}


def _asked(arguments: Mapping[str, Any] | None) -> str:
    return to_text(dict(arguments or {}), Mapping[str, Any])
