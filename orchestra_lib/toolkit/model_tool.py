"""Another language model as a tool: one question in, its reply out."""

from collections.abc import Mapping
from contextlib import aclosing
from dataclasses import replace
from typing import Any

from orchestra_lib.errors import ModelMistake
from orchestra_lib.generation import ChatRequest, Completion
from orchestra_lib.protocols import ChatModel, ToolResult
from orchestra_lib.tool import ToolKind, ToolSpec, wire_name

_BYTES_PER_TOKEN = 3
"""Dense text (code, numbers, most scripts) has about three UTF-8 bytes a token; prose has more."""

EXPERT_SYSTEM = "You help with one part of a larger task. Answer completely and to the point, only what is asked."
"""The system text of a model that may be asked whatever helps with a task."""
EXPERT_INPUT, EXPERT_OUTPUT = 32_000, 4_096
"""What such a model reads and writes at most, in tokens; its own context may allow less."""


class ModelTool:
    """Tool over a chat model that is asked with the system text `system` and a `question`.

    `spec` bounds both sides: a question over `max_input_tokens` is refused, a reply ends at
    `max_output_tokens`. Raises what the model raises; its attempts go on the bill.
    """

    def __init__(self, spec: ToolSpec, model: ChatModel, system: str) -> None:
        if spec.max_input_tokens is None or spec.max_output_tokens is None:
            raise ValueError(f"{spec.name}: a model tool bounds its input and output tokens")
        self._spec, self._model, self._system = spec, model, system
        self._max_bytes = spec.max_input_tokens * _BYTES_PER_TOKEN - len(system.encode())
        self._max_tokens = spec.max_output_tokens

    @property
    def spec(self) -> ToolSpec:
        return self._spec

    def described(self, description: str) -> "ModelTool":
        """The same model by another description."""
        return ModelTool(replace(self._spec, description=description), self._model, self._system)

    async def call(self, arguments: Mapping[str, Any], *, run_id: str) -> ToolResult:
        question: str = arguments["question"]
        size = len(question.encode("utf-8", "replace"))
        if size > self._max_bytes:
            raise ModelMistake(
                f"{self._spec.name}: the question has {size:,} bytes and the model takes {self._max_bytes:,}; "
                "shorten it, or ask in parts."
            )
        if not question.strip():
            raise ModelMistake(f"{self._spec.name}: `question` is empty; say what the model should do.")
        return self._result(await self._ask(question))

    async def release(self, run_id: str) -> None:
        """Nothing is kept for a run."""

    async def _ask(self, question: str) -> Completion:
        messages = ({"role": "system", "content": self._system}, {"role": "user", "content": question})
        request = ChatRequest(messages=messages, max_tokens=self._max_tokens)
        async with aclosing(self._model.stream(request)) as pieces:
            async for piece in pieces:
                if isinstance(piece, Completion):
                    return piece
        raise RuntimeError(f"the model {self._model.name} ended its stream without a completion")

    def _result(self, completion: Completion) -> ToolResult:
        text = completion.content.strip()
        if not text:
            empty = f"{self._spec.name} returned no text."
            return ToolResult(text=empty, attempts=completion.attempts, failed=True)
        if completion.finish_reason == "length":
            text += f"\n[cut off after {self._max_tokens} tokens]"
        return ToolResult(text=text, attempts=completion.attempts)


def coder(model: ChatModel) -> ModelTool:
    """The embedded 1.5B as the specialist that writes code."""
    spec = ToolSpec(
        name="coder",
        title="Coder 1.5B",
        description=(
            "A small code model (Qwen2.5-Coder 1.5B). Writes a function or a short program from a description. "
            "It runs nothing, knows no facts and makes mistakes: test its code with code_interpreter."
        ),
        parameters=question("What to write, with names, inputs and expected results"),
        kind=ToolKind.SPECIALIST,
        model=model.name,
        max_input_tokens=2_800,
        max_output_tokens=400,
        timeout_s=180.0,
        typical_latency_s=4.0,
    )
    return ModelTool(spec, model, "You write correct Python. Reply with one code block and no explanation.")


def generalist(model: ChatModel) -> ModelTool:
    """The embedded 0.5B as the cheap generalist for texts."""
    spec = ToolSpec(
        name="generalist",
        title="Generalist 0.5B",
        description=(
            "A very small language model (Qwen2.5-Coder 0.5B). Explains, summarises, rewrites and translates a text "
            "that you give it. It invents facts and cannot calculate: give it the text, not a question of fact."
        ),
        parameters=question("What to do, with the whole text to do it to"),
        kind=ToolKind.GENERALIST,
        model=model.name,
        max_input_tokens=2_800,
        max_output_tokens=300,
        timeout_s=120.0,
        typical_latency_s=1.2,
    )
    return ModelTool(spec, model, "You are a helpful assistant. Answer briefly, and only from what you are given.")


def expert_tool(
    model: ChatModel,
    *,
    name: str,
    title: str,
    description: str,
    kind: ToolKind = ToolKind.GENERALIST,
    priced_as: str | None = None,
    max_input_tokens: int = EXPERT_INPUT,
    max_output_tokens: int = EXPERT_OUTPUT,
    typical_latency_s: float | None = None,
) -> ModelTool:
    """Any model as one that may be asked whatever helps with a task, priced by its own name where no other is given."""
    spec = ToolSpec(
        name=wire_name(name),
        title=title,
        description=description,
        parameters=question("What to do, with everything that is needed for it; the model sees nothing else"),
        kind=kind,
        model=priced_as or model.name,
        max_input_tokens=max_input_tokens,
        max_output_tokens=max_output_tokens,
        timeout_s=300.0,
        typical_latency_s=typical_latency_s,
    )
    return ModelTool(spec, model, EXPERT_SYSTEM)


def question(description: str) -> Mapping[str, Any]:
    """The parameters of a model tool: one text, described."""
    return {
        "type": "object",
        "properties": {"question": {"type": "string", "minLength": 1, "maxLength": 20_000, "description": description}},
        "required": ["question"],
        "additionalProperties": False,
    }
