"""What the pages show, as plain data: pure functions of records, without I/O and without markup.

Every sum is made here or below, so that the browser only formats and draws. Unknown is None and
carries the reason beside it.
"""

import math
from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import Any

from orchestra_lib import codec
from orchestra_lib.billing import BillRow, bill
from orchestra_lib.event import CallFinished, Event, Generated, Graded, RunFinished, RunStarted, TurnFinished
from orchestra_lib.preference import Preference
from orchestra_lib.pricing import Attempt, Price, PriceTable, cost_usd, total, worst_case_usd
from orchestra_lib.store.summary import Summary
from orchestra_lib.tool import Observation, ToolSpec
from orchestra_lib.trajectory import ORCHESTRATOR, Setting, Trajectory
from orchestra_lib.workbench import Order

PREVIEW_CHARS = 2_000
"""An observation longer than this is cut on the stream; the page fetches the whole when it is opened."""

_CROWD = 100
_BILL_EVERY = 50
"""In a turn of more calls than `_CROWD`, one in so many events carries the bill, and the turn's end does."""

_MANY_TURNS = 300
_LONG_BILL_EVERY = 251
"""In a run of more turns, one in so many events carries the bill, and its end does. A prime: turns repeat a rhythm."""

Data = dict[str, Any]


def frame(event: Event, trajectory: Trajectory, *, billed: bool | None = None) -> Data:
    """One message of a run's stream: the event as JSON and what follows from it under `derived`.

    `trajectory` is the fold up to and with `event`. Raw model text and token ids stay in the
    journal: no page shows them while a run goes on. `billed` says whether the bill so far goes with
    it; by default it does where the bill has changed, seldom in a long run.
    """
    match event:
        case Generated():
            # Twice the same text would double the stream: `raw_text` repeats reasoning and content.
            shown: Event = replace(event, generation=replace(event.generation, raw_text="", token_ids=None))
            derived = _spent(event.generation.attempts, trajectory.setting.prices)
        case CallFinished():
            shown = replace(event, observation=_cut(event.observation))
            derived = {**_size(event.observation), **_spent(event.attempts, trajectory.setting.prices)}
            derived["busy_s"] = math.fsum(attempt.wall_s for attempt in event.attempts)
        case RunStarted(setting=setting):
            shown = event
            derived = {"stating": [spec.name for spec in setting.tools if spec.states_its_time]}
        case RunFinished():
            shown, derived = event, {"latency_s": trajectory.latency_s}
        case Graded(attempts=attempts) if attempts:
            shown, derived = event, {"judge": judge_view(trajectory)}
        case _:
            shown, derived = event, {}
    if _bears_bill(event, trajectory) if billed is None else billed:
        derived["bill"] = bill_view(trajectory)
    return {**codec.to_data(shown), "derived": derived}


def _bears_bill(event: Event, trajectory: Trajectory) -> bool:
    """Whether the bill so far goes with this event of a run that is being played."""
    match event:
        case RunStarted() | RunFinished():
            return True
        case Generated():
            return not _is_long(trajectory) or _is_due(event, trajectory)
        case CallFinished():
            return not (_is_crowded(trajectory) or _is_long(trajectory)) or _is_due(event, trajectory)
        case TurnFinished():
            return _is_crowded(trajectory)
        case _:
            return False


def _is_long(trajectory: Trajectory) -> bool:
    """Whether summing up so many turns again after each event would be most of the work."""
    return len(trajectory.turns) > _MANY_TURNS


def _is_due(event: Event, trajectory: Trajectory) -> bool:
    """Whether this event carries the bill all the same."""
    return event.seq % (_LONG_BILL_EVERY if _is_long(trajectory) else _BILL_EVERY) == 0


def _is_crowded(trajectory: Trajectory) -> bool:
    """Whether the last turn has so many calls that a bill after each would be most of the work."""
    return bool(trajectory.turns) and len(trajectory.turns[-1].calls) > _CROWD


def _cut(observation: Observation) -> Observation:
    return replace(observation, text=observation.text[:PREVIEW_CHARS])


def _size(observation: Observation) -> Data:
    text = observation.text
    size = observation.full.size_bytes if observation.full else len(text.encode("utf-8", "replace"))
    cut = len(text) > PREVIEW_CHARS or observation.full is not None
    return {"bytes": size, "lines": text.count("\n") + 1 if text else 0, "cut": cut}


def _spent(attempts: Iterable[Attempt], prices: PriceTable) -> Data:
    rows = tuple(attempts)
    counted = bill((("", row) for row in rows), prices)
    return {
        "cost": cost_view(rows, prices),
        "attempts": len(rows),
        "input_tokens": counted.input_tokens,
        "output_tokens": counted.output_tokens,
        "uses_tokens": any(row.usage is not None for row in rows),
    }


