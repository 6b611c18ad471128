"""Asking a model for a proposal: reply, check, reason back, at most so many repairs, all within a money limit."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from orchestra_lib.asking import completion
from orchestra_lib.budget import Budget
from orchestra_lib.chat import inert
from orchestra_lib.errors import BadInput, ContextOverflow, ModelMistake, ProviderFault
from orchestra_lib.generation import ChatRequest, Completion
from orchestra_lib.json_writing import dumps
from orchestra_lib.limits import Limits
from orchestra_lib.pricing import Attempt, PriceTable, cost_usd
from orchestra_lib.protocols import ChatModel, PolicySpec
from orchestra_lib.record import record
from orchestra_lib.synthesis.proposing.journal import Journal, Try
from orchestra_lib.synthesis.proposing.reading import proposed
from orchestra_lib.tool import ToolKind, ToolSpec

T = TypeVar("T")
Check = Callable[[Mapping[str, Any]], T]
"""Makes what is wished of a proposal's data, or raises `BadInput` with the reason why it cannot be taken."""

MAX_REPAIRS = 8
_SAID, _CARRIED, _REASON = 2_000, 12_000, 800
_TEMPERATURE = 0.7
_FRAME_TOKENS = 200
"""What a chat template may add around the messages."""


@record
class Brief:
    """What a model is asked for. `schema` is that of the reply, `max_tokens` the longest one."""

    role: str
    request: str
    schema: Mapping[str, Any]
    max_tokens: int


class MoneyGone(Exception):
    """The next request may cost more than is left of the limit. Nothing was asked."""


class Purse:
    """The money of one run: the worst case of each request is held before it is made.

    Raises `BadInput` when there is a limit and the model has no price in the table.
    """

    def __init__(self, model: str, prices: PriceTable, limit_usd: float | None) -> None:
        self._prices, self._limit_usd = prices, limit_usd
        self._spec = ToolSpec(
            name=model,
            title=model,
            description="proposes domains and tasks",
            parameters={"type": "object", "properties": {}},
            kind=ToolKind.GENERALIST,
            model=model,
            max_input_tokens=1,
            max_output_tokens=1,
        )
        self._budget = Budget(Limits(cost_usd=limit_usd), prices, PolicySpec(name="nobody"), [self._spec])

    def hold(self, request: ChatRequest) -> float | None:
        """Set aside the most that a request can cost: no token is shorter than a byte. Raises `MoneyGone`."""
        size = sum(len(str(one["content"]).encode("utf-8", "replace")) for one in request.messages)
        if request.schema is not None:
            size += len(dumps(request.schema).encode())
        spec = replace(self._spec, max_input_tokens=size + _FRAME_TOKENS, max_output_tokens=request.max_tokens)
        try:
            return self._budget.hold(spec)
        except ModelMistake:
            raise MoneyGone(
                f"the next request may cost more than is left of the limit of ${self._limit_usd:g}; raise it to go on"
            ) from None

    def release(self, held_usd: float | None, attempts: tuple[Attempt, ...]) -> None:
        """Count what a request cost; where that is unknown, what was held for it stays held."""
        unknown = any(cost_usd(one, self._prices.find(one.priced_as)) is None for one in attempts if one.billed)
        self._budget.release(0.0 if unknown else held_usd, attempts)


class Asker:
    """Asks one model, and writes every try to the journal. `on_try` is told of each."""

    def __init__(
        self,
        model: ChatModel,
        journal: Journal,
        purse: Purse,
        *,
        repairs: int = 2,
        on_try: Callable[[Try], None] | None = None,
    ) -> None:
        if not 0 <= repairs <= MAX_REPAIRS:
            raise BadInput(f"{repairs} repairs; a model is told what is wrong 0 to {MAX_REPAIRS} times")
        self._model, self._journal, self._purse = model, journal, purse
        self._repairs, self._on_try = repairs, on_try
        purse.release(0.0, tuple(journal.attempts()))

    async def ask(self, slot: str, brief: Brief, check: Check[T], *, seed: int) -> T | None:
        """What the model proposed and the check made of it, or None when every try was rejected.

        A slot that an earlier run closed is not asked again. Raises `MoneyGone`, `ProviderFault`, and what the check
        raises besides `BadInput`.
        """
        if (closed := self._journal.closed(slot)) is not None:
            return None if closed.proposal is None else check(closed.proposal)
        messages: tuple[Mapping[str, Any], ...] = (
            {"role": "system", "content": inert(brief.role)},
            {"role": "user", "content": inert(brief.request)},
        )
        for number in range(1, self._repairs + 2):
            request = ChatRequest(
                messages=messages, schema=brief.schema, max_tokens=brief.max_tokens, temperature=_TEMPERATURE, seed=seed
            )
            last = number > self._repairs
            reply = await self._reply(slot, number, request)
            if reply is None:
                return None
            made, data, reason = None, None, None
            try:
                data = _read(reply)
                made = check(data)
            except BadInput as bad:
                reason, data = str(bad)[:_REASON], None
            self._keep(
                Try(
                    slot=slot,
                    number=number,
                    reason=reason,
                    said=reply.content[:_SAID],
                    proposal=data,
                    attempts=reply.attempts,
                    last=last or reason is None,
                )
            )
            if reason is None:
                return made
            messages = (*messages[:2], *_again(reply.content, reason))
        return None

    async def _reply(self, slot: str, number: int, request: ChatRequest) -> Completion | None:
        """One reply; None when the request is longer than the model takes, which no repair mends."""
        held = self._purse.hold(request)
        attempts: tuple[Attempt, ...] = ()
        try:
            reply = await completion(self._model, request)
            attempts = reply.attempts
            return reply
        except ProviderFault as fault:
            attempts, closed = fault.attempts, isinstance(fault, ContextOverflow)
            self._keep(
                Try(slot=slot, number=number, reason=str(fault)[:_REASON], attempts=attempts, last=closed, fault=True)
            )
            if not closed:
                raise
            return None
        finally:
            self._purse.release(held, attempts)

    def _keep(self, one: Try) -> None:
        self._journal.add(one)
        if self._on_try is not None:
            self._on_try(one)


def _read(reply: Completion) -> Mapping[str, Any]:
    if reply.finish_reason == "length":
        raise BadInput("reply: it was cut off at its longest; propose something shorter")
    try:
        return proposed(reply.content)
    except BadInput as bad:
        raise BadInput(f"reply: {bad}") from None


def _again(said: str, reason: str) -> tuple[Mapping[str, Any], ...]:
    """The last proposal and why it was rejected; earlier ones are left out, they were rejected too."""
    again = f"Rejected: {reason}\n\nReply with the whole corrected JSON object and nothing else."
    return (
        {"role": "assistant", "content": inert(said[:_CARRIED]) or "(nothing)"},
        {"role": "user", "content": inert(again)},
    )
