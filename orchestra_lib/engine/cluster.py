"""A Ray cluster: one of this machine's own, ended with the program, or one that is there already."""

import importlib.util
import os
import secrets
import shutil
import signal
import socket
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from orchestra_lib.errors import BadInput, WorkerFault, first_line
from orchestra_lib.record import record

AUTO = "auto"
"""The address of the cluster that this machine is a node of."""
REMEDY = "install it with `python -m pip install -r requirements-ray.txt -c constraints.txt`"
_OBJECTS_BYTES = 256 * 2**20
"""Shared memory for what is under way; Ray spills the rest to the disk."""
_LOOK_S = 5.0
_STARTS = 3


@record
class Where:
    """Which cluster, and how many workers on it.

    `address` is `auto` or HOST:PORT; None is a cluster of this machine's own. `workers` None is one a CPU of it.
    Raises `BadInput` for what no cluster can be.
    """

    address: str | None = None
    workers: int | None = None

    def __post_init__(self) -> None:
        if self.workers is not None and self.workers < 1:
            raise BadInput(f"--workers {self.workers}; use 1 or more")
        if self.address in (None, AUTO):
            return
        assert self.address is not None
        if self.address.startswith("ray://"):
            raise BadInput(
                f"--ray-address {self.address}: Ray's client protocol is not spoken here; run this on a node of the "
                "cluster with --ray-address auto, or have `ray job submit` start it there"
            )
        host, _, port = self.address.rpartition(":")
        if not host or not port.isdigit():
            raise BadInput(f"--ray-address {self.address!r}; write HOST:PORT as `ray start` says it, or auto")


@contextmanager
def cluster(where: Where) -> Iterator[int]:
    """Ray, connected while the block runs; gives the number of workers there are to be.

    A cluster of our own listens on loopback alone, behind a token that only its processes know, without the dashboard
    and without usage reports; its files lie in a folder that only this user can read, and go when it ends. Keys of
    endpoints reach its workers as environment variables that they inherit, and stand in no file or object of Ray's.
    Raises `BadInput` when there is no Ray, nobody answers at the address, or versions differ; `WorkerFault` when a
    cluster of our own does not start.
    """
    if not installed():
        raise BadInput(f"--engine ray needs Ray, which is not installed; {REMEDY}")
    if where.address is not None:
        _reach(where.address)
        with _environment(RAY_USAGE_STATS_ENABLED="0"):
            ray = _library()
            try:
                _connect(ray, where.address)
                yield _room(ray, where)
            finally:
                ray.shutdown()
        return
    folder = Path(tempfile.mkdtemp(prefix="orchestra-ray-"))  # Ray opens its own folder to everybody: it lies in this
    try:
        with _environment(**_alone(folder)):
            ray, cpus = _library(), where.workers or os.cpu_count() or 1
            try:
                _start(ray, cpus, folder / "ray")
                yield cpus
            finally:
                ray.shutdown()
    finally:
        _end(folder)
        shutil.rmtree(folder, ignore_errors=True)


def installed() -> bool:
    """Whether Ray is here; importing it takes seconds."""
    return importlib.util.find_spec("ray") is not None


def _library() -> ModuleType:
    """Ray, which reads its environment when it is imported. Raises `BadInput`."""
    try:
        import ray
    except ImportError as error:
        raise BadInput(f"Ray cannot be imported ({first_line(error)}); {REMEDY}") from None
    if ray.is_initialized():
        raise BadInput("this program is connected to a Ray cluster already; one at a time")
    return ray


def _alone(folder: Path) -> Mapping[str, str]:
    """What has a cluster of our own report nothing, ask for a token, and listen on loopback alone."""
    file = folder / "token"
    file.touch(mode=0o600)
    file.write_text(_secret(), "utf-8")
    return {
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN": "",
        "RAY_AUTH_TOKEN_PATH": str(file),
        "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # Ray's switch for a machine that is no node of anything
    }


@cache
def _secret() -> str:
    """One for all clusters of this process: Ray reads it once."""
    return secrets.token_hex(32)


@contextmanager
def _environment(**given: str) -> Iterator[None]:
    """Variables of the environment while the block runs; an empty one is not set."""
    before = {name: os.environ.get(name) for name in given}

    def put(values: Mapping[str, str | None]) -> None:
        for name, value in values.items():
            os.environ.pop(name, None)
            if value:
                os.environ[name] = value

    put(given)
    try:
        yield
    finally:
        put(before)


def _start(ray: Any, cpus: int, folder: Path) -> None:
    """Begin a cluster of our own. Ray gives itself 30 s for it, which on a busy machine take more than one go."""
    for left in reversed(range(_STARTS)):
        try:
            ray.init(
                address="local", num_cpus=cpus, num_gpus=0, include_dashboard=False, object_store_memory=_OBJECTS_BYTES,
                log_to_driver=False, logging_level="error", _temp_dir=str(folder), _node_ip_address="127.0.0.1",
            )  # fmt: skip
            return
        except Exception as error:  # whatever Ray raises, the cluster is not there
            ray.shutdown()
            _end(folder)
            if not left:
                raise WorkerFault(
                    f"Ray did not start on this machine: {first_line(error)} Try again when less goes on on it"
                ) from error


def _end(folder: Path) -> None:
    """Kill what a start that was given up has left, told by this folder, which is ours alone."""
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if str(folder).encode() in (process / "cmdline").read_bytes() and process.name != str(os.getpid()):
                os.kill(int(process.name), signal.SIGKILL)


def _reach(address: str) -> None:
    """Look whether anybody answers: Ray itself would try for a minute, and then say a page."""
    if address == AUTO:
        return
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=_LOOK_S).close()
    except (OSError, OverflowError) as error:
        raise BadInput(
            f"nobody answers at --ray-address {address} ({error}); `ray start --head` starts a cluster and says its "
            "address, and `ray status` on a node of it shows whether it lives"
        ) from None


def _connect(ray: Any, address: str) -> None:
    try:
        ray.init(address=address, log_to_driver=False, logging_level="error")
    except Exception as error:
        words = str(error)
        if "ersion mismatch" in words:
            lines = "; ".join(line.strip() for line in words.splitlines() if line.strip())
            raise BadInput(
                f"{lines}. Every node needs the Ray of requirements-ray.txt and one Python version"
            ) from None
        if "uthentication" in words or "token" in words:
            remedy = "put the cluster's token into RAY_AUTH_TOKEN (`ray get-auth-token` on a node of it prints it)"
            raise BadInput(f"the cluster at {address} asks for a token: {first_line(error)}; {remedy}") from None
        raise BadInput(
            f"there is no Ray cluster to be had at {address}: {first_line(error)}; run this on a node of it, or have "
            "`ray job submit` start it there"
        ) from None


def _room(ray: Any, where: Where) -> int:
    """How many workers a cluster that is there has CPUs for."""
    cpus = int(ray.cluster_resources().get("CPU", 0))
    wanted = where.workers or cpus
    if not 1 <= wanted <= cpus:
        raise BadInput(
            f"--workers {wanted}, but the cluster at {where.address} has {cpus} CPUs; ask for {cpus} at most"
        )
    return wanted
