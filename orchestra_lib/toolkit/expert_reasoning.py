"""`enhance_reasoning` of protocol `toolorchestra`: an expert writes Python, the sandbox runs it."""

from collections.abc import Mapping
from itertools import count
from typing import Any

from orchestra_lib.errors import Fault, ModelMistake, WorldFault
from orchestra_lib.generation import Completion
from orchestra_lib.inline_file import take_out
from orchestra_lib.protocols import ChatModel, Situation, Tool, ToolResult
from orchestra_lib.tool import ToolKind
from orchestra_lib.toolkit.alias_tool import EXPERT_TIMEOUT_S, AliasedTool, attempts_of, whole_reply
from orchestra_lib.toolorchestra.aliases import AliasTool
from orchestra_lib.toolorchestra.evidence import write_code
from orchestra_lib.toolorchestra.prompt import reason_messages
from orchestra_lib.toolorchestra.replies import read_code
from orchestra_lib.toolorchestra.tokens import TokenCounter

NOTHING_PRINTED = "The code ran and printed nothing."
"""How the interpreter's words for an empty output begin; such a run is no evidence."""


class ExpertReasoning(AliasedTool):
    """Tool whose expert reads the question and the evidence and writes code; its output is the evidence.

    Each run has a fresh `interpreter` session: the code is asked to stand alone. Code that fails, prints nothing
    or is not there at all adds nothing, and the record says why.
    """

    def __init__(
        self, words: AliasTool, models: Mapping[str, ChatModel], counter: TokenCounter, interpreter: Tool
    ) -> None:
        super().__init__(
            words,
            models,
            counter,
            kind=ToolKind.SPECIALIST,
            parts=interpreter.spec.priced_names,
            timeout_s=EXPERT_TIMEOUT_S + interpreter.spec.timeout_s,
        )
        self._interpreter = interpreter
        self._sessions = count(1)

    async def call_in(self, situation: Situation, arguments: Mapping[str, Any]) -> ToolResult:
        alias = self._alias(arguments)
        messages = reason_messages(situation.setting.task.text, self._context(situation, alias))
        completion = await self._ask(situation, alias, messages)
        code = read_code(completion.content)
        if code is None:
            text = "The expert wrote no Python block."
            return ToolResult(text=text, files=whole_reply(completion), attempts=completion.attempts, failed=True)
        session = f"{situation.setting.run_id}/{self._spec.name}-{next(self._sessions)}"
        try:
            run = await self._interpreter.call({"code": code}, run_id=session)
        except ModelMistake as mistake:
            run = ToolResult(text=str(mistake), failed=True)
        except WorldFault as error:
            fault = Fault.of(error, where=self._spec.name)
            run = ToolResult(text=str(error), attempts=attempts_of(error), fault=fault)
        finally:
            await self._interpreter.release(session)
        return _result(completion, code, run)


def _result(completion: Completion, code: str, run: ToolResult) -> ToolResult:
    output, inline = take_out(run.text)  # before the evidence is cut to its end
    silent = output.startswith(NOTHING_PRINTED) or not output.strip()
    text = f"{NOTHING_PRINTED}\n\n{code.strip()}" if silent and not run.failed else write_code(code, output + "\n")
    return ToolResult(
        text=text,
        files=(*whole_reply(completion), *run.files, *inline),
        attempts=(*completion.attempts, *run.attempts),
        failed=run.failed,
        fault=run.fault,
    )
