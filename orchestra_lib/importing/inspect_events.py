"""What the events of an inspect_ai sample tell: when things happened, what they used, and on whose account.

A model that was asked within a tool stands on that call's ledger, one that was asked by a scorer is the judge, any
other on that of the message that came of it, or comes next.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from orchestra_lib.importing.conversation import UNKNOWN_MODEL, Move, Result
from orchestra_lib.importing.fields import Object, as_object, count, number, objects, text
from orchestra_lib.pricing import Attempt, Usage
from orchestra_lib.tool import CallStatus

_STATUSES = {"timeout": CallStatus.TIMEOUT, "cancelled": CallStatus.CANCELLED}
_STATUSES |= dict.fromkeys(("parsing", "approval"), CallStatus.REJECTED)


class Events:
    """The events of one sample. Times are seconds from `began`, 0 where `timed` is False: the source has none."""

    def __init__(self, events: Sequence[Object], began: datetime | None) -> None:
        models = [event for event in events if event.get("event") == "model"]
        self.timed = began is not None and any(moment(event, "timestamp") for event in models)
        self._began = began
        self._spans = {text(one, "id"): one for one in events if one.get("event") == "span_begin"}
        self._tools = {text(one, "id"): one for one in events if one.get("event") == "tool"}
        self._inner: dict[str | None, list[Object]] = {}
        self._own: list[Object] = []
        self.judged: tuple[Attempt, ...] = ()
        """What scorers asked of models."""
        self.tools: object = next((event["tools"] for event in models if event.get("tools")), None)
        """The tools on offer, as the first request that had some names them."""
        for event in models:
            self._place(event)

    def _place(self, event: Object) -> None:
        if self._is_judge(event):
            self.judged = (*self.judged, self._attempt(event))
        elif (tool := self._within(event)) is not None:
            self._inner.setdefault(tool, []).append(event)
        else:
            self._own.append(event)

    def moves(self, messages: Sequence[Object]) -> Mapping[int, Move]:
        """What is told of the model's messages, by their places."""
        places = {text(said, "id"): place for place, said in enumerate(messages) if said.get("role") == "assistant"}
        moves: dict[int, Move] = {}
        waiting: list[Attempt] = []
        began_s = last = None
        for event in self._own:
            start_s, end_s = self._span(event)
            began_s = start_s if began_s is None else began_s
            waiting.append(self._attempt(event))
            place = places.get(_message_id(event))
            if place is not None and place not in moves:
                moves[place] = Move(started_s=began_s, generated_s=end_s, attempts=tuple(waiting))
                waiting, began_s, last = [], None, place
        if waiting and last is not None:
            moves[last] = replace(moves[last], attempts=(*moves[last].attempts, *waiting))
        return moves

    def results(self, messages: Sequence[Object]) -> Mapping[int, Result]:
        """What is told of the calls that were answered, by the places of the answers."""
        answers = ((place, said) for place, said in enumerate(messages) if said.get("role") == "tool")
        found = ((place, said, text(said, "tool_call_id")) for place, said in answers)
        return {place: self._result(call_id, said) for place, said, call_id in found if call_id in self._tools}

    def _result(self, call_id: str | None, said: Object) -> Result:
        event = self._tools[call_id]
        start_s, end_s = self._span(event)
        own = Attempt(priced_as=text(event, "function") or "tool", wall_s=_busy(event, end_s - start_s))
        inner = (self._attempt(one) for one in self._inner.get(call_id, ()))
        return Result(started_s=start_s, finished_s=end_s, status=_status(said), attempts=(own, *inner))

    def _is_judge(self, event: Object) -> bool:
        """Whether a request was made within the span of the scorers."""
        at, seen = text(event, "span_id"), set[str]()
        while at is not None and at not in seen:
            seen.add(at)
            span = self._spans.get(at, {})
            if span.get("type") == "scorers":
                return True
            at = text(span, "parent_id")
        return False

    def _within(self, event: Object) -> str | None:
        """The call during which a request was made, None where there is none."""
        start_s, end_s = self._span(event)
        for call_id, tool in self._tools.items():
            tool_start_s, tool_end_s = self._span(tool)
            if tool_start_s <= start_s and end_s <= tool_end_s and tool_start_s < tool_end_s:
                return call_id
        return None

    def _span(self, event: Object) -> tuple[float, float]:
        began, ended = moment(event, "timestamp"), moment(event, "completed")
        if not self.timed or began is None or self._began is None:
            return 0.0, 0.0
        start_s = max(0.0, (began - self._began).total_seconds())
        if ended is None:
            return start_s, start_s + _busy(event, 0.0)
        return start_s, max(start_s, (ended - self._began).total_seconds())

    def _attempt(self, event: Object) -> Attempt:
        start_s, end_s = self._span(event)
        return _attempt(event, end_s - start_s)


def _attempt(event: Object, lasted_s: float) -> Attempt:
    """The ledger row of one request. What was read from inspect_ai's own cache was not billed again."""
    output = as_object(event.get("output") or {}, "output")
    told = output.get("usage")
    usage = Usage() if told is None else _usage(as_object(told, "usage"))
    error = text(event, "error")
    return Attempt(
        priced_as=(text(event, "model") or UNKNOWN_MODEL).partition("/")[2] or text(event, "model") or UNKNOWN_MODEL,
        usage=usage,
        wall_s=_busy(event, lasted_s),
        billed=event.get("cache") != "read" and not (error is not None and told is None),
        error=None if error is None else error[:500],
        reported_cost_usd=None if told is None else number(as_object(told, "usage"), "total_cost"),
    )


def _usage(told: Object) -> Usage:
    """Tokens in our terms: inspect_ai counts what a cache gave or took beside the input, we within it."""
    read, written = count(told, "input_tokens_cache_read"), count(told, "input_tokens_cache_write")
    fresh = count(told, "input_tokens")
    return Usage(
        input_tokens=None if fresh is None else fresh + (read or 0) + (written or 0),
        output_tokens=count(told, "output_tokens"),
        cached_tokens=read,
        reasoning_tokens=count(told, "reasoning_tokens"),
        cache_write_tokens=written,
    )


def _message_id(event: Object) -> str | None:
    choices = objects(as_object(event.get("output") or {}, "output"), "choices")
    return text(as_object(choices[0].get("message") or {}, "message"), "id") if choices else None


def _status(said: Object) -> CallStatus:
    error = said.get("error")
    if error is None:
        return CallStatus.OK
    return _STATUSES.get(text(as_object(error, "error"), "type") or "", CallStatus.ERROR)


def _busy(event: Object, otherwise_s: float) -> float:
    busy_s = number(event, "working_time")
    return otherwise_s if busy_s is None or busy_s < 0 else busy_s


def moment(data: Object, key: str) -> datetime | None:
    """A moment in UTC; None where there is none, or none that says its zone."""
    told = data.get(key)
    try:
        found = datetime.fromisoformat(told) if isinstance(told, str) else None
        return found.astimezone(UTC) if found is not None and found.tzinfo is not None else None
    except (ValueError, OverflowError):
        return None
