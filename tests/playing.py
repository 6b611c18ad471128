"""What tests need to play an episode: small real tools, a setting, an artefact store in memory."""

import asyncio
import hashlib
from datetime import UTC, date, datetime

from orchestra_lib.event import fold
from orchestra_lib.limits import Limits
from orchestra_lib.play import play
from orchestra_lib.preference import Preference
from orchestra_lib.pricing import Price, PriceTable
from orchestra_lib.protocols import ToolResult
from orchestra_lib.task import Task
from orchestra_lib.tool import ArtefactRef, ToolSpec
from orchestra_lib.trajectory import Setting

WORD = {
    "type": "object",
    "properties": {"word": {"type": "string"}},
    "required": ["word"],
    "additionalProperties": False,
}
PRICES = PriceTable(
    name="test",
    dated=date(2026, 1, 1),
    source="tests",
    prices={name: Price(call_usd=0.01, source="tests") for name in ("echo", "slow", "loud")},
)


class MemoryArtefacts:
    def __init__(self):
        self.kept = {}

    def put(self, file):
        sha256 = hashlib.sha256(file.data).hexdigest()
        self.kept[sha256] = file.data
        return ArtefactRef(sha256=sha256, media_type=file.media_type, size_bytes=len(file.data), name=file.name)

    def get(self, sha256):
        return self.kept[sha256]


class Echo:
    """Says the word again. `work` may be any async function of the word."""

    def __init__(self, name="echo", work=None, **spec):
        fields = {"title": name.title(), "description": "Says the word again.", "parameters": WORD, **spec}
        self.spec = ToolSpec(name=name, **fields)
        self.work, self.released, self.heard = work, [], []

    async def call(self, arguments, *, run_id):
        self.heard.append(arguments["word"])
        if self.work is None:
            return ToolResult(text=arguments["word"])
        result = await self.work(arguments["word"])
        return result if isinstance(result, ToolResult) else ToolResult(text=result)

    async def release(self, run_id):
        self.released.append(run_id)


def setting(tools=(), *, limits=None, prices=PRICES, text="Say hi."):
    return Setting(
        run_id="run-1",
        started_at=datetime(2026, 1, 1, tzinfo=UTC),
        task=Task(text=text),
        orchestrator="scripted",
        protocol="chat",
        preference=Preference(),
        sentence="Be quick.",
        tools=tuple(tool.spec for tool in tools),
        prices=prices,
        limits=limits or Limits(),
    )


async def events_of(policy, tools=(), *, limits=None, prices=PRICES, cancel=None, artefacts=None):
    started = setting(tools, limits=limits, prices=prices)
    stream = play(started, policy, tools, artefacts=artefacts or MemoryArtefacts(), cancel=cancel)
    return [event async for event in stream]


def run(policy, tools=(), **options):
    """The trajectory of one episode."""
    return fold(asyncio.run(events_of(policy, tools, **options)))
