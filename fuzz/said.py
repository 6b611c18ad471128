"""What models, endpoints, callers and the sandbox say: text and JSON that nobody here wrote."""

import asyncio
import json
import os
from collections.abc import AsyncGenerator
from dataclasses import replace
from datetime import UTC, date, datetime
from functools import cache

from starlette.requests import Request

from app.answers import json_body
from fuzz.target import Target, as_text
from orchestra_lib.chat import CallStyle
from orchestra_lib.check import Check, CheckKind
from orchestra_lib.codec import event_from_line, event_to_line, from_data
from orchestra_lib.errors import BadInput, ModelMistake
from orchestra_lib.event import Generated
from orchestra_lib.generation import ChatRequest, Completion, Delta, Generation, RawCall
from orchestra_lib.inline_file import take_out
from orchestra_lib.json_text import decode, objects
from orchestra_lib.judge.checks import compare
from orchestra_lib.limits import Limits
from orchestra_lib.model.reply import BrokenStream, Reply
from orchestra_lib.policy.chat_model import ChatPolicy
from orchestra_lib.preference import Preference
from orchestra_lib.preference_text import read_preference
from orchestra_lib.pricing import PriceTable
from orchestra_lib.protocols import PolicySpec, Situation
from orchestra_lib.reading import Reader, read
from orchestra_lib.server.completions import _body
from orchestra_lib.serving.asked import read_request
from orchestra_lib.serving.beginning import history, question
from orchestra_lib.serving.refusal import Refusal
from orchestra_lib.task import Task
from orchestra_lib.tool import ToolKind, ToolSpec
from orchestra_lib.toolkit.arguments import check
from orchestra_lib.toolkit.foreign_schema import plain_parameters
from orchestra_lib.toolkit.guest_process import Exchange, _cell
from orchestra_lib.toolkit.sandbox import Pipes, SandboxLimits
from orchestra_lib.toolorchestra.aliases import AnswerStyle
from orchestra_lib.toolorchestra.replies import read_answer, read_code, read_query
from orchestra_lib.trajectory import Setting
from orchestra_lib.workbench import Order

WORD = {"type": "object", "properties": {"text": {"type": "string"}, "n": {"type": "integer"}}, "required": ["text"]}
TOOLS = (
    ToolSpec(name="web_search", title="Web search", description="Searches.", parameters=WORD),
    ToolSpec(name="code_interpreter", title="Code interpreter", description="Runs code.", parameters=WORD),
    ToolSpec(
        name="coder", title="Coder 1.5B", description="Writes.", parameters=WORD, kind=ToolKind.SPECIALIST, model="q-1b"
    ),
)
SETTING = Setting(
    run_id="run-1", started_at=datetime(2026, 1, 1, tzinfo=UTC), task=Task(text="Say hi."), orchestrator="m",
    protocol="chat", preference=Preference(), sentence="", tools=TOOLS,
    prices=PriceTable(name="none", dated=date(2026, 1, 1), source="fuzz"), limits=Limits(),
)  # fmt: skip


def reply_text(data: bytes) -> None:
    """Whatever the pieces, the same reading; and no character is lost but tags and ends."""
    text = as_text(data[1:])
    flags = data[0] if data else 0
    boxes, thinking = bool(flags & 1), bool(flags & 2)
    size = 1 + (flags >> 2)
    reader = Reader(boxes=boxes, thinking=thinking)
    for at in range(0, len(text), size):
        reader.feed(text[at : at + size])
    reader.close()
    assert reader.reading() == read(text, boxes=boxes, thinking=thinking), "the reading depends on the pieces"
    objects(text)
    for style in AnswerStyle:
        read_answer(text, style)
    read_query(text)
    read_code(text)
    take_out(text)


def json_value(data: bytes) -> None:
    """JSON as models write it."""
    decode(as_text(data))


_BOUNDS = PolicySpec(name="m", max_input_tokens=9, max_output_tokens=9)


class _Says:
    """A model that gives one completion."""

    name = "m"

    def __init__(self, completion: Completion) -> None:
        self._completion = completion

    async def stream(self, request: ChatRequest) -> AsyncGenerator[Completion, None]:
        yield self._completion


@cache
def _loop() -> asyncio.AbstractEventLoop:
    return asyncio.new_event_loop()


async def _moved(policy: ChatPolicy, situation: Situation) -> Generation:
    async for part in policy.act(situation):
        if not isinstance(part, Delta):
            return part
    raise AssertionError("a policy gives a generation")


def move(data: bytes) -> None:
    """A whole turn: text and calls become a generation, its calls meet their schemas, and the record holds it."""
    style = (CallStyle.NATIVE, CallStyle.CONSTRAINED, *CallStyle)[data[0] % 4 if data else 0]
    name, _, rest = as_text(data[1:]).partition("\n")
    arguments, _, content = rest.partition("\n")
    calls = (RawCall(id="", name=name, arguments_text=arguments),) * (2 if name else 0)
    said = Completion(content=content, calls=calls, finish_reason="stop", attempts=())
    situation = Situation(setting=SETTING, turns=(), spent_usd=0.0, elapsed_s=0.0)
    policy = ChatPolicy(_BOUNDS, _Says(said), style=style)
    generation = _loop().run_until_complete(_moved(policy, situation))
    for call in generation.calls:
        for spec in TOOLS:
            try:
                check(spec, call)
            except ModelMistake:
                continue
    event = Generated(seq=1, t_s=0.0, turn=1, generation=generation)
    line = event_to_line(event)
    line.encode()
    assert event_to_line(event_from_line(line, where="fuzz")) == line, "the record reads back as another"


