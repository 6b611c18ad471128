"""Runs on a disk of a few megabytes until it is full, and after: `python -m benchmarks.soaking.full_disk FOLDER`.

Started by `faults.disk` with the disk already there; prints one JSON object.
"""

import asyncio
import json
import sys
from collections import Counter
from pathlib import Path

from benchmarks.soaking.world import Echo, furnished, order, played
from orchestra_lib.errors import StoreFault
from orchestra_lib.event import CallStarted, Event, RunStarted, Streamed
from orchestra_lib.store.journal import Journal
from orchestra_lib.workbench import Workbench

BALLAST_BYTES = 36 << 20
AT_ONCE, TURNS, AFTER = 8, 400, 4


async def _filled(home: Path) -> dict[str, object]:
    acknowledged: Counter[str] = Counter()

    def told(event: Event) -> None:
        if isinstance(event, RunStarted):
            acknowledged[event.setting.run_id] = 0

    workbench = furnished(home, tool=Echo(times=1000))
    kept: dict[str, list[int]] = {}

    async def one(number: int) -> Exception | None:
        run_id = f"full-{number}"
        try:
            async for event in workbench.play(order(TURNS), run_id=run_id):
                if not isinstance(event, Streamed | CallStarted):
                    kept.setdefault(run_id, []).append(event.seq)
        except Exception as error:
            return error
        return None

    errors = await asyncio.gather(*map(one, range(AT_ONCE)))
    (home / "ballast").unlink()
    after = await played(workbench, [order(3)] * AFTER, told)
    await workbench.close()
    journal, anew = Journal(home), Workbench(home)
    there = {run_id: {event.seq for event in journal.read(run_id)} for run_id in kept}
    statuses = Counter(status for (status,) in anew.store.query("SELECT status FROM trajectories").rows)
    listed = anew.store.count()
    anew.store.close()
    return {
        "full": sum(isinstance(error, StoreFault) for error in errors),
        "unclear": [repr(one) for one in errors if not (isinstance(one, StoreFault) and "No space left" in str(one))],
        "acknowledged": sum(map(len, kept.values())),
        "lost": sum(len(set(seqs) - there[run_id]) for run_id, seqs in kept.items()),
        "after": sum(one is None for one in after),
        "unfinished": statuses["running"],
        "unlisted": AT_ONCE + AFTER - listed,
    }


def main() -> None:
    home = Path(sys.argv[1])
    (home / "ballast").write_bytes(b"\x00" * BALLAST_BYTES)
    print(json.dumps(asyncio.run(_filled(home))))


if __name__ == "__main__":
    main()
