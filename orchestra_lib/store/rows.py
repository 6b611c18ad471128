"""A trajectory as rows of the query store: hot fields as columns, in the order of the tables.

Nothing that a model, a tool or a server wrote may keep a run out of the store: lone
surrogates are replaced, numbers that no BIGINT holds become NULL; `raw` keeps the original.
Every attempt is priced once; all sums are made of that.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Any, NamedTuple

from orchestra_lib.billing import JUDGE, Charge, Spent, bill_of, charges, spent
from orchestra_lib.codec import to_text, well_formed
from orchestra_lib.grade import Grade
from orchestra_lib.pricing import Price, Usage
from orchestra_lib.record import record
from orchestra_lib.store.rollouts import Rollout
from orchestra_lib.store.uses import described, offers, path, ran, uses
from orchestra_lib.tool import CallStatus
from orchestra_lib.trajectory import ORCHESTRATOR, Call, Trajectory, Turn

Row = Sequence[Any]
_ARGUMENTS = Mapping[str, Any]
_BIGINT = 2**63
_NO_PRICE = Price(source="")
_NO_USAGE = Usage()


@record
class Rows:
    """The rows of one trajectory, by table."""

    trajectories: Sequence[Row]
    turns: Sequence[Row]
    calls: Sequence[Row]
    attempts: Sequence[Row]
    grades: Sequence[Row]
    rollouts: Sequence[Row] = ()


class _Charged(NamedTuple):
    """A turn, and what its generation and each of its calls were charged."""

    turn: Turn
    own: Sequence[Charge]
    calls: Sequence[tuple[Call, Sequence[Charge], Spent]]

    def pairs(self) -> Iterator[tuple[Call | None, Charge]]:
        for charge in self.own:
            yield None, charge
        for call, charged, _ in self.calls:
            for charge in charged:
                yield call, charge


def rows(trajectory: Trajectory, rollout: Rollout | None = None) -> Rows:
    """Everything that the query store keeps of a trajectory, which may be a rollout of training."""
    kinds = {spec.name: str(spec.kind) for spec in trajectory.setting.tools}
    turns = [_charged(trajectory, turn) for turn in trajectory.turns]
    raw = to_text(trajectory, brief=True)
    found = Rows(
        trajectories=[(*_trajectory(trajectory, turns, kinds, raw), *_trained(rollout))],
        turns=[_turn(trajectory, charged) for charged in turns],
        calls=[
            row for charged in turns[trajectory.setting.given_turns :] for row in _calls(trajectory, charged, kinds)
        ],
        attempts=[row for charged in turns for row in _attempts(trajectory, charged)],
        grades=[_grade(trajectory.id, *placed) for placed in enumerate(trajectory.grades)],
        rollouts=() if rollout is None else [_rollout(trajectory.id, rollout)],
    )
    return found if _is_clean(trajectory, raw) else _cleaned(found)


def _trained(rollout: Rollout | None) -> Row:
    return (None, None) if rollout is None else (rollout.file.training, rollout.file.step)


def _rollout(run_id: str, rollout: Rollout) -> Row:
    worth = rollout.worth
    return (run_id, *_trained(rollout), worth.reward, worth.advantage, worth.kept, worth.why, rollout.file.name)


def _charged(trajectory: Trajectory, turn: Turn) -> _Charged:
    prices = trajectory.setting.prices
    own = charges(turn.generation.attempts, prices) if turn.generation else ()
    calls = [(call, charged := charges(call.attempts, prices), spent(charged)) for call in turn.calls]
    return _Charged(turn, own, calls)


def _trajectory(trajectory: Trajectory, turns: Sequence[_Charged], kinds: Mapping[str, str], raw: str) -> Row:
    setting, preference = trajectory.setting, trajectory.setting.preference
    ledger = [(call.call.tool if call else ORCHESTRATOR, charge) for turn in turns for call, charge in turn.pairs()]
    judged = [(JUDGE, charge) for charge in charges(trajectory.judge_attempts, setting.prices)]
    bill = bill_of([*ledger, *judged], setting.prices)
    calls, run = trajectory.own_calls, ran(trajectory)
    usd = {id(call): cost.cost_usd for turn in turns for call, _, cost in turn.calls}
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
        raw,
        setting.group,
        setting.fork and setting.fork.run_id,
        setting.fork and setting.fork.turn,
        setting.origin,
        setting.assigned and setting.assigned.domain,
        offers(setting),
        uses(run, setting, lambda call: usd[id(call)]),
        path(run),
        described(setting),
    )


def _grade(run_id: str, position: int, grade: Grade) -> Row:
    return (run_id, position, grade.at, grade.by, grade.outcome, grade.reason, dict(grade.conditions))


def _turn(trajectory: Trajectory, charged: _Charged) -> Row:
    turn, generation = charged.turn, charged.turn.generation
    whole = spent([charge for _, charge in charged.pairs()])
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
        whole.input_tokens,
        whole.output_tokens,
        whole.cost_usd,
    )


def _calls(trajectory: Trajectory, charged: _Charged, kinds: Mapping[str, str]) -> Iterator[Row]:
    turn = charged.turn
    for position, (call, _, cost) in enumerate(charged.calls):
        seen, asked = call.observation, call.call
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
            cost.input_tokens,
            cost.output_tokens,
            cost.cost_usd,
        )


def _attempts(trajectory: Trajectory, charged: _Charged) -> Iterator[Row]:
    prices, turn = trajectory.setting.prices, charged.turn
    for position, (call, (attempt, price, usd)) in enumerate(charged.pairs()):
        usage, row = attempt.usage or _NO_USAGE, price or _NO_PRICE
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
            usd,
            row.input_usd_per_mtok,
            row.output_usd_per_mtok,
            row.cached_usd_per_mtok,
            row.call_usd,
            row.second_usd,
            price and price.source,
            prices.name,
            prices.dated,
        )


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


def _is_clean(trajectory: Trajectory, raw: str) -> bool:
    """Whether no text had a lone surrogate, which `raw` would show as U+FFFD, and no number leaves a BIGINT."""
    if not raw.isascii() and "\ufffd" in raw:
        return False
    numbers = [abs(trajectory.setting.seed or 0)]
    for _, attempt in trajectory.ledger():
        if (usage := attempt.usage) is not None:
            numbers += [
                abs(usage.input_tokens or 0),
                abs(usage.output_tokens or 0),
                abs(usage.cached_tokens or 0),
                abs(usage.reasoning_tokens or 0),
            ]
    return sum(numbers) < _BIGINT


def _cleaned(found: Rows) -> Rows:
    return Rows(**{field.name: [_clean_parts(row) for row in getattr(found, field.name)] for field in fields(Rows)})


def _clean_parts(values: Iterable[Any]) -> list[Any]:
    return [value if (fix := _FIXES.get(type(value))) is None else fix(value) for value in values]


_FIXES: Mapping[type, Callable[[Any], Any]] = {
    str: well_formed,
    int: lambda number: number if -_BIGINT <= number < _BIGINT else None,
    tuple: _clean_parts,
    list: _clean_parts,
    dict: lambda pairs: dict(zip(_clean_parts(pairs), _clean_parts(pairs.values()), strict=True)),
}
