"""Trying one model out alone: it is asked training tasks, each once, and what came of them is measured.

The runs are runs like any other: graded, kept and tagged, so that every figure can be traced to them. Those of the same
model, tasks and seed that are there already are not played again.
"""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import replace
from functools import partial

from orchestra_lib.calibration import share
from orchestra_lib.casting import Order
from orchestra_lib.descriptions import Measured
from orchestra_lib.errors import BadInput
from orchestra_lib.event import fold
from orchestra_lib.keeping import kept, play_all
from orchestra_lib.limits import Limits
from orchestra_lib.play import play
from orchestra_lib.players import tool_name
from orchestra_lib.policy.baseline import Baseline, Merit
from orchestra_lib.profile import ANY
from orchestra_lib.profilefit import fit
from orchestra_lib.protocols import Situation, Tool
from orchestra_lib.record import record
from orchestra_lib.roster import Roster
from orchestra_lib.store.summary import Filter
from orchestra_lib.tool import ToolKind, ToolSpec, wire_name
from orchestra_lib.toolkit.model_tool import ModelTool, question
from orchestra_lib.training_tasks import TrainingSample, TrainingTask
from orchestra_lib.trajectory import StopReason, Trajectory
from orchestra_lib.workbench import Workbench

ALONE = "describe"
"""The orchestrator of these runs: it asks the one model on offer, and nobody chose it."""

TAG = "describe"
_ANSWERING = (ToolKind.SPECIALIST, ToolKind.GENERALIST)
_SYSTEM = "You are a helpful assistant. Answer completely and to the point, only what is asked."
_INPUT, _OUTPUT, _TURNS = 16_000, 1_024, 3
JOBS = 4


@record
class Trial:
    """A training task and the run that it came to."""

    task: TrainingTask
    run: Trajectory

    @property
    def said(self) -> str | None:
        """What the model answered; None where it could not be reached or failed."""
        return None if self.run.faults or not _ran(self.run) else self.run.answer


def subject(roster: Roster, name: str) -> Tool:
    """The model of this name as a tool: one on offer, or one that only answers chats. Raises `BadInput`."""
    if (asked := roster.asked(name)) is not None:
        return asked
    tools = {spec.name: (spec, off) for spec, off in roster.tools()}
    wanted = tool_name(roster.endpoints.get(name)) if name in roster.endpoints else name
    if wanted not in tools:
        wanted = next((spec.name for spec, _ in tools.values() if spec.model == name), wanted)
    if wanted in tools:
        spec, off = tools[wanted]
        if spec.kind not in _ANSWERING or "question" not in spec.parameters.get("properties", {}):
            raise BadInput(f"{wanted} is no model that answers questions; describe one of {_described(roster)}")
        if off is not None:
            raise BadInput(f"the model {name} is off: {off}")
        return roster.tool(wanted)
    model = roster.chat_model(name)
    spec = ToolSpec(
        name=wire_name(name),
        title=name,
        description=f"The language model {name}.",
        parameters=question("What to do"),
        kind=ToolKind.GENERALIST,
        model=model.name,
        max_input_tokens=_INPUT,
        max_output_tokens=_OUTPUT,
    )
    return ModelTool(spec, model, _SYSTEM)


def _described(roster: Roster) -> str:
    return ", ".join(spec.name for spec, _ in roster.tools() if spec.kind in _ANSWERING)


async def try_out(
    workbench: Workbench,
    tool: Tool,
    sample: TrainingSample,
    *,
    prices: str,
    limit_usd: float | None,
    anew: bool = False,
) -> AsyncGenerator[Trial, None]:
    """Ask the model every task of a sample, those first that it was asked before; yields each as it is there.

    No run costs more than `limit_usd`. Raises `BadInput` before anything is played, `StoreFault`.
    """
    known = {} if anew else _earlier(workbench, tool.spec, sample)
    for task in sample.tasks:
        if task.text in known:
            yield Trial(task=task, run=known[task.text])
    left = {task.text: task for task in sample.tasks if task.text not in known}
    todo = [partial(_ask, workbench, tool, task, sample.seed, prices, limit_usd) for task in left.values()]
    async for run in play_all(workbench, todo, tags=(TAG,), jobs=JOBS):
        yield Trial(task=left[run.setting.task.text], run=run)


async def _ask(
    workbench: Workbench, tool: Tool, task: TrainingTask, seed: int, prices: str, limit_usd: float | None
) -> Trajectory:
    order = Order(
        task=task.text, reference=task.reference, tools=(tool.spec.name,), orchestrator="cheapest", prices=prices,
        seed=seed, limits=Limits(max_turns=_TURNS, cost_usd=limit_usd),
    )  # fmt: skip
    setting = replace(workbench.setting(order), orchestrator=ALONE)
    run = fold([event async for event in play(setting, _alone(), (tool,), artefacts=workbench.artefacts)])
    return await kept(workbench, run)


def _alone() -> Baseline:
    def rule(situation: Situation, specs: Sequence[ToolSpec]) -> list[Merit]:
        return [Merit(score=1.0, note="the only one, as it is tried out") for _ in specs]

    return Baseline(ALONE, rule)


def _earlier(workbench: Workbench, spec: ToolSpec, sample: TrainingSample) -> dict[str, Trajectory]:
    wanted = {task.text: task.reference for task in sample.tasks}
    found: dict[str, Trajectory] = {}
    for run in workbench.store.each(Filter(tag=TAG, orchestrator=ALONE)):
        task = run.setting.task
        same = [_who(one) for one in run.setting.tools] == [_who(spec)] and run.setting.seed == sample.seed
        if same and wanted.get(task.text) == task.reference and run.stop is StopReason.ANSWERED and _ran(run):
            found.setdefault(task.text, run)
    return found


def _who(spec: ToolSpec) -> tuple[str, str | None, int | None]:
    """What tells the model behind a spec, whatever it is described as."""
    return spec.name, spec.model, spec.max_output_tokens


def _ran(run: Trajectory) -> bool:
    return not run.faults and any(call.observation and call.observation.status == "ok" for call in run.calls)


def measured(trials: Sequence[Trial], spec: ToolSpec) -> Measured:
    """What the trials show, by kind of task; what failed or could not be graded is neither right nor wrong."""
    kinds = {trial.run.id: (trial.task.kind, ANY) for trial in trials}
    found = fit((trial.run for trial in trials), lambda run: kinds[run.id], tools=(spec.name,)).tools
    faults = sum(trial.said is None for trial in trials)
    if not found:
        return Measured(right=share(0, 0), faults=faults)
    (one,) = found
    by_kind = {kind: of[ANY] for kind, of in one.skills.items()}
    return Measured(
        right=share(sum(of.hits for of in by_kind.values()), sum(of.of for of in by_kind.values())),
        kinds=by_kind,
        ungraded=one.unknown,
        faults=faults,
        unpriced=one.unpriced,
        cost_usd=one.cost_usd,
        latency_s=one.latency_s,
    )
