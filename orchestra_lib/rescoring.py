"""Every group of a store weighed and priced anew at once, without a model: the numbers that `grouping.group` gives.

What the rewards follow from is read from the store's columns; a record is only read where no column tells.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from functools import cache
from itertools import groupby

from orchestra_lib.billing import bill
from orchestra_lib.errors import BadInput
from orchestra_lib.grouping import NO_REWARD, Likeness, check_alike, is_malformed
from orchestra_lib.ledger import repriced
from orchestra_lib.preference import Preference
from orchestra_lib.pricing import PriceTable
from orchestra_lib.record import record
from orchestra_lib.reward import Mode
from orchestra_lib.reward_report import RewardReport, Rollout, check_tools, of_offered, reward_reports
from orchestra_lib.store import scan
from orchestra_lib.store.queries import StoreQueries
from orchestra_lib.store.scan import Batch, Line
from orchestra_lib.store.summary import Filter
from orchestra_lib.trajectory import StopReason


@record
class Scored:
    """A group with its rewards. `prices` names the table, its date and whether it is nominal."""

    report: RewardReport
    rollouts: tuple[Rollout, ...]
    prices: tuple[str, date, bool]


@record
class Refused:
    """A group that is none, or whose costs are not known, and why."""

    group: str
    why: str


def rescore(
    store: StoreQueries,
    wanted: Filter,
    *,
    preference: Preference | None = None,
    prices: PriceTable | None = None,
    mode: Mode = Mode.PAPER,
) -> Iterator[Scored | Refused]:
    """The groups behind a filter, by name. Without a preference each is weighed as it was played.

    Raises `BadInput` for a weight on a tool that no run lists.
    """
    if preference is not None and preference.tools and (offered := scan.offered(store, wanted)):
        check_tools(preference, offered)
    for batch in scan.batches(store, wanted):
        yield from _scored(store, batch, preference, prices, mode)


def _scored(
    store: StoreQueries, batch: Batch, preference: Preference | None, prices: PriceTable | None, mode: Mode
) -> Iterator[Scored | Refused]:
    members = {name: list(lines) for name, lines in groupby(batch.lines, key=lambda line: line.group)}
    refused = _no_groups(members, any_preference=preference is not None, any_table=prices is not None)
    costs = _costs(store, [one for name, lines in members.items() if name not in refused for one in lines], prices)
    malformed = _malformed(store, batch)
    rollouts = {
        name: tuple(_rollout(one, batch.counts, malformed, costs) for one in lines)
        for name, lines in members.items()
        if name not in refused
    }
    refused |= _unpriced(rollouts)
    weighed = {name: of_offered(preference or lines[0].preference, lines[0].tools) for name, lines in members.items()}
    reports: dict[str, RewardReport] = {}
    for names in _together([lines for name, lines in members.items() if name not in refused], weighed):
        found = reward_reports([one for name in names for one in rollouts[name]], weighed[names[0]], mode)
        reports |= {one.group: one for one in found}
    for name, lines in members.items():
        if name in refused:
            yield Refused(group=name, why=refused[name])
        else:
            yield Scored(report=reports[name], rollouts=rollouts[name], prices=_named(lines[0], prices))


def _no_groups(members: Mapping[str, Sequence[Line]], *, any_preference: bool, any_table: bool) -> dict[str, str]:
    """Why some are no groups, by name."""
    refused = {}
    for name, lines in members.items():
        running = next((line.id for line in lines if line.status == "running"), None)
        if running is not None:
            refused[name] = f"run {running} has not ended; wait for it, or leave it out"
            continue
        try:
            check_alike(map(_likeness, lines), any_preference=any_preference, any_table=any_table)
        except BadInput as error:
            refused[name] = str(error)
    return refused


def _likeness(line: Line) -> Likeness:
    return Likeness(
        run_id=line.id,
        task=(line.task, line.task_id),
        tools=frozenset(line.tools),
        preference=line.preference,
        table=(line.price_table, line.prices_dated),
    )


def _unpriced(rollouts: Mapping[str, Sequence[Rollout]]) -> dict[str, str]:
    """The groups with a run that counts and whose cost is unknown."""
    named = {
        name: next((one.id for one in members if one.counts and one.cost_usd is None), None)
        for name, members in rollouts.items()
    }
    words = "its cost is unknown, and unknown is not 0; choose another table with --prices (NAME+NAME joins two)"
    return {name: f"run {run_id}: {words}" for name, run_id in named.items() if run_id is not None}


def _together(groups: Sequence[Sequence[Line]], weighed: Mapping[str, Preference]) -> Iterator[list[str]]:
    """Names of groups that are scored at once: under one preference, with the same tools, and with no run twice."""
    batches: dict[object, list[tuple[list[str], set[str]]]] = {}
    for lines in groups:
        name, ids = lines[0].group, {line.id for line in lines}
        preference = weighed[name]
        weights = (preference.outcome, preference.cost, preference.latency, frozenset(preference.tools.items()))
        alike = batches.setdefault((weights, preference.sentence, frozenset(lines[0].tools)), [])
        names, seen = next((one for one in alike if one[1].isdisjoint(ids)), ([], set()))
        if not names:
            alike.append((names, seen))
        names.append(name)
        seen |= ids
    for alike in batches.values():
        yield from (names for names, _ in alike)


def _named(line: Line, prices: PriceTable | None) -> tuple[str, date, bool]:
    if prices is None:
        return line.price_table, line.prices_dated, line.nominal
    return prices.name, prices.dated, prices.nominal


def _costs(store: StoreQueries, lines: Sequence[Line], prices: PriceTable | None) -> Mapping[str, float | None]:
    """The cost of each run in USD, as it was played or under another table."""
    if prices is None:
        return {line.id: line.cost_usd for line in lines}
    at = cache(prices.at)
    days = {line.id: line.day for line in lines}
    found: dict[str, float | None] = {}
    for run_id, ledger in scan.attempts(store, days).items():
        table = at(days[run_id])
        rows = [table.find(attempt.priced_as) for _, attempt in ledger]
        if any(row is not None and row.cache_write_usd_per_mtok is not None for row in rows):
            found[run_id] = repriced(store.get(run_id), prices).bill().cost_usd
        else:
            found[run_id] = bill(ledger, table).cost_usd
    return found


def _malformed(store: StoreQueries, batch: Batch) -> Mapping[str, tuple[int, ...]]:
    found = dict(batch.malformed)
    for run_id in batch.doubtful:
        run = store.get(run_id)
        found[run_id] = tuple(turn.index for turn in run.turns if is_malformed(turn, run.setting))
    return found


def _rollout(
    line: Line,
    counts: Mapping[str, Mapping[str, int]],
    malformed: Mapping[str, tuple[int, ...]],
    costs: Mapping[str, float | None],
) -> Rollout:
    used = counts.get(line.id, {})
    return Rollout(
        id=line.id,
        group=line.group,
        outcome=line.outcome,
        cost_usd=costs[line.id],
        latency_s=line.latency_s,
        tool_counts={name: used.get(name, 0) for name in line.tools},
        answered=bool(line.answer and line.answer.strip()),
        malformed_turns=malformed.get(line.id, ()),
        turns=line.turns,
        no_reward=NO_REWARD.get(StopReason(line.status)),
        simulated=line.simulated,
    )
