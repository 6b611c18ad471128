"""The user of an assignment: reveals what is asked, says yes once it is right to, and ends the conversation.

`StatedUser` needs no model and is a pure function of the conversation. `ModelUser` plays the same part with any
chat model; what it costs is on no orchestrator's bill.
"""

import re
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Protocol

from orchestra_lib.environment.assignment import Assignment, AssignmentKind, UserFact
from orchestra_lib.generation import ChatRequest, Completion
from orchestra_lib.pricing import Attempt
from orchestra_lib.protocols import ChatModel
from orchestra_lib.record import record

YES = "Yes, please go ahead."
UNKNOWN = "I am afraid I do not know that."
DONE = "Thank you, that is all."
STOP = "###STOP###"
"""What a model that plays the user writes to end the conversation."""

_ASKS = re.compile(
    r"\?|\b(please|could you|can you|may i|i need|need your|provide|tell me|give me|let me know|share|send me|what is"
    r"|which|confirm)\b",
    re.IGNORECASE,
)
_ELSE = re.compile(
    r"\b(anything|something|any thing|what) else\b|\bfurther (help|assistance|requests?)\b", re.IGNORECASE
)
_CONFIRM = re.compile(
    r"\b(confirm|proceed|go ahead|shall i|should i|do you want|would you like|do you agree|is that (correct|right|ok"
    r"|okay|fine)|are you sure|(yes|no)\b.{0,12}\?|ok to)",
    re.IGNORECASE,
)
_REFUSES = re.compile(
    r"\b(cannot|can't|can not|unable|not able|not allowed|not permitted|not possible|may not|refuse|decline|against"
    r"|do(es)? not allow|not eligible|no longer be)\b",
    re.IGNORECASE,
)


@record
class Exchange:
    """One message of the agent and the user's reply to it."""

    agent: str
    user: str


@record
class Reply:
    """What the user says; `done` ends the conversation. `attempts` are those of a model behind the user."""

    text: str
    done: bool = False
    attempts: tuple[Attempt, ...] = ()


class User(Protocol):
    """Whoever plays the user. Raises `ProviderFault` when its model cannot be reached."""

    async def reply(self, before: Sequence[Exchange], message: str) -> Reply: ...


class StatedUser:
    """Answers by rules: facts that are asked for, then yes, then the next request, then the end."""

    def __init__(self, assignment: Assignment) -> None:
        self._assignment = assignment
        self._asked = [(fact, _pattern(fact)) for fact in assignment.facts]

    async def reply(self, before: Sequence[Exchange], message: str) -> Reply:
        """The reply; the same conversation always gives the same."""
        return self.answer(before, message)

    def answer(self, before: Sequence[Exchange], message: str) -> Reply:
        """The reply, for callers that await nothing."""
        said = [self._assignment.instruction, *(one.user for one in before)]
        if _ELSE.search(message):
            return self._next(said)
        asks = bool(_ASKS.search(message))
        if asks and (told := [fact.says for fact, pattern in self._asked if pattern.search(message)]):
            confirms = bool(_CONFIRM.search(message)) and all(any(one in text for text in said) for one in told)
            return Reply(text=YES) if confirms else Reply(text=" ".join(dict.fromkeys(told)))
        insists = self._assignment.insists
        refuses = bool(_REFUSES.search(message))
        if insists and refuses and insists not in said:
            return Reply(text=insists)
        # "It cannot be free. Shall I go ahead?" asks for a yes; where all is to be refused it offers something else.
        final = refuses and self._assignment.kind is AssignmentKind.REFUSAL
        if asks and _CONFIRM.search(message) and not final:
            return Reply(text=YES)
        if "?" in message and not refuses:
            return Reply(text=UNKNOWN)
        return self._next(said)

    def _next(self, said: Sequence[str]) -> Reply:
        for request in self._assignment.followups:
            if request not in said:
                return Reply(text=request)
        return Reply(text=DONE, done=True)


def _pattern(fact: UserFact) -> re.Pattern[str]:
    words = "|".join(re.escape(word) for word in fact.asked_by) or re.escape(fact.name)
    return re.compile(rf"(?<!\w)(?:{words})(?!\w)", re.IGNORECASE)


class ModelUser:
    """A chat model in the part of the user."""

    def __init__(self, assignment: Assignment, model: ChatModel, *, seed: int | None = None) -> None:
        self._assignment, self._model, self._seed = assignment, model, seed

    async def reply(self, before: Sequence[Exchange], message: str) -> Reply:
        """Ask the model; an empty reply ends nothing and says nothing useful, as such users do."""
        completion: Completion | None = None
        async with aclosing(self._model.stream(self.request(before, message))) as parts:
            async for part in parts:
                if isinstance(part, Completion):
                    completion = part
        if completion is None:
            raise RuntimeError(f"{self._model.name} ended its reply without a Completion; yield exactly one")
        text = completion.content.replace(STOP, "").strip()
        unbilled = tuple(replace(one, billed=False) for one in completion.attempts)
        return Reply(text=text or DONE, done=STOP in completion.content, attempts=unbilled)

    def request(self, before: Sequence[Exchange], message: str) -> ChatRequest:
        """The whole request: for the model the agent is the one who asks."""
        said: list[dict[str, str]] = [
            {"role": "system", "content": self._system()},
            {"role": "user", "content": "Hello, how can I help you?"},
            {"role": "assistant", "content": self._assignment.instruction},
        ]
        for one in before:
            said += [{"role": "user", "content": one.agent}, {"role": "assistant", "content": one.user}]
        said.append({"role": "user", "content": message})
        return ChatRequest(messages=tuple(said), max_tokens=300, temperature=0.0, seed=self._seed)

    def _system(self) -> str:
        one = self._assignment
        facts = "\n".join(f"- {fact.name}: {fact.says}" for fact in one.facts) or "- nothing further"
        requests = "\n".join(f"- {text}" for text in (one.instruction, *one.followups))
        insists = f"\nIf the agent refuses, say once: {one.insists}" if one.insists else ""
        return (
            "You play a customer who talks to a service agent. Write only what the customer says, one or two short "
            f"sentences.\n{one.persona}\nWhat you want, in this order, one request at a time:\n{requests}\n"
            f"What you know, and tell only when asked:\n{facts}\n"
            "Confirm with yes when the agent asks about what you want. Never invent anything; say that you do not "
            f"know.{insists}\nWhen all is settled or finally refused, write {STOP}."
        )
