"""A request for a chat completion, read and checked whole before anything starts."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from orchestra_lib.codec import fingerprint, from_data
from orchestra_lib.errors import BadInput
from orchestra_lib.limits import Limits
from orchestra_lib.preference import Preference
from orchestra_lib.record import record
from orchestra_lib.serving.conversation import Conversation, read_messages
from orchestra_lib.serving.refusal import Refusal
from orchestra_lib.tool import ToolKind, ToolSpec
from orchestra_lib.toolkit.foreign_schema import plain_parameters
from orchestra_lib.toolkit.function import TOOL_NAME
from orchestra_lib.workbench import Order

MAX_TOOLS = 128
"""As many as OpenAI takes."""

_UNUSED = frozenset({
    "frequency_penalty", "logit_bias", "metadata", "presence_penalty", "prediction", "prompt_cache_key",
    "prompt_cache_retention", "reasoning_effort", "safety_identifier", "service_tier", "store", "temperature", "top_p",
    "user", "verbosity",
})  # fmt: skip
"""What is taken and changes nothing: an orchestrator has settings of its own."""
_REFUSED = {
    "audio": "only text is served",
    "function_call": "use tool_choice",
    "functions": "use tools",
    "logprobs": "an orchestrator's answer has no log probabilities; leave it out",
    "modalities": "only text is served",
    "stop": "an orchestrator's answer is whole; cut it yourself",
    "top_logprobs": "an orchestrator's answer has no log probabilities; leave it out",
    "web_search_options": "web_search is a tool of the workbench's own",
}
_READ = {
    "max_completion_tokens", "max_tokens", "messages", "model", "n", "orchestra", "parallel_tool_calls",
    "response_format", "seed", "stream", "stream_options", "tool_choice", "tools",
}  # fmt: skip


@record
class Wishes:
    """What the field `orchestra` of a request may say. Limits can only be lower than the server's."""

    preference: Preference | None = None
    cost_usd: float | None = None
    time_s: float | None = None
    tokens: int | None = None
    max_turns: int | None = None


@record
class Asked:
    """One request. `tools` are the caller's own; `digest` tells what stands before its answers and may not change.

    `unused` names fields that were given and change nothing. With `one_call` the caller takes one call at a time.
    """

    model: str | None
    conversation: Conversation
    tools: tuple[ToolSpec, ...]
    digest: str
    stream: bool
    with_usage: bool
    max_tokens: int | None
    one_call: bool
    seed: int | None
    wishes: Wishes
    unused: tuple[str, ...]

    def order(self, order: Order) -> Order:
        """The server's order with what this request asks for. Raises `Refusal` for limits above the server's."""
        asked = bounded(order, self.wishes)
        if self.max_tokens is not None and asked.limits.tokens is not None and self.max_tokens > asked.limits.tokens:
            raise Refusal(
                f"max_tokens = {self.max_tokens:,} is above the run's limit of {asked.limits.tokens:,} tokens for "
                "everything together; lower it, or raise the limit",
                param="max_tokens",
            )
        return asked if self.seed is None else replace(asked, seed=self.seed)


def bounded(order: Order, wishes: Wishes) -> Order:
    """A server's order with a caller's wishes. Raises `Refusal` for limits above the server's."""
    limits = order.limits
    for name in ("cost_usd", "time_s", "tokens", "max_turns"):
        value, most, where = getattr(wishes, name), getattr(limits, name), f"orchestra.{name}"
        if value is None:
            continue
        if most is not None and value > most:
            raise Refusal(f"{where} = {value:g} is above the server's limit of {most:g}; lower it", param=where)
        try:
            limits = replace(limits, **{name: value})
        except BadInput as error:
            raise Refusal(f"orchestra: {error}", param=where) from None
    return replace(order, limits=limits, preference=wishes.preference or order.preference)


def read_request(data: object) -> Asked:
    """Read the body of a request. Raises `Refusal` naming the field and the remedy."""
    if not isinstance(data, Mapping):
        raise Refusal("the body is no JSON object; send one with model and messages")
    for name, why in _REFUSED.items():
        if data.get(name):
            raise Refusal(f"{name} is not supported: {why}", param=name)
    if unknown := sorted(set(data) - _READ - _UNUSED - set(_REFUSED)):
        raise Refusal(f"{unknown[0][:60]!r} is no field of a chat completion that is known here", param=unknown[0][:60])
    if _number(data, "n", most=128) not in (None, 1):
        raise Refusal("n: one run is one answer; send as many requests as you want answers", param="n")
    form = data.get("response_format")
    if form is not None and (not isinstance(form, Mapping) or form.get("type") != "text"):
        raise Refusal("response_format: only text; ask for the form in a message", param="response_format")
    stream, options = _flag(data, "stream"), data.get("stream_options")
    if options is not None and not stream:
        raise Refusal("stream_options are given without stream; set stream, or leave them out", param="stream_options")
    tools = _tools(data.get("tools"), data.get("tool_choice"))
    conversation = read_messages(data.get("messages"))
    model = data.get("model")
    if model is not None and not isinstance(model, str):
        raise Refusal("model is no text", param="model")
    return Asked(
        model=model,
        conversation=conversation,
        tools=tools,
        digest=digest_of(conversation.digest, tools, model),
        stream=bool(stream),
        with_usage=isinstance(options, Mapping) and bool(options.get("include_usage")),
        max_tokens=_max_tokens(data),
        one_call=_flag(data, "parallel_tool_calls") is False,
        seed=_number(data, "seed", least=-(2**63)),
        wishes=_wishes(data.get("orchestra")),
        unused=tuple(sorted(name for name in _UNUSED if data.get(name) is not None)),
    )