def cost_view(attempts: Iterable[Attempt], prices: PriceTable) -> Data:
    """A cost and what to call it: `known`, `free`, `not_billed`, `unknown` (with the reason) or `none`."""
    rows = tuple(attempts)
    if not rows:
        return {"kind": "none", "usd": None, "why": None}
    if not any(row.billed for row in rows):
        return {"kind": "not_billed", "usd": 0.0, "why": "no attempt was charged"}
    usd = total(cost_usd(row, prices.find(row.priced_as)) for row in rows)
    if usd is None:
        return {"kind": "unknown", "usd": None, "why": unknown_reason(rows, prices)}
    free = all(price.free for row in rows if (price := prices.find(row.priced_as)))
    return {"kind": "free" if free else "known", "usd": usd, "why": None}


def unknown_reason(attempts: Iterable[Attempt], prices: PriceTable) -> str:
    """Why the cost of these attempts cannot be told, for a tooltip."""
    for row in attempts:
        price = prices.find(row.priced_as)
        if row.billed and price is None:
            return f"the price table {prices.name} has no price for {row.priced_as}"
        if row.billed and cost_usd(row, price) is None:
            return f"{row.priced_as} did not report how many tokens it used"
    return "part of the bill is unknown"


def bill_view(trajectory: Trajectory) -> Data:
    """The bill of a run: a row per payee and priced name, the totals, and the table behind them."""
    setting = trajectory.setting
    ledger = tuple(trajectory.ledger())
    bill_ = trajectory.bill()
    attempts: dict[tuple[str, str], list[Attempt]] = {(row.payee, row.priced_as): [] for row in bill_.rows}
    for payee, attempt in ledger:
        attempts[payee, attempt.priced_as].append(attempt)
    rows = [_bill_row(row, setting, attempts[row.payee, row.priced_as]) for row in bill_.rows]
    unknown = None if bill_.cost_usd is not None else unknown_reason((row for _, row in ledger), setting.prices)
    return {
        "rows": rows,
        "cost_usd": bill_.cost_usd,
        "known_usd": bill_.known_usd,
        "why": unknown,
        "attempts": len(ledger),
        "input_tokens": bill_.input_tokens,
        "output_tokens": bill_.output_tokens,
        "wall_s": sum(row.wall_s for row in bill_.rows) if setting.timed else None,
    }


def judge_view(trajectory: Trajectory) -> Data:
    """What grading a run has taken so far; no total of the run counts it."""
    attempts = trajectory.judge_attempts
    wall_s = sum(attempt.wall_s for attempt in attempts)
    return {"cost": cost_view(attempts, trajectory.setting.prices), "wall_s": wall_s}


def _bill_row(row: BillRow, setting: Setting, attempts: list[Attempt]) -> Data:
    spec = next((spec for spec in setting.tools if spec.name == row.payee), None)
    is_orchestrator = row.payee == ORCHESTRATOR
    uses_tokens = any(attempt.usage is not None for attempt in attempts)
    return {
        "payee": row.payee,
        "title": setting.orchestrator if is_orchestrator else spec.title if spec else row.payee,
        "kind": "orch" if is_orchestrator else str(spec.kind) if spec else "basic",
        "priced_as": row.priced_as,
        "attempts": row.attempts,
        "input_tokens": row.input_tokens,
        "output_tokens": row.output_tokens,
        "uses_tokens": uses_tokens,
        "cost": cost_view(attempts, setting.prices),
        "wall_s": row.wall_s if setting.timed else None,
        "price": price_text(row.price),
        "source": row.price.source if row.price else None,
    }


def price_text(price: Price | None) -> str | None:
    """A price in a few words, such as `$0.25 / $2.00 per M`; None when there is no price."""
    if price is None:
        return None
    if price.free:
        return "free"
    parts = []
    if price.input_usd_per_mtok is not None and price.output_usd_per_mtok is not None:
        dearer = " and up" if price.tiers else ""
        parts.append(f"{_rate(price.input_usd_per_mtok)} / {_rate(price.output_usd_per_mtok)} per M{dearer}")
    if price.call_usd is not None:
        parts.append(f"${price.call_usd:.4f} / call")
    if price.second_usd is not None:
        parts.append(f"${price.second_usd:.6f} / s")
    return " + ".join(parts) or None


def _rate(usd: float) -> str:
    return f"${usd:.2f}" if usd == 0 or usd >= 0.01 else f"${usd:.4f}"


