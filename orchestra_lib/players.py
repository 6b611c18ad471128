"""Models as players of an episode: endpoints and fetched weights as orchestrators, endpoints as tools."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from orchestra_lib.chat import CallStyle
from orchestra_lib.model.embedded import EmbeddedModel
from orchestra_lib.model.endpoint import Endpoint, EndpointKind
from orchestra_lib.model.endpoints import Endpoints
from orchestra_lib.model.weights import WeightsCatalog
from orchestra_lib.policy.chat_model import ChatPolicy
from orchestra_lib.protocols import PolicySpec, Tool
from orchestra_lib.tool import ToolKind, wire_name
from orchestra_lib.toolkit.model_tool import EXPERT_INPUT, EXPERT_OUTPUT, expert_tool

_LOCAL_CONTEXT, _LOCAL_OUTPUT = 8192, 2048
"""What a fetched orchestrator reads and writes in one turn, in tokens."""

_WORDS = {
    EndpointKind.ORCHESTRATOR: "A capable general model: reasons, explains, compares and decides.",
    EndpointKind.GENERALIST: "A strong general model: reasons, explains, knows many facts and may err on rare ones.",
    EndpointKind.MATHS: "A model that is strong at mathematics and step-by-step derivations.",
    EndpointKind.CODE: "A model that is strong at writing and reviewing code. It runs nothing.",
}


def policy_of(endpoints: Endpoints, name: str) -> ChatPolicy:
    """An endpoint as an orchestrator, also while it is off."""
    endpoint = endpoints.get(name)
    spec = PolicySpec(
        name=name,
        priced_as=endpoints.priced_as(name),
        max_input_tokens=endpoint.input_limit,
        max_output_tokens=endpoint.max_output,
    )
    return ChatPolicy(
        spec,
        endpoints.model(name),
        style=endpoint.style,
        opens_thinking=endpoint.opens_thinking,
        must_begin_with_call=endpoint.must_begin_with_call,
    )


def tools_of(endpoints: Endpoints) -> dict[str, tuple[Tool, Callable[[], str | None]]]:
    """The endpoints that are marked as tools, by tool name, and for each what says why it is off."""
    marked = [endpoint for endpoint in endpoints if endpoint.tool]
    return {tool_name(one): (_tool(endpoints, one), partial(endpoints.off, one.name)) for one in marked}


def tool_name(endpoint: Endpoint) -> str:
    """Its name as a tool."""
    return wire_name(endpoint.name)


def _tool(endpoints: Endpoints, endpoint: Endpoint) -> Tool:
    output = min(EXPERT_OUTPUT, endpoint.max_output)
    general = endpoint.kind in (EndpointKind.ORCHESTRATOR, EndpointKind.GENERALIST)
    return expert_tool(
        endpoints.model(endpoint.name),
        name=endpoint.name,
        title=endpoint.title,
        description=f"{_WORDS[endpoint.kind]} ({endpoint.title})",
        kind=ToolKind.GENERALIST if general else ToolKind.SPECIALIST,
        priced_as=endpoint.priced_as,
        max_input_tokens=min(EXPERT_INPUT, endpoint.max_input, endpoint.context - output),
        max_output_tokens=output,
        typical_latency_s=endpoint.typical_latency_s,
    )


class LocalOrchestrators:
    """The orchestrators of the weights catalogue, by `local/` and their name; a model starts when first used."""

    def __init__(self, weights: WeightsCatalog, home: Path) -> None:
        self._weights = weights
        self._models = {
            f"local/{name}": EmbeddedModel(name, partial(weights.path, name), home, parallel=1, context=_LOCAL_CONTEXT)
            for name in weights.names
            if weights.get(name).conducts
        }

    def __iter__(self) -> Iterator[str]:
        return iter(self._models)

    def __contains__(self, name: object) -> bool:
        return name in self._models

    def model(self, name: str) -> EmbeddedModel:
        """One of them; its own name is that of its weights and prices it. Raises `KeyError` for an unknown name."""
        return self._models[name]

    def words(self, name: str) -> tuple[str, str]:
        """Title and note for a picker."""
        weights = self._weights.get(self._models[name].name)
        memory = f", about {weights.memory_bytes / 1e9:.1f} GB of memory" if weights.memory_bytes else ""
        return weights.title, f"runs on this machine{memory}; {weights.licence}"

    def policy(self, name: str) -> ChatPolicy:
        """One as an orchestrator."""
        model = self._models[name]
        reads, writes = _LOCAL_CONTEXT - _LOCAL_OUTPUT, _LOCAL_OUTPUT
        spec = PolicySpec(name=name, priced_as=model.name, max_input_tokens=reads, max_output_tokens=writes)
        return ChatPolicy(spec, model, style=CallStyle.HERMES)

    def stop(self) -> None:
        """End the processes that this program started."""
        for model in self._models.values():
            model.stop()
