"""`search` of protocol `toolorchestra`: an expert writes the query, a retriever runs it."""

from collections.abc import Mapping
from typing import Any

from orchestra_lib.errors import Fault, WorldFault
from orchestra_lib.pricing import Attempt
from orchestra_lib.protocols import ChatModel, Situation, ToolResult
from orchestra_lib.record import record
from orchestra_lib.tool import File, ToolKind
from orchestra_lib.toolkit.alias_tool import EXPERT_TIMEOUT_S, AliasedTool, attempts_of, whole_reply
from orchestra_lib.toolkit.retrieval import Retriever
from orchestra_lib.toolorchestra.aliases import Alias, AliasTool
from orchestra_lib.toolorchestra.evidence import write_documents
from orchestra_lib.toolorchestra.prompt import search_messages
from orchestra_lib.toolorchestra.replies import QUERY_CHARS, read_query
from orchestra_lib.toolorchestra.tokens import TokenCounter

TOP_K = 30
"""Documents of one search, as in training (evaluation: 50 and 150)."""

_RETRIEVAL_S = 60.0


@record
class _Query:
    """What is searched for; None when the expert wrote nothing to search for. `fault`: it could not be asked."""

    text: str | None
    attempts: tuple[Attempt, ...]
    files: tuple[File, ...] = ()
    fault: Fault | None = None


class ExpertSearch(AliasedTool):
    """Tool whose expert reads the question and the evidence and writes one query.

    An expert that fails leaves a fault, and the question itself is the query.
    """

    def __init__(
        self, words: AliasTool, models: Mapping[str, ChatModel], counter: TokenCounter, retriever: Retriever
    ) -> None:
        super().__init__(
            words,
            models,
            counter,
            kind=ToolKind.BASIC,
            parts=(retriever.priced_as,),
            timeout_s=EXPERT_TIMEOUT_S + _RETRIEVAL_S,
        )
        self._retriever = retriever

    async def call_in(self, situation: Situation, arguments: Mapping[str, Any]) -> ToolResult:
        query = await self._query(situation, self._alias(arguments))
        if query.text is None:
            text = "The expert wrote no query."
            return ToolResult(text=text, files=query.files, attempts=query.attempts, failed=True)
        try:
            found = await self._retriever.retrieve(query.text, TOP_K)
        except WorldFault as error:
            text = f"Could not search for {query.text!r}: {error}"
            attempts = (*query.attempts, *attempts_of(error))
            fault = Fault.of(error, where=self._spec.name)
            return ToolResult(text=text, files=query.files, attempts=attempts, fault=fault)
        text = write_documents(query.text, found.documents) + ("" if found.documents else "\n\nNo documents.")
        attempts = (*query.attempts, *found.attempts)
        return ToolResult(text=text, files=query.files, attempts=attempts, fault=query.fault)

    async def _query(self, situation: Situation, alias: Alias) -> _Query:
        question = situation.setting.task.text
        messages = search_messages(question, self._context(situation, alias))
        try:
            completion = await self._ask(situation, alias, messages)
        except WorldFault as error:
            fault = Fault.of(error, where=self._spec.name)
            return _Query(text=question[:QUERY_CHARS], attempts=attempts_of(error), fault=fault)
        return _Query(text=read_query(completion.content), attempts=completion.attempts, files=whole_reply(completion))
