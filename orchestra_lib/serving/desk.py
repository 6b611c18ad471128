"""Where requests become runs: a new one, or one that waited for the results which a request brings."""

import asyncio
from dataclasses import replace

from orchestra_lib import chat
from orchestra_lib.json_writing import spoken
from orchestra_lib.limits import Limits
from orchestra_lib.serving.asked import Asked, digest_of, served_limits
from orchestra_lib.serving.beginning import assignment, history, question
from orchestra_lib.serving.conversation import Conversation, digest
from orchestra_lib.serving.errands import CallerTool, Errands
from orchestra_lib.serving.refusal import Refusal
from orchestra_lib.serving.served import Handed, Served
from orchestra_lib.serving.waiting import WaitingRoom
from orchestra_lib.workbench import Order, Visit, Workbench, new_run_id


class Desk:
    """Serves `orders`, by the name of the model that stands for each; the first is for requests that name none."""

    def __init__(self, workbench: Workbench, orders: dict[str, Order], room: WaitingRoom) -> None:
        self._workbench, self.orders, self._room = workbench, orders, room
        self._live: set[Served] = set()

    def serve(self, asked: Asked) -> Served:
        """The run that answers a request. Raises `BadInput`; nothing has begun then."""
        if (waiting := self._room.take(asked.digest, asked.conversation.answers)) is not None:
            return waiting
        return self.begin(asked)

    def order_of(self, asked: Asked) -> Order:
        """The order of a request. Raises `Refusal` for a model that is not here and for limits above the server's."""
        name = asked.model or next(iter(self.orders))
        if name not in self.orders:
            raise Refusal(
                f"there is no model {name[:100]!r} here; there are {', '.join(self.orders)}",
                param="model",
                code="model_not_found",
                status=404,
            )
        return asked.order(self.orders[name])

    def begin(self, asked: Asked, limits: Limits | None = None) -> Served:
        """A new run for a request, under other `limits` where they are given. Raises `BadInput`."""
        order, errands = self.order_of(asked), Errands()
        said = _told(asked)
        given = history(said.before) if asked.tools else ()
        turns = sum(event.kind == "turn_started" for event in given)
        wait_s = self._room.wait_s + 1.0  # the room's own limit comes first, and stops the run
        order = replace(
            order,
            task=_task(said, order.protocol, calling=bool(asked.tools)),
            limits=served_limits(limits or order.limits, wait_s, turns, calling=bool(asked.tools)),
        )
        tools = tuple(CallerTool(replace(spec, timeout_s=wait_s), errands) for spec in asked.tools)
        run_id, cancel = new_run_id(), asyncio.Event()
        visit = Visit(tools=tools, instructions=said.instructions, history=given)
        events = self._workbench.play(order, run_id=run_id, cancel=cancel, visit=visit)
        owners = frozenset(spec.name for spec in asked.tools)
        served = Served(run_id, events, errands, owners, cancel, one_call=asked.one_call)
        self._live.add(served)  # whoever asked may go away, and the run still closes its record
        served.when_over(lambda: self._live.discard(served))
        return served

    def hold(self, served: Served, asked: Asked, handed: Handed, messages: list[object]) -> list[dict[str, object]]:
        """Keep a run until the results of calls come; returns the calls as the caller is told of them."""
        ids = {f"call_{served.run_id}_{call.id.removeprefix('call_')}": call for call in handed.calls}
        calls: list[dict[str, object]] = [
            {"id": name, "type": "function", "function": {"name": call.tool, "arguments": spoken(call.arguments or {})}}
            for name, call in ids.items()
        ]
        said = {"role": "assistant", "content": handed.content, "tool_calls": calls}
        kept = digest_of(digest([*messages, said]), asked.tools, asked.model)
        self._room.hold(served, kept, {name: call.id for name, call in ids.items()})
        return calls

    def stop_all(self) -> None:
        """Tell every run to stop; whoever listens is told so within a second."""
        for served in self._live:
            served.cancel.set()

    async def close(self) -> None:
        """Stop every run, also those that wait for their callers."""
        await self._room.close()
        await asyncio.gather(*(served.stop() for served in self._live))


def _told(asked: Asked) -> Conversation:
    """The conversation, with what the request demands of an answer as the last of its instructions."""
    said, demand = asked.conversation, asked.demand()
    return replace(said, instructions="\n\n".join(part for part in (said.instructions, demand) if part))


def _task(said: Conversation, protocol: str, *, calling: bool) -> str:
    """A question as a whole; where the turns are given, its beginning; a domain shows the instructions by itself."""
    if not calling:
        return question(said)
    return assignment(said) if protocol == chat.PROTOCOL else said.opening
