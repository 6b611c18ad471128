"""How well the offline orchestrators do on tasks of our own, and whether their choice follows a preference.

    python -m benchmarks.embedded                       # all tasks, conductor, default preference
    python -m benchmarks.embedded --preferences         # a third of the tasks under each of the preferences
    python -m benchmarks.embedded --policy router --quick --json

Drives the real loop with the real tools and models. Results are kept under `--out`, one line a task, and
a second start goes on where the first stopped (`--fresh` starts over). Wall seconds depend on what else runs;
CPU seconds are those of this process and of the model processes it started.
"""

import argparse
import asyncio
import json
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psutil

from benchmarks.grading import grade
from benchmarks.router import Router
from orchestra_lib.event import fold
from orchestra_lib.language_models import CODER
from orchestra_lib.limits import Limits
from orchestra_lib.play import play
from orchestra_lib.preference import Preference, describe
from orchestra_lib.pricelist import load_tables
from orchestra_lib.protocols import Policy
from orchestra_lib.roster import Roster
from orchestra_lib.store.artefacts import Artefacts
from orchestra_lib.task import Task
from orchestra_lib.trajectory import Setting, Trajectory

TASKS = Path(__file__).parent / "tasks"
TOOLS = ("code_interpreter", "local_search", "coder", "generalist")
POLICIES = ("conductor", "conductor-no-model", "free-loop", "router")
PREFERENCES = {
    "default": Preference(),
    "quality": Preference(outcome=1.0, cost=0.0, latency=0.0),
    "cheap and fast": Preference(outcome=0.5, cost=1.0, latency=1.0),
    "avoid search, prefer coder": Preference(tools={"local_search": -1.0, "coder": 1.0}),
}
COMPARED = ("quality", "cheap and fast", "avoid search, prefer coder")
LIMITS = Limits(max_turns=10, time_s=300.0)


def main() -> None:
    options = _options()
    rows = _subset(_read(TASKS / f"{options.tasks}.jsonl"), options)
    names = COMPARED if options.preferences else (options.preference,)
    results = {name: asyncio.run(_measure(rows, options, name)) for name in names}
    if options.json:
        print(json.dumps({name: _summary(found) for name, found in results.items()}, indent=1))
    else:
        for name, found in results.items():
            _print_table(f"{options.policy}, preference: {name}", found)
        if len(results) > 1:
            _print_shares(results)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--policy", choices=POLICIES, default="conductor")
    parser.add_argument("--preference", choices=PREFERENCES, default="default")
    parser.add_argument(
        "--preferences", action="store_true", help=f"compare {', '.join(COMPARED)} on the first 3 of each kind"
    )
    parser.add_argument("--quick", action="store_true", help="the first task of each kind only")
    parser.add_argument("--kind", action="append", help="only tasks of this kind")
    parser.add_argument("--tasks", default="embedded", choices=("embedded", "dev"))
    parser.add_argument("--home", type=Path, default=Path(".orchestra"), help="where the weights are")
    parser.add_argument("--out", type=Path, help="folder of the results (HOME/benchmarks)")
    parser.add_argument("--fresh", action="store_true", help="forget earlier results")
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


def _read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def _subset(rows: Sequence[dict[str, Any]], options: argparse.Namespace) -> list[dict[str, Any]]:
    most = 1 if options.quick else 3 if options.preferences else len(rows)
    seen: Counter[str] = Counter()
    kept = []
    for row in rows:
        seen[row["kind"]] += 1
        if seen[row["kind"]] <= most and (not options.kind or row["kind"] in options.kind):
            kept.append(row)
    return kept


async def _measure(rows: Sequence[dict[str, Any]], options: argparse.Namespace, name: str) -> list[dict[str, Any]]:
    folder = options.out or options.home / "benchmarks"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{options.tasks}-{options.policy}-{name.replace(' ', '_').replace(',', '')}.jsonl"
    if options.fresh:
        path.unlink(missing_ok=True)
    done = {(row["id"], row["task"]): row for row in _read(path)} if path.exists() else {}
    roster = Roster(options.home)
    try:
        await _warm(roster, options)
        with path.open("a", encoding="utf-8") as lines:
            for place, row in enumerate(rows, start=1):
                if (row["id"], row["task"]) not in done:
                    result = await _one(row, roster, options, PREFERENCES[name])
                    lines.write(json.dumps(result, ensure_ascii=False) + "\n")
                    lines.flush()
                    done[(row["id"], row["task"])] = result
                result = done[(row["id"], row["task"])]
                _progress(
                    f"{place}/{len(rows)} {'ok ' if result['ok'] else 'BAD'} {result['wall_s']:6.1f} s {row['id']}"
                )
    finally:
        await roster.close()
    return [done[(row["id"], row["task"])] for row in rows]


async def _warm(roster: Roster, options: argparse.Namespace) -> None:
    """The first reply of each model also loads it; that is start-up and no task's time."""
    _progress("loading the models …")
    names = ("generalist",) if options.policy == "conductor-no-model" else ("generalist", "coder")
    for name in names:
        await roster.tool(name).call({"question": "Say yes."}, run_id="warm")


