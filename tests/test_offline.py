"""A process that denied itself the network reaches nothing, and a replay runs in such a one."""

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest
from playing import Echo, events_of

from orchestra_lib.codec import to_text
from orchestra_lib.errors import BadInput
from orchestra_lib.event import fold
from orchestra_lib.policy.scripted import Scripted
from orchestra_lib.replay.process import replay_offline
from orchestra_lib.store.artefacts import Artefacts

ROOT = Path(__file__).resolve().parent.parent
TRY = """
import asyncio, ctypes, socket, sys, urllib.request
from orchestra_lib.toolkit.offline import deny_network
server = socket.create_server(("127.0.0.1", 0))
address = server.getsockname()
held = socket.socket()
by = deny_network()
def refused(what):
    try:
        what()
    except OSError:
        return True
    return False
assert refused(lambda: socket.create_connection(address))
assert refused(lambda: held.connect(address))
assert refused(lambda: urllib.request.urlopen("http://127.0.0.1:%d/" % address[1], timeout=2))
assert by != "kernel" or ctypes.CDLL(None).socket(socket.AF_INET, socket.SOCK_STREAM, 0) == -1
assert asyncio.run(asyncio.sleep(0, "alive")) == "alive"
print(by)
"""


def test_nothing_can_be_reached_and_the_process_works_on():
    done = subprocess.run([sys.executable, "-c", TRY], cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.strip() in ("kernel", "python")


def kept(script):
    happened = asyncio.run(events_of(Scripted(script), [Echo()]))
    return [event for event in happened if event.kind not in ("streamed", "call_started")]


def test_a_replay_in_a_process_without_a_network_is_the_same(tmp_path):
    events = kept([[("echo", {"word": "line\nend \u2028 ü"})], "hi"])
    answer = replay_offline(events, tmp_path)
    assert answer.difference is None
    assert to_text(answer.trajectory) == to_text(fold(events))
    assert answer.denied_by in ("kernel", "python")
    assert not Artefacts(tmp_path).folder.exists()


def test_what_cannot_be_replayed_says_so(tmp_path):
    with pytest.raises(BadInput, match="still goes on"):
        replay_offline(kept(["hi"])[:-1], tmp_path)
