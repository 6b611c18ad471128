"""Who plays an order: the policy that conducts, its tools, and the domain that they go on in."""

from collections.abc import Mapping, Sequence
from typing import Any

from orchestra_lib import chat, toolorchestra
from orchestra_lib.assigning import Assignments, tools_of, with_parameters
from orchestra_lib.check import Check
from orchestra_lib.environment.assignment import Assignment
from orchestra_lib.environment.domain import World
from orchestra_lib.environment.policy_text import policy_text
from orchestra_lib.environment.success import golden_of
from orchestra_lib.errors import BadInput, ModelMistake
from orchestra_lib.event import Event, TurnStarted
from orchestra_lib.experts import ON_REQUEST
from orchestra_lib.forking import AskedCall, Edited
from orchestra_lib.limits import Limits
from orchestra_lib.policy.scripted import Scripted
from orchestra_lib.preference import Preference
from orchestra_lib.protocols import ParticularPolicy, Policy, Tool
from orchestra_lib.record import record
from orchestra_lib.roster import Roster
from orchestra_lib.task import Assigned
from orchestra_lib.tool import ToolCall
from orchestra_lib.toolkit.arguments import check
from orchestra_lib.trajectory import Fork

TRY_OUT = "try-out"
"""The orchestrator of a call that a person made by hand."""


@record
class Order:
    """What a user asks for. `tools` None means every tool that is on.

    Protocol `toolorchestra` brings its own three tools, behind which the models at hand stand as aliases.
    The orchestrator `try-out` makes one call of one tool with `arguments`, as a person gave them. Runs of one `group`
    are rollouts to compare. With a `fork` the run begins with the turns of another one; `call` is then what is done in
    the first turn of its own, in place of what the orchestrator would do. With a `reference` the run is graded when it
    has ended, by `check` or by the one that fits; a `check` by a model waits until somebody asks for it.
    An `assignment`, `DOMAIN/ID` or one as it is, takes the place of task, reference and check: the run goes on in its
    domain, whose operations stand beside `tools` (None: no others), and is judged there. `user` names the model that
    plays the user; None is the user that answers by rules.
    """

    task: str = ""
    orchestrator: str = "conductor"
    protocol: str = chat.PROTOCOL
    preference: Preference = Preference()
    tools: tuple[str, ...] | None = None
    prices: str = "nominal"
    limits: Limits = Limits()
    seed: int | None = None
    arguments: Mapping[str, Any] | None = None
    group: str | None = None
    fork: Fork | None = None
    call: AskedCall | None = None
    reference: str | None = None
    check: Check | None = None
    assignment: str | Assignment | None = None
    user: str | None = None

    @property
    def title(self) -> str:
        """What it is known by while it waits: the task, or the assignment."""
        named = self.assignment
        return self.task or (named.instruction if isinstance(named, Assignment) else named or "")


@record
class Stage:
    """The domain that a run goes on in."""

    world: World
    assigned: Assigned
    assignment: Assignment
    tools: tuple[Tool, ...]


@record
class Visit:
    """What the caller of a served run brings: tools that it runs itself, instructions, and the turns so far."""

    tools: tuple[Tool, ...] = ()
    instructions: str = ""
    history: tuple[Event, ...] = ()


