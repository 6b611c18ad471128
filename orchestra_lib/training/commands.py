"""The two commands of a large run, as the settings say: one serves the policy with vLLM, one trains.

    python -m orchestra_lib.training.commands serve configs/h100.toml
    python -m orchestra_lib.training.commands train configs/h100.toml --sampler gpu-02 --main gpu-01 --rank 0

prints them for a shell, quoted; the files in `launch/` run what is printed.
"""

import argparse
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

from orchestra_lib.errors import BadInput
from orchestra_lib.json_writing import spoken
from orchestra_lib.paths import DATA, home
from orchestra_lib.training.cluster import Cluster
from orchestra_lib.training.settings import Settings, resolve
from orchestra_lib.training.shape import shape_of

ACCELERATE = DATA.parent / "launch" / "accelerate"
_PORT, _MAIN_PORT = 8000, 29500


def serve(settings: Settings) -> list[str]:
    """vLLM as TRL wants it: its weights can be replaced over NCCL, and log-probabilities are those sampled from."""
    cluster, model = _cluster(settings), settings.policy.checkpoint or ""
    context = settings.grpo.context or shape_of(model).positions
    return [
        "env", "VLLM_SERVER_DEV_MODE=1", "vllm", "serve", model,
        "--host", "0.0.0.0",  # noqa: S104  # the training nodes ask it
        "--port", str(_port(settings)),
        "--tensor-parallel-size", str(cluster.sampler_tensor),
        "--data-parallel-size", str(cluster.replicas),
        "--gpu-memory-utilization", f"{cluster.sampler_share:g}",
        "--max-model-len", str(context),
        "--dtype", settings.policy.dtype,
        "--weight-transfer-config", spoken({"backend": "nccl"}),
        "--logprobs-mode", "processed_logprobs",
        "--max-logprobs", "-1",
    ]  # fmt: skip


def train(
    settings: Settings,
    config: str,
    *,
    sampler: str,
    main: str = "localhost",
    rank: int = 0,
    resume: bool = False,
    sets: Sequence[str] = (),
) -> list[str]:
    """The trainer on one node: `rank` of its place among the training nodes, `main` the address of the first.

    With `resume` it goes on in the run's folder, whose saved settings count but for the address of the sampler.
    """
    cluster = _cluster(settings)
    address = f"vllm_url=http://{sampler}:{_port(settings)}"
    what = ["--resume", str(settings.output_dir)] if resume else [config]
    rest = [*what, *(part for text in (*([] if resume else sets), address) for part in ("--set", text))]
    return [
        "accelerate", "launch",
        "--config_file", str(ACCELERATE / f"{cluster.sharding}.yaml"),
        "--num_machines", str(cluster.nodes),
        "--num_processes", str(cluster.processes),
        "--machine_rank", str(rank),
        "--main_process_ip", main,
        "--main_process_port", str(_MAIN_PORT),
        "-m", "orchestra_lib", "train", *rest,
    ]  # fmt: skip


def _cluster(settings: Settings) -> Cluster:
    if settings.cluster is None or settings.policy.checkpoint is None:
        raise BadInput(f"{settings.name} has no [cluster] or no policy.checkpoint; it trains in one process")
    return settings.cluster


def _port(settings: Settings) -> int:
    return (urlsplit(settings.vllm_url).port if settings.vllm_url else None) or _PORT


def _main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m orchestra_lib.training.commands", description="Print a command.")
    parser.add_argument("which", choices=("serve", "train", "folder"))
    parser.add_argument("config", type=Path)
    parser.add_argument("--set", dest="sets", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--sampler", default="localhost", help="the host where vLLM serves")
    parser.add_argument("--main", default="localhost", help="the host of the first training node")
    parser.add_argument("--rank", type=int, default=0, help="this training node's place")
    parser.add_argument("--resume", action="store_true")
    chosen = parser.parse_args(arguments)
    try:
        settings = resolve(chosen.config, chosen.sets, home=home())
        if chosen.which == "folder":
            print(settings.output_dir)
            return 0
        command = (
            serve(settings)
            if chosen.which == "serve"
            else train(
                settings,
                str(chosen.config),
                sampler=chosen.sampler,
                main=chosen.main,
                rank=chosen.rank,
                resume=chosen.resume,
                sets=chosen.sets,
            )
        )
    except BadInput as error:
        print(error, file=sys.stderr)
        return 2
    print(shlex.join(command))
    return 0


if __name__ == "__main__":
    sys.exit(_main(sys.argv[1:]))
