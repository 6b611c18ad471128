"""The app in a process of its own, whose memory can be read: `python -m benchmarks.soaking.served HOME PAUSE_S`."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


class Server:
    """One that runs."""

    def __init__(self, url: str, pid: int) -> None:
        self.url, self.pid = url, pid

    def memory_mb(self) -> float:
        """Resident memory now."""
        return int(Path(f"/proc/{self.pid}/statm").read_text().split()[1]) * PAGE_BYTES / 1e6

    def cpu_s(self) -> float:
        """CPU seconds so far."""
        spent = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(spent[11]) + int(spent[12])) / os.sysconf("SC_CLK_TCK")

    def settle(self) -> None:
        """Wait until it has nothing to do: work for whoever went away is no work for whoever comes."""
        before = -1.0
        while (now := self.cpu_s()) - before > 0.02:
            before = now
            time.sleep(1.0)


@contextmanager
def served(home: Path, pause_s: float = 0.0) -> Iterator[Server]:
    """The app over this home until the block ends; its conductor pauses so long before each turn."""
    command = [sys.executable, "-m", "benchmarks.soaking.served", str(home), str(pause_s)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        try:
            assert process.stdout is not None
            url = process.stdout.readline().strip()
            assert url, "the app did not start"
            yield Server(url, process.pid)
        finally:
            process.send_signal(signal.SIGTERM)


def main() -> None:
    import uvicorn

    from app.main import create_app  # seconds of imports, which who asks this server does without
    from benchmarks.soaking.world import Steps, furnished

    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        app = create_app(furnished(Path(sys.argv[1]), policy=Steps(float(sys.argv[2]))))
        server = uvicorn.Server(uvicorn.Config(app, log_level="error", timeout_graceful_shutdown=3))
        listening.listen(512)
        print(f"http://127.0.0.1:{listening.getsockname()[1]}", flush=True)
        server.run([listening])


if __name__ == "__main__":
    main()
