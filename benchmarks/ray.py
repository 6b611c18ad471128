"""Two workers beside one on work that is all CPU, and a worker killed in the middle of an evaluation.

    python -m benchmarks.ray             # about two minutes on two quiet cores
    python -m benchmarks.ray --quick

Times are wall-clock time within one cluster, without its start. On a machine that has other things to do they say
nothing: each worker needs a core for itself. The filters are beside plain processes on the same tasks in the same run:
a task takes a millisecond or two, so that reading it, handing it over and the driver, which has no core of its own,
weigh there as they do not in grading, and what two processes reach is the aim. The killed evaluation is of simulated
experts; what is compared are totals with those of one process.
"""

import asyncio
import json
import os
import signal
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import cache, partial
from itertools import cycle, islice
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from benchmarks.claims import Claim, Rival, claim, note, parser, show
from orchestra_lib.cli.engine import furnish
from orchestra_lib.engine.cluster import Where, cluster
from orchestra_lib.engine.crew import Crew
from orchestra_lib.engine.player import Player, RemoteCells
from orchestra_lib.engine.sieve import Sieve, candidates, verified
from orchestra_lib.environment.assignment import Assignment, write_assignments
from orchestra_lib.evaluation.conducting import Step
from orchestra_lib.evaluation.plan import Conditions
from orchestra_lib.evaluation.report import EvaluationReport
from orchestra_lib.evaluation.running import Wanted, evaluate
from orchestra_lib.evaluation.suites import load_suite
from orchestra_lib.event import fold
from orchestra_lib.grading import Wish
from orchestra_lib.synthesis.filters import Failure
from orchestra_lib.synthesis.pipeline import Accepted
from orchestra_lib.synthesis.verifying import Verifier, tasks_of
from orchestra_lib.trajectory import Trajectory
from orchestra_lib.workbench import Order, Workbench

FASTER = 1.7
_HANDED_OVER = 32
"""Tasks that a plain process is given at once, as a worker is."""
_RAILWAY = "railway.jsonl"
_ASKED: dict[str, Any] = {"orchestrators": ("cheapest", "random"), "seeds": 1}


def main() -> None:
    chosen = parser(__doc__).parse_args()
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder, cluster(Where(workers=2)):
        home = Path(folder)
        note(f"Ray started in {time.monotonic() - began:.1f} s")
        claims = [
            *_graded(home, 4 if chosen.quick else 24),
            *_filtered(home, 32 if chosen.quick else 640),
            *_killed(home, 12 if chosen.quick else 100),
        ]
    show(claims, as_json=chosen.json)


def _graded(home: Path, count: int) -> Iterator[Claim]:
    what, spent = "symbolic grading", _spent("symbolic grading", partial(_grading, home, count))
    yield claim(f"{what}: two workers beside one", spent[1] / spent[2], "times as fast", at_least=FASTER)
    yield claim(f"{what}: two workers", spent[2], "s", rival=Rival(name="one worker", value=spent[1]))


def _filtered(home: Path, count: int) -> Iterator[Claim]:
    what, spent = "the four filters", _spent("the four filters", partial(_filters, home, count))
    plain = _spent("the four filters in plain processes", partial(_plain, home))
    beside = Rival(name="two plain processes beside one", value=plain[1] / plain[2])
    yield claim(f"{what}: two workers beside one", spent[1] / spent[2], "times as fast", rival=beside)
    rival = Rival(name="two plain processes", value=plain[2])
    yield claim(f"{what}: two workers", spent[2], "s", rival=rival, ratio_at_most=1.2)


def _spent(what: str, work: Any) -> dict[int, float]:
    """Seconds of the same work by one worker and by two."""
    spent = {}
    for workers in (1, 2):
        began_cpu = time.process_time()
        spent[workers], of = work(workers)
        driver = time.process_time() - began_cpu
        note(f"{what}, {of}, {workers} workers: {spent[workers]:.2f} s, CPU of the driver {driver:.2f} s")
    return spent


@contextmanager
def _crew(kind: type[Any], arguments: tuple[Any, ...], home: Path, workers: int, at_once: int) -> Iterator[Crew]:
    made = Crew(kind, arguments, home, workers=workers, at_once=at_once)
    made.muster(alike=False)
    yield made
    made.dismiss(remove=True)


def _grading(home: Path, count: int, workers: int) -> tuple[float, str]:
    """Re-grading by math-verify, a process of its own for each: seconds, and how much it was."""
    run = asyncio.run(_one_run(home))
    runs = [
        replace(run, answer=f"So it is $\\frac{{{2 * n}}}{{{n * (n + 1)}}} + x^{n % 3 + 1}$")
        for n in range(1, count + 1)
    ]
    wishes = [Wish(by="symbolic", reference=f"\\frac{{2}}{{{n + 1}}} + x^{n % 3 + 1}") for n in range(1, count + 1)]

    async def all_of(crew: Crew) -> list[Any]:
        return await asyncio.gather(*(crew.call("mark", one, wish) for one, wish in zip(runs, wishes, strict=True)))

    with _crew(Player, (furnish,), home, workers, workers) as crew:
        asyncio.run(_warm(crew, [("mark", runs[0], wishes[0])] * workers))
        began = time.perf_counter()
        marks = asyncio.run(all_of(crew))
        took_s = time.perf_counter() - began
    assert all(mark.grade.outcome is True for mark in marks), marks
    return took_s, f"{count} runs"


