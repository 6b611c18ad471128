"""Which tools one instance offers, and which model answers to which of their aliases."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from random import Random

from orchestra_lib.ensemble import NamedModel
from orchestra_lib.record import record
from orchestra_lib.tool import ToolKind, ToolSpec
from orchestra_lib.toolkit.alias_tool import AliasedTool
from orchestra_lib.toolkit.model_tool import question
from orchestra_lib.toolorchestra.aliases import ANSWER, EXPERT, REASON, SEARCH, Alias, AliasTool, Kit
from orchestra_lib.toolorchestra.tokens import WordPieces

_KINDS = {
    SEARCH: ToolKind.BASIC,
    REASON: ToolKind.SPECIALIST,
    ANSWER: ToolKind.GENERALIST,
    EXPERT: ToolKind.GENERALIST,
}
_PARTS = {SEARCH: ("local_search",), REASON: ("code_interpreter",)}
"""What every call of a tool pays beside its model."""
_KEPT = 0.8
"""How likely a tool that can be spared is on offer."""


@record
class Offer:
    """The tools of one instance beside a domain's own functions.

    `kit` has the words under this instance's aliases, `models` says which model answers to each alias. `weighable`
    are the tools that a preference may speak of: one that every run must use tells no run from another.
    """

    kit: Kit
    specs: tuple[ToolSpec, ...]
    models: Mapping[str, str]
    weighable: tuple[str, ...]

    @property
    def services(self) -> tuple[str, ...]:
        """What is priced and no model of the kit."""
        known = set(self.models.values())
        return tuple(dict.fromkeys(name for spec in self.specs for name in spec.priced_names if name not in known))


def offer_aliases(draw: Random, kit: Kit, *, must: Sequence[str] = (ANSWER,)) -> Offer:
    """Some of a kit's tools, those of `must` always, each with some of its models under shuffled aliases."""
    kept = [tool for tool in kit.tools if tool.name in must or draw.random() < _KEPT]
    tools = tuple(shuffled(draw, tool) for tool in kept)
    return Offer(
        kit=replace(kit, tools=tools),
        specs=tuple(map(spec_of, tools)),
        models={alias.name: alias.model for tool in tools for alias in tool.aliases},
        weighable=tuple(tool.name for tool in tools if tool.name != ANSWER),
    )


def offer_tools(draw: Random, experts: AliasTool, basics: Sequence[ToolSpec] = ()) -> Offer:
    """Some of the basic tools, and some of the experts, each a tool of its own: `expert-1`, `expert-2` …"""
    named = shuffled(draw, _numbered(experts))
    specs = [spec for spec in basics if draw.random() < _KEPT] + [_own_tool(alias) for alias in named.aliases]
    draw.shuffle(specs)
    return Offer(
        kit=Kit(source=f"the models of {experts.name}, each as a tool", tools=(named,)),
        specs=tuple(specs),
        models={alias.name: alias.model for alias in named.aliases},
        weighable=tuple(spec.name for spec in specs),
    )


def shuffled(draw: Random, tool: AliasTool) -> AliasTool:
    """The tool with at least one of its models, each under an alias that may have been another's.

    Everything that is said of a model goes with it; aliases are listed in the order of their names, which says nothing.
    """
    count = draw.randint(min(2, len(tool.aliases)), len(tool.aliases))
    models = draw.sample(tool.aliases, count)
    places = sorted(draw.sample(range(len(tool.aliases)), count))
    return replace(
        tool, aliases=tuple(_named(model, tool.aliases[at].name) for model, at in zip(models, places, strict=True))
    )


def _named(alias: Alias, name: str) -> Alias:
    # A sign of its own before the price, as the published table has one, would tell who it is.
    return replace(alias, name=name, note=alias.note.replace(alias.name, name), currency="$")


def _numbered(tool: AliasTool) -> AliasTool:
    """A tool whose alias names tell nothing of what the models are for."""
    return replace(tool, aliases=tuple(_named(alias, f"expert-{at}") for at, alias in enumerate(tool.aliases, 1)))


def spec_of(tool: AliasTool) -> ToolSpec:
    """A tool of a kit as an instance offers it."""
    models = {alias.name: NamedModel(alias.model) for alias in tool.aliases}
    kind, parts = _KINDS.get(tool.name, ToolKind.GENERALIST), _PARTS.get(tool.name, ())
    return AliasedTool(tool, models, WordPieces(), kind=kind, parts=parts).spec


def _own_tool(alias: Alias) -> ToolSpec:
    return ToolSpec(
        name=alias.name,
        title=alias.name,
        description=f"Another language model; it sees nothing but your question. {alias.note}",
        parameters=question("What it should do, with all that it needs to know"),
        kind=ToolKind.GENERALIST,
        model=alias.model,
        max_input_tokens=alias.reading.whole_tokens,
        max_output_tokens=alias.reading.output_tokens,
        typical_latency_s=alias.latency_s,
    )
