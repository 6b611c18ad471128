"""A request for a chat completion, read and checked whole before anything starts."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from orchestra_lib.codec import fingerprint, from_data
from orchestra_lib.errors import BadInput
from orchestra_lib.limits import Limits
from orchestra_lib.preference import Preference
from orchestra_lib.record import record
from orchestra_lib.serving.brought import read_tools
from orchestra_lib.serving.conversation import Conversation, read_messages
from orchestra_lib.serving.form import Form, read_form
from orchestra_lib.serving.refusal import Refusal
from orchestra_lib.tool import ToolSpec
from orchestra_lib.workbench import Order

MAX_STOPS = 16

_REFUSED = {
    "audio": "only text is served",
    "function_call": "use tool_choice",
    "functions": "use tools",
}
"""What is of another meaning than anything that is served."""
_READ = {
    "max_completion_tokens", "max_tokens", "messages", "modalities", "model", "n", "orchestra", "parallel_tool_calls",
    "response_format", "seed", "stop", "stream", "stream_options", "tool_choice", "tools",
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

    With `must_call` one of them has to be called before anything is answered, and `form` is what an answer has to be.
    An answer ends before the first of `stop`. `unused` names fields that were given and change nothing. With `one_call`
    the caller takes one call at a time.
    """

    model: str | None
    conversation: Conversation
    tools: tuple[ToolSpec, ...]
    must_call: bool
    form: Form | None
    stop: tuple[str, ...]
    digest: str
    stream: bool
    with_usage: bool
    max_tokens: int | None
    one_call: bool
    seed: int | None
    wishes: Wishes
    unused: tuple[str, ...]

    def demand(self) -> str:
        """What an orchestrator is told to do beside the task; empty where nothing is demanded."""
        if self.must_call:
            names = ", ".join(spec.name for spec in self.tools)
            return f"Call one of these tools now, and do not answer in words: {names}."
        return "" if self.form is None else self.form.instruction()

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
    if _number(data, "n", most=128) not in (None, 1):
        raise Refusal("n: one run is one answer; send as many requests as you want answers", param="n")
    if data.get("modalities") not in (None, [], ["text"]):
        raise Refusal("modalities: only text is served; leave them out", param="modalities")
    stream, options = _flag(data, "stream"), data.get("stream_options")
    if options is not None and not stream:
        raise Refusal("stream_options are given without stream; set stream, or leave them out", param="stream_options")
    brought = read_tools(data.get("tools"), data.get("tool_choice"))
    conversation = read_messages(data.get("messages"))
    model = data.get("model")
    if model is not None and not isinstance(model, str):
        raise Refusal("model is no text", param="model")
    return Asked(
        model=model,
        conversation=conversation,
        tools=brought.tools,
        must_call=brought.must_call,
        form=read_form(data.get("response_format")),
        stop=_stop(data.get("stop")),
        digest=digest_of(conversation.digest, brought.tools, model),
        stream=bool(stream),
        with_usage=isinstance(options, Mapping) and bool(options.get("include_usage")),
        max_tokens=_max_tokens(data),
        one_call=_flag(data, "parallel_tool_calls") is False,
        seed=_number(data, "seed", least=-(2**63)),
        wishes=_wishes(data.get("orchestra")),
        unused=_unused(data),
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


def _stop(given: object) -> tuple[str, ...]:
    texts = [given] if isinstance(given, str) else [] if given is None else given
    if not isinstance(texts, list) or len(texts) > MAX_STOPS or not all(isinstance(one, str) and one for one in texts):
        raise Refusal(f"stop is a text or a list of up to {MAX_STOPS} texts, none of them empty", param="stop")
    return tuple(texts)


def _unused(data: Mapping[str, Any]) -> tuple[str, ...]:
    """The fields that ask for something which changes nothing here: what is left at null, false or empty does not."""
    given = (str(name)[:60] for name, value in data.items() if value is not False and value not in (None, [], {}))
    return tuple(sorted(set(given) - _READ))


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
