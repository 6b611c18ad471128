"""Learned and plain routers beside conductor, trained policy and oracle, on tasks that no router has learned from.

    python -m benchmarks.routers --json                       # simulated tasks and experts, from outcomes that ship
    python -m benchmarks.routers --record                     # makes those outcomes anew: every expert on every task
    python -m benchmarks.routers gsm8k --home .orchestra --learn 60 --tasks 40 \\
        --tools recorded:Qwen2.5-Coder-0.5B-Instruct,recorded:Qwen2.5-Coder-1.5B-Instruct --orchestrators knn-router …

Simulated tasks by default, which every line says. Another suite is split by its draw: the first `--learn` tasks are
played with each tool alone, the routers learn from what came of it, and everybody plays the `--tasks` that follow.
Every contestant plays the same tasks with the same tools, prices and lots under each preference. Means are over tasks,
with bootstrap intervals of 95 %; `reward` is the mean preference reward where the contestants of a task are the group.
Rewards are compared with those of `--beside` on the same tasks, by sign flips and after Holm.
"""

import asyncio
import json
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.claims import note, parser
from orchestra_lib.codec import dumps, to_data
from orchestra_lib.errors import BadInput
from orchestra_lib.evaluation.cells import Cells, by_task, cells_of, values_by_run
from orchestra_lib.evaluation.intervals import difference, figure, holm
from orchestra_lib.evaluation.plan import Cell, Conditions, Plan
from orchestra_lib.evaluation.report import MEASURES, values_of
from orchestra_lib.evaluation.running import Wanted, evaluate
from orchestra_lib.evaluation.suites import SIMULATED, SIMULATED_TOOLS, Suite, load_suite
from orchestra_lib.evaluation.worth import worths
from orchestra_lib.policy.routing.outcomes import FOLDER, SHIPPED, Outcome
from orchestra_lib.policy.routing.router import CASCADE, KNN, MF
from orchestra_lib.preference import Preference
from orchestra_lib.profilelist import SHIPPED as PROFILES
from orchestra_lib.training import conducting
from orchestra_lib.workbench import Workbench

WISHES = {
    "outcome": Preference(outcome=1.0, cost=0.1, latency=0.0),
    "cost": Preference(outcome=0.3, cost=1.0, latency=0.0),
    "latency": Preference(outcome=0.3, cost=0.0, latency=1.0),
}
TRAINED = "trained:tiny-grpo"
CONTESTANTS = (
    "cheapest", "strongest", "random", CASCADE, KNN, MF, "conductor-no-model", "trained:tiny-warm-start", TRAINED,
    "oracle",
)  # fmt: skip
LEARN_DRAW, TEST_DRAW = 7001, 7002
"""The worlds that simulated outcomes and held-out tasks are of."""
LEARN, TASKS = 400, 200
_MEASURES = ("accuracy", "cost_cents", "latency_min", "calls")


