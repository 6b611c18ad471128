"""Journals that stand in a store's folder, and the store used from another process."""

import subprocess
import sys
from pathlib import Path

from orchestra_lib.store.journal import Journal
from tests.episodes import events

ROOT = Path(__file__).resolve().parents[1]


def journal(home, *run_ids, **changes):
    for minutes, run_id in enumerate(run_ids):
        with Journal(home).open(run_id) as writer:
            for event in events(run_id, **{"minutes": minutes} | changes):
                writer.append(event)


def ids(summaries):
    return [summary.id for summary in summaries]


OPEN = """
import sys
from pathlib import Path
from orchestra_lib.store.store import Store
store = Store(Path(sys.argv[1]))
"""


def elsewhere(home, code):
    """Run `code` on `Store(home)` in another process; returns what it prints."""
    done = subprocess.run(
        [sys.executable, "-c", OPEN + code, str(home)], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()
