"""The tools as the orchestrator reads them: aliases that hide who answers, with prices and latencies.

A `Kit` is the words: what each tool is for and what each alias is said to be good at. Which model answers to
an alias stands in the run's `ToolSpec` and what it costs in the run's `PriceTable`, so that a run's prompts can be
rendered again from its record and the kit.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

from orchestra_lib.json_schema import closed
from orchestra_lib.pricing import PriceTable
from orchestra_lib.record import record
from orchestra_lib.tool import ToolSpec

SEARCH, REASON, ANSWER, EXPERT = "search", "enhance_reasoning", "answer", "call_expert"
_COLUMNS = "Model | price per million input tokens | price per million output tokens | average latency"


class AnswerStyle(StrEnum):
    """How an expert is asked to mark its final answer."""

    BOXED = "boxed"
    """Step by step, the answer in a LaTeX box: mathematics and Qwen models."""
    TAGGED = "tagged"
    """Thoughts in `<think>`, the exact answer alone in `<answer>`."""


@record
class Reading:
    """What an expert reads and writes at most, in tokens. `document_chars` None shows documents whole."""

    code_tokens: int = 12_000
    whole_tokens: int = 24_000
    document_chars: int | None = None
    output_tokens: int = 8_000


@record
class Alias:
    """One expert as the orchestrator knows it.

    `model` is who answers to it in the published evaluation; `note` what it is said to be good at;
    `latency_s` an average, None when nobody measured it. `currency` is `$$` where the published table says so.
    """

    name: str
    model: str
    note: str
    latency_s: float | None = None
    reading: Reading = Reading()
    style: AnswerStyle = AnswerStyle.TAGGED
    temperature: float = 0.2
    currency: str = "$"


@record
class AliasTool:
    """One tool whose only `parameter` is an alias: its words around the table, and the aliases."""

    name: str
    title: str
    description: str
    lead: str
    intro: str
    parameter: str = "model"
    parameter_title: str | None = None
    aliases: tuple[Alias, ...]

    def alias(self, name: str) -> Alias:
        """Raises `KeyError` for an unknown name."""
        return {alias.name: alias for alias in self.aliases}[name]


@record
class Kit:
    """The tools of the protocol, in the order in which they are shown."""

    source: str
    tools: tuple[AliasTool, ...]

    def tool(self, name: str) -> AliasTool:
        """Raises `KeyError` for an unknown name."""
        return {tool.name: tool for tool in self.tools}[name]


def models_of(spec: ToolSpec) -> Mapping[str, str]:
    """Which priced model answers to each alias that a spec offers, in the order of its choices."""
    _, schema = parameter_of(spec)
    return dict(zip(schema["enum"], spec.models, strict=True))


def parameter_of(spec: ToolSpec) -> tuple[str, Mapping[str, Any]]:
    """The one parameter of an alias tool, with its schema."""
    [(name, schema)] = spec.parameters["properties"].items()
    return name, schema


def alias_schema(tool: AliasTool, offered: Sequence[str]) -> Mapping[str, Any]:
    """The schema that a call is checked against: stricter than the shown one, which has no `enum`."""
    choice = {"type": "string", "enum": list(offered)}
    return closed({tool.parameter: choice})


def openai_tools(kit: Kit, specs: Sequence[ToolSpec], prices: PriceTable) -> tuple[Mapping[str, Any], ...]:
    """The offered alias tools as function tools of OpenAI's API, in the kit's order and words."""
    offered = {spec.name: spec for spec in specs}
    return tuple(_function(tool, models_of(offered[tool.name]), prices) for tool in kit.tools if tool.name in offered)


def _function(tool: AliasTool, models: Mapping[str, str], prices: PriceTable) -> Mapping[str, Any]:
    shown = {"description": _choices(tool, models, prices)}
    if tool.parameter_title is not None:
        shown["title"] = tool.parameter_title
    shown["type"] = "string"
    return {
        "type": "function",
        "function": {
            "name": tool.name,
            "description": tool.description,
            "parameters": {
                "properties": {tool.parameter: shown},
                "required": [tool.parameter],
                "title": "parameters",
                "type": "object",
            },
        },
    }


def _choices(tool: AliasTool, models: Mapping[str, str], prices: PriceTable) -> str:
    aliases = [tool.alias(name) for name in models]
    notes = " ".join(alias.note for alias in aliases)
    rows = [_row(alias, models[alias.name], prices) for alias in aliases]
    return "\n".join([f"{tool.lead} Choices: {list(models)}. {notes}{tool.intro}", _COLUMNS, *rows])


def _row(alias: Alias, model: str, prices: PriceTable) -> str:
    price = prices.find(model)
    input_price = None if price is None else price.input_usd_per_mtok
    output_price = None if price is None else price.output_usd_per_mtok
    latency = "unknown" if alias.latency_s is None else f"{alias.latency_s:g}s"
    return f"{alias.name} | {_usd(input_price, alias.currency)} | {_usd(output_price, '$')} | {latency}"


def _usd(price: float | None, currency: str) -> str:
    return "unknown" if price is None else f"{currency}{price:g}"