def main() -> None:
    options = parser(__doc__)
    options.add_argument("suite", nargs="?", default=SIMULATED)
    options.add_argument("--path", type=Path, help="your copy of the suite")
    options.add_argument("--home", type=Path, help="where runs are kept and weights lie; else a folder that goes")
    options.add_argument("--tools", help="by comma; the suite's own if left out")
    options.add_argument("--orchestrators", nargs="+", default=list(CONTESTANTS))
    options.add_argument("--beside", default=TRAINED, help="whom rewards are compared with")
    options.add_argument("--learn", type=int, default=LEARN, help="tasks that routers learn from")
    options.add_argument("--tasks", type=int, default=TASKS, help="held-out tasks")
    options.add_argument("--seeds", type=int, default=1, help="play each held-out task so often")
    options.add_argument("--record", action="store_true", help="only make the outcomes that ship")
    chosen = options.parse_args()
    learn, tasks = (16, 8) if chosen.quick else (chosen.learn, chosen.tasks)
    with ExitStack() as stack:
        home = chosen.home or Path(stack.enter_context(TemporaryDirectory()))
        lessons, test = _split(chosen.suite, chosen.path, home, learn, tasks)
        tools = tuple(chosen.tools.split(",")) if chosen.tools else test.tools or SIMULATED_TOOLS
        names = tuple(dict.fromkeys([*chosen.orchestrators, chosen.beside]))
        if chosen.record:
            tools = tuple(f"sim:{file.stem}" for file in sorted(PROFILES.glob("*.json")))
            record(home, lessons, tools, SHIPPED / f"{SIMULATED}.jsonl")
            return
        if chosen.suite != SIMULATED:
            record(home, lessons, tools, home / FOLDER / f"{test.name}.jsonl")
        warm = replace(lessons, items=lessons.items[:1])
        rows = asyncio.run(compare(home, test, tools, names, chosen.beside, chosen.seeds, warm))
    if chosen.json:
        print(*map(json.dumps, rows), sep="\n")
    else:
        print(*_table(rows), sep="\n")


def _split(name: str, path: Path | None, home: Path, learn: int, tasks: int) -> tuple[Suite, Suite]:
    """Tasks to learn from, and others to be measured on. Raises `BadInput` where nothing is left of the second."""
    if name == SIMULATED:
        return load_suite(name, home, limit=learn, draw=LEARN_DRAW), load_suite(name, home, limit=tasks, draw=TEST_DRAW)
    whole = load_suite(name, home, path=path, limit=learn + tasks)
    if len(whole.items) <= learn:
        raise BadInput(f"{name} has {len(whole.items)} tasks, all of which --learn {learn} takes; lower it")
    return replace(whole, items=whole.items[:learn]), replace(whole, items=whole.items[learn:])


def record(home: Path, suite: Suite, tools: Sequence[str], file: Path) -> None:
    """Keep what every task came to with each tool alone, for routers to learn from."""
    outcomes = asyncio.run(alone(home, suite, tools))
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(dumps(to_data(one)) + "\n" for one in outcomes), "utf-8")
    note(f"{file}: {len(outcomes)} tasks")


async def alone(home: Path, suite: Suite, tools: Sequence[str]) -> list[Outcome]:
    """Play every task with each tool alone. Runs that are there are not played again."""
    solved: dict[str, dict[str, float]] = {item.text: {} for item in suite.items}
    simulated = False
    workbench = Workbench(home)
    try:
        for tool in tools:
            note(f"{suite.name}: {len(suite.items)} tasks with {tool} alone")
            cells = await _played(workbench, suite, (tool,), ("cheapest",), Preference(), 1, f"{tool} alone")
            order = Plan(id=cells.report.id, conditions=cells.report.conditions).order(
                Cell(orchestrator="cheapest", item=suite.items[0], seed=0)
            )
            (name,) = (spec.name for spec in workbench.setting(order).tools)
            for item, (run,) in zip(suite.items, cells.grids["cheapest"], strict=True):
                if run is not None and run.ended and run.outcome is not None:
                    solved[item.text][name] = float(run.outcome)
                    simulated |= run.simulated
    finally:
        await workbench.close()
    return [Outcome(text=text, solved=of, simulated=simulated) for text, of in solved.items() if of]


async def compare(
    home: Path, suite: Suite, tools: Sequence[str], names: Sequence[str], beside: str, seeds: int, warm: Suite
) -> list[dict[str, Any]]:
    """A row for each contestant under each preference, once each has played `warm`: what is loaded or fitted at the
    first run is no task's time."""
    workbench = Workbench(home)
    conducting.join(workbench.roster, home)
    rows = []
    try:
        await _played(workbench, warm, tools, names, Preference(), 1, "to warm up")
        for wish, preference in WISHES.items():
            note(f"{suite.name}: {len(suite.items)} held-out tasks, {wish} preference")
            cells = await _played(workbench, suite, tools, names, preference, seeds, f"routers, {wish}")
            rows += _rows(workbench, cells, preference, beside, {"preference": wish, "tools": list(tools)})
    finally:
        await workbench.close()
    return rows


