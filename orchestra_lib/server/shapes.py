"""Answers in the shapes of OpenAI's chat API: completions, chunks, usage, errors."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from starlette.responses import Response

from orchestra_lib.codec import dumps
from orchestra_lib.pricing import total, total_tokens
from orchestra_lib.record import record
from orchestra_lib.serving.served import Ended, Handed, Served
from orchestra_lib.toolorchestra.tokens import WordPieces
from orchestra_lib.trajectory import StopReason

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


def message_of(part: Handed | Ended, calls: Sequence[Data], max_tokens: int | None, stop: Sequence[str]) -> Message:
    """The message of a response: an answer ends before the first of `stop`, and after `max_tokens`.

    An episode that a limit ended has no answer, and ends by `length`.
    """
    if isinstance(part, Handed):
        return Message(content=part.content or None, calls=calls, finish="tool_calls")
    if part.trajectory.stop is not StopReason.ANSWERED or part.content is None:
        return Message(content="", calls=(), finish="length")
    answer = part.content[: min((at for one in stop if (at := part.content.find(one)) >= 0), default=None)]
    kept = answer if max_tokens is None else _cut(answer, max_tokens)
    return Message(content=kept, calls=(), finish="stop" if kept == answer else "length")


def _cut(text: str, most: int) -> str:
    starts = _COUNTER.starts(text)
    return text if len(starts) <= most else text[: starts[most]].rstrip()


def usage(runs: Sequence[Served]) -> Data | None:
    """Tokens of everything on the bills of these runs that no response has told of; None when unknown.

    They count as told from then on.
    """
    bills = [run.kept.bill() for run in runs]
    taken, given = total_tokens(one.input_tokens for one in bills), total_tokens(one.output_tokens for one in bills)
    if taken is None or given is None:
        return None
    taken, given = taken - sum(run.reported[0] for run in runs), given - sum(run.reported[1] for run in runs)
    for run, one in zip(runs, bills, strict=True):
        run.reported = (one.input_tokens or 0, one.output_tokens or 0)
    return {"prompt_tokens": taken, "completion_tokens": given, "total_tokens": taken + given}


def about(runs: Sequence[Served], unused: Sequence[str]) -> Data:
    """The run behind a response, in a field that OpenAI's API does not have.

    Where earlier runs came to an answer that could not be used, calls and cost are those of all of them.
    """
    done = [run.kept for run in runs]
    last = done[-1]
    return {
        "run_id": last.id,
        "asked_again": [one.id for one in done[:-1]],
        "status": last.status,
        "turns": sum(len(one.turns) - one.setting.given_turns for one in done),
        "given_turns": last.setting.given_turns,
        "tools_used": dict(sum((Counter(one.tools_used) for one in done), Counter())),
        "cost_usd": total([one.bill().cost_usd for one in done]),
        "prices": last.setting.prices.name,
        "nominal": last.setting.prices.nominal,
        "simulated": last.simulated,
        "unused": list(unused),
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
