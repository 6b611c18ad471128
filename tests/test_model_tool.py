"""A model as a tool: what it is sent, what comes back, and what it costs."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from orchestra_lib.errors import ModelMistake, ProviderFault
from orchestra_lib.generation import Channel, ChatRequest, Completion, Delta
from orchestra_lib.pricing import Attempt, Usage
from orchestra_lib.protocols import ToolResult
from orchestra_lib.tool import ToolCall, ToolKind, ToolSpec
from orchestra_lib.toolkit import arguments
from orchestra_lib.toolkit.model_tool import ModelTool, coder, generalist

PAID = (Attempt(priced_as="small", usage=Usage(input_tokens=9, output_tokens=3), wall_s=0.5),)


class Scripted:
    """A model that says one prepared thing and remembers what it was asked."""

    name = "small"

    def __init__(self, *pieces: Delta | Completion | Exception) -> None:
        self.pieces, self.closed = pieces, False
        self.requests: list[ChatRequest] = []

    async def stream(self, request: ChatRequest) -> AsyncIterator[Delta | Completion]:
        self.requests.append(request)
        try:
            for piece in self.pieces:
                if isinstance(piece, Exception):
                    raise piece
                yield piece
                await asyncio.sleep(0)
        finally:
            self.closed = True


def asked(tool: ModelTool, question: str = "Add two numbers.") -> ToolResult:
    return asyncio.run(tool.call({"question": question}, run_id="r"))


def test_it_sends_the_system_text_and_the_question_within_its_bounds() -> None:
    model = Scripted(Completion(content="ok"))
    asked(coder(model))
    [request] = model.requests
    assert [message["role"] for message in request.messages] == ["system", "user"]
    assert request.messages[1]["content"] == "Add two numbers."
    assert request.max_tokens == coder(model).spec.max_output_tokens
    assert request.temperature == 0


def test_it_returns_the_content_and_its_attempts_and_no_reasoning() -> None:
    thought = Delta(channel=Channel.REASONING, text="hm")
    model = Scripted(thought, Completion(content=" def f(): ...\n", reasoning="hm", attempts=PAID))
    result = asked(coder(model))
    assert (result.text, result.attempts, result.failed) == ("def f(): ...", PAID, False)


def test_a_reply_that_was_cut_off_says_so() -> None:
    result = asked(generalist(Scripted(Completion(content="Long", finish_reason="length"))))
    assert result.text == "Long\n[cut off after 300 tokens]"


def test_an_empty_reply_is_a_failed_call_that_is_still_paid_for() -> None:
    result = asked(coder(Scripted(Completion(content="  ", attempts=PAID))))
    assert (result.failed, result.attempts, result.text) == (True, PAID, "coder returned no text.")


def test_a_fault_of_the_provider_passes_through() -> None:
    model = Scripted(Delta(channel=Channel.CONTENT, text="de"), ProviderFault("the server is down"))
    with pytest.raises(ProviderFault, match="the server is down"):
        asked(coder(model))
    assert model.closed


@pytest.mark.parametrize("question", ["x" * 9_000, "é" * 4_500], ids=["letters", "bytes count"])
def test_an_overlong_question_is_refused_before_the_model_is_asked(question: str) -> None:
    model = Scripted(Completion(content="ok"))
    with pytest.raises(ModelMistake, match="shorten it, or ask in parts"):
        asked(coder(model), question)
    assert model.requests == []


def test_a_blank_question_is_refused() -> None:
    with pytest.raises(ModelMistake, match="`question` is empty"):
        asked(coder(Scripted(Completion(content="ok"))), " \n")


def test_cancelling_closes_the_stream() -> None:
    class Slow(Scripted):
        async def stream(self, request: ChatRequest) -> AsyncIterator[Delta | Completion]:
            try:
                yield Delta(channel=Channel.CONTENT, text="a")
                await asyncio.sleep(60)
            finally:
                self.closed = True

    async def run(model: Slow) -> None:
        call = asyncio.ensure_future(coder(model).call({"question": "Write."}, run_id="r"))
        await asyncio.sleep(0.01)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call

    model = Slow()
    asyncio.run(run(model))
    assert model.closed


@pytest.mark.parametrize("build, kind", [(coder, ToolKind.SPECIALIST), (generalist, ToolKind.GENERALIST)])
def test_the_embedded_ones_are_priced_by_their_model_and_take_a_question(build, kind) -> None:
    tool = build(Scripted())
    assert (tool.spec.kind, tool.spec.priced_as) == (kind, "small")
    call = ToolCall.of("1", tool.spec.name, {"question": "Write f."})
    assert arguments.check(tool.spec, call) == {"question": "Write f."}


def test_a_model_tool_without_bounds_cannot_be_built() -> None:
    spec = ToolSpec(name="big", title="Big", description="Big.", parameters={})
    with pytest.raises(ValueError, match="bounds its input and output tokens"):
        ModelTool(spec, Scripted(), "Answer.")