class Casting:
    """Casts orders from a roster and the domains at hand."""

    def __init__(self, roster: Roster, assignments: Assignments) -> None:
        self._roster, self._assignments = roster, assignments

    def stage(self, order: Order) -> Stage | None:
        """The domain of an order with an assignment; None for an order without. Raises `BadInput`."""
        if order.assignment is None:
            if order.user is not None:
                raise BadInput("a model that plays the user belongs to an assignment; name one")
            return None
        if order.task or order.reference is not None or order.check is not None:
            raise BadInput("an assignment brings its own task and its own check; leave task, reference and check out")
        named = order.assignment
        assignment = self._assignments.find(named) if isinstance(named, str) else named
        world = with_parameters(self._assignments.world(assignment.domain), assignment)
        golden_of(world, assignment)
        model = None if order.user is None else self._roster.chat_model(order.user)
        assigned = self._assignments.assigned(assignment, order.user)
        tools = tools_of(world, assignment, model, order.seed)
        return Stage(world=world, assigned=assigned, assignment=assignment, tools=tools)

    def cast(self, order: Order, stage: Stage | None, visit: Visit | None = None) -> tuple[Policy, tuple[Tool, ...]]:
        """The policy and the tools of an order, in its domain if it has one. Raises `BadInput`.

        A caller's tools stand beside the order's own and take the place of those of the same name.
        """
        if visit is not None and visit.tools:
            return self._cast_beside(visit, order)
        return self._cast(order) if stage is None else self._cast_in(stage, order)

    def _cast_beside(self, visit: Visit, order: Order) -> tuple[Policy, tuple[Tool, ...]]:
        if order.protocol == toolorchestra.PROTOCOL:
            return self._roster.ensemble_in_domain(order.orchestrator, visit.instructions, visit.tools)
        policy, tools = self._cast(order)
        brought = {tool.spec.name for tool in visit.tools}
        return checked(policy, (*(tool for tool in tools if tool.spec.name not in brought), *visit.tools))

    def _cast(self, order: Order) -> tuple[Policy, tuple[Tool, ...]]:
        if order.orchestrator == TRY_OUT:
            return self._by_hand(order)
        if order.protocol == chat.PROTOCOL:
            return self._conducting(self._roster.orchestrator(order.orchestrator), order.tools)
        if order.protocol != toolorchestra.PROTOCOL:
            raise BadInput(_no_protocol(order.protocol))
        policy, tools = self._roster.ensemble(order.orchestrator)
        if order.tools is not None:
            offered = {tool.spec.name: tool for tool in tools}
            for name in order.tools:
                if name not in offered:
                    raise BadInput(f"there is no tool {name!r} in this protocol; the tools are {', '.join(offered)}")
            tools = tuple(offered[name] for name in order.tools)
        return policy, tools

    def _cast_in(self, stage: Stage, order: Order) -> tuple[Policy, tuple[Tool, ...]]:
        """Who conducts in a domain, with its operations before whatever else is asked for."""
        own = {tool.spec.name for tool in stage.tools}
        others = tuple(name for name in order.tools or () if name not in own)
        if order.orchestrator == TRY_OUT:
            raise BadInput("a tool is tried out without an assignment")
        if order.protocol == chat.PROTOCOL:
            policy, chosen = self._roster.orchestrator(order.orchestrator), self._chosen(others)
            return checked(policy, (*stage.tools, *chosen))
        if order.protocol != toolorchestra.PROTOCOL:
            raise BadInput(_no_protocol(order.protocol))
        return self._roster.ensemble_in_domain(order.orchestrator, policy_text(stage.world.domain), stage.tools)

    def _conducting(self, policy: Policy, names: tuple[str, ...] | None) -> tuple[Policy, tuple[Tool, ...]]:
        """A policy with the tools that were asked for; one that takes only some chooses among those at hand.

        To choose such a policy is to ask for simulated experts, where it takes them.
        """
        if names is None and isinstance(policy, ParticularPolicy):
            names = policy.choose([spec for spec, why in self._roster.tools() if why is None or spec.simulated])
            return checked(policy, tuple(self._roster.tool(name) for name in names))
        return checked(policy, self._chosen(names))

    def _by_hand(self, order: Order) -> tuple[Policy, tuple[Tool, ...]]:
        tools = self._chosen(order.tools or ())
        if len(tools) != 1 or order.arguments is None:
            raise BadInput("to try a tool out, name one tool and give its arguments")
        name = tools[0].spec.name
        try:
            check(tools[0].spec, ToolCall.of("call_1_1", name, order.arguments))
        except ModelMistake as mistake:
            raise BadInput(str(mistake)) from None
        return Scripted([[(name, dict(order.arguments))], "Tried out."], name=TRY_OUT), tools

    def _chosen(self, names: tuple[str, ...] | None) -> tuple[Tool, ...]:
        off = {spec.name: why for spec, why in self._roster.tools()}
        if names is None:
            return tuple(self._roster.tool(name) for name, why in off.items() if why is None)
        chosen: dict[str, Tool] = {}
        for name in names:
            tool = self._roster.asked(name) if name.startswith(ON_REQUEST) else None
            if tool is None:
                if name not in off:
                    raise BadInput(f"there is no tool {name!r}; the tools are {', '.join(off)}")
                if off[name] is not None:
                    raise BadInput(f"the tool {name} is off: {off[name]}")
                tool = self._roster.tool(name)
            chosen[tool.spec.name] = tool
        return tuple(chosen.values())


def checked(policy: Policy, tools: tuple[Tool, ...]) -> tuple[Policy, tuple[Tool, ...]]:
    """Both, where the policy can conduct the tools. Raises `BadInput`."""
    if isinstance(policy, ParticularPolicy) and (why := policy.refusal([tool.spec for tool in tools])) is not None:
        raise BadInput(f"{policy.spec.name} cannot conduct this: {why}")
    return policy, tools


def edited(policy: Policy, tools: Sequence[Tool], asked: AskedCall | None, history: Sequence[Event]) -> Policy:
    """The policy, or the person who makes the next turn in its place. Raises `BadInput` for a call that cannot be."""
    if asked is None:
        return policy
    tool = next((tool for tool in tools if tool.spec.name == asked.tool), None)
    if tool is None:
        names = ", ".join(tool.spec.name for tool in tools) or "none"
        raise BadInput(f"the edited call names {asked.tool!r}, which is not on offer; the tools are {names}")
    try:
        check(tool.spec, ToolCall.of("edited", asked.tool, asked.arguments))
    except ModelMistake as mistake:
        raise BadInput(str(mistake)) from None
    return Edited(policy, sum(isinstance(event, TurnStarted) for event in history), asked)


def _no_protocol(name: str) -> str:
    return f"there is no protocol {name!r}; there are {chat.PROTOCOL} and {toolorchestra.PROTOCOL}"
