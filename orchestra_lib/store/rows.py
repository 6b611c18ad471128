"""A trajectory as rows of the query store: hot fields as columns, in the order of the tables.

Nothing that a model, a tool or a server wrote may keep a run out of the store: lone
surrogates are replaced, numbers that no BIGINT holds become NULL; `raw` keeps the original.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from orchestra_lib.billing import spent_on
from orchestra_lib.codec import to_text, well_formed
from orchestra_lib.grade import Grade
from orchestra_lib.pricing import Attempt, Price, Usage, cost_usd
from orchestra_lib.record import record
from orchestra_lib.store.uses import offers, path, uses
from orchestra_lib.tool import CallStatus
from orchestra_lib.trajectory import ORCHESTRATOR, Call, Trajectory, Turn

Row = Sequence[Any]
_ARGUMENTS = Mapping[str, Any]
_BIGINT = 2**63
_NO_PRICE = Price(source="")


@record
class Rows:
    """The rows of one trajectory, by table."""

    trajectories: Sequence[Row]
    turns: Sequence[Row]
    calls: Sequence[Row]
    attempts: Sequence[Row]
    grades: Sequence[Row]


def rows(trajectory: Trajectory) -> Rows:
    """Everything that the query store keeps of a trajectory."""
    kinds = {spec.name: str(spec.kind) for spec in trajectory.setting.tools}
    return Rows(
        trajectories=[_clean_parts(_trajectory(trajectory, kinds))],
        turns=[_clean_parts(_turn(trajectory, turn)) for turn in trajectory.turns],
        calls=[_clean_parts(row) for turn in trajectory.turns for row in _calls(trajectory, turn, kinds)],
        attempts=[_clean_parts(row) for turn in trajectory.turns for row in _attempts(trajectory, turn)],
        grades=[_clean_parts(_grade(trajectory.id, *placed)) for placed in enumerate(trajectory.grades)],
    )


def _trajectory(trajectory: Trajectory, kinds: Mapping[str, str]) -> Row:
    setting, preference, bill = trajectory.setting, trajectory.setting.preference, trajectory.bill()
    calls = trajectory.calls
    called = sorted({call.call.tool for call in calls})
    return (
        trajectory.id,
        setting.started_at,
        setting.title,
        setting.task.id,
        setting.orchestrator,
        setting.protocol,
        trajectory.status,
        trajectory.answer,
        trajectory.outcome,
        bill.cost_usd,
        bill.known_usd,
        trajectory.latency_s,
        bill.input_tokens,
        bill.output_tokens,
        len(trajectory.turns),
        len(calls),
        sum(_failed(call) for call in calls),
        [spec.name for spec in setting.tools],
        called,
        preference.outcome,
        preference.cost,
        preference.latency,
        dict(preference.tools),
        to_text(preference),
        setting.sentence,
        setting.prices.name,
        setting.prices.dated,
        setting.prices.nominal,
        trajectory.simulated,
        setting.seed,
        trajectory.faults[-1].message if trajectory.faults else None,
        [_mark(call, kinds) for call in calls],
        to_text(trajectory),
        setting.group,
        setting.fork and setting.fork.run_id,
        setting.fork and setting.fork.turn,
        setting.origin,
        setting.assigned and setting.assigned.domain,
        offers(setting),
        uses(trajectory),
        path(trajectory),
    )


def _grade(run_id: str, position: int, grade: Grade) -> Row:
    return (run_id, position, grade.at, grade.by, grade.outcome, grade.reason, dict(grade.conditions))


def _turn(trajectory: Trajectory, turn: Turn) -> Row:
    generation = turn.generation
    spent = spent_on((attempt for _, attempt in _ledger(turn)), trajectory.setting.prices)
    return (
        trajectory.id,
        turn.index,
        turn.started_s,
        turn.generated_s,
        turn.finished_s,
        generation and generation.reasoning,
        generation and generation.content,
        generation and generation.answer,
        len(turn.calls),
        spent.input_tokens,
        spent.output_tokens,
        spent.cost_usd,
    )


def _calls(trajectory: Trajectory, turn: Turn, kinds: Mapping[str, str]) -> Iterator[Row]:
    for position, call in enumerate(turn.calls):
        seen, asked = call.observation, call.call
        spent = spent_on(call.attempts, trajectory.setting.prices)
        yield (
            trajectory.id,
            turn.index,
            position,
            asked.id,
            asked.tool,
            kinds.get(asked.tool),
            seen and str(seen.status),
            asked.arguments_text,
            None if asked.arguments is None else to_text(asked.arguments, _ARGUMENTS),
            asked.recovered,
            seen and seen.text,
            seen and seen.started_s,
            seen and seen.finished_s,
            seen.latency_s if seen and trajectory.setting.timed else None,
            spent.input_tokens,
            spent.output_tokens,
            spent.cost_usd,
        )


def _attempts(trajectory: Trajectory, turn: Turn) -> Iterator[Row]:
    prices = trajectory.setting.prices
    for position, (call, attempt) in enumerate(_ledger(turn)):
        price, usage = prices.find(attempt.priced_as), attempt.usage or Usage()
        row = price or _NO_PRICE
        yield (
            trajectory.id,
            turn.index,
            position,
            call and call.call.id,
            call.call.tool if call else ORCHESTRATOR,
            attempt.priced_as,
            usage.input_tokens,
            usage.output_tokens,
            usage.cached_tokens,
            usage.reasoning_tokens,
            attempt.wall_s,
            attempt.queue_s,
            attempt.billed,
            attempt.error,
            cost_usd(attempt, price),
            row.input_usd_per_mtok,
            row.output_usd_per_mtok,
            row.cached_usd_per_mtok,
            row.call_usd,
            row.second_usd,
            price and price.source,
            prices.name,
            prices.dated,
        )


def _ledger(turn: Turn) -> Iterator[tuple[Call | None, Attempt]]:
    for attempt in turn.generation.attempts if turn.generation else ():
        yield None, attempt
    for call in turn.calls:
        for attempt in call.attempts:
            yield call, attempt


def _failed(call: Call) -> bool:
    return call.observation is not None and call.observation.status is not CallStatus.OK


def _mark(call: Call, kinds: Mapping[str, str]) -> dict[str, object]:
    seen = call.observation
    return {
        "tool": call.call.tool,
        "kind": kinds.get(call.call.tool),
        "status": seen and str(seen.status),
        "started_s": seen and seen.started_s,
        "finished_s": seen and seen.finished_s,
    }


def _clean_parts(values: Iterable[Any]) -> list[Any]:
    return [value if (fix := _FIXES.get(type(value))) is None else fix(value) for value in values]


_FIXES: Mapping[type, Callable[[Any], Any]] = {
    str: well_formed,
    int: lambda number: number if -_BIGINT <= number < _BIGINT else None,
    tuple: _clean_parts,
    list: _clean_parts,
    dict: lambda pairs: dict(zip(_clean_parts(pairs), _clean_parts(pairs.values()), strict=True)),
}
