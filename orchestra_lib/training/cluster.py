"""The machines of a large run: nodes that train, and a node of its own that samples."""

from typing import Literal

from orchestra_lib.errors import BadInput
from orchestra_lib.record import record


@record
class Cluster:
    """`nodes` of `gpus` each train, `sampler_gpus` on a further node sample with vLLM.

    `gpu_gb` is a GPU's memory in units of 10^9 bytes. `sharding` says how weights, gradients and optimiser are spread
    over the training GPUs: `none` keeps all of it on each, `zero2` spreads gradients and optimiser, `zero3` and `fsdp`
    everything. `sampler_tensor` GPUs hold one copy of the model; `sampler_share` of a GPU's memory is vLLM's.
    `vllm` is its version, which TRL must know.
    """

    nodes: int = 1
    gpus: int = 8
    gpu: str = "H100"
    gpu_gb: float = 80.0
    sharding: Literal["none", "zero2", "zero3", "fsdp"] = "zero3"
    sampler_gpus: int = 8
    sampler_tensor: int = 1
    sampler_share: float = 0.9
    vllm: str = "0.31.0"

    def __post_init__(self) -> None:
        for name in ("nodes", "gpus", "sampler_gpus", "sampler_tensor"):
            if getattr(self, name) < 1:
                raise BadInput(f"cluster.{name} = {getattr(self, name)}; it is 1 or more")
        if not 0 < self.sampler_share < 1:
            raise BadInput(f"cluster.sampler_share = {self.sampler_share:g}; it lies between 0 and 1")
        if self.sampler_gpus % self.sampler_tensor:
            raise BadInput(
                f"cluster.sampler_gpus = {self.sampler_gpus} is no multiple of sampler_tensor = {self.sampler_tensor}"
            )

    @property
    def processes(self) -> int:
        """Training processes, one on each GPU."""
        return self.nodes * self.gpus

    @property
    def replicas(self) -> int:
        """Copies of the model that sample."""
        return self.sampler_gpus // self.sampler_tensor
