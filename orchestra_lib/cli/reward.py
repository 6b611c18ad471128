"""Why this reward: a group of stored runs, or of rows in a file, scored under any preference and price table."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Annotated, Any

import typer

from orchestra_lib.cli.json_list import json_list
from orchestra_lib.cli.options import StorePlace, opened
from orchestra_lib.cli.terminal import (
    OUTCOMES,
    dollars,
    note,
    one_line,
    print_json,
    print_json_rows,
    print_table,
    printable,
    seconds,
)
from orchestra_lib.codec import from_data, to_data
from orchestra_lib.errors import BadInput
from orchestra_lib.grouping import group
from orchestra_lib.paths import home
from orchestra_lib.preference import Preference, parse_preference
from orchestra_lib.pricelist import find_table
from orchestra_lib.pricing import PriceTable
from orchestra_lib.rescoring import Refused, Scored, rescore
from orchestra_lib.reward import Mode
from orchestra_lib.reward_report import RewardReport, Rollout, RolloutReward, of_offered, reward_reports
from orchestra_lib.store.summary import Filter
from orchestra_lib.trajectory import Trajectory


def reward(
    group_or_file: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="GROUP | IDS... | FILE.json",
            help="A group's name, ids of runs of one task, or a .json file: a list of {id, outcome, cost_usd, "
            "latency_s, tool_counts}.",
        ),
    ] = None,
    all_: Annotated[bool, typer.Option("--all", help="Every group in the store, narrowed by the filters.")] = False,
    text: Annotated[
        str | None, typer.Option(help="With --all: only runs with this in id, task, answer or observations.")
    ] = None,
    orchestrator: Annotated[
        str | None, typer.Option(help="With --all: only runs conducted by this orchestrator.")
    ] = None,
    tool: Annotated[str | None, typer.Option(help="With --all: only runs that called this tool.")] = None,
    status: Annotated[
        str | None, typer.Option(help="With --all: only runs that ended so: answered, max_turns, loop, fault, …")
    ] = None,
    tag: Annotated[str | None, typer.Option(help="With --all: only runs with this tag.")] = None,
    prefer: Annotated[
        list[str] | None,
        typer.Option(
            help="NAME=WEIGHT: quality, cost, latency in 0..1, tool.NAME in -1..1; the rest keeps its default. "
            "Repeat it. Without it runs are weighed as they were played."
        ),
    ] = None,
    prices: Annotated[
        str | None, typer.Option(help="Price the runs with this table, NAME@DATE or NAME+NAME; no model is called.")
    ] = None,
    mode: Annotated[Mode, typer.Option(help="The paper's arithmetic, or that of the public code.")] = Mode.PAPER,
    store: StorePlace = None,
    json: Annotated[bool, typer.Option("--json", help="As JSON: one object per rollout.")] = False,
) -> None:
    """Print the rewards and advantages of a group, with every number on the way."""
    wanted = None if prefer is None else parse_preference(prefer)
    narrowed = Filter(text=text, orchestrator=orchestrator, tool=tool, status=status, tag=tag)
    names = group_or_file or []
    if all_ == bool(names) or (narrowed != Filter() and not all_):
        raise BadInput("name a group, runs or a file, or take --all; filters go with --all")
    if all_:
        _rescore(store, replace(narrowed, training=False), wanted, prices, mode, json)
        return
    table: PriceTable | None = None
    if file := _file(names):
        if prices is not None:
            raise BadInput("--prices re-prices stored runs; the rows of a file state their cost_usd")
        rollouts, preference = _rows(file), wanted or Preference()
    else:
        runs = _runs(store, names)
        table = runs[0].setting.prices if prices is None else find_table(home(), prices)
        rollouts = group(runs, prices=None if prices is None else table, any_preference=wanted is not None)
        preference = wanted or of_offered(runs[0].setting.preference, rollouts[0].tool_counts)
    reports = reward_reports(rollouts, preference, mode)
    if json:
        facts = {one.id: one for one in rollouts}
        named = None if table is None else (table.name, table.dated, table.nominal)
        print_json([_row(report, row, facts[row.id], named) for report in reports for row in report.rows])
    else:
        _show(reports, rollouts, table)
    for report in reports:
        _remark(report)


def _remark(report: RewardReport) -> None:
    name = f"group {report.group}: " if report.group else ""
    if report.left_out:
        note(f"{name}{report.left_out} of {len(report.rows)} left out: ungraded, or nothing to be rewarded for")
    if report.why:
        note(f"{name}not in the loss: {report.why}")


def _file(names: Sequence[str]) -> Path | None:
    files = [name for name in names if name.lower().endswith(".json")]
    if files and len(names) > 1:
        raise BadInput(f"give one file, or ids of runs, not {len(names)} of them with {files[0]} among them")
    return Path(files[0]) if files else None


def _rows(file: Path) -> tuple[Rollout, ...]:
    data = json_list(file, form="rollouts, each {id, outcome, cost_usd, latency_s, tool_counts}")
    return tuple(from_data(row, Rollout, where=_place(file, at, row)) for at, row in enumerate(data, 1))


def _place(file: Path, at: int, row: object) -> str:
    name = row.get("id") if isinstance(row, dict) else None
    return f"{file}, row {at}" + (f" (id {one_line(name, 60)})" if isinstance(name, str) else "")


def _runs(place: str | None, names: Sequence[str]) -> list[Trajectory]:
    """The runs of the one group that is named so, else those with these ids."""
    with opened(place) as store:
        members = store.members(names[0]) if len(names) == 1 else ()
        return [store.get(run_id) for run_id in members or names]


def _rescore(
    place: str | None, wanted: Filter, preference: Preference | None, prices: str | None, mode: Mode, json: bool
) -> None:
    table = None if prices is None else find_table(home(), prices)
    with opened(place) as store:
        tally = _Tally()
        scored = tally.over(rescore(store, wanted, preference=preference, prices=table, mode=mode))
        if json:
            print_json_rows(row for one in scored for row in _scored_rows(one))
        else:
            head = ("group", "runs", "compared", "solved", "mean R", "std", "in the loss")
            print_table(head, [_scored_line(one) for one in scored])
    tally.tell()


class _Tally:
    """What is said of all groups together, counted while they pass: of many thousands none is kept."""

    def __init__(self) -> None:
        self.refused: list[Refused] = []
        self.counts: Counter[str] = Counter()
        self.prices: set[tuple[str, date, bool]] = set()

    def over(self, found: Iterable[Scored | Refused]) -> Iterator[Scored]:
        """The groups that have rewards, as they come."""
        for one in found:
            if isinstance(one, Refused):
                self.refused.append(one)
                continue
            self.counts["groups"] += 1
            self.counts["kept"] += one.report.why is None
            self.counts["rollouts"] += len(one.rollouts)
            self.counts["simulated"] += sum(rollout.simulated for rollout in one.rollouts)
            self.prices.add(one.prices)
            yield one

    def tell(self) -> None:
        """Say it on stderr, under the rows."""
        for one in self.refused:
            note(f"group {one.group} left out: {one.why}")
        groups, rollouts = self.counts["groups"], self.counts["rollouts"]
        note(
            f"{groups:,} groups of {rollouts:,} rollouts, {self.counts['kept']:,} of them in the loss; "
            "no model was called"
        )
        for name, dated, nominal in sorted(self.prices):
            note(f"priced by {name} of {dated}{', nominal: nobody is billed' if nominal else ''}")
        if simulated := self.counts["simulated"]:
            note(f"simulated: {simulated:,} of {rollouts:,}; their tools answer from a stated profile")


def _scored_rows(one: Scored) -> list[dict[str, Any]]:
    facts = {rollout.id: rollout for rollout in one.rollouts}
    return [_row(one.report, row, facts[row.id], one.prices) for row in one.report.rows]


def _scored_line(one: Scored) -> list[str]:
    report = one.report
    solved = sum(bool(rollout.counts and rollout.outcome) for rollout in one.rollouts)
    mean, std = ("—" if value is None else f"{value:.3f}" for value in (report.mean, report.std))
    counts = [str(number) for number in (len(one.rollouts), report.size, solved)]
    return [report.group, *counts, mean, std, "yes" if report.why is None else f"no: {report.why}"]


def _row(
    report: RewardReport, row: RolloutReward, facts: Rollout, prices: tuple[str, date, bool] | None
) -> dict[str, Any]:
    return {
        **to_data(row),
        "outcome": facts.outcome,
        "cost_usd": facts.cost_usd,
        "latency_s": facts.latency_s,
        "simulated": facts.simulated,
        "prices": prices and {"table": prices[0], "dated": prices[1].isoformat(), "nominal": prices[2]},
        "group": report.group,
        "mode": str(report.mode),
        "group_size": report.size,
        "group_mean": report.mean,
        "group_std": report.std,
    }


def _show(reports: Sequence[RewardReport], rollouts: Sequence[Rollout], table: PriceTable | None) -> None:
    facts = {one.id: one for one in rollouts}
    named = list(dict.fromkeys(name for report in reports for row in report.rows for name in row.components))
    weighed = [name for name in named if any(_part(row, name) for report in reports for row in report.rows)]
    head = ("id", "outcome", "cost", "time", *weighed, "R", "A", "kept")
    print_table(head, [_line(row, facts[row.id], weighed) for report in reports for row in report.rows])
    for report in reports:
        spread = "" if report.std is None else f", std {report.std:.3f} (n - 1)"
        mean = "" if report.mean is None else f" · mean {report.mean:.3f}{spread}"
        name = f"{report.group}: " if report.group else ""
        print(printable(f"\n{name}{report.mode} · {report.size} compared{mean}"))
    if table is not None:
        print(
            printable(
                f"priced by {table.name} of {table.dated}{', nominal: nobody is billed' if table.nominal else ''}"
            )
        )
    if simulated := sum(one.simulated for one in rollouts):
        print(f"simulated: {simulated} of {len(rollouts)}; their tools answer from a stated profile")
    if any(one.extension for report in reports for row in report.rows for one in row.components.values()):
        print("a weight below 0 is this project's extension: it rewards using the tool less")


def _part(row: RolloutReward, name: str) -> float:
    """What a component brings a rollout, before it asks whether the task was solved."""
    return row.components[name].contribution if name in row.components else 0.0


def _line(row: RolloutReward, facts: Rollout, weighed: Sequence[str]) -> list[str]:
    said = "yes" if row.kept else f"no: {row.why}"
    dropped = f", without turns {', '.join(map(str, row.dropped_turns))}" if row.kept and row.dropped_turns else ""
    return [
        row.id,
        OUTCOMES[facts.outcome],
        dollars(facts.cost_usd),
        seconds(facts.latency_s),
        *(f"{_part(row, name):.2f}" if row.components else "—" for name in weighed),
        "—" if row.reward is None else f"{row.reward:.3f}",
        "—" if row.advantage is None else f"{row.advantage:+.3f}",
        said + dropped,
    ]


COMMANDS: dict[str, Callable[..., None]] = {"reward": reward}
