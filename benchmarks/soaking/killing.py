"""An evaluation whose process is killed again and again, and resumed."""

import multiprocessing
import os
import random
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.claims import Claim, claim, note
from benchmarks.soaking import evaluated as child
from benchmarks.soaking.world import Scale, home
from orchestra_lib.spans import spans
from orchestra_lib.workbench import Workbench

SEED = 12


def killed(scale: Scale) -> Iterator[Claim]:
    """An evaluation whose process is killed again and again, and resumed, beside one that nobody disturbs."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["benchmarks.soaking.evaluated"])
    rng, pace = random.Random(SEED), 2 * scale.kills / (scale.tasks * (child.TURNS - 1))
    with home() as quiet, home() as killed:
        whole, _, _ = _life(context, quiet, scale, None, rng)
        kills = forgotten = done = 0
        totals: Any = None
        while kills < scale.kills:
            totals, done_now, first = _life(context, killed, scale, rng.expovariate(pace), rng)
            forgotten += max(0, done - first) if first is not None else 0
            done = max(done, done_now)
            if totals is not None:  # quicker than its killer, so that there is nothing left to kill
                break
            kills += 1
        if totals is None:
            totals, _, _ = _life(context, killed, scale, None, rng)
        store = Workbench(killed).store
        sums = "count(*) - count(DISTINCT (run_id, turn))", "count(*) - count(DISTINCT (run_id, call_id))"
        twice = store.query(f"SELECT (SELECT {sums[0]} FROM turns), (SELECT {sums[1]} FROM calls)").rows[0]
        runs = [run for (run_id,) in store.query("SELECT id FROM trajectories").rows if (run := store.get(run_id))]
        store.close()
    ids = [span.span_id for run in runs for span in spans(run)]
    again = len(runs) - scale.tasks
    what = f"{kills} kills -9 of an evaluation of {scale.tasks} tasks"
    note(f"{again} runs were cut off and played again; {totals}")
    yield claim(f"{what}: kills", kills, "kills", at_least=scale.kills // 2)
    differing = sum(whole[name] != totals[name] for name in whole)
    yield claim(f"{what}: totals that differ from an undisturbed one", differing, f"of {len(whole)}", at_most=0)
    yield claim(f"{what}: runs told of as done and played again", forgotten, "runs", at_most=0)
    yield claim(f"{what}: turns, calls and spans kept twice", sum(twice) + len(ids) - len(set(ids)), "rows", at_most=0)
    unfinished = sum(run.stop is None for run in runs)
    yield claim(f"{what}: runs that look as if they went on", unfinished, "runs", at_most=0)


def _life(
    context: Any, folder: Path, scale: Scale, calls: float | None, rng: random.Random
) -> tuple[Any, int, int | None]:
    """One life of the process: its totals, None where it was killed; what it told as done last, and at first.

    It is killed a random moment after so many calls; one life in five is killed while it starts.
    """
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=child.evaluated, args=(folder, scale.tasks, theirs))
    process.start()
    theirs.close()
    first, done, heard, totals = None, 0, 0, None
    if calls is not None and rng.random() < 0.2:
        calls = 0.0
    try:
        while True:
            if calls is not None and heard >= calls:
                time.sleep(rng.uniform(0.0, 0.01 if heard else 1.0))
                break
            kind, value = ours.recv()
            if kind == child.ENDED:
                totals = value
                break
            if kind == child.DONE:
                first = value if first is None else first
                done = max(done, value)
            heard += kind == child.CALL
    except EOFError:
        raise RuntimeError(f"the evaluation in {folder} ended by itself, see above") from None
    if totals is None:
        assert process.pid is not None
        os.kill(process.pid, signal.SIGKILL)
        while ours.poll():  # what it had told before it was killed
            try:
                kind, value = ours.recv()
            except EOFError:
                break
            if kind == child.DONE:
                first = value if first is None else first
                done = max(done, value)
            if kind == child.ENDED:
                totals = value
    process.join()
    ours.close()
    return totals, done, first
