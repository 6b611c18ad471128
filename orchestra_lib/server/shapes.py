"""Answers in the shapes of OpenAI's chat API: completions, chunks, usage, errors."""

from collections.abc import Mapping, Sequence
from typing import Any

from starlette.responses import Response

from orchestra_lib.codec import dumps
from orchestra_lib.record import record
from orchestra_lib.serving.served import Ended, Handed
from orchestra_lib.toolorchestra.tokens import WordPieces
from orchestra_lib.trajectory import StopReason, Trajectory

Data = dict[str, Any]
_COUNTER = WordPieces()


@record
class Head:
    """What every object of one response begins with."""

    id: str
    created: int
    model: str


@record
class Message:
    """What the assistant says in one response, and why it ends there. `cut` is where `max_tokens` cut the answer."""

    content: str | None
    calls: Sequence[Data]
    finish: str


def message_of(part: Handed | Ended, calls: Sequence[Data], max_tokens: int | None) -> Message:
    """The message of a response. An episode that a limit ended has no answer, and ends by `length`."""
    if isinstance(part, Handed):
        return Message(content=part.content or None, calls=calls, finish="tool_calls")
    answer = part.trajectory.answer
    if part.trajectory.stop is not StopReason.ANSWERED or answer is None:
        return Message(content="", calls=(), finish="length")
    kept = answer if max_tokens is None else _cut(answer, max_tokens)
    return Message(content=kept, calls=(), finish="stop" if kept == answer else "length")


def _cut(text: str, most: int) -> str:
    starts = _COUNTER.starts(text)
    return text if len(starts) <= most else text[: starts[most]].rstrip()


def usage(trajectory: Trajectory, reported: tuple[int, int]) -> tuple[Data | None, tuple[int, int]]:
    """Tokens of everything on the run's bill since `reported`, and what has been reported then; None when unknown."""
    bill = trajectory.bill()
    if bill.input_tokens is None or bill.output_tokens is None:
        return None, reported
    new_in, new_out = bill.input_tokens - reported[0], bill.output_tokens - reported[1]
    told = {"prompt_tokens": new_in, "completion_tokens": new_out, "total_tokens": new_in + new_out}
    return told, (bill.input_tokens, bill.output_tokens)


def about(trajectory: Trajectory) -> Data:
    """The run behind a response, in a field that OpenAI's API does not have."""
    bill, setting = trajectory.bill(), trajectory.setting
    return {
        "run_id": trajectory.id,
        "status": trajectory.status,
        "turns": len(trajectory.turns) - setting.given_turns,
        "given_turns": setting.given_turns,
        "tools_used": dict(trajectory.tools_used),
        "cost_usd": bill.cost_usd,
        "prices": setting.prices.name,
        "nominal": setting.prices.nominal,
        "simulated": trajectory.simulated,
    }


def completion(head: Head, said: Message, used: Data | None, run: Data) -> Data:
    """A whole chat completion."""
    message: Data = {"role": "assistant", "content": said.content, "refusal": None}
    if said.calls:
        message["tool_calls"] = list(said.calls)
    choice = {"index": 0, "message": message, "finish_reason": said.finish, "logprobs": None}
    return _headed(head, "chat.completion", [choice]) | {"usage": used, "orchestra": run}


def chunk(head: Head, delta: Data, finish: str | None = None) -> Data:
    """One piece of a streamed completion."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}
    return _headed(head, "chat.completion.chunk", [choice])


def closing_chunks(head: Head, said: Message, used: Data | None, run: Data, *, with_usage: bool) -> list[Data]:
    """What ends a streamed completion: the message itself, why it ends, and the usage where it was asked for."""
    chunks = [chunk(head, {"content": said.content})] if said.content else []
    if said.calls:
        calls = [{"index": place, **call} for place, call in enumerate(said.calls)]
        chunks.append(chunk(head, {"tool_calls": calls}))
    chunks.append(chunk(head, {}, said.finish) | {"orchestra": run})
    if with_usage:
        chunks.append(_headed(head, "chat.completion.chunk", []) | {"usage": used})
    return chunks


def _headed(head: Head, kind: str, choices: list[Data]) -> Data:
    return {"id": head.id, "object": kind, "created": head.created, "model": head.model, "choices": choices}


def event(data: Mapping[str, Any] | str) -> bytes:
    """One server-sent event."""
    return f"data: {data if isinstance(data, str) else dumps(data)}\n\n".encode()


def remark(text: str) -> bytes:
    """A comment of an event stream, which clients skip: it keeps the connection alive. `text` has no line end."""
    return f": {text}\n\n".encode()


def error(message: str, *, param: str | None = None, code: str | None = None, kind: str | None = None) -> Data:
    """An error object."""
    return {"error": {"message": message, "type": kind or "invalid_request_error", "param": param, "code": code}}


def json_response(data: Mapping[str, Any], status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Plain data as a response."""
    return Response(dumps(data).encode(), status, headers, media_type="application/json")


def error_response(
    message: str,
    *,
    status: int,
    param: str | None = None,
    code: str | None = None,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """An error as a response; `type` follows from the status as OpenAI has it."""
    kinds = {401: "authentication_error", 403: "permission_error", 404: "not_found_error", 429: "rate_limit_error"}
    kind = kinds.get(status, "invalid_request_error" if status < 500 else "server_error")
    return json_response(error(message, param=param, code=code, kind=kind), status, headers)
