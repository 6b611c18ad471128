"""Describing a model: it answers training tasks alone, and another model writes from that what it is good and bad at.

What the writer says is a text of others: it is cleaned and bounded before it is kept, and changes nothing until
somebody puts it in use.
"""

from collections.abc import Callable, Sequence

from orchestra_lib.asking import ask, new_fence
from orchestra_lib.describing_words import MAX_TOKENS, SCHEMA, Prose, Reader, again, messages
from orchestra_lib.descriptions import MODEL, WRITTEN, Description, Evidence
from orchestra_lib.errors import BadInput, ProviderFault
from orchestra_lib.generation import ChatRequest
from orchestra_lib.model_trials import Trial, measured, subject, try_out
from orchestra_lib.pricelist import find_table
from orchestra_lib.pricing import PriceTable, cost_usd, total, worst_case_usd
from orchestra_lib.protocols import ChatModel, Tool
from orchestra_lib.record import record
from orchestra_lib.training_tasks import training_sample
from orchestra_lib.workbench import Workbench

_ASKED = 2
"""So often a writer is asked at most."""

_WRITER_S = 300.0


@record
class Request:
    """Whom to describe, by whom, from how many tasks of which source. `budget_usd` is for runs and writer together."""

    model: str
    by: str
    source: str | None = None
    tasks: int = 10
    seed: int = 0
    prices: str = "nominal"
    budget_usd: float | None = None
    anew: bool = False

    def __post_init__(self) -> None:
        if self.budget_usd is not None and not self.budget_usd > 0:
            raise BadInput(f"budget = ${self.budget_usd:g}; a budget is above 0, or left out")
        if self.seed < 0:
            raise BadInput(f"seed = {self.seed}; it is 0 or more")


async def describe(workbench: Workbench, wanted: Request, told: Callable[[Trial], None]) -> Description:
    """Try the model out, have it described, and keep that as a new version; `told` is called as each run is there.

    Raises `BadInput` before anything is played for what cannot be, and for a writer of which nothing can be made;
    `ProviderFault` when no run came about or the writer could not be reached. The runs are kept all the same: the
    same command goes on with them.
    """
    writer = workbench.roster.chat_model(wanted.by)
    sample = training_sample(wanted.source, workbench.home, count=wanted.tasks, seed=wanted.seed)
    tool = subject(workbench.roster, wanted.model)
    on_offer = any(spec.name == tool.spec.name for spec, _ in workbench.tools())
    table = find_table(workbench.home, wanted.prices)
    limit = None if wanted.budget_usd is None else wanted.budget_usd / (len(sample.tasks) + 1)
    _check_price(writer, table, limit)
    trials: list[Trial] = []
    with workbench.roster.lent(() if on_offer else (tool,)):
        stream = try_out(workbench, tool, sample, prices=wanted.prices, limit_usd=limit, anew=wanted.anew)
        async for trial in stream:
            trials.append(trial)
            told(trial)
    order = {task.id: at for at, task in enumerate(sample.tasks)}
    trials.sort(key=lambda trial: order[trial.task.id])
    if all(trial.said is None for trial in trials):
        raise _nothing(wanted, trials, limit)
    runs_usd = total(trial.run.bill().cost_usd for trial in trials)
    left = None if wanted.budget_usd is None else wanted.budget_usd - (runs_usd or limit or 0.0)
    seen = measured(trials, tool.spec)
    failed = [kind for kind, one in seen.kinds.items() if one.of and not one.hits]
    prose, writer_usd = await _written(writer, tool, trials, failed, table, left)
    evidence = Evidence(
        source=sample.source,
        seed=sample.seed,
        tasks=tuple(task.id for task in sample.tasks),
        runs=tuple(trial.run.id for trial in trials),
        measured=seen,
        simulated=tool.spec.simulated,
        prices=f"{table.name} {table.dated.isoformat()}",
        runs_usd=runs_usd,
        writer_usd=writer_usd,
    )
    return workbench.roster.descriptions.add(
        tool.spec.name, prose.text(tool.spec.title, seen), how=WRITTEN, by=MODEL + wanted.by, cut_from=prose.cut_from,
        evidence=evidence,
    )  # fmt: skip


def _nothing(wanted: Request, trials: Sequence[Trial], limit: float | None) -> BadInput | ProviderFault:
    """Why there is nothing to describe."""
    if limit is not None and not any(trial.run.faults for trial in trials):
        return BadInput(
            f"a budget of ${wanted.budget_usd:g} leaves ${limit:.2g} for a call, and one may cost more: raise "
            "--budget-usd, or take fewer tasks with --n"
        )
    faults = [fault.message for trial in trials for fault in trial.run.faults]
    why = f": {faults[0]}" if faults else "; its runs, with the tag describe, show why"
    return ProviderFault(f"nothing can be said of {wanted.model}: none of its {len(trials)} calls went well{why}")


def _check_price(writer: ChatModel, table: PriceTable, limit: float | None) -> None:
    if limit is not None and table.find(writer.name) is None:
        raise BadInput(
            f"a budget cannot be kept: table {table.name!r} has no price for the writer {writer.name}; add a row, "
            "choose another writer, or leave the budget out"
        )


async def _written(
    writer: ChatModel,
    tool: Tool,
    trials: Sequence[Trial],
    failed: Sequence[str],
    table: PriceTable,
    left_usd: float | None,
) -> tuple[Prose, float | None]:
    """What the writer says and what that cost. Raises `BadInput` when nothing can be made of it twice."""
    request = ChatRequest(messages=messages(tool.spec.title, trials, new_fence()), schema=SCHEMA, max_tokens=MAX_TOKENS)
    price = table.find(writer.name)
    if left_usd is not None:
        reads = sum(len(str(one["content"]).encode()) for one in request.messages) + 4 * MAX_TOKENS
        most = worst_case_usd(price, max_input_tokens=reads, max_output_tokens=MAX_TOKENS, timeout_s=_WRITER_S)
        if most is None or _ASKED * most > left_usd:
            need = "an unknown sum" if most is None else f"up to ${_ASKED * most:.2g}"
            raise BadInput(
                f"the budget leaves ${left_usd:.2g} for the writer, who may take {need}; raise --budget-usd: the runs "
                "are kept and cost nothing again"
            )
    asked = await ask(writer, request, Reader(failed), again=again)
    if asked.value is None:
        raise BadInput(
            f"the writer {writer.name} gave no description, asked twice: {asked.why}. Choose another one with --by; "
            "the runs are kept. Or write it yourself: orchestra describe MODEL --set TEXT"
        )
    return asked.value, total(cost_usd(one, table.find(one.priced_as)) for one in asked.attempts)
