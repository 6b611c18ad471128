"""How fast the store answers at a million turns, how fast it takes runs in, and what a kill costs.

    python -m benchmarks.store --json

The million turns are 50,000 copies of a few hundred made-up runs of twenty turns, made once under the temporary
folder and used again by later starts. Times are CPU of this process (DuckDB's threads included), medians of many
requests, so that they hardly depend on what else runs.
"""

import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from statistics import median

import duckdb

from benchmarks.claims import Claim, claim, note, parser, show
from benchmarks.large_store import RUN, RUN_TABLES, large_store
from orchestra_lib.store.database import OWNED
from orchestra_lib.store.journal import Journal
from orchestra_lib.store.partition_writing import write_partitions
from orchestra_lib.store.partitions import Partitions
from orchestra_lib.store.rollouts import StepRollouts, Worth
from orchestra_lib.store.store import Store
from orchestra_lib.store.summary import Filter
from orchestra_lib.trajectory import Trajectory
from orchestra_lib.unfolding import unfold
from tests.episodes import events, trajectory

TURNS = 20
TOOLS = ("search", "coder", "python", "generalist", "maths")
ORCHESTRATORS = ("conductor", "nemotron", "strongest", "cheapest")
ROLLOUTS = 96
SEEDS = 250
"""Runs that are made one by one; the million is copies of them under other ids and times."""
CROSS_TAB = """
SELECT tool, orchestrator, count(*) AS calls, avg(c.latency_s) AS latency_s, sum(c.cost_usd) AS cost_usd
FROM calls c JOIN trajectories t ON c.run_id = t.id GROUP BY ALL ORDER BY ALL
"""


def main() -> None:
    chosen = parser(__doc__).parse_args()
    runs, repeats, journals, ingested, kills = (500, 3, 500, 50, 2) if chosen.quick else (50_000, 31, 100_000, 2000, 20)
    claims = [
        *_answers(runs, repeats),
        *_sync(journals, repeats),
        *_ingest(ingested, repeats),
        *_training(repeats),
        *_kills(kills),
    ]
    show(claims, as_json=chosen.json)


def _answers(runs: int, repeats: int) -> Iterator[Claim]:
    home = large_store("store", runs, map(_run, range(SEEDS)), SEEDS, _fresh)
    chance = random.Random(7)  # a repeatable choice, no secret
    with Store(home) as store:
        turns = store.query("SELECT count(*) FROM turns").rows[0][0]
        at = f"at {turns:,} turns"
        middle = store.query(f"SELECT started_at, id FROM trajectories ORDER BY 1 DESC, 2 OFFSET {runs // 2} LIMIT 1")
        before = middle.rows[0]
        ids = [f"run-{chance.randrange(runs):07}" for _ in range(repeats)]
        journaled = [f"run-{chance.randrange(runs):07}" for _ in range(repeats)]
        for run_id in journaled:  # as every run has that was played here
            store.journal.put(unfold(store.get(run_id)))
        store.sync()
        asked: list[tuple[str, Callable[[int], object], float | None]] = [
            ("a list page", lambda n: store.list(), 50),
            ("a list page in the middle", lambda n: store.list(before=before), 50),
            ("one trajectory of 20 turns", lambda n: store.get(journaled[n]), 15),
            ("one trajectory of 20 turns without a journal", lambda n: store.get(ids[n]), None),
            ("cross-tab tool x orchestrator", lambda n: store.query(CROSS_TAB), 80),
        ]
        for name, ask, most in asked:
            yield claim(f"{name} {at}", _cpu_ms(ask, repeats), "CPU ms", at_most=most)


