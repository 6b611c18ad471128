"""The plain baseline: the kind of the nearest labelled example decides the tool, which is called once.

No preferences, no second step, no check: what the conductor must beat.
"""

from collections.abc import AsyncGenerator

from orchestra_lib.generation import Delta, Generation
from orchestra_lib.policy.conductor import calculation
from orchestra_lib.policy.conductor.arguments_writer import ArgumentsWriter
from orchestra_lib.policy.conductor.estimator import Estimator
from orchestra_lib.protocols import ChatModel, PolicySpec, Situation
from orchestra_lib.tool import ToolCall

TOOLS = {
    "arithmetic": "code_interpreter",
    "date": "code_interpreter",
    "word_problem": "code_interpreter",
    "lookup": "local_search",
    "multi": "local_search",
    "document": "local_search",
    "fact": "generalist",
    "explain": "generalist",
    "code": "coder",
}


class Router:
    """One-nearest-neighbour routing to one call; `model` writes programs and reads what was found."""

    def __init__(self, estimator: Estimator, model: ChatModel) -> None:
        self.spec = PolicySpec(name="router", priced_as=model.name, max_input_tokens=2_000, max_output_tokens=700)
        self._estimator, self._writer = estimator, ArgumentsWriter(model)

    async def act(self, situation: Situation) -> AsyncGenerator[Delta | Generation, None]:
        """Call in the first turn, answer in the second."""
        task = situation.setting.task.text
        if situation.turns:
            yield await self._answer(task, situation)
            return
        nearest = self._estimator.near(task, situation.setting.tools).nearest[0][0]
        tool = TOOLS.get(nearest.kind)
        if tool is None:
            answer = "I cannot answer this from here: it needs live information."
            yield Generation(raw_text="", answer=answer, content=answer)
            return
        if tool != "code_interpreter":
            argument = "query" if tool == "local_search" else "question"
            yield Generation(raw_text="", calls=(ToolCall.of("call_1", tool, {argument: task[:300]}),))
            return
        if (code := calculation.program_for(task)) is not None:
            yield Generation(raw_text="", calls=(ToolCall.of("call_1", tool, {"code": code}),))
            return
        written = await self._writer.program(task)
        call = ToolCall.of("call_1", tool, {"code": str((written.value or {}).get("code", ""))})
        yield Generation(raw_text=written.raw_text, calls=(call,), attempts=written.attempts)

    async def _answer(self, task: str, situation: Situation) -> Generation:
        call = situation.turns[0].calls[0]
        text = call.observation.text if call.observation else ""
        if call.call.tool != "local_search":
            return Generation(raw_text="", answer=text, content=text)
        written = await self._writer.reading(task, text)
        answer = str((written.value or {}).get("answer", "")) or "I cannot find it in the library."
        return Generation(raw_text=written.raw_text, answer=answer, content=answer, attempts=written.attempts)