async def _warm(crew: Crew, calls: list[tuple[Any, ...]]) -> None:
    await asyncio.gather(*(crew.call(*call) for call in calls))


async def _one_run(home: Path) -> Trajectory:
    workbench = Workbench(home)
    try:
        order = Order(task="What is 22 * 35? [simulated 7-0]", tools=("sim:small",), orchestrator="cheapest", seed=1)
        return fold([event async for event in workbench.play(order)])
    finally:
        await workbench.close()


def _filters(home: Path, count: int, workers: int) -> tuple[float, str]:
    """`orchestra tasks verify`: seconds, and how much it was."""
    file = home / _RAILWAY
    with _crew(Sieve, (), home, workers, 2 * workers) as crew:
        if not file.exists():
            drawn = candidates(crew, "railway", 7)
            accepted = (one.assignment for one in drawn if isinstance(one, Accepted))
            write_assignments(islice(accepted, count), file)
        list(verified(crew, [_beginning(file, 128 * workers)]))  # every worker has loaded the domain
        began = time.perf_counter()
        checked = list(verified(crew, [file]))
        took_s = time.perf_counter() - began
    assert [one for one in checked if one.failure] == []
    return took_s, f"{len(checked)} tasks"


def _plain(home: Path, processes: int) -> tuple[float, str]:
    """The same by plain processes: seconds, and how much it was."""
    with ExitStack() as stack:
        pools = [stack.enter_context(ProcessPoolExecutor(1, get_context("spawn"))) for _ in range(processes)]

        def all_of(file: Path) -> list[Failure | None]:
            turns = zip(cycle(pools), _handed_over(list(tasks_of([file]))), strict=False)
            given = [pool.submit(_failures, tasks) for pool, tasks in turns]
            return [failure for one in given for failure in one.result()]

        all_of(_beginning(home / _RAILWAY, 128 * processes))
        began = time.perf_counter()
        failures = all_of(home / _RAILWAY)
        took_s = time.perf_counter() - began
    assert not any(failures)
    return took_s, f"{len(failures)} tasks"


def _handed_over(tasks: Sequence[tuple[Path, Assignment]]) -> Iterator[Sequence[tuple[Path, Assignment]]]:
    for start in range(0, len(tasks), _HANDED_OVER):
        yield tasks[start : start + _HANDED_OVER]


@cache
def _verifier() -> Verifier:
    """The one of this process."""
    return Verifier()


def _failures(tasks: Sequence[tuple[Path, Assignment]]) -> list[Failure | None]:
    return [_verifier().check(file, one).failure for file, one in tasks]


def _beginning(file: Path, lines: int) -> Path:
    part = file.with_name(f"first-{lines}.jsonl")
    part.write_text("".join(file.read_text("utf-8").splitlines(keepends=True)[:lines]), "utf-8")
    return part


def _killed(home: Path, tasks: int) -> Iterator[Claim]:
    """An evaluation by two workers, one of which is killed in the middle, beside the same in one process."""
    whole = asyncio.run(_evaluated(home / "whole", tasks))
    there, told = home / "killed", []
    with _crew(Player, (furnish,), there, 2, 8) as crew:

        def tell(step: Step) -> None:
            told.append(step)
            if len(told) == len(whole.lines) * tasks // 3:
                note(f"kill -9 {crew.places[0].pid} after {len(told)} runs")
                os.kill(crew.places[0].pid, signal.SIGKILL)

        made = asyncio.run(_evaluated(there, tasks, crew, tell))
    assert made.complete, made.notes
    solved, right = (sum(line.solved for line in one.lines) for one in (made, whole))
    different = sum(
        json.dumps(_totals(one), sort_keys=True) != json.dumps(_totals(other), sort_keys=True)
        for one, other in zip(made.lines, whole.lines, strict=True)
    )
    note(f"{made.played_again} runs were cut off and played again")
    yield claim("a worker killed: orchestrators with other totals", different, "of 2", at_most=0)
    yield claim("a worker killed: solved", solved, "runs", rival=Rival(name="one process", value=right))


def _totals(line: Any) -> dict[str, Any]:
    return {
        "solved": line.solved, "done": line.done, "stops": dict(line.stops), "ungraded": line.ungraded,
        **{what: line.figures[what].mean for what in ("accuracy", "cost_cents", "calls", "output_tokens")},
    }  # fmt: skip


async def _evaluated(
    home: Path, tasks: int, crew: Crew | None = None, told: Any = lambda step: None
) -> EvaluationReport:
    workbench = Workbench(home)
    suite = load_suite("simulated", home, limit=tasks)
    wanted = Wanted(suite=suite, conditions=Conditions(suite=suite.name, tools=suite.tools), concurrency=8, **_ASKED)
    players = None if crew is None else partial(RemoteCells, crew)
    try:
        made = await evaluate(workbench, wanted, home / "out", begins=lambda outlook: True, told=told, players=players)
        assert made is not None
        return made
    finally:
        await workbench.close()


if __name__ == "__main__":
    main()
