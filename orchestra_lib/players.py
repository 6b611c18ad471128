"""Endpoints as players of an episode: orchestrators, and models that an orchestrator calls as tools."""

import re
from collections.abc import Callable
from functools import partial

from orchestra_lib.model.endpoint import Endpoint, EndpointKind
from orchestra_lib.model.endpoints import Endpoints
from orchestra_lib.policy.chat_model import ChatPolicy
from orchestra_lib.protocols import PolicySpec, Tool
from orchestra_lib.tool import ToolKind, ToolSpec
from orchestra_lib.toolkit.model_tool import ModelTool, question

_TOOL_INPUT, _TOOL_OUTPUT = 32_000, 4_096
"""What a model that works as a tool reads and writes at most, in tokens; its own context may allow less."""

_WORDS = {
    EndpointKind.ORCHESTRATOR: "A capable general model: reasons, explains, compares and decides.",
    EndpointKind.GENERALIST: "A strong general model: reasons, explains, knows many facts and may err on rare ones.",
    EndpointKind.MATHS: "A model that is strong at mathematics and step-by-step derivations.",
    EndpointKind.CODE: "A model that is strong at writing and reviewing code. It runs nothing.",
}
_SYSTEM = "You help with one part of a larger task. Answer completely and to the point, only what is asked."


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
    """Its name as a tool; servers take letters, digits, '_' and '-' only."""
    return re.sub(r"[^A-Za-z0-9_-]", "-", endpoint.name)[:64]


def _tool(endpoints: Endpoints, endpoint: Endpoint) -> Tool:
    output = min(_TOOL_OUTPUT, endpoint.max_output)
    general = endpoint.kind in (EndpointKind.ORCHESTRATOR, EndpointKind.GENERALIST)
    spec = ToolSpec(
        name=tool_name(endpoint),
        title=endpoint.title,
        description=f"{_WORDS[endpoint.kind]} ({endpoint.title})",
        parameters=question("What to do, with everything that is needed for it; the model sees nothing else"),
        kind=ToolKind.GENERALIST if general else ToolKind.SPECIALIST,
        model=endpoint.priced_as,
        max_input_tokens=min(_TOOL_INPUT, endpoint.max_input, endpoint.context - output),
        max_output_tokens=output,
        timeout_s=300.0,
        typical_latency_s=endpoint.typical_latency_s,
    )
    return ModelTool(spec, endpoints.model(endpoint.name), _SYSTEM)
