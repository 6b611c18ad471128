"""Protocol `toolorchestra` put together: an orchestrator, its experts, retrieval and the interpreter.

    policy, tools = build(orchestrator, {"search-3": qwen, "answer-4": qwen}, search=LocalRetriever(local_search))

Any chat model may stand behind any alias; the words of the aliases are the published ones unless a kit of one's
own is given. What the orchestrator is told of prices comes from the run's price table.
"""

import tomllib
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from orchestra_lib.codec import from_data
from orchestra_lib.errors import BadInput, ProviderFault, WeightsFault
from orchestra_lib.generation import ChatRequest, Completion, Delta
from orchestra_lib.model.qwen_tokens import QwenTokens
from orchestra_lib.paths import DATA
from orchestra_lib.policy.toolorchestra import ToolOrchestra, ToolOrchestraInDomain
from orchestra_lib.pricelist import load_table
from orchestra_lib.protocols import ChatModel, Situation, Tool
from orchestra_lib.toolkit.alias_tool import AliasedTool
from orchestra_lib.toolkit.call_expert import CallExpert
from orchestra_lib.toolkit.code_interpreter import CodeInterpreter
from orchestra_lib.toolkit.expert_answer import ExpertAnswer
from orchestra_lib.toolkit.expert_reasoning import ExpertReasoning
from orchestra_lib.toolkit.expert_search import ExpertSearch
from orchestra_lib.toolkit.local_search import LocalSearch
from orchestra_lib.toolkit.retrieval import LocalRetriever, Retriever
from orchestra_lib.toolorchestra import PROTOCOL
from orchestra_lib.toolorchestra.aliases import ANSWER, REASON, SEARCH, AliasTool, Kit
from orchestra_lib.toolorchestra.context import HLE, Regime
from orchestra_lib.toolorchestra.domain import DomainWords
from orchestra_lib.toolorchestra.side_by_side import side_by_side as columns
from orchestra_lib.toolorchestra.tokens import TokenCounter, WordPieces
from orchestra_lib.trajectory import Setting

T = TypeVar("T")
_WORDS = DATA / "toolorchestra"

Experts = Mapping[str, ChatModel]
"""Aliases, each with the model that answers to it."""


def build(
    orchestrator: ChatModel,
    experts: Experts,
    *,
    search: Retriever | None = None,
    interpreter: Tool | None = None,
    kit: Kit | None = None,
    counter: TokenCounter | None = None,
    regime: Regime = HLE,
    name: str = PROTOCOL,
) -> tuple[ToolOrchestra, tuple[Tool, ...]]:
    """Question mode: the policy, and the tools to play it with.

    A tool is offered when it has an expert and what it works with: `search` a retriever,
    `enhance_reasoning` an interpreter. Raises `BadInput` for an alias that the kit lacks, and when nothing can answer.
    """
    kit, counter = kit or published_kit(), counter or WordPieces()
    _check(experts, kit)
    tools: list[AliasedTool] = []
    if (reason := _staffed(kit, REASON, experts)) and interpreter is not None:
        tools.append(ExpertReasoning(reason, experts, counter, interpreter))
    if answer := _staffed(kit, ANSWER, experts):
        tools.append(ExpertAnswer(answer, experts, counter))
    else:
        raise BadInput("no expert can answer: give a model to at least one alias of the tool `answer`, as answer-1")
    if (searching := _staffed(kit, SEARCH, experts)) and search is not None:
        tools.append(ExpertSearch(searching, experts, counter, search))
    return ToolOrchestra(orchestrator, kit, counter, name=name, regime=regime), tuple(tools)


def build_domain(
    orchestrator: ChatModel,
    experts: Experts,
    policy_text: str,
    functions: Sequence[Tool],
    *,
    words: DomainWords | None = None,
    counter: TokenCounter | None = None,
    name: str = PROTOCOL,
) -> tuple[ToolOrchestraInDomain, tuple[Tool, ...]]:
    """Domain mode over a domain's functions. Without experts the orchestrator works alone.

    Raises `BadInput` for an alias that `call_expert` lacks.
    """
    words, counter = words or domain_words(), counter or WordPieces()
    _check(experts, words.kit)
    expert = (CallExpert(words, policy_text, experts, counter),) if experts else ()
    return ToolOrchestraInDomain(orchestrator, words, policy_text, counter, name=name), (*functions, *expert)


def published_experts(models: Mapping[str, ChatModel], kit: Kit | None = None) -> Experts:
    """The published assignment of aliases, as far as the models are at hand; `models` by their priced names."""
    aliases = [alias for tool in (kit or published_kit()).tools for alias in tool.aliases]
    return {alias.name: models[alias.model] for alias in aliases if alias.model in models}


def side_by_side(setting: Setting) -> str:
    """The first prompt of a run under protocol `chat`, and beside it the published `toolorchestra` one for its task."""
    kit = published_kit()
    names = {alias.model for tool in kit.tools for alias in tool.aliases}
    search = LocalRetriever(LocalSearch())
    policy, tools = build(
        NamedModel(PROTOCOL),
        published_experts({name: NamedModel(name) for name in names}, kit),
        search=search,
        interpreter=CodeInterpreter(),
        kit=kit,
    )
    specs = tuple(tool.spec for tool in tools)
    other = replace(setting, tools=specs, prices=load_table(DATA / "prices" / "toolorchestra.toml"))
    return columns(_first_turn(setting), policy.request(_first_turn(other)))


def published_kit() -> Kit:
    """The tools that the released orchestrator was trained with."""
    return load_kit(_WORDS / "kit.toml")


def domain_words() -> DomainWords:
    """The words of domain mode that the released orchestrator was trained with."""
    return _read(_WORDS / "domain.toml", DomainWords)


def load_kit(file: Path) -> Kit:
    """Read a kit of one's own. Raises `BadInput` naming the file and the field."""
    return _read(file, Kit)


def token_counter(*vocabularies: Path) -> TokenCounter:
    """The orchestrator's own tokenizer from the first GGUF file of the Qwen family here, else an approximation."""
    for gguf in vocabularies:
        try:
            return QwenTokens(gguf)
        except WeightsFault:
            continue
    return WordPieces()


class NamedModel:
    """A model that is only named and never asked."""

    def __init__(self, name: str) -> None:
        self.name = name

    async def stream(self, request: ChatRequest) -> AsyncGenerator[Delta | Completion, None]:
        raise ProviderFault(f"{self.name} is named in a prompt and not served here")
        yield  # what makes this a generator


def _first_turn(setting: Setting) -> Situation:
    return Situation(setting=setting, turns=(), spent_usd=0.0, elapsed_s=0.0)


def _read(file: Path, kind: type[T]) -> T:
    try:
        data = tomllib.loads(file.read_text("utf-8"))
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadInput(f"{file}: {error}") from None
    return from_data(data, kind, where=str(file))


def _check(experts: Experts, kit: Kit) -> None:
    known = [alias.name for tool in kit.tools for alias in tool.aliases]
    for alias in experts:
        if alias not in known:
            raise BadInput(f"there is no expert alias {alias!r}; the aliases are {', '.join(known)}")


def _staffed(kit: Kit, name: str, experts: Experts) -> AliasTool | None:
    """The tool of the kit when one of its aliases has an expert."""
    tool = next((tool for tool in kit.tools if tool.name == name), None)
    return tool if tool and any(alias.name in experts for alias in tool.aliases) else None
