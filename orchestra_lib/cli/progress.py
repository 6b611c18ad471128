"""How far a download is, in a terminal."""

import sys

from orchestra_lib.cli.terminal import note
from orchestra_lib.model.weights import WeightsStatus


class WeightsProgress:
    """Bytes, rate and time left on one line of the terminal, or a line every tenth where there is none."""

    def __init__(self) -> None:
        self._last = ""

    def __call__(self, status: WeightsStatus) -> None:
        rate = f" · {status.rate_bps / 1e6:.1f} MB/s" if status.rate_bps else ""
        left = f" · {status.eta_s:.0f} s left" if status.eta_s is not None else ""
        words = f"{status.name}: {status.state} {status.done_bytes / 1e6:,.0f} of {status.total_bytes / 1e6:,.0f} MB"
        if sys.stderr.isatty():
            end = "\n" if status.state in ("ready", "failed") else ""
            print(f"\r\033[K{words}{rate}{left}", end=end, file=sys.stderr, flush=True)
            return
        tenth = f"{status.name} {status.state} {10 * status.done_bytes // max(status.total_bytes, 1)}"
        if tenth != self._last:
            self._last = tenth
            note(words + rate + left)
