"""A domain's operations as tools of the engine, one state a run, and `ask_user`, which speaks with the user.

What happened is in the record: `state_of` replays a trajectory's calls, so that a verdict needs nothing but it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from orchestra_lib.environment.arguments import json_schema
from orchestra_lib.environment.assignment import Assignment
from orchestra_lib.environment.conduct import breaches, went_well
from orchestra_lib.environment.domain import World
from orchestra_lib.environment.policy_text import policy_text
from orchestra_lib.environment.schema import Operation
from orchestra_lib.environment.state import State
from orchestra_lib.environment.success import Verdict, judge
from orchestra_lib.environment.user import Exchange, User
from orchestra_lib.errors import ModelMistake
from orchestra_lib.pricing import Attempt, Price
from orchestra_lib.protocols import Situation, Tool, ToolResult
from orchestra_lib.task import Task
from orchestra_lib.tool import ASK_USER as ASK_USER
from orchestra_lib.tool import ToolKind, ToolSpec
from orchestra_lib.trajectory import Call, Trajectory, Turn

_TIMEOUT_S = 30.0
_USER_TIMEOUT_S = 120.0


class Sessions:
    """The states of the runs that go on in a world, by run id."""

    def __init__(self, world: World) -> None:
        self.world = world
        self._states: dict[str, State] = {}

    def state(self, run_id: str) -> State:
        """A run's state, made when first asked for."""
        if run_id not in self._states:
            self._states[run_id] = self.world.state()
        return self._states[run_id]

    def drop(self, run_id: str) -> None:
        """Forget a run."""
        self._states.pop(run_id, None)


class DomainTool:
    """One operation. It costs nothing and takes no time worth the name."""

    def __init__(self, operation: Operation, sessions: Sessions) -> None:
        self.spec = ToolSpec(
            name=operation.name,
            title=operation.heading or operation.name.replace("_", " ").capitalize(),
            description=operation.description,
            parameters=json_schema(operation),
            kind=ToolKind.DOMAIN,
            timeout_s=_TIMEOUT_S,
            typical_latency_s=0.0,
        )
        self._sessions = sessions

    async def call(self, arguments: Mapping[str, Any], *, run_id: str) -> ToolResult:
        state = self._sessions.state(run_id)
        result = self._sessions.world.operations.run(state, self.spec.name, arguments)
        return ToolResult(text=state.base.text(result), attempts=(_free(self.spec.name),))

    @property
    def memory(self) -> object:
        """The state, which all operations of the domain share."""
        return self._sessions

    async def restore(self, run_id: str, calls: Sequence[Call]) -> str:
        """Bring the state of a run to where the calls of another one had left it."""
        again = [call for call in calls if went_well(call)]
        _run_again(self._sessions.world, self._sessions.state(run_id), again)
        return f"{len(again)} earlier operation{'' if len(again) == 1 else 's'} run again"

    async def release(self, run_id: str) -> None:
        self._sessions.drop(run_id)


class AskUser:
    """Says something to the user; the observation is the user's reply. The user's last word ends the episode."""

    spec = ToolSpec(
        name=ASK_USER,
        title="Speak with the user",
        description=(
            "Say something to the user and read the reply: ask for what is missing, list what you are about to do and "
            "ask for a yes, tell results, ask whether there is anything else."
        ),
        parameters={
            "type": "object",
            "properties": {"message": {"type": "string", "description": "What you say to the user", "minLength": 1}},
            "required": ["message"],
            "additionalProperties": False,
        },
        kind=ToolKind.DOMAIN,
        timeout_s=_USER_TIMEOUT_S,
    )

    def __init__(self, user: User) -> None:
        self._user = user

    def spec_for(self, arguments: Mapping[str, Any]) -> ToolSpec:
        """What is said changes nothing of the tool."""
        return self.spec

    async def call_in(self, situation: Situation, arguments: Mapping[str, Any]) -> ToolResult:
        message = arguments["message"]
        reply = await self._user.reply(tuple(exchanges(situation.turns)), message)
        attempts = reply.attempts or (_free(ASK_USER),)
        return ToolResult(text=reply.text, attempts=attempts, answer=message if reply.done else None)

    async def call(self, arguments: Mapping[str, Any], *, run_id: str) -> ToolResult:
        """Not on its own: a reply needs the conversation."""
        raise ModelMistake(f"{ASK_USER} works only within an episode.")

    async def release(self, run_id: str) -> None:
        """Nothing is kept for a run: the conversation is in the record."""


