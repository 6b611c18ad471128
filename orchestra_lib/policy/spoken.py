"""One reply of a language model to a policy: streamed, read, and made a generation."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import replace

from orchestra_lib.call_text import BOX, BOX_END, COERCED, CUT_OFF, ReadCall, arguments_of
from orchestra_lib.coercion import coerce
from orchestra_lib.generation import Channel, ChatRequest, Completion, Delta, Generation, RawCall
from orchestra_lib.json_writing import spoken
from orchestra_lib.protocols import ChatModel, Situation
from orchestra_lib.reading import MAX_CALLS, Reader, Reading, read
from orchestra_lib.record import record
from orchestra_lib.tool import ToolCall, ToolSpec

_CUT = ("length", "content_filter")


@record
class Spoken:
    """A reply, whole and read. `calls` are those that the server read, then those that it left in the text."""

    completion: Completion
    said: Reading
    calls: tuple[ReadCall, ...]

    @property
    def cut(self) -> bool:
        """True when the reply ended before it was whole: half a sentence must not end an episode."""
        return self.completion.finish_reason in _CUT

    def generation(
        self, situation: Situation, *, calls: Sequence[ReadCall], content: str, answer: str | None
    ) -> Generation:
        """What a policy makes of it, with all that the model wrote."""
        completion = self.completion
        return Generation(
            raw_text=_raw_text(completion),
            reasoning="\n".join(part for part in (completion.reasoning.strip(), self.said.reasoning) if part),
            content=content,
            calls=numbered(calls, situation),
            answer=answer,
            token_ids=completion.token_ids,
            attempts=completion.attempts,
        )


async def speak(
    model: ChatModel, request: ChatRequest, *, boxes: bool = True, thinking: bool = False
) -> AsyncGenerator[Delta | Spoken, None]:
    """The deltas to show, then the reply. `boxes` and `thinking` are those of `Reader`."""
    reader = Reader(boxes=boxes, thinking=thinking)
    async with aclosing(model.stream(request)) as parts:
        async for part in parts:
            if isinstance(part, Completion):
                for delta in reader.close():
                    yield delta
                said = read(part.content, boxes=boxes, thinking=thinking)
                yield Spoken(completion=part, said=said, calls=_all_calls(part, said))
                return
            for delta in [part] if part.channel is Channel.REASONING else reader.feed(part.text):
                yield delta
    raise RuntimeError(f"model {model.name} ended its stream without a Completion; yield exactly one")


def numbered(calls: Sequence[ReadCall], situation: Situation) -> tuple[ToolCall, ...]:
    """Calls under ids of our own: servers leave them out, repeat them, or change their form."""
    turn = len(situation.turns) + 1
    return tuple(
        ToolCall(
            id=f"call_{turn}_{place}",
            tool=call.name,
            arguments=call.arguments,
            arguments_text=call.text,
            recovered=call.recovered,
        )
        for place, call in enumerate(calls, start=1)
    )


def native(call: RawCall) -> ReadCall:
    """A call that the server read out of the reply."""
    arguments, recovered = arguments_of(call.arguments_text)
    return ReadCall(name=call.name.strip(), arguments=arguments, text=call.arguments_text, recovered=recovered)


def coerced(call: ReadCall, tools: Sequence[ToolSpec]) -> ReadCall:
    """A call with its arguments brought to the types of its tool's schema, and flagged when they were not."""
    schema = next((spec.parameters for spec in tools if spec.name == call.name), None)
    if call.arguments is None or schema is None:
        return call
    arguments = coerce(call.arguments, schema)
    return call if arguments is call.arguments else replace(call, arguments=dict(arguments)).flagged(COERCED)


def _all_calls(completion: Completion, said: Reading) -> tuple[ReadCall, ...]:
    sent = [native(call) for call in completion.calls]
    if _is_last_cut(completion):
        written = _written(completion.calls[-1], "")
        sent[-1] = replace(sent[-1], arguments=None, text=written, recovered=CUT_OFF)
    known = [(call.name, call.arguments) for call in sent]
    every = (*sent, *(call for call in said.calls if (call.name, call.arguments) not in known))
    return every[:MAX_CALLS]


def _raw_text(completion: Completion) -> str:
    """All that the model wrote; calls that the server took out of the text stand in boxes again."""
    inside = [_written(call, call.arguments_text or "{}") for call in completion.calls]
    if _is_last_cut(completion):
        inside[-1] = _written(completion.calls[-1], "")
    return "\n".join(part for part in (completion.content, *(f"{BOX}\n{call}\n{BOX_END}" for call in inside)) if part)


def _is_last_cut(completion: Completion) -> bool:
    """True when the reply was cut before the last call got arguments: an empty object there would be a guess."""
    calls = completion.calls
    return completion.finish_reason in _CUT and bool(calls) and not calls[-1].arguments_text.strip()


def _written(call: RawCall, arguments_text: str) -> str:
    return f'{{"name": {spoken(call.name)}, "arguments": {arguments_text}}}'
