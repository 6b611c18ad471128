"""Sampled instances as a course: questions with answers and ToolScale tasks, with experts that really answer.

Each exercise has its own experts under shuffled names, a price table of a drawn regime and a wish, as
`orchestra tasks sample` draws them, under protocol `chat`. `experts` says which model answers for each model of the
published kit; one without an entry is not on offer. An entry is any name that the workbench knows as a chat model:
an endpoint, `openai:MODEL`, `local/NAME`, or `recorded:` before one of these for answers that were paid for once.
"""

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import field, replace
from fractions import Fraction
from functools import partial
from pathlib import Path

from orchestra_lib import chat
from orchestra_lib.assigning import SAMPLE, Assignments, task_of, tools_of, with_parameters
from orchestra_lib.errors import BadInput, ProviderFault
from orchestra_lib.generation import ChatRequest, Completion, Delta
from orchestra_lib.judge.checks import compare_by_itself
from orchestra_lib.limits import Limits
from orchestra_lib.pricing import Attempt
from orchestra_lib.protocols import ChatModel, Tool
from orchestra_lib.record import record
from orchestra_lib.sampling import sources
from orchestra_lib.sampling.instance import Instance
from orchestra_lib.sampling.prices import Regime, by_strength
from orchestra_lib.sampling.sample import Materials, Plan, sample
from orchestra_lib.tool import ToolSpec
from orchestra_lib.toolkit.model_tool import EXPERT_SYSTEM, ModelTool
from orchestra_lib.toolorchestra.aliases import ANSWER, EXPERT, Kit
from orchestra_lib.training.course import Exercise
from orchestra_lib.trajectory import Trajectory


@record
class SampledSettings:
    """What is drawn from. `questions` are files in any form that `load_questions` reads, GeneralThought's among them.

    `tasks` are files or folders of assignments, the sample that ships when there are none; of those only `split` is
    taken, None for all. `qa_share` of the `count` exercises are questions. `user` names the model that plays the
    users of tasks, None the user that answers by rules.
    """

    questions: tuple[str, ...] = ()
    tasks: tuple[str, ...] = ()
    split: str | None = "train"
    qa_share: float = 0.5
    count: int = 10_000
    regimes: tuple[Regime, ...] = tuple(Regime)
    experts: Mapping[str, str] = field(default_factory=dict)
    user: str | None = None
    max_turns: int = 50

    def __post_init__(self) -> None:
        if not 0 <= self.qa_share <= 1:
            raise BadInput(f"course.qa_share = {self.qa_share:g}; it lies between 0 and 1")
        if self.qa_share > 0 and not self.questions:
            raise BadInput("course.qa_share asks for questions and course.questions names no file; give one, or 0")
        if self.count < 1 or self.max_turns < 1:
            raise BadInput(f"course.count = {self.count}, max_turns = {self.max_turns}; both are 1 or more")


