"""What tests need to watch the conductor: tools that play their part, a model that writes what it is told."""

import asyncio
import json
import re
from dataclasses import replace

import numpy as np
from playing import MemoryArtefacts, setting

from orchestra_lib.event import fold
from orchestra_lib.generation import Completion
from orchestra_lib.play import play
from orchestra_lib.policy.conductor import Conductor, Estimator
from orchestra_lib.policy.conductor.examples import Example
from orchestra_lib.preference import Preference
from orchestra_lib.pricing import Attempt, Price, PriceTable, Usage
from orchestra_lib.protocols import ToolResult
from orchestra_lib.tool import ToolKind, ToolSpec

SOLVES = {
    "arithmetic": {"code_interpreter": 1.0, "local_search": 0.0, "coder": 0.5, "generalist": 0.3},
    "word_problem": {"code_interpreter": 0.8, "local_search": 0.0, "coder": 0.6, "generalist": 0.3},
    "lookup": {"code_interpreter": 0.0, "local_search": 0.9, "coder": 0.3, "generalist": 0.5},
    "code": {"code_interpreter": 0.0, "local_search": 0.0, "coder": 0.9, "generalist": 0.7},
    "live": {"code_interpreter": 0.0, "local_search": 0.0, "coder": 0.0, "generalist": 0.0},
}
QUESTIONS = {
    "arithmetic": "What is 12 times 7?",
    "word_problem": "A box holds 6 eggs. How many eggs are in 9 boxes?",
    "lookup": "What is the capital of Peru?",
    "code": "Write a Python function double(n).",
    "live": "What is the weather in Rome today?",
}
EXAMPLES = tuple(Example(text=QUESTIONS[kind], kind=kind, solves=SOLVES[kind]) for kind in SOLVES)
PRICES = PriceTable(
    name="test",
    dated=setting().started_at.date(),
    source="tests",
    prices={
        "code_interpreter": Price(second_usd=0.00001, source="tests"),
        "local_search": Price(call_usd=0.0, source="tests"),
        "coder": Price(call_usd=0.01, source="tests"),
        "generalist": Price(call_usd=0.001, source="tests"),
        "writer": Price(input_usd_per_mtok=1.0, output_usd_per_mtok=1.0, source="tests"),
    },
)
LANDS = {
    "Peru": "Capital: Lima\nPopulation: 30,814,175\nArea: 1,285,216 km²\nBorders: Bolivia, Brazil, Chile",
    "Chile": "Capital: Santiago\nPopulation: 17,819,054\nArea: 756,102 km²\nBorders: Argentina, Bolivia, Peru",
    "Qatar": "Capital: Doha\nPopulation: 2,269,672\nArea: 11,586 km²\nBorders: Saudi Arabia",
    "Saudi Arabia": "Capital: Riyadh\nPopulation: 30,770,375\nArea: 2,149,690 km²\nBorders: Iraq, Jordan, Qatar",
}


AXES = ("Write a", "eggs", "weather|Book", "capital|country|larger|fee", "What is")
"""Words that stand for a kind, one axis each, the first match counts."""


class Axes:
    """An `Embedder` that tells the kinds of these tests apart without a doubt."""

    def embed(self, texts):
        vectors = np.zeros((len(texts), len(AXES)), dtype=np.float32)
        for row, text in enumerate(texts):
            vectors[row, next(at for at, words in enumerate(AXES) if re.search(words, text))] = 1.0
        return vectors


class Part:
    """A tool with one text argument. `replies` are played in turn, the last again and again; a function may reply."""

    def __init__(self, name, argument, *replies, kind=ToolKind.BASIC, latency_s=0.1):
        self.spec = ToolSpec(
            name=name,
            title=name.replace("_", " ").capitalize(),
            description=name,
            parameters={
                "type": "object",
                "properties": {argument: {"type": "string"}, "k": {}},
                "required": [argument],
            },
            kind=kind,
            typical_latency_s=latency_s,
        )
        self.argument, self.replies, self.heard = argument, list(replies), []

    async def call(self, arguments, *, run_id):
        self.heard.append(arguments[self.argument])
        reply = self.replies[min(len(self.heard), len(self.replies)) - 1]
        reply = reply(self.heard[-1]) if callable(reply) else reply
        return reply if isinstance(reply, ToolResult) else ToolResult(text=reply)

    async def release(self, run_id):
        pass


class Writer:
    """A `ChatModel` that writes these objects in turn, the last again and again."""

    name = "writer"

    def __init__(self, *objects):
        self.objects, self.requests = list(objects), []

    async def stream(self, request):
        self.requests.append(request)
        said = self.objects[min(len(self.requests), len(self.objects)) - 1]
        if isinstance(said, BaseException):
            raise said
        attempt = Attempt(priced_as="writer", usage=Usage(input_tokens=10, output_tokens=5), wall_s=0.1)
        yield Completion(content=said if isinstance(said, str) else json.dumps(said), attempts=(attempt,))


def failed(text):
    return ToolResult(text=text, failed=True)


def library(query):
    """Countries whose name, or whose capital, stands in the query."""
    hits = [
        (land, text) for land, text in LANDS.items() if land in query or text.split("\n")[0].split(": ")[1] in query
    ]
    if not hits:
        return "No good match."
    return "\n\n".join(f"[{place}] {land} (facts)\n{text}" for place, (land, text) in enumerate(hits[:2], start=1))


def orchestra(*, code="84", search=library, coder="Lima", generalist="Lima"):
    """The four tools of the workbench, each playing a part."""
    return [
        Part("code_interpreter", "code", *(code if isinstance(code, tuple) else (code,))),
        Part("local_search", "query", search),
        Part("coder", "question", coder, kind=ToolKind.SPECIALIST, latency_s=8.0),
        Part("generalist", "question", generalist, kind=ToolKind.GENERALIST, latency_s=4.0),
    ]


def conduct(task, tools, *, writer=None, preference=None, limits=None, examples=EXAMPLES, answered=None):
    """The trajectory of one episode."""
    started = setting(tools, text=task, prices=PRICES, limits=limits)
    started = replace(started, preference=preference or Preference())
    policy = Conductor(Estimator(examples, Axes()), writer, answered=answered)

    async def events():
        return [event async for event in play(started, policy, tools, artefacts=MemoryArtefacts())]

    return fold(asyncio.run(events()))


def called(trajectory):
    return [call.call.tool for call in trajectory.calls]
