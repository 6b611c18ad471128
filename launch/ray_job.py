"""One run on a Ray cluster: one node samples with vLLM, `cluster.nodes` others train. From the project's folder:

    ray job submit --no-wait --working-dir . -- python launch/ray_job.py configs/h100.toml --set grpo.steps=300

Each node's GPUs are taken whole. `ray job stop JOB` ends it; submitted again with the same output_dir on a disk that
all nodes see, the run goes on from its last checkpoint. Needs `ray`, which the project does not install.
"""

import shlex
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import ray
from ray.util import get_node_ip_address
from ray.util.placement_group import placement_group
from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

from orchestra_lib.paths import home
from orchestra_lib.training import commands
from orchestra_lib.training.settings import resolve

_READY_WITHIN_S, _LOOK_EVERY_S = 1800, 5


@ray.remote(num_cpus=1)
class Node:
    """One node of the run, with all its GPUs."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def address(self) -> str:
        return str(get_node_ip_address())

    def start(self, command: list[str]) -> None:
        print("$", shlex.join(command), flush=True)
        self._process = subprocess.Popen(command)

    def ended(self) -> int | None:
        """The exit code, None while it runs."""
        assert self._process is not None, "start first"
        return self._process.poll()

    def stop(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()


def main(arguments: list[str]) -> int:
    """Serve, train, and end with the trainer's exit code."""
    config, sets = Path(arguments[0]), [text for flag, text in zip(arguments[1::2], arguments[2::2], strict=True)]
    settings = resolve(config, sets, home=home())
    cluster = settings.cluster
    assert cluster is not None, "the dry run says what to write"
    ray.init()
    bundles = [{"CPU": 1, "GPU": cluster.sampler_gpus}] + [{"CPU": 1, "GPU": cluster.gpus}] * cluster.nodes
    group = placement_group(bundles, strategy="STRICT_SPREAD")
    ray.get(group.ready())
    sampler, *trainers = [
        Node.options(
            num_gpus=bundle["GPU"],
            scheduling_strategy=PlacementGroupSchedulingStrategy(group, placement_group_bundle_index=place),
        ).remote()
        for place, bundle in enumerate(bundles)
    ]
    where = ray.get(sampler.address.remote())
    ray.get(sampler.start.remote(commands.serve(settings)))
    _wait_for(f"http://{where}:8000/health", sampler)
    first, resume = ray.get(trainers[0].address.remote()), (Path(settings.output_dir or "") / "config.toml").is_file()
    for rank, node in enumerate(trainers):
        command = commands.train(settings, str(config), sampler=where, main=first, rank=rank, resume=resume, sets=sets)
        ray.get(node.start.remote(command))
    codes: list[int | None] = [None]
    while None in codes:
        time.sleep(_LOOK_EVERY_S)
        codes = ray.get([node.ended.remote() for node in trainers])
        if any(codes):
            break
    ray.get([node.stop.remote() for node in (*trainers, sampler)])
    return max(code or 0 for code in codes)


def _wait_for(url: str, sampler: "ray.actor.ActorHandle[Node]") -> None:
    end = time.monotonic() + _READY_WITHIN_S
    while time.monotonic() < end:
        if (code := ray.get(sampler.ended.remote())) is not None:
            raise SystemExit(f"vLLM ended with {code} before it served; its output stands above")
        try:
            with urllib.request.urlopen(url, timeout=5):  # noqa: S310  # our own server
                return
        except (urllib.error.URLError, TimeoutError):
            time.sleep(_LOOK_EVERY_S)
    raise SystemExit(f"vLLM did not answer at {url} within {_READY_WITHIN_S} s")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
