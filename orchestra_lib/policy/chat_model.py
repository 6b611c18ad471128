"""A language model as the orchestrator: the free loop of protocol `chat`, in any of its call styles."""

import json
from collections.abc import AsyncGenerator
from contextlib import aclosing

from orchestra_lib import chat
from orchestra_lib.chat import CallStyle
from orchestra_lib.generation import ChatRequest, Completion, Delta, Generation
from orchestra_lib.protocols import ChatModel, PolicySpec, Situation
from orchestra_lib.reading import ReadCall, ThinkSplitter, read
from orchestra_lib.tool import ToolCall


class ChatPolicy:
    """Conducts with any `ChatModel`. `spec` bounds one generation for the budget."""

    def __init__(self, spec: PolicySpec, model: ChatModel, *, style: CallStyle, temperature: float = 0.0) -> None:
        self.spec = spec
        self._model, self._style, self._temperature = model, style, temperature

    async def act(self, situation: Situation) -> AsyncGenerator[Delta | Generation, None]:
        """Stream one reply and read it."""
        splitter = ThinkSplitter()
        async with aclosing(self._model.stream(self._request(situation))) as parts:
            async for part in parts:
                if isinstance(part, Completion):
                    for delta in splitter.close():
                        yield delta
                    yield self._read(part, turn=len(situation.turns) + 1)
                    return
                for delta in [part] if part.channel == "reasoning" else splitter.feed(part.text):
                    yield delta
        raise RuntimeError(f"model {self._model.name} ended its stream without a Completion; yield exactly one")

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

    def _read(self, completion: Completion, *, turn: int) -> Generation:
        said = read(completion.content)
        found: list[ReadCall] = [_native(call.name, call.arguments_text) for call in completion.calls]
        answer: str | None = said.content
        if self._style is CallStyle.CONSTRAINED:
            found, answer = _constrained(completion.content)
        else:
            found += said.calls
        # A reply cut by the token limit is no answer: half a sentence must not end the episode.
        finished = not found and answer and completion.finish_reason != "length"
        return Generation(
            raw_text=completion.content,
            reasoning=(completion.reasoning + said.reasoning).strip(),
            content=said.content if self._style is not CallStyle.CONSTRAINED else (answer or ""),
            calls=tuple(_numbered(call, turn, place) for place, call in enumerate(found, start=1)),
            answer=answer if finished else None,
            token_ids=completion.token_ids,
            attempts=completion.attempts,
        )


def _constrained(text: str) -> tuple[list[ReadCall], str | None]:
    try:
        action = json.loads(text)
    except (ValueError, RecursionError):  # also numbers of over 4,300 digits and nesting without end
        return [], None
    if not isinstance(action, dict):
        return [], None
    if "tool" in action:
        return [_native(str(action["tool"]), json.dumps(action.get("arguments"), ensure_ascii=False))], None
    return [], str(action.get("answer", "")).strip() or None


def _native(name: str, arguments_text: str) -> ReadCall:
    try:
        arguments = json.loads(arguments_text) if arguments_text.strip() else {}
    except (ValueError, RecursionError):  # also numbers of over 4,300 digits and nesting without end
        arguments = None
    return ReadCall(
        name=name.strip(),
        arguments={} if arguments_text.strip() == "null" else arguments if isinstance(arguments, dict) else None,
        text=arguments_text,
    )


def _numbered(call: ReadCall, turn: int, place: int) -> ToolCall:
    """Ids of our own: servers leave them out, repeat them, or change their form."""
    return ToolCall(
        id=f"call_{turn}_{place}",
        tool=call.name,
        arguments=call.arguments,
        arguments_text=call.text,
        recovered=call.recovered,
    )
