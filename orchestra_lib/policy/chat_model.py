"""A language model as the orchestrator: the free loop of protocol `chat`, in any of its call styles."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import replace
from typing import Any

from orchestra_lib import chat
from orchestra_lib.call_text import COERCED, CUT_OFF, ReadCall, arguments_of
from orchestra_lib.chat import CallStyle
from orchestra_lib.coercion import coerce
from orchestra_lib.generation import Channel, ChatRequest, Completion, Delta, Generation, RawCall
from orchestra_lib.json_text import decode
from orchestra_lib.protocols import ChatModel, PolicySpec, Situation
from orchestra_lib.reading import Reader, Reading, read
from orchestra_lib.tool import ToolCall
from orchestra_lib.trajectory import Setting

_CUT = ("length", "content_filter")
"""Ends of a reply that is no whole: half a sentence must not end the episode."""


class ChatPolicy:
    """Conducts with any `ChatModel`. `spec` bounds one generation for the budget.

    `opens_thinking` says that the model's template opens `<think>` in the prompt, so that the reply
    begins within its reasoning.
    """

    def __init__(
        self,
        spec: PolicySpec,
        model: ChatModel,
        *,
        style: CallStyle,
        temperature: float = 0.0,
        opens_thinking: bool = False,
    ) -> None:
        self.spec = spec
        self._model, self._style, self._temperature = model, style, temperature
        self._thinking = opens_thinking

    async def act(self, situation: Situation) -> AsyncGenerator[Delta | Generation, None]:
        """Stream one reply and read it."""
        reader = Reader(**self._switches(situation.setting))
        async with aclosing(self._model.stream(self._request(situation))) as parts:
            async for part in parts:
                if isinstance(part, Completion):
                    for delta in reader.close():
                        yield delta
                    yield self._generation(part, situation)
                    return
                for delta in [part] if part.channel is Channel.REASONING else reader.feed(part.text):
                    yield delta
        raise RuntimeError(f"model {self._model.name} ended its stream without a Completion; yield exactly one")

    def _switches(self, setting: Setting) -> dict[str, bool]:
        boxes = self._style is not CallStyle.CONSTRAINED and bool(setting.tools)
        return {"boxes": boxes, "thinking": self._thinking}

    def _request(self, situation: Situation) -> ChatRequest:
        setting = situation.setting
        return ChatRequest(
            messages=chat.messages(situation, self._style),
            tools=chat.openai_tools(setting) if self._style is CallStyle.NATIVE else (),
            schema=chat.action_schema(setting) if self._style is CallStyle.CONSTRAINED else None,
            max_tokens=self.spec.max_output_tokens or 4096,
            temperature=self._temperature,
            seed=setting.seed,
        )

    def _generation(self, completion: Completion, situation: Situation) -> Generation:
        said = read(completion.content, **self._switches(situation.setting))
        if self._style is CallStyle.CONSTRAINED:
            found, content = _action(said)
        else:
            found, content = _all_calls(completion, said), said.content
        whole = not found and completion.finish_reason not in _CUT
        schemas = {spec.name: spec.parameters for spec in situation.setting.tools}
        turn = len(situation.turns) + 1
        return Generation(
            raw_text=completion.content,
            reasoning="\n".join(part for part in (completion.reasoning.strip(), said.reasoning) if part),
            content=content,
            calls=tuple(_numbered(_coerced(call, schemas), turn, place) for place, call in enumerate(found, start=1)),
            answer=content or None if whole else None,
            token_ids=completion.token_ids,
            attempts=completion.attempts,
        )


def _all_calls(completion: Completion, said: Reading) -> list[ReadCall]:
    """The calls that the server read, and those that it left in the text."""
    native = [_native(call) for call in completion.calls]
    if native and completion.finish_reason in _CUT and not native[-1].text.strip():
        # Its arguments may have been still to come: an empty object here would be a guess.
        native[-1] = replace(native[-1], arguments=None, recovered=CUT_OFF)
    sent = [(call.name, call.arguments) for call in native]
    return native + [call for call in said.calls if (call.name, call.arguments) not in sent]


def _native(call: RawCall) -> ReadCall:
    arguments, recovered = arguments_of(call.arguments_text)
    return ReadCall(name=call.name.strip(), arguments=arguments, text=call.arguments_text, recovered=recovered)


def _action(said: Reading) -> tuple[list[ReadCall], str]:
    """The one call, or the answer, of a reply under the schema; neither when it is no such object."""
    try:
        action, level = decode(said.content)
    except ValueError:
        return [], ""
    if not isinstance(action, dict):
        return [], ""
    if "tool" not in action:
        answer = action.get("answer")
        return [], answer.strip() if isinstance(answer, str) else ""
    name, arguments = action["tool"], action.get("arguments") or {}
    readable = isinstance(name, str) and isinstance(arguments, dict)
    call = ReadCall(name=str(name).strip(), arguments=arguments if readable else None, text=said.content)
    return [call.flagged(level)], ""


def _coerced(call: ReadCall, schemas: Mapping[str, Mapping[str, Any]]) -> ReadCall:
    if call.arguments is None or call.name not in schemas:
        return call
    arguments = coerce(call.arguments, schemas[call.name])
    return call if arguments is call.arguments else replace(call, arguments=dict(arguments)).flagged(COERCED)


def _numbered(call: ReadCall, turn: int, place: int) -> ToolCall:
    """Ids of our own: servers leave them out, repeat them, or change their form."""
    return ToolCall(
        id=f"call_{turn}_{place}",
        tool=call.name,
        arguments=call.arguments,
        arguments_text=call.text,
        recovered=call.recovered,
    )