def stream(data: bytes) -> None:
    """Chunks of a streamed reply, one a line; the first says whether reasoning is counted apart."""
    reply = Reply(reasoning_apart=data[:1] == b" ")
    for line in data.split(b"\n"):
        try:
            chunk = json.loads(line)
        except (ValueError, RecursionError):
            continue
        for delta in reply.add(chunk):
            delta.text.encode("utf-8", "replace")
    made = Generation(raw_text=reply.text, content=reply.completion(()).content)
    event_to_line(Generated(seq=1, t_s=0.0, turn=1, generation=made))


def preference(data: bytes) -> None:
    """A sentence that says what a person prefers."""
    found = read_preference(as_text(data), TOOLS, {"web_search"})
    assert all(-1 <= weight <= 1 for weight in found.preference.tools.values())
    assert read_preference(as_text(data), TOOLS, {"web_search"}) == found


def sandbox_reply(data: bytes) -> None:
    """The bytes that a guest sends back, and what it prints; its pipes then end."""
    pipes = {name: os.pipe() for name in ("command", "reply", "output")}
    given = Pipes(command=pipes["command"][1], reply=pipes["reply"][0], output=pipes["output"][0])
    try:
        for fd in (given.command, given.reply, given.output, pipes["reply"][1]):
            os.set_blocking(fd, False)
        os.write(pipes["reply"][1], data[:60_000])
        os.write(pipes["output"][1], data[:100])
        os.close(pipes["reply"][1])
        os.close(pipes["output"][1])
        limits = SandboxLimits(wall_s=5.0, figure_bytes=1000)
        exchange = Exchange(given, limits, b"{}")
        ended = exchange.run()
        if ended is None and exchange.reply is not None:
            _cell(exchange, exchange.reply, limits)
    finally:
        given.close()
        os.close(pipes["command"][0])


def _request(data: bytes) -> Request:
    """A request with this body, as the server hands it over."""

    async def receive() -> dict[str, object]:
        return {"type": "http.request", "body": data, "more_body": False}

    return Request({"type": "http", "method": "POST", "headers": []}, receive)


def completion(data: bytes) -> None:
    """The body of a request for a completion, and what its run begins with."""
    asked = read_request(_loop().run_until_complete(_body(_request(data))))
    asked.order(Order(task="x"))
    question(asked.conversation)
    given = history(asked.conversation.before)
    for event in given:
        event_to_line(event)


def schema(data: bytes) -> None:
    """A foreign tool's schema, and arguments against it: `{"schema": …, "arguments": …}`."""
    try:
        told = json.loads(data)
    except (ValueError, RecursionError):
        return
    if not isinstance(told, dict):
        return
    parameters = plain_parameters(told.get("schema"), where="fuzz")
    spec = replace(TOOLS[0], parameters=parameters)
    setting = replace(SETTING, tools=(spec,))
    said = Completion(
        content="", calls=(RawCall(id="", name=spec.name, arguments_text=json.dumps(told.get("arguments"))),),
        finish_reason="stop", attempts=(),
    )  # fmt: skip
    situation = Situation(setting=setting, turns=(), spent_usd=0.0, elapsed_s=0.0)
    policy = ChatPolicy(_BOUNDS, _Says(said), style=CallStyle.NATIVE)
    for call in _loop().run_until_complete(_moved(policy, situation)).calls:
        check(spec, call)


def order(data: bytes) -> None:
    """The body of a run's start, as the app reads it."""
    from_data(_loop().run_until_complete(json_body(_request(data))), Order, where="run")


def graded(data: bytes) -> None:
    """An answer and a reference, a line each, under every check that this process makes."""
    answer, _, reference = as_text(data).partition("\n")
    for kind in (CheckKind.EXACT, CheckKind.NUMERIC, CheckKind.LIST):
        try:
            verdict = compare(Check(kind=kind), answer, reference)
        except BadInput:
            continue
        assert verdict == compare(Check(kind=kind), answer, reference)


TARGETS = (
    Target("reply_text", "text", (), reply_text),
    Target("json_value", "text", (ValueError,), json_value),
    Target("move", "text", (), move),
    Target("stream", "jsonl", (BrokenStream,), stream),
    Target("preference", "text", (BadInput,), preference),
    Target("sandbox_reply", "bytes", (), sandbox_reply),
    Target("completion", "json", (Refusal,), completion),
    Target("schema", "json", (BadInput, ModelMistake), schema),
    Target("order", "json", (BadInput,), order),
    Target("graded", "text", (), graded),
)