def digest_of(messages: str, tools: Sequence[ToolSpec], model: str | None) -> str:
    """The digest of messages, the tools beside them and the model asked for."""
    return fingerprint([model, messages, [[spec.name, spec.description, spec.parameters] for spec in tools]])


def _wishes(data: object) -> Wishes:
    if data is None:
        return Wishes()
    try:
        return from_data(data, Wishes, where="orchestra")
    except BadInput as error:
        raise Refusal(str(error), param="orchestra") from None


def _max_tokens(data: Mapping[str, Any]) -> int | None:
    old, new = _number(data, "max_tokens", least=1), _number(data, "max_completion_tokens", least=1)
    if old is not None and new is not None and old != new:
        raise Refusal(
            f"max_tokens = {old} and max_completion_tokens = {new} contradict each other; send one of them",
            param="max_tokens",
        )
    return old if new is None else new


def _number(data: Mapping[str, Any], name: str, *, least: int = 0, most: int = 2**63 - 1) -> int | None:
    value = data.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise Refusal(f"{name} = {str(value)[:40]}; it is a whole number from {least}", param=name)
    return value


def _flag(data: Mapping[str, Any], name: str) -> bool | None:
    value = data.get(name)
    if value is not None and not isinstance(value, bool):
        raise Refusal(f"{name} = {str(value)[:40]!r}; it is true or false", param=name)
    return value


def _tools(tools: object, choice: object) -> tuple[ToolSpec, ...]:
    if tools is None:
        tools = []
    if not isinstance(tools, list):
        raise Refusal("tools is no list", param="tools")
    if len(tools) > MAX_TOOLS:
        raise Refusal(
            f"tools: {len(tools):,} are more than the {MAX_TOOLS} that one request may bring; send those that matter",
            param="tools",
        )
    specs = tuple(_tool(tool, f"tools[{place}]") for place, tool in enumerate(tools))
    names = [spec.name for spec in specs]
    if double := next((name for name in names if names.count(name) > 1), None):
        raise Refusal(f"tools: there are two of the name {double!r}; rename one", param="tools")
    if choice in (None, "auto"):
        return specs
    if choice == "none":
        return ()
    raise Refusal(
        f"tool_choice = {str(choice)[:80]!r}: whom it calls is the orchestrator's decision; send auto or none",
        param="tool_choice",
    )


def _tool(tool: object, where: str) -> ToolSpec:
    function = tool.get("function") if isinstance(tool, Mapping) else None
    if not isinstance(tool, Mapping) or tool.get("type", "function") != "function" or not isinstance(function, Mapping):
        raise Refusal(f"{where} is no function tool; send type function and the function", param=where)
    name, description = function.get("name"), function.get("description") or ""
    if not isinstance(name, str) or not TOOL_NAME.fullmatch(name):
        raise Refusal(
            f"{where}.function.name = {str(name)[:80]!r}; use up to 64 letters, digits, _ and -",
            param=f"{where}.function.name",
        )
    if not isinstance(description, str):
        raise Refusal(f"{where}.function.description is no text", param=f"{where}.function.description")
    try:
        parameters = plain_parameters(function.get("parameters") or {}, where=f"{where} ({name})")
        return ToolSpec(
            name=name,
            title=name,
            description=description,
            parameters=parameters,
            kind=ToolKind.DOMAIN,
        )
    except BadInput as error:
        raise Refusal(str(error), param=f"{where}.function") from None


def served_limits(limits: Limits, wait_s: float, given_turns: int, *, calling: bool) -> Limits:
    """The limits of a run, with room for turns that it was given and for the time that its caller's tools take."""
    if not calling:
        return limits
    return replace(
        limits,
        max_turns=limits.max_turns + given_turns,
        call_timeout_s=max(limits.call_timeout_s, wait_s),
        parallel_calls=max(limits.parallel_calls, 64),
    )