def _run(number: int) -> Trajectory:
    """A made-up run of twenty turns with nineteen calls of one tool."""
    found = " ".join(f"Passage {part} of run {number}: the river runs on and on." for part in range(8))
    return trajectory(
        f"run-{number:07}",
        turns=TURNS,
        minutes=number,
        tool=TOOLS[number % len(TOOLS)],
        orchestrator=ORCHESTRATORS[number // len(TOOLS) % len(ORCHESTRATORS)],
        task=f"Question {number}: where does the river run?",
        observation=found,
    )


def _cpu_ms(ask: Callable[[int], object], repeats: int) -> float:
    ask(0)
    taken = []
    for number in range(repeats):
        started = time.process_time()
        ask(number)
        taken.append((time.process_time() - started) * 1000)
    return median(taken)


def _fresh(table: str, key: str) -> Mapping[str, str]:
    """Copies are as many minutes apart as there are seeds, and have words of their own."""
    return {
        "started_at": f"t.started_at + to_minutes(copy * {SEEDS})",
        "raw": f"replace(replace(t.raw, t.{key}, {RUN}), 'river', md5({RUN}))",
        "observation": f"replace(t.observation, 'river', md5({RUN} || t.turn))",
    }


def _sync(journals: int, repeats: int) -> Iterator[Claim]:
    """What looking for news costs each request when nothing, or one run, is new among many finished journals."""
    with tempfile.TemporaryDirectory(prefix="orchestra-bench-journals-") as folder:
        home = Path(folder)
        Store(home).close()
        journal = Journal(home)
        journal.folder.mkdir()
        for number in range(journals):
            (journal.folder / f"run-{number:07}.jsonl").touch()
        with duckdb.connect(str(home / OWNED)) as connection, connection.cursor().appender("journals") as appender:
            stamps = journal.stamps()
            appender.append_rows([(name, stamp.size, stamp.mtime_ns, False, None) for name, stamp in stamps.items()])
        with Store(home) as store:
            time.sleep(1.1)  # a folder that has just changed is looked through again
            yield claim(
                f"sync of {journals:,} journals, none new",
                _cpu_ms(lambda n: store.sync(), repeats),
                "CPU ms",
                at_most=1,
            )

            def one_more(number: int) -> None:
                run_id = f"new-{number}-{time.time_ns()}"
                with journal.open(run_id) as writer:
                    for event in events(run_id):
                        writer.append(event)
                assert store.sync() == 1

            yield claim(f"a new run among {journals:,} journals", _cpu_ms(one_more, repeats), "CPU ms")


def _ingest(runs: int, repeats: int) -> Iterator[Claim]:
    trajectories = [_run(number) for number in range(runs)]
    with tempfile.TemporaryDirectory(prefix="orchestra-bench-ingest-") as folder, Store(Path(folder)) as store:
        started, wall = time.process_time(), time.perf_counter()
        store.add_many(trajectories)
        cpu_s, wall_s = time.process_time() - started, time.perf_counter() - wall
        rows = sum(store.query(f"SELECT count(*) FROM {table}").rows[0][0] for table in RUN_TABLES)
        note(f"{rows:,} rows of {runs:,} runs in {wall_s:.2f} s wall, {cpu_s:.2f} s CPU")
        yield claim("bulk ingest", rows / cpu_s, "rows per CPU second", at_least=50_000)
        yield from _partitions(store, Path(folder) / "partitions", rows, repeats)


def _partitions(store: Store, folder: Path, rows: int, repeats: int) -> Iterator[Claim]:
    """The same runs written as Parquet, and asked there."""
    started = time.process_time()
    write_partitions(store, Filter(), folder)
    yield claim("written as partitions", rows / (time.process_time() - started), "rows per CPU second")
    with Partitions(folder) as partitions:
        at = f"in partitions of {store.count():,} runs"
        yield claim(f"a list page {at}", _cpu_ms(lambda n: partitions.list(), repeats), "CPU ms")
        yield claim(
            f"cross-tab tool x orchestrator {at}", _cpu_ms(lambda n: partitions.query(CROSS_TAB), repeats), "CPU ms"
        )


def _training(repeats: int) -> Iterator[Claim]:
    """What it costs to keep a step of training: its file, and taking that into an open store."""
    worth = Worth(reward=0.5, advantage=1.0, kept=True)
    made = [trajectory(f"{number}", turns=2) for number in range(ROLLOUTS)]
    with tempfile.TemporaryDirectory(prefix="orchestra-bench-training-") as folder, Store(Path(folder)) as store:
        kept = StepRollouts(Path(folder), "training")

        def step(number: int) -> None:
            named = [replace(one, setting=replace(one.setting, run_id=f"{time.time_ns()}-{one.id}")) for one in made]
            kept.put(number, [(one, worth) for one in named])
            assert store.sync() == 1

        yield claim(
            f"a training step of {ROLLOUTS} rollouts, kept and taken in", _cpu_ms(step, repeats), "CPU ms", at_most=150
        )


def _kills(kills: int) -> Iterator[Claim]:
    """Turns whose end a writer had acknowledged before `kill -9`, and that were not there afterwards."""
    chance, lost, kept = random.Random(11), 0, 0  # a repeatable choice, no secret
    with tempfile.TemporaryDirectory(prefix="orchestra-bench-kills-") as folder:
        for number in range(kills):
            acknowledged = _killed(Path(folder), f"killed-{number}", chance.uniform(0.0, 0.3))
            with Store(Path(folder)) as store:
                there = store.query(f"SELECT count(*) FROM turns WHERE run_id = 'killed-{number}'").rows[0][0]
            lost, kept = lost + max(0, acknowledged - there), kept + acknowledged
    note(f"{kept:,} turns were acknowledged before {kills} kills")
    yield claim(f"turns lost by {kills} x kill -9 of {kept:,} acknowledged", lost, "turns", at_most=0)


def _killed(home: Path, run_id: str, after_s: float) -> int:
    """How many turns a process acknowledged that wrote a run and was killed so long after its first."""
    command = [sys.executable, "-c", _WRITER, str(home), run_id]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[1]) as writer:
        assert writer.stdout is not None
        first = writer.stdout.readline()
        time.sleep(after_s)
        writer.kill()
        return sum(line.endswith("\n") for line in (first, *writer.stdout))


_WRITER = """
import sys
from pathlib import Path
from orchestra_lib.event import TurnFinished
from orchestra_lib.store.journal import Journal
from orchestra_lib.store.migrations import MIGRATIONS
from tests.episodes import events
with Journal(Path(sys.argv[1])).open(sys.argv[2]) as writer:
    for event in events(sys.argv[2], turns=100_000):
        writer.append(event)
        if isinstance(event, TurnFinished):
            print(event.turn, flush=True)
"""


if __name__ == "__main__":
    main()