def _policy(roster: Roster, name: str) -> Policy:
    if name != "router":
        return roster.orchestrator(name)
    return Router(roster._orchestrators.estimator, roster.models.embedded[CODER])


async def _one(
    row: Mapping[str, Any], roster: Roster, options: argparse.Namespace, preference: Preference
) -> dict[str, Any]:
    policy = _policy(roster, options.policy)
    tools = [roster.tool(name) for name in TOOLS]
    specs = tuple(tool.spec for tool in tools)
    setting = Setting(
        run_id=f"bench-{row['id']}",
        started_at=datetime.now(UTC),
        task=Task(text=row["task"], id=row["id"]),
        orchestrator=options.policy,
        protocol=policy.spec.protocol,
        preference=preference,
        sentence=describe(preference, {spec.name: spec.title for spec in specs}),
        tools=specs,
        prices=load_tables(options.home)["nominal"],
        limits=LIMITS,
        seed=1,
    )
    cpu_s, wall_s = _cpu_s(), time.monotonic()
    events = [event async for event in play(setting, policy, tools, artefacts=Artefacts(options.home))]
    cpu_s, wall_s = _cpu_s() - cpu_s, time.monotonic() - wall_s
    trajectory = fold(events)
    ok = await grade(row, trajectory.answer or "", roster.tool("code_interpreter"))
    return {**_facts(row, trajectory), "ok": ok, "wall_s": round(wall_s, 2), "cpu_s": round(cpu_s, 2)}


def _facts(row: Mapping[str, Any], trajectory: Trajectory) -> dict[str, Any]:
    bill = trajectory.bill()
    return {
        "id": row["id"],
        "kind": row["kind"],
        "task": row["task"],
        "answer": trajectory.answer,
        "status": trajectory.status,
        "turns": len(trajectory.turns),
        "tools": [call.call.tool for call in trajectory.calls],
        "cost_usd": bill.cost_usd,
        "input_tokens": bill.input_tokens,
        "output_tokens": bill.output_tokens,
        "why": [turn.generation.reasoning for turn in trajectory.turns if turn.generation],
    }


def _cpu_s() -> float:
    """CPU seconds of this process and its living children so far."""
    me = psutil.Process()
    total = 0.0
    for process in [me, *me.children(recursive=True)]:
        try:
            times = process.cpu_times()
        except psutil.NoSuchProcess:
            continue
        total += times.user + times.system
    return total


def _summary(results: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    kinds: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for result in results:
        kinds[result["kind"]].append(result)
    return {
        "overall": _figures(results),
        "exact arithmetic and dates": _figures(
            [result for result in results if result["kind"] in ("arithmetic", "date")]
        ),
        "kinds": {kind: _figures(found) for kind, found in kinds.items()},
        "first_tool": dict(Counter(result["tools"][0] if result["tools"] else "none" for result in results)),
        "calls": dict(Counter(tool for result in results for tool in result["tools"])),
        "failed": [result["id"] for result in results if not result["ok"]],
    }


def _figures(results: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    count = max(len(results), 1)
    costs = [result["cost_usd"] for result in results]
    return {
        "tasks": len(results),
        "right": sum(result["ok"] for result in results),
        "accuracy": round(sum(result["ok"] for result in results) / count, 3),
        "wall_s": round(sum(result["wall_s"] for result in results) / count, 2),
        "cpu_s": round(sum(result["cpu_s"] for result in results) / count, 2),
        "nominal_usd": None if None in costs else round(sum(costs) / count, 7),
    }


def _print_table(title: str, results: Sequence[Mapping[str, Any]]) -> None:
    summary = _summary(results)
    print(f"\n{title}\n{'kind':28}{'right':>9}{'accuracy':>10}{'wall s':>9}{'CPU s':>8}{'nominal $':>12}")
    for name, row in [
        *summary["kinds"].items(),
        ("exact arithmetic and dates", summary["exact arithmetic and dates"]),
        ("overall", summary["overall"]),
    ]:
        cost = "unknown" if row["nominal_usd"] is None else f"{row['nominal_usd']:.7f}"
        share = f"{row['right']}/{row['tasks']}"
        print(f"{name:28}{share:>9}{row['accuracy']:>10.1%}{row['wall_s']:>9.2f}{row['cpu_s']:>8.2f}{cost:>12}")
    print("wrong:", ", ".join(summary["failed"]) or "none")


def _print_shares(results: Mapping[str, Sequence[Mapping[str, Any]]]) -> None:
    print(f"\n{'first tool':28}" + "".join(f"{tool:>18}" for tool in [*TOOLS, "none"]))
    for name, found in results.items():
        first = _summary(found)["first_tool"]
        print(f"{name:28}" + "".join(f"{first.get(tool, 0) / len(found):>18.0%}" for tool in [*TOOLS, "none"]))


def _progress(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