class SampledCourse:
    """Exercise n is instance n of the plan, which begins again where it ends.

    `model` gives a chat model by its name. Raises `BadInput` for files that cannot be read, for an expert that is no
    model of the kit, and as `model` does.
    """

    def __init__(self, settings: SampledSettings, seed: int, home: Path, model: Callable[[str], ChatModel]) -> None:
        self._settings, self._assignments = settings, Assignments(home)
        materials = staffed(sources.materials(), settings.experts)
        self._model = {name: StandIn(model(answers), name) for name, answers in settings.experts.items()}
        self._user = None if settings.user is None else model(settings.user)
        folders = [Path(one).expanduser() for one in settings.tasks] or [SAMPLE]
        gathered = sources.questions(Path(one).expanduser() for one in settings.questions)
        if settings.qa_share < 1:
            gathered += sources.assignments(folders, split=settings.split if settings.tasks else None)
        share = Fraction(settings.qa_share).limit_denominator(1000)
        plan = Plan(n=settings.count, seed=seed, qa_share=share, protocol=chat.PROTOCOL, regimes=settings.regimes)
        self._instances = tuple(sample(plan, gathered.cases, materials))
        self._strongest_first = by_strength((*materials.kit.tools, *materials.words.kit.tools))

    def __len__(self) -> int:
        return len(self._instances)

    def exercise(self, number: int) -> Exercise:
        """The exercise of this number."""
        one = self._instances[number % len(self._instances)]
        setting = replace(one.setting(orchestrator="policy"), limits=Limits(max_turns=self._settings.max_turns))
        own: Callable[[], Sequence[Tool]] = tuple
        grade: Callable[[Trajectory], bool | None] = _by_reference
        if (assignment := one.case.assignment) is not None:
            world = with_parameters(self._assignments.world(assignment.domain), assignment)
            setting = replace(
                setting,
                task=task_of(world, assignment, chat.PROTOCOL),
                assigned=self._assignments.assigned(assignment, self._settings.user),
            )
            own, grade = partial(tools_of, world, assignment, self._user, one.seed), self._by_state
        return Exercise(
            id=f"{one.id}/{number // len(self._instances)}",
            kind=str(one.regime),
            setting=setting,
            tools=lambda rollout: (*own(), *map(self._expert, one.offer.specs)),
            grade=grade,
            strongest=self._strongest(one),
            aim=_aim(one),
        )

    def _expert(self, spec: ToolSpec) -> Tool:
        return ModelTool(spec, self._model[spec.priced_as], EXPERT_SYSTEM)

    def _strongest(self, one: Instance) -> frozenset[str]:
        names = {spec.priced_as: spec.name for spec in one.offer.specs}
        best = next((model for model in self._strongest_first if model in names), None)
        return frozenset() if best is None else frozenset({names[best]})

    def _by_state(self, trajectory: Trajectory) -> bool:
        return self._assignments.judged(trajectory).verdict.success


class StandIn:
    """A chat model that answers in place of one of the kit, and is priced as that one: the prices are drawn for it."""

    def __init__(self, model: ChatModel, name: str) -> None:
        self._model, self.name = model, name

    async def stream(self, request: ChatRequest) -> AsyncGenerator[Delta | Completion, None]:
        try:
            async with aclosing(self._model.stream(request)) as parts:
                async for part in parts:
                    yield part if isinstance(part, Delta) else replace(part, attempts=self._priced(part.attempts))
        except ProviderFault as fault:
            fault.attempts = self._priced(fault.attempts)
            raise

    def _priced(self, attempts: tuple[Attempt, ...]) -> tuple[Attempt, ...]:
        return tuple(replace(one, priced_as=self.name) for one in attempts)


def staffed(materials: Materials, experts: Mapping[str, str]) -> Materials:
    """The kits with only those models that somebody answers for. Raises `BadInput` for one that no kit has."""
    kits = (materials.kit, materials.words.kit)
    known = {alias.model for kit in kits for tool in kit.tools for alias in tool.aliases}
    if not experts:
        raise BadInput(f"course.experts names nobody who answers; give at least one of {', '.join(sorted(known))}")
    for name in experts:
        if name not in known:
            raise BadInput(f"course.experts.{name}: the kit has no such model; it has {', '.join(sorted(known))}")
    for kit, tool in ((materials.kit, ANSWER), (materials.words.kit, EXPERT)):
        able = [alias.model for alias in kit.tool(tool).aliases]
        if not any(model in experts for model in able):
            raise BadInput(f"course.experts: nobody can stand behind {tool}; name one of {', '.join(able)}")
    return replace(
        materials,
        kit=_only(materials.kit, experts),
        words=replace(materials.words, kit=_only(materials.words.kit, experts)),
    )


def _only(kit: Kit, experts: Mapping[str, str]) -> Kit:
    tools = (
        replace(tool, aliases=tuple(alias for alias in tool.aliases if alias.model in experts)) for tool in kit.tools
    )
    return replace(kit, tools=tuple(tools))


def _by_reference(trajectory: Trajectory) -> bool | None:
    """Right or wrong where a program can tell; None leaves the rollout out of its group."""
    reference = trajectory.setting.task.reference
    return None if reference is None else compare_by_itself(trajectory.answer or "", reference)[1].outcome


def _aim(one: Instance) -> str:
    """What the wish weighs most."""
    wish = one.preference
    weights = {"outcome": wish.outcome, "cost": wish.cost, "latency": wish.latency}
    weights["tool"] = max((abs(weight) for weight in wish.tools.values()), default=0.0)
    return max(weights, key=weights.__getitem__)
