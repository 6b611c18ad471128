"""What a step takes of a GPU's memory, worked out before anything is started; every number says how it came about.

Estimates, meant to refuse what cannot fit and to show what would help. The dtype of weights is 16 bits. Tensors of
activations are counted for attention that never writes the scores out (sdpa on a GPU, flash); with
`policy.recompute` only what enters each layer is kept. The head goes through TRL's tiles and never holds all
logits.
"""

from collections.abc import Iterable, Iterator

from orchestra_lib.record import record
from orchestra_lib.training.cluster import Cluster
from orchestra_lib.training.settings import Settings
from orchestra_lib.training.shape import Shape

GB = 1e9
TILE_TOKENS, TILE_WIDTH = 4096, 32768
"""The tile in which TRL 1.16 works out log-probabilities: tokens by words of the vocabulary, 32-bit."""
_OVERHEAD = 4 * GB
"""CUDA's context, NCCL's buffers and holes between tensors; measured on nothing here, a common rule of thumb."""
_LAYERS_GATHERED = 2
"""Sharded weights are fetched a layer ahead."""


@record
class Item:
    """One number of the arithmetic: `gb` of memory in 10^9 bytes, and the formula with its numbers."""

    name: str
    gb: float
    formula: str


def _item(name: str, size: float, formula: str) -> Item:
    return Item(name=name, gb=size / GB, formula=formula)


def total(items: Iterable[Item]) -> float:
    """GB together."""
    return sum(item.gb for item in items)


def training(settings: Settings, shape: Shape, cluster: Cluster, tokens: int) -> tuple[Item, ...]:
    """A training GPU's memory, with `tokens` in a micro batch."""
    return (*_states(settings, shape, cluster), *_activations(settings, shape, tokens), *_work(cluster, shape))


def _states(settings: Settings, shape: Shape, cluster: Cluster) -> Iterator[Item]:
    """Weights, gradients and optimiser, each over as many GPUs as the sharding spreads it."""
    count, processes = shape.parameters, cluster.processes
    spread = processes if cluster.sharding in ("zero3", "fsdp") else 1
    over = f" / {spread} GPUs" if spread > 1 else ""
    yield _item("weights", 2 * count / spread, f"{count:,} parameters x 2 bytes{over}")
    if settings.grpo.kl > 0 and settings.policy.lora is None:
        yield _item("reference weights", 2 * count / spread, f"a frozen copy for grpo.kl: x 2 bytes{over}")
    lora = settings.policy.lora
    trained = count if lora is None else shape.adapters(lora.rank)
    shared = 1 if cluster.sharding == "none" else processes
    over = f" / {shared} GPUs" if shared > 1 else ""
    what = f"{trained:,} {'parameters' if lora is None else f'of adapters of rank {lora.rank}'}"
    yield _item("gradients", 2 * trained / shared, f"{what} x 2 bytes{over}")
    kept = 4 if cluster.sharding == "none" else 12
    words = "AdamW's two moments, 2 bytes each" if kept == 4 else "32-bit copy and AdamW's two moments, 4 bytes each"
    yield _item("optimiser", kept * trained / shared, f"{what} x {kept} bytes ({words}){over}")


def _activations(settings: Settings, shape: Shape, tokens: int) -> Iterator[Item]:
    """What is kept for the backward pass; with checkpointing each layer is worked out again there."""
    width = 6 * shape.hidden + 2 * (shape.heads + shape.kv_heads) * shape.head + 4 * shape.intermediate
    of_layer = f"{tokens:,} tokens x {width:,} (6 hidden + 2 heads' + 4 intermediate) x 2 bytes"
    if settings.policy.recompute:
        kept = f"{tokens:,} tokens x {shape.hidden:,} hidden x {shape.layers} layers x 2 bytes"
        yield _item("kept activations", 2 * tokens * shape.hidden * shape.layers, kept)
        yield _item("one layer worked out again", 4 * tokens * width, f"{of_layer}, and as much for gradients")
    else:
        yield _item("kept activations", 2 * tokens * width * shape.layers, f"{of_layer} x {shape.layers} layers")
        yield _item("gradients of a layer", 2 * tokens * width, of_layer)


def _work(cluster: Cluster, shape: Shape) -> Iterator[Item]:
    yield _item(
        "log-probabilities",
        2 * 4 * TILE_TOKENS * TILE_WIDTH,
        f"{TILE_TOKENS:,} tokens x {TILE_WIDTH:,} words x 4 bytes, and as much for gradients (TRL's tile)",
    )
    if cluster.sharding in ("zero3", "fsdp"):
        gathered = _LAYERS_GATHERED * shape.layer + shape.embedding
        yield _item(
            "gathered weights",
            2 * gathered,
            f"{_LAYERS_GATHERED} layers of {shape.layer:,} and {shape.embedding:,} of the embeddings x 2 bytes",
        )
    yield _item("context and holes", _OVERHEAD, "CUDA, NCCL, fragmentation: a rule of thumb")


def sampling(shape: Shape, cluster: Cluster) -> tuple[Item, ...]:
    """A sampling GPU's memory: the model, vLLM's own, and what is left for keys and values."""
    model = 2 * shape.parameters / cluster.sampler_tensor
    share = cluster.gpu_gb * cluster.sampler_share * GB
    return (
        _item("weights", model, f"{shape.parameters:,} parameters x 2 bytes / {cluster.sampler_tensor} GPUs"),
        _item("vLLM's own", _OVERHEAD, "CUDA graphs, activations, context: a rule of thumb"),
        _item(
            "keys and values",
            share - model - _OVERHEAD,
            f"{cluster.gpu_gb:g} GB x {cluster.sampler_share:g} - the two above",
        ),
    )


def cached_tokens(shape: Shape, cluster: Cluster) -> int:
    """How many tokens all sampling GPUs together hold in their caches; 0 when the model alone is too large."""
    room = sampling(shape, cluster)[-1].gb * cluster.sampler_gpus * GB
    return max(0, int(room / shape.cache_bytes))
