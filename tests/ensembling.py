"""What tests of protocol toolorchestra need: scripted models, a library, an interpreter without code."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache

from playing import MemoryArtefacts

from orchestra_lib.ensemble import build, domain_words, published_experts, published_kit
from orchestra_lib.event import fold
from orchestra_lib.generation import Completion, Delta, RawCall
from orchestra_lib.limits import Limits
from orchestra_lib.paths import DATA
from orchestra_lib.play import play
from orchestra_lib.preference import Preference
from orchestra_lib.pricelist import load_table
from orchestra_lib.pricing import Attempt, Usage
from orchestra_lib.protocols import Situation, ToolResult
from orchestra_lib.task import Task
from orchestra_lib.tool import CallStatus, Observation, ToolCall, ToolSpec
from orchestra_lib.toolkit.retrieval import Retrieved
from orchestra_lib.trajectory import Call, Setting, Turn

QUESTION = "Which river flows through the capital of Mongolia?"


class Chat:
    """A model that says its script line by line and remembers what it was asked.

    A line is a text, a `Completion`, or an exception.
    """

    def __init__(self, *script, name="Nemotron-Orchestrator-8B"):
        self.name, self.script, self.requests = name, list(script), []

    async def stream(self, request):
        self.requests.append(request)
        line = self.script.pop(0)
        await asyncio.sleep(0)
        if isinstance(line, Exception):
            raise line
        paid = Attempt(priced_as=self.name, usage=Usage(input_tokens=1000, output_tokens=100), wall_s=0.1)
        done = line if isinstance(line, Completion) else Completion(content=line, finish_reason="stop")
        for piece in done.content.split(" "):
            yield Delta(channel="content", text=piece + " ")
        yield replace(done, attempts=(paid,))


class Library:
    """A retriever over a script: lists of documents, best first, or an exception."""

    priced_as = "local_search"

    def __init__(self, *script):
        self.script, self.queries = list(script), []

    async def retrieve(self, query, k):
        self.queries.append(query)
        line = self.script.pop(0)
        if isinstance(line, Exception):
            raise line
        return Retrieved(documents=tuple(line), attempts=(Attempt(priced_as=self.priced_as, wall_s=0.01),))


class Interpreter:
    """Prints the next line of its script for any code."""

    spec = ToolSpec(name="code_interpreter", title="Python", description="Runs.", parameters={"type": "object"})

    def __init__(self, *script):
        self.script, self.ran, self.released = list(script), [], []

    async def call(self, arguments, *, run_id):
        self.ran.append((run_id, arguments["code"]))
        line = self.script.pop(0)
        attempts = (Attempt(priced_as="code_interpreter", wall_s=0.2),)
        return (
            replace(line, attempts=attempts)
            if isinstance(line, ToolResult)
            else ToolResult(text=line, attempts=attempts)
        )

    async def release(self, run_id):
        self.released.append(run_id)


def box(tool, **arguments):
    """A call as the model writes it."""
    inside = ", ".join(f'"{key}": "{value}"' for key, value in arguments.items())
    return f'<tool_call>\n{{"name": "{tool}", "arguments": {{{inside}}}}}\n</tool_call>'


def native(tool, text, content=""):
    """A reply whose call the server has read."""
    return Completion(
        content=content, calls=(RawCall(id="x", name=tool, arguments_text=text),), finish_reason="tool_calls"
    )


@cache
def prices():
    return load_table(DATA / "prices" / "toolorchestra.toml")


def published(**scripts):
    """Every published expert, each with a script under its priced name."""
    return _experts(published_kit(), scripts)


def published_domain(**scripts):
    """The same for domain mode."""
    return _experts(domain_words().kit, scripts)


def _experts(kit, scripts):
    names = {alias.model for tool in kit.tools for alias in tool.aliases}
    key = {name: name.replace("-", "_").replace(".", "_").lower() for name in names}
    return published_experts({name: Chat(*scripts.get(key[name], ()), name=name) for name in names}, kit)


def setting(tools, *, policy="toolorchestra", text=QUESTION, sentence="", limits=None, table=None):
    specs = tuple(tool.spec for tool in tools)
    return Setting(
        run_id="run-1",
        started_at=datetime(2026, 1, 1, tzinfo=UTC),
        task=Task(text=text),
        orchestrator=policy,
        protocol="toolorchestra",
        preference=Preference(),
        sentence=sentence,
        tools=specs,
        prices=table or prices(),
        limits=limits or Limits(),
        seed=7,
    )


def situation(tools, turns=(), **options):
    return Situation(setting=setting(tools, **options), turns=tuple(turns), spent_usd=None, elapsed_s=0.0)


def turn(index, tool, text, *, status=CallStatus.OK, **arguments):
    """A finished turn with one call."""
    call = ToolCall.of(f"call_{index}_1", tool, arguments)
    seen = Observation(call_id=call.id, status=status, text=text, started_s=0.0, finished_s=1.0)
    return Turn(index=index, started_s=0.0, finished_s=1.0, calls=(Call(call=call, observation=seen),))


async def events_of(policy, tools, **options):
    stream = play(setting(tools, **options), policy, tools, artefacts=MemoryArtefacts())
    return [event async for event in stream]


def run(policy, tools, **options):
    """The trajectory of one episode."""
    return fold(asyncio.run(events_of(policy, tools, **options)))


def episode(orchestrator, *, search=None, interpreter=None, limits=None, sentence="", regime=None, **scripts):
    """Play an orchestrator's script with the published experts."""
    more = {} if regime is None else {"regime": regime}
    policy, tools = build(
        orchestrator, published(**scripts), search=search or Library(), interpreter=interpreter or Interpreter(), **more
    )
    return run(policy, tools, limits=limits, sentence=sentence)