def domain_tools(world: World, user: User | None = None) -> tuple[Tool, ...]:
    """The operations of a domain as tools, and `ask_user` where there is a user."""
    sessions = Sessions(world)
    tools: tuple[Tool, ...] = tuple(DomainTool(one, sessions) for one in world.domain.operations)
    return tools if user is None else (*tools, AskUser(user))


def domain_prices(world: World) -> Mapping[str, Price]:
    """The price rows that a run in a domain needs besides those of its models: all free."""
    free = Price(call_usd=0.0, source="a domain's operations run in this process")
    return {name: free for name in (*(one.name for one in world.domain.operations), ASK_USER)}


def chat_task(world: World, assignment: Assignment) -> Task:
    """The task of protocol `chat`: the policy and the user's opening words."""
    text = (
        "You are a service agent. Follow the policy. Speak with the user through the tool "
        f"`{ASK_USER}`; when everything is settled, give your closing words to the user as your answer.\n\n"
        f"<policy>\n{policy_text(world.domain).strip()}\n</policy>\n\nThe user says: {assignment.instruction}"
    )
    return Task(text=text, id=assignment.id)


def domain_task(assignment: Assignment) -> Task:
    """The task of a protocol that shows the policy itself: the user's opening words."""
    return Task(text=assignment.instruction, id=assignment.id)


def exchanges(turns: tuple[Turn, ...]) -> Iterator[Exchange]:
    """The conversation with the user so far."""
    for turn in turns:
        for call in turn.calls:
            if call.call.tool == ASK_USER and went_well(call):
                assert call.call.arguments is not None
                assert call.observation is not None
                yield Exchange(agent=call.call.arguments["message"], user=call.observation.text)


def messages_of(trajectory: Trajectory) -> tuple[str, ...]:
    """All that the agent said to the user, the final answer with it."""
    said = [one.agent for one in exchanges(trajectory.turns)]
    if trajectory.answer is not None and trajectory.answer not in said[-1:]:
        said.append(trajectory.answer)
    return tuple(said)


def state_of(world: World, trajectory: Trajectory) -> State:
    """The state that the calls of a trajectory lead to, by running them again in the order in which they ran."""
    state = world.state()
    ran = [
        call
        for turn in trajectory.turns
        for call in sorted(turn.calls, key=lambda one: one.observation.started_s if one.observation else 0.0)
        if call.call.tool in world.operations and went_well(call)
    ]
    _run_again(world, state, ran)
    return state


def _run_again(world: World, state: State, calls: Iterable[Call]) -> None:
    for call in calls:
        try:
            world.operations.run(state, call.call.tool, call.call.arguments or {})
        except ModelMistake:
            continue  # a record of another version of the domain; its verdict shows in the state


def verdict_of(world: World, assignment: Assignment, trajectory: Trajectory) -> Verdict:
    """Whether an episode did its assignment, from its record alone. `world` is the domain's; parameters are applied."""
    if assignment.parameters:
        world = world.with_parameters(assignment.parameters)
    verdict = judge(world, assignment, state_of(world, trajectory), messages_of(trajectory))
    return replace(verdict, conduct=breaches(world.domain, trajectory))


def _free(name: str) -> Attempt:
    return Attempt(priced_as=name, wall_s=0.0, billed=False)
