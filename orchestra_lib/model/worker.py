"""The process that runs one embedded model: llama.cpp's HTTP server on loopback.

Started by `EmbeddedServer` as `python -m orchestra_lib.model.worker`. One JSON line on standard
input says what to serve and with which key; one JSON line on standard output says where. The
process ends when its standard input closes, so it cannot outlive its parent.
"""

import json
import os
import sys
import threading
from typing import Any, TextIO

from orchestra_lib.codec import from_data
from orchestra_lib.json_writing import dumps
from orchestra_lib.record import record

PING_S = 5
"""Seconds between signs of life while a long prompt is read."""


@record
class Order:
    """What to serve. `context` is in tokens for all slots together, `batch` how many are read at a time.

    A batch cannot be interrupted, so its length is how long a cancel may take. `cache` is the folder of
    saved prompt caches.
    """

    gguf: str
    name: str
    key: str
    parallel: int
    context: int
    batch: int
    threads: int
    cache: str


def main() -> int:
    """Serve until standard input closes."""
    answers = _claim_stdout()
    order = from_data(json.loads(sys.stdin.buffer.readline()), Order, where="worker order")
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        server = _serve(order)
    except Exception as error:  # whatever llama.cpp raises is the parent's to report
        _tell(answers, {"error": f"{type(error).__name__}: {error}"})
        return 1
    _tell(answers, {"address": server.listening_address})
    threading.Event().wait()
    return 0


def _serve(order: Order) -> Any:
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = order.gguf
    params.model_alias = {order.name}
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.api_keys = [order.key]
    params.n_parallel = order.parallel
    params.n_ctx = order.context
    params.n_batch = params.n_ubatch = order.batch
    for cpu in (params.cpuparams, params.cpuparams_batch):
        cpu.n_threads = order.threads
        cpu.poll = 0  # spinning while idle starves a shared machine
    params.n_threads_http = order.parallel + 2
    params.cache_ram_mib = 256  # the default would keep up to 8 GB of old prompts
    params.sse_ping_interval = PING_S
    params.slot_save_path = os.path.join(order.cache, "")
    params.cors_origins = ""
    params.ui = False
    params.endpoint_slots = False
    params.verbosity = 0
    return xllamacpp.Server(params)


def _end_with_parent() -> None:
    while sys.stdin.read(4096):
        pass
    os._exit(0)


def _claim_stdout() -> TextIO:
    """The answer pipe; whatever native code prints goes to standard error instead."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return answers


def _tell(answers: TextIO, message: dict[str, str]) -> None:
    print(dumps(message), file=answers, flush=True)


if __name__ == "__main__":
    sys.exit(main())
