"""How well stored runs follow their preferences, each beside a base run of the same task.

The two metrics are defined in `adherence`; here runs become their examples.
"""

from collections.abc import Sequence

from orchestra_lib.adherence import Adherence, Example, adherence, bounded, published
from orchestra_lib.errors import BadInput
from orchestra_lib.grouping import uncosted
from orchestra_lib.ledger import repriced
from orchestra_lib.preference import Preference
from orchestra_lib.pricing import PriceTable
from orchestra_lib.record import record
from orchestra_lib.trajectory import Trajectory


@record
class Followed:
    """One run beside its base: both scores, None where it is left out and `why`."""

    run: str
    base: str
    bounded: float | None
    published: float | None
    simulated: bool
    why: str | None = None


@record
class Following:
    """The benchmark over all runs, and each of them."""

    total: Adherence
    rows: tuple[Followed, ...]


def following(
    runs: Sequence[Trajectory],
    bases: Sequence[Trajectory],
    *,
    preference: Preference | None = None,
    prices: PriceTable | None = None,
) -> Following:
    """Score runs under the preference that each was played with, or under this one, priced anew with a table.

    Raises `BadInput` naming the run: one that has not ended, has no base run of its task or two of them, was priced
    by another table than its base, or is graded with a cost that nobody knows.
    """
    by_task: dict[tuple[str, str | None], Trajectory] = {}
    for base in bases:
        other = by_task.setdefault(_task(base), base)
        if other is not base:
            raise BadInput(f"runs {other.id} and {base.id} are both a base of one task; name one of them")
    examples = [_example(run, by_task.get(_task(run)), preference, prices) for run in runs]
    return Following(total=adherence(examples), rows=tuple(map(_row, examples)))


def _task(trajectory: Trajectory) -> tuple[str, str | None]:
    task = trajectory.setting.task
    return task.text, task.id


def _example(
    run: Trajectory, base: Trajectory | None, preference: Preference | None, prices: PriceTable | None
) -> Example:
    if base is None:
        raise BadInput(f"run {run.id} has no base run of its task; name one with --base, or leave the run out")
    tables = {(one.setting.prices.name, one.setting.prices.dated) for one in (run, base)}
    if prices is None and len(tables) > 1:
        raise BadInput(f"run {run.id} and its base {base.id} have two price tables; price them alike with --prices")
    first, second = (uncosted([one if prices is None else repriced(one, prices)])[0] for one in (run, base))
    return Example(run=first, base=second, preference=preference or run.setting.preference)


def _row(example: Example) -> Followed:
    run, base = example.run, example.base
    why = None
    for name, one in (("the run", run), ("its base", base)):
        if not one.counts:
            why = why or f"{name} is ungraded, or nothing to be rewarded for"
    if why is None and not example.weighs:
        why = "its preference weighs nothing"
    return Followed(
        run=run.id,
        base=base.id,
        bounded=None if why else bounded(example),
        published=None if why else published(example),
        simulated=run.simulated or base.simulated,
        why=why,
    )
