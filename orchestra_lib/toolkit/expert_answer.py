"""`answer` of protocol `toolorchestra`: an expert answers, and the episode ends with what it says."""

from collections.abc import Mapping
from typing import Any

from orchestra_lib.protocols import ChatModel, Situation, ToolResult
from orchestra_lib.tool import ToolKind
from orchestra_lib.toolkit.alias_tool import AliasedTool, whole_reply
from orchestra_lib.toolorchestra.aliases import AliasTool
from orchestra_lib.toolorchestra.prompt import answer_messages
from orchestra_lib.toolorchestra.replies import read_answer
from orchestra_lib.toolorchestra.tokens import TokenCounter


class ExpertAnswer(AliasedTool):
    """Tool whose expert reads the question and the evidence and gives the answer of the episode.

    A reply without any answer is a failed call, and the episode goes on.
    """

    def __init__(self, words: AliasTool, models: Mapping[str, ChatModel], counter: TokenCounter) -> None:
        super().__init__(words, models, counter, kind=ToolKind.GENERALIST)

    async def call_in(self, situation: Situation, arguments: Mapping[str, Any]) -> ToolResult:
        alias = self._alias(arguments)
        messages = answer_messages(situation.setting.task.text, self._context(situation, alias), alias.style)
        completion = await self._ask(situation, alias, messages)
        answer = read_answer(completion.content, alias.style, cut=completion.finish_reason == "length")
        files = whole_reply(completion) if completion.content.strip() != answer else ()
        if not answer:
            return ToolResult(text="The expert gave no answer.", files=files, attempts=completion.attempts, failed=True)
        return ToolResult(text=answer, files=files, attempts=completion.attempts, answer=answer)