async def _played(
    workbench: Workbench, suite: Suite, tools: Sequence[str], names: Sequence[str], preference: Preference, seeds: int,
    what: str,
) -> Cells:  # fmt: skip
    folder = workbench.home / "evaluations" / f"{suite.name} {what}".replace(":", "-").replace("/", "-")
    conditions = Conditions(suite=suite.name, tools=tuple(tools), preference=preference)
    wanted = Wanted(suite=suite, conditions=conditions, orchestrators=tuple(names), seeds=seeds)
    report = await evaluate(workbench, wanted, folder, begins=lambda outlook: True, told=lambda step: None)
    assert report is not None
    return cells_of(workbench.store, wanted, report)


def _rows(
    workbench: Workbench, cells: Cells, preference: Preference, beside: str, given: Mapping[str, Any]
) -> list[dict[str, Any]]:
    grids, report = cells.grids, cells.report
    worth = worths(workbench.store, by_task(grids), preference)
    reward = {name: values_by_run(grid, worth) for name, grid in grids.items()}
    apart = {name: difference(values, reward[beside]) for name, values in reward.items() if name != beside}
    adjusted = dict(zip(apart, holm([one.p for one in apart.values()]), strict=True))
    return [
        {
            "suite": report.suite, **given, "orchestrator": line.orchestrator, "simulated": line.simulated,
            "nominal": line.nominal, "tasks": report.tasks, "seeds": len(report.seeds), "runs": line.done,
            "ungraded": line.ungraded, "faults": line.faults,
            "figures": {
                **{what: asdict(figure(values_of(grids[line.orchestrator], MEASURES[what]), line.done,
                                       shares=what == "accuracy")) for what in _MEASURES},
                "reward": asdict(figure(reward[line.orchestrator], line.done)),
            },
            "beside": beside,
            "reward apart": None if line.orchestrator == beside else {
                **asdict(apart[line.orchestrator]), "p_holm": adjusted[line.orchestrator],
            },
        }
        for line in report.lines
    ]  # fmt: skip


def _table(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    first = rows[0]
    told = f"{first['suite']}, {first['tasks']} held-out tasks x {first['seeds']}, tools {', '.join(first['tools'])}"
    lines = [told + (", simulated" if any(row["simulated"] for row in rows) else "")]
    for row in rows:
        if row["orchestrator"] == first["orchestrator"]:
            head = (*_TITLES.values(), f"reward less that of {row['beside']}")
            lines.append(f"\n{row['preference'] + ' preference':26}" + "".join(f"{title:>27}" for title in head))
        cells = [cell(row["figures"][what], what) for what in _TITLES]
        apart = row["reward apart"]
        cells.append("" if apart is None else f"{cell(apart, 'apart')} p {apart['p_holm']:.2g}")
        left = row["ungraded"] + row["faults"]
        told = f"  {left} ungraded or faults" if left else ""
        lines.append(f"  {row['orchestrator']:24}" + "".join(f"{cell:>27}" for cell in cells) + told)
    return lines


_TITLES = {
    "accuracy": "accuracy", "cost_cents": "cost, cents", "latency_min": "minutes", "calls": "calls", "reward": "reward",
}  # fmt: skip


def cell(one: Mapping[str, Any], what: str) -> str:
    """A figure with its interval, as a table has it."""
    if one["mean"] is None:
        return "unknown"
    digits = "+.3f" if what == "apart" else ".3f" if what in ("accuracy", "reward") else ".3g"
    ends = "" if one["low"] is None else f" [{one['low']:{digits}}, {one['high']:{digits}}]"
    return f"{one['mean']:{digits}}{ends}"


if __name__ == "__main__":
    main()
