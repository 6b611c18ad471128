"""A trajectory as the command line and the API print it: flat, with derived costs, unknown as null."""

from typing import Any

from orchestra_lib.billing import JUDGE, Bill
from orchestra_lib.codec import to_data
from orchestra_lib.ledger import LedgerRow, ledger
from orchestra_lib.pricing import PriceTable, Usage, cost_usd, total, total_tokens
from orchestra_lib.trajectory import ORCHESTRATOR, Call, Setting, Trajectory, Turn


def report(trajectory: Trajectory) -> dict[str, Any]:
    """The record with its bill under the recorded prices."""
    setting = trajectory.setting
    bill = trajectory.bill()
    return {
        "id": trajectory.id,
        "status": trajectory.status,
        "answer": trajectory.answer,
        "outcome": trajectory.outcome,
        "grades": [to_data(grade) for grade in trajectory.grades],
        "judge_faults": [to_data(fault) for fault in trajectory.judge_faults],
        "reference": setting.task.reference,
        "task": setting.task.text,
        "orchestrator": setting.orchestrator,
        "protocol": setting.protocol,
        "preference": to_data(setting.preference),
        "sentence": setting.sentence,
        "prices": {
            "table": setting.prices.name,
            "dated": setting.prices.dated.isoformat(),
            "source": setting.prices.source,
            "nominal": setting.prices.nominal,
        },
        "simulated": trajectory.simulated,
        "limits": to_data(setting.limits),
        "seed": setting.seed,
        "origin": setting.origin,
        "group": setting.group,
        "fork": _fork(trajectory),
        "started_at": setting.started_at.isoformat(),
        "tools": [spec.name for spec in setting.tools],
        "turns": [_turn(turn, setting.prices) for turn in trajectory.turns],
        "calls": [_call(call, turn, setting) for turn in trajectory.turns for call in turn.calls],
        "faults": [to_data(fault) for fault in trajectory.faults],
        "bill": [to_data(row) for row in bill.rows],
        "ledger": [_ledger_row(row, setting.prices) for row in ledger(trajectory)],
        "orchestrator_share": _share(bill.of(ORCHESTRATOR), bill),
        "judge": _part(bill.of(JUDGE)) if bill.judge else None,
        "cost_usd": bill.cost_usd,
        "known_usd": bill.known_usd,
        "estimated": bill.estimated,
        "latency_s": trajectory.latency_s,
        "busy_s": bill.busy_s,
        "queue_s": bill.queue_s,
        "backoff_s": bill.backoff_s,
        "input_tokens": bill.input_tokens,
        "output_tokens": bill.output_tokens,
    }


def call_cost_usd(call: Call, prices: PriceTable) -> float | None:
    """What one call cost; None when unknown, 0 when it was never run."""
    return total(cost_usd(attempt, prices.find(attempt.priced_as)) for attempt in call.attempts)


def _ledger_row(row: LedgerRow, prices: PriceTable) -> dict[str, Any]:
    attempt, usage, price = row.attempt, row.attempt.usage or Usage(), row.price
    return {
        "payee": row.payee,
        "turn": row.turn,
        "call": row.call_id,
        "priced_as": attempt.priced_as,
        "table": prices.name,
        "dated": prices.dated.isoformat(),
        "row": row.row,
        "matched": str(row.matched),
        "since": price.since.isoformat() if price and price.since else None,
        "source": price.source if price else None,
        "assumed": price.assumed if price else None,
        **to_data(usage),
        "cost_usd": row.cost_usd,
        "reported_cost_usd": attempt.reported_cost_usd,
        "billed": attempt.billed,
        "wall_s": attempt.wall_s,
        "queue_s": attempt.queue_s,
        "backoff_s": attempt.backoff_s,
        "error": attempt.error,
        "flags": [str(flag) for flag in row.flags],
    }


def _fork(trajectory: Trajectory) -> dict[str, Any] | None:
    """Where the run branched off, and what was paid before that."""
    fork, paid = trajectory.setting.fork, trajectory.before_fork()
    return None if fork is None or paid is None else {**to_data(fork), "paid_before": _part(paid)}


def _part(part: Bill) -> dict[str, Any]:
    """A part of a bill that stands for itself: USD, tokens and busy seconds."""
    return {
        "cost_usd": part.cost_usd,
        "known_usd": part.known_usd,
        "input_tokens": part.input_tokens,
        "output_tokens": part.output_tokens,
        "busy_s": part.busy_s,
    }


def _share(part: Bill, whole: Bill) -> dict[str, Any]:
    """A part, and which fraction of the whole cost it is; None when either is unknown or nothing was spent."""
    ours, all_of_it = part.cost_usd, whole.cost_usd
    return {**_part(part), "fraction": ours / all_of_it if ours is not None and all_of_it else None}


def _turn(turn: Turn, prices: PriceTable) -> dict[str, Any]:
    generation = turn.generation
    attempts = generation.attempts if generation else ()
    return {
        "index": turn.index,
        "started_s": turn.started_s,
        "generated_s": turn.generated_s,
        "finished_s": turn.finished_s,
        "reasoning": generation.reasoning if generation else None,
        "content": generation.content if generation else None,
        "raw_text": generation.raw_text if generation else None,
        "estimates": [to_data(estimate) for estimate in generation.estimates] if generation else [],
        "calls": [call.call.id for call in turn.calls],
        "cost_usd": total(cost_usd(attempt, prices.find(attempt.priced_as)) for attempt in attempts),
    }


def _call(call: Call, turn: Turn, setting: Setting) -> dict[str, Any]:
    observation = call.observation
    usages = [attempt.usage for attempt in call.attempts if attempt.usage is not None]
    return {
        "id": call.call.id,
        "turn": turn.index,
        "tool": call.call.tool,
        "arguments": call.call.arguments,
        "arguments_text": call.call.arguments_text if call.call.arguments is None else None,
        "observation": observation.text if observation else None,
        "artefacts": [to_data(ref) for ref in observation.artefacts] if observation else [],
        "status": str(observation.status) if observation else "running",
        "cost_usd": call_cost_usd(call, setting.prices),
        "latency_s": call.took_s(setting),
        "input_tokens": total_tokens(usage.input_tokens for usage in usages) if usages else None,
        "output_tokens": total_tokens(usage.output_tokens for usage in usages) if usages else None,
    }
