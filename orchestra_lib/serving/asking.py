"""One request until it is answered: its run, and further ones where the answer was not what the request demands.

An answer that does not fit is the model's mistake: a new run is told of it, within what the limits have left. Each is a
run like any other, and the request's usage and cost are those of all of them.
"""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace
from typing import Any

from orchestra_lib.errors import BadInput, ModelMistake
from orchestra_lib.limits import Limits
from orchestra_lib.pricing import total, total_tokens
from orchestra_lib.record import record
from orchestra_lib.serving.asked import Asked
from orchestra_lib.serving.conversation import Conversation
from orchestra_lib.serving.desk import Desk
from orchestra_lib.serving.served import Ended, Handed, Served, Thought, Working
from orchestra_lib.trajectory import StopReason, Trajectory

MOST_AGAIN = 2
"""A request is asked again so often."""

_SHOWN = 2_000
"""Characters of an answer that the next run is shown."""


@record
class Again:
    """A run begins, as the answer before it was not what was demanded; `why` is what it is told."""

    run_id: str
    why: str


@record
class Amiss:
    """The last answer is not what was demanded either. `code` names the demand."""

    trajectory: Trajectory
    why: str
    code: str
    tries: int


Told = Thought | Working | Handed | Again | Ended | Amiss


class Asking:
    """Answers one request. `runs` are those that it took, the last one under way.

    Raises `BadInput` where the desk does.
    """

    def __init__(self, desk: Desk, asked: Asked) -> None:
        self._desk, self._asked = desk, asked
        self.runs: list[Served] = [desk.serve(asked)]
        self._said = asked.conversation
        self._gone = False

    @property
    def served(self) -> Served:
        """The run under way."""
        return self.runs[-1]

    def stop(self) -> None:
        """Stop the run under way, and begin no other."""
        self._gone = True
        self.served.cancel.set()

    async def parts(self) -> AsyncGenerator[Told, None]:
        """What happens until calls are handed over, or until there is an answer or none will come."""
        while True:
            async with aclosing(self.served.parts()) as parts:
                async for part in parts:
                    if isinstance(part, Ended):
                        judged = self._judged(part)
                    else:
                        yield part
                    if isinstance(part, Handed):
                        return
            if not isinstance(judged, Amiss) or not self._again(judged):
                yield judged
                return
            yield Again(run_id=self.served.run_id, why=judged.why)

    def _judged(self, end: Ended) -> Ended | Amiss:
        trajectory, asked = end.trajectory, self._asked
        if trajectory.stop is not StopReason.ANSWERED or trajectory.answer is None:
            return end
        if asked.must_call:
            return self._amiss(end, f"there was no call. {asked.demand()}", "tool_choice_unmet")
        if asked.form is None:
            return end
        try:
            return replace(end, content=asked.form.read(trajectory.answer))
        except ModelMistake as mistake:
            return self._amiss(end, str(mistake), "json_validate_failed")

    def _amiss(self, end: Ended, why: str, code: str) -> Amiss:
        return Amiss(trajectory=end.trajectory, why=why, code=code, tries=len(self.runs))

    def _again(self, amiss: Amiss) -> bool:
        """Begin another run that is told why; whether one may begin. Who has said the same twice is not asked again."""
        said = [run.kept.answer for run in self.runs]
        if self._gone or len(said) > MOST_AGAIN or said[-1] in said[:-1]:
            return False
        limits = self._left()
        if limits is None:
            return False
        self._said = corrected(self._said, amiss.trajectory.answer or "", amiss.why)
        self.runs.append(self._desk.begin(replace(self._asked, conversation=self._said), limits))
        return True

    def _left(self) -> Limits | None:
        """What the runs so far have left of the request's limits; None where that is nothing, or unknown."""
        limits = self._desk.order_of(self._asked).limits
        done = [run.kept for run in self.runs]
        bills = [one.bill() for one in done]
        spent = {
            "max_turns": sum(len(one.turns) - one.setting.given_turns for one in done),
            "cost_usd": total(bill.cost_usd for bill in bills),
            "time_s": total(one.latency_s for one in done),
            "tokens": total_tokens(part for bill in bills for part in (bill.input_tokens, bill.output_tokens)),
        }
        left: dict[str, Any] = {}
        for name, used in spent.items():
            if (most := getattr(limits, name)) is not None:
                if used is None:
                    return None
                left[name] = most - used
        try:
            return replace(limits, **left)
        except BadInput:  # nothing is left of one of them
            return None


def corrected(said: Conversation, answer: str, why: str) -> Conversation:
    """The conversation with what was wrong with an answer, after the user's last words."""
    shown = answer if len(answer) <= _SHOWN else f"{answer[:_SHOWN]}…"
    words = f"An earlier answer was:\n{shown}\nIt cannot be used: {why}\nAnswer again, as it is asked for."
    if not said.before:
        return replace(said, opening=f"{said.opening}\n\n{words}")
    last = said.before[-1]
    reply = words if last.reply is None else f"{last.reply}\n\n{words}"
    return replace(said, before=(*said.before[:-1], replace(last, reply=reply)))