def tool_view(
    spec: ToolSpec, off: str | None, tables: Iterable[PriceTable], embedded: Collection[str] = frozenset()
) -> Data:
    """One tool beside its slider: what it is, what it costs under each table, how long it takes, why it is off.

    `embedded` names the models that run on this machine; a tool with another model, and the web, is remote.
    """
    return {
        "name": spec.name,
        "title": spec.title,
        "description": spec.description,
        "kind": str(spec.kind),
        "model": spec.model,
        "off": off,
        "simulated": spec.simulated,
        "remote": spec.name == "web_search" or (spec.model is not None and spec.model not in embedded),
        "latency_s": spec.typical_latency_s,
        "prices": {table.name: price_text(table.find(spec.priced_as)) for table in tables},
        "most_usd": {table.name: _most(spec, table) for table in tables},
    }


def _most(spec: ToolSpec, table: PriceTable) -> float | None:
    return worst_case_usd(
        table.find(spec.priced_as),
        max_input_tokens=spec.max_input_tokens,
        max_output_tokens=spec.max_output_tokens,
        timeout_s=spec.timeout_s,
    )


def table_view(table: PriceTable) -> Data:
    """A price table in the picker."""
    return {"name": table.name, "dated": table.dated.isoformat(), "source": table.source, "nominal": table.nominal}


def queued_view(run_id: str, order: Order, place: int | None) -> Data:
    """One run that waits."""
    return {
        "id": run_id,
        "task": order.task[:200],
        "orchestrator": order.orchestrator,
        "wish": wish_text(order.preference),
        "status": "queued",
        "place": place,
        "turns": 0,
        "seconds": None,
        "cost": {"kind": "none", "usd": None, "why": None},
    }


def running_view(trajectory: Trajectory) -> Data:
    """One line of the list of running runs."""
    ledger = [attempt for _, attempt in trajectory.ledger()]
    return {
        "id": trajectory.id,
        "task": trajectory.setting.title[:200],
        "orchestrator": trajectory.setting.orchestrator,
        "wish": wish_text(trajectory.setting.preference),
        "outcome": trajectory.outcome,
        "turns": len(trajectory.turns),
        "cost": cost_view(ledger, trajectory.setting.prices) if ledger else {"kind": "known", "usd": 0.0, "why": None},
    }


def glyph(summary: Summary) -> Data | None:
    """The score in miniature: a span per finished call (lane, start, end, state) over the run's seconds.

    None for an imported run whose source gives no times.
    """
    if summary.latency_s is None and summary.status != "running":
        return None
    spans = [
        {"kind": mark.kind or "basic", "start": mark.started_s, "end": mark.finished_s, "status": mark.status}
        for mark in summary.marks
        if mark.started_s is not None and mark.finished_s is not None
    ]
    last = max((mark.finished_s for mark in summary.marks if mark.finished_s is not None), default=0.0)
    return {"spans": spans, "end": max(last, summary.latency_s or 0.0)}


def list_row(summary: Summary) -> Data:
    """One row of the trajectories list."""
    unknown = f"a call had no price in the table {summary.price_table}, or did not report what it used"
    known = summary.cost_usd is not None
    return {
        "id": summary.id,
        "task": summary.task,
        "status": summary.status,
        "orchestrator": summary.orchestrator,
        "wish": wish_text(summary.preference),
        "protocol": summary.protocol,
        "started_at": summary.started_at.isoformat(),
        "outcome": summary.outcome,
        "turns": summary.turns,
        "calls": summary.calls,
        "failed_calls": summary.failed_calls,
        "input_tokens": summary.input_tokens,
        "output_tokens": summary.output_tokens,
        "cost": {"kind": "known" if known else "unknown", "usd": summary.cost_usd, "why": None if known else unknown},
        "seconds": None if summary.status == "running" else summary.latency_s,
        "nominal": summary.nominal,
        "simulated": summary.simulated,
        "training": None if summary.training is None else {"run": summary.training, "step": summary.training_step},
        "glyph": glyph(summary),
    }


def wish_text(preference: Preference) -> str:
    """A preference in a few characters, such as `quality .8 cost .6 · 2 tool wishes`."""
    goals = (("quality", preference.outcome), ("cost", preference.cost), ("latency", preference.latency))
    parts = [f"{name} {_weight(weight)}" for name, weight in goals if weight > 0.05]
    wishes = sum(1 for weight in preference.tools.values() if abs(weight) > 0.05)
    words = " ".join(parts) or "no goals"
    return words if not wishes else f"{words} · {wishes} tool wish{'es' if wishes > 1 else ''}"


def _weight(weight: float) -> str:
    return f"{weight:.2f}".rstrip("0").rstrip(".").removeprefix("0") or "0"
