"""What an instance is about, wherever it comes from: a question with its answer, or a task in a domain."""

from collections.abc import Mapping, Sequence
from dataclasses import field
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any

from orchestra_lib import chat
from orchestra_lib.codec import fingerprint, to_data
from orchestra_lib.environment.assignment import Assignment, Information
from orchestra_lib.environment.domain import DOMAINS, World, load_world
from orchestra_lib.environment.domain_tools import AskUser, chat_task, domain_task, domain_tools
from orchestra_lib.environment.policy_text import policy_text
from orchestra_lib.errors import BadInput
from orchestra_lib.published.fields import Fields
from orchestra_lib.published.questions import QuestionRow
from orchestra_lib.published.task import PublishedTask
from orchestra_lib.record import record
from orchestra_lib.tool import ToolKind, ToolSpec
from orchestra_lib.toolorchestra.aliases import EXPERT


class Category(StrEnum):
    """The two kinds of training rows, under their published names."""

    QA = "qa"
    FUNCTION_CALL = "func_call"


@record
class Case:
    """One question or task. `text` is the question, or the user's first words.

    `reference` is the answer of a question. `policy` and `functions` are the domain's; `chat_text` and `chat_functions`
    are what protocol `chat` has in place of `text` and beside the functions, as it shows the policy and speaks to the
    user through a tool. `golden` are the golden calls as plain data, `say` what must be said, `assignment` the whole
    task for who plays it; no prompt shows those. `facts` is what else is known, for filters and plots.
    """

    id: str
    category: Category
    text: str
    source: str
    domain: str | None = None
    reference: str | None = None
    policy: str = ""
    functions: tuple[ToolSpec, ...] = ()
    chat_text: str = ""
    chat_functions: tuple[ToolSpec, ...] = ()
    golden: tuple[Mapping[str, Any], ...] = ()
    say: tuple[str, ...] = ()
    assignment: Assignment | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)

    def offered(self, protocol: str) -> tuple[ToolSpec, ...]:
        """The tools that the case itself brings under a protocol."""
        return (*self.functions, *self.chat_functions) if protocol == chat.PROTOCOL else self.functions

    def asked(self, protocol: str) -> str:
        """What the orchestrator is asked under a protocol."""
        return self.chat_text if protocol == chat.PROTOCOL and self.chat_text else self.text

    def __post_init__(self) -> None:
        if not self.text.strip():
            raise BadInput(f"{self.source} {self.id}: nothing is asked; leave it out")
        if self.category is Category.FUNCTION_CALL and not self.functions:
            raise BadInput(f"{self.source} {self.id}: a task in a domain needs the domain's functions")


def question_case(row: QuestionRow) -> Case:
    """A question of a data set."""
    return Case(
        id=row.id,
        category=Category.QA,
        text=row.question,
        source=row.source,
        reference=row.answer,
        facts={"subject": row.subject} if row.subject else {},
    )


class Worlds:
    """The domains of assignments, each loaded once; `folder` holds them."""

    def __init__(self, folder: Path = DOMAINS) -> None:
        self._folder = folder
        self._world = cache(lambda name: load_world(name, self._folder))
        self._functions = cache(lambda name: tuple(tool.spec for tool in domain_tools(self._world(name))))
        self._tuned: dict[str, World] = {}

    def case(self, assignment: Assignment) -> Case:
        """An assignment of one of the domains. Raises `BadInput` for an unknown one."""
        world = self._of(assignment)
        return Case(
            id=assignment.id,
            category=Category.FUNCTION_CALL,
            text=domain_task(assignment).text,
            source=assignment.source or "assignments",
            domain=assignment.domain,
            policy=policy_text(world.domain),
            functions=self._functions(assignment.domain),
            chat_text=chat_task(world, assignment).text,
            chat_functions=(AskUser.spec,),
            golden=tuple(to_data(call) for call in assignment.golden),
            say=tuple(_told(one) for one in assignment.required),
            assignment=assignment,
            facts={"kind": str(assignment.kind), "split": assignment.split, "difficulty": assignment.difficulty},
        )

    def _of(self, assignment: Assignment) -> World:
        """The domain under the assignment's own policy parameters."""
        world: World = self._world(assignment.domain)
        if not assignment.parameters:
            return world
        key = fingerprint([assignment.domain, assignment.parameters])
        if key not in self._tuned:
            self._tuned[key] = world.with_parameters(assignment.parameters)
        return self._tuned[key]


def _told(information: Information) -> str:
    unit = information.unit
    return f"{information.value} {unit}" if unit else str(information.value)


def published_case(task: PublishedTask, functions: Sequence[ToolSpec], *, policy: str, source: str) -> Case:
    """A published task; its domain's functions come with the training file or with a toolkit of the user's.

    Its opening is why the user calls, as the simulated user is told it: the user's own words come about in a run.
    """
    return Case(
        id=task.id,
        category=Category.FUNCTION_CALL,
        text=task.opening,
        source=source,
        domain=task.domain,
        policy=policy,
        functions=tuple(functions),
        chat_text=f"{policy.strip()}\n\n{task.opening}".strip(),
        golden=tuple({"operation": call.tool, "arguments": call.arguments} for call in task.golden),
        say=task.communicate,
    )


def functions_of(tools: Sequence[Mapping[str, Any]], where: str) -> tuple[ToolSpec, ...]:
    """A domain's functions from OpenAI function tools, as a training file has them; `call_expert` is none of them.

    Raises `BadInput` naming the tool and the key.
    """
    parts = (Fields(tool, where).child("function") for tool in tools)
    return tuple(_function(part) for part in parts if part.data.get("name") != EXPERT)


def _function(fields: Fields) -> ToolSpec:
    name = fields.text("name")
    return ToolSpec(
        name=name,
        title=name.replace("_", " ").capitalize(),
        description=fields.optional_text("description") or "",
        parameters=fields.mapping("parameters") or {"type": "object", "properties": {}},
        kind=ToolKind.DOMAIN,
    )
