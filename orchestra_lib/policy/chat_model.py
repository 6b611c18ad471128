"""A language model as the orchestrator: the free loop of protocol `chat`, in any of its call styles."""

from collections.abc import AsyncGenerator
from contextlib import aclosing

from orchestra_lib import chat
from orchestra_lib.call_text import ReadCall
from orchestra_lib.chat import CallStyle
from orchestra_lib.generation import ChatRequest, Delta, Generation
from orchestra_lib.json_text import decode
from orchestra_lib.policy.spoken import Spoken, coerced, speak
from orchestra_lib.protocols import ChatModel, PolicySpec, Situation
from orchestra_lib.reading import Reading


class ChatPolicy:
    """Conducts with any `ChatModel`. `spec` bounds one generation for the budget.

    `opens_thinking` says that the model's template opens `<think>` in the prompt, so that the reply
    begins within its reasoning. With `must_begin_with_call` a server that calls natively is told to have the first
    turn call a tool, for models that call none of their own accord.
    """

    def __init__(
        self,
        spec: PolicySpec,
        model: ChatModel,
        *,
        style: CallStyle,
        temperature: float = 0.0,
        opens_thinking: bool = False,
        must_begin_with_call: bool = False,
    ) -> None:
        self.spec = spec
        self._must_begin = must_begin_with_call
        self._model, self._style, self._temperature = model, style, temperature
        self._thinking = opens_thinking

    async def act(self, situation: Situation) -> AsyncGenerator[Delta | Generation, None]:
        """Stream one reply and read it. With no tools on offer nothing in it is a call."""
        boxes = self._style is not CallStyle.CONSTRAINED and bool(situation.setting.tools)
        spoken = speak(self._model, self._request(situation), boxes=boxes, thinking=self._thinking)
        async with aclosing(spoken) as parts:
            async for part in parts:
                yield part if isinstance(part, Delta) else self._generation(part, situation)

    def _request(self, situation: Situation) -> ChatRequest:
        setting = situation.setting
        return ChatRequest(
            messages=chat.messages(situation, self._style),
            tools=chat.openai_tools(setting) if self._style is CallStyle.NATIVE else (),
            schema=chat.action_schema(setting) if self._style is CallStyle.CONSTRAINED else None,
            max_tokens=self.spec.max_output_tokens or 4096,
            temperature=self._temperature,
            seed=setting.seed,
            must_call=self._must_begin and not situation.turns,
        )

    def _generation(self, spoken: Spoken, situation: Situation) -> Generation:
        found, content = spoken.calls, spoken.said.content
        if self._style is CallStyle.CONSTRAINED:
            found, content = _action(spoken.said)
        calls = [coerced(call, situation.setting.tools) for call in found]
        answer = content or None if not calls and not spoken.cut else None
        return spoken.generation(situation, calls=calls, content=content, answer=answer)


def _action(said: Reading) -> tuple[tuple[ReadCall, ...], str]:
    """The one call, or the answer, of a reply under the schema; neither when it is no such object."""
    try:
        action, level = decode(said.content)
    except ValueError:
        return (), ""
    if not isinstance(action, dict):
        return (), ""
    if "tool" not in action:
        answer = action.get("answer")
        return (), answer.strip() if isinstance(answer, str) else ""
    name, arguments = action["tool"], action.get("arguments") or {}
    readable = isinstance(name, str) and isinstance(arguments, dict)
    call = ReadCall(name=str(name).strip(), arguments=arguments if readable else None, text=said.content)
    return (call.flagged(level),), ""
