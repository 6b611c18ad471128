"""`call_expert` of protocol `toolorchestra`: in a domain, an expert takes this turn."""

from collections.abc import Mapping
from typing import Any

from orchestra_lib.generation import Completion
from orchestra_lib.json_writing import spoken
from orchestra_lib.protocols import ChatModel, Situation, ToolResult
from orchestra_lib.reading import read
from orchestra_lib.tool import ToolKind
from orchestra_lib.toolkit.alias_tool import AliasedTool
from orchestra_lib.toolorchestra.aliases import EXPERT
from orchestra_lib.toolorchestra.domain import (
    DomainWords,
    ExpertMove,
    MoveCall,
    conversation,
    expert_tools,
    message_of,
    write_move,
)
from orchestra_lib.toolorchestra.tokens import TokenCounter, count


class CallExpert(AliasedTool):
    """Tool whose expert reads the clean system prompt, the conversation and all the domain's functions.

    Its observation is the expert's move, a message or calls, which the policy plays as the next turn.
    """

    def __init__(
        self, words: DomainWords, policy_text: str, models: Mapping[str, ChatModel], counter: TokenCounter
    ) -> None:
        super().__init__(words.kit.tool(EXPERT), models, counter, kind=ToolKind.GENERALIST)
        self._system, self._filler = words.expert_system(policy_text), words.filler

    async def call_in(self, situation: Situation, arguments: Mapping[str, Any]) -> ToolResult:
        alias = self._alias(arguments)
        tools = expert_tools(situation.setting)
        limit = alias.reading.whole_tokens - count(self._counter, spoken(tools))
        messages = conversation(situation, self._system, self._filler, limit, self._counter)
        completion = await self._ask(situation, alias, messages, tools)
        move = _move(completion)
        if not move.content and not move.calls:
            return ToolResult(text="The expert did nothing.", attempts=completion.attempts, failed=True)
        return ToolResult(text=write_move(move), attempts=completion.attempts)


def _move(completion: Completion) -> ExpertMove:
    said = read(completion.content)
    native = [MoveCall(name=call.name, arguments_text=call.arguments_text) for call in completion.calls]
    boxed = [
        MoveCall(name=call.name, arguments_text=spoken(call.arguments))
        for call in said.calls
        if call.arguments is not None
    ]
    return ExpertMove(content=message_of(said.content), calls=(*native, *boxed))
