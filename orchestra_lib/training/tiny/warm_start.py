"""The warm start: rules followed to the letter first, then the habits of a prompted baseline beside them.

Supervised and plain: cross-entropy on the policy's own tokens. Matrices inside the network are stepped by Muon,
embeddings and norms by AdamW.
"""

import random
import time
from collections.abc import Callable, Iterator, Sequence

import torch
from torch.nn.functional import cross_entropy
from transformers import Qwen3ForCausalLM

from orchestra_lib.record import record
from orchestra_lib.training.tiny.habits import Demonstration, habit, skill
from orchestra_lib.training.tiny.market import SEEN, Markets
from orchestra_lib.training.tiny.vocabulary import ID, PAD

_IGNORED = -100
_POOL = 4
_DRAWS = 100_000
"""Markets of the warm start are drawn apart from those of GRPO under the same seed."""


@record
class Stage:
    """Part of the warm start: `steps` of `batch` demonstrations from markets of `sizes`, a `habits` share of them
    habits and the rest skills."""

    steps: int
    batch: int
    sizes: tuple[int, ...]
    habits: float


STAGES = (
    Stage(steps=60, batch=64, sizes=(1,), habits=0.0),
    Stage(steps=80, batch=64, sizes=(1, 2), habits=0.0),
    Stage(steps=160, batch=64, sizes=(2, 3), habits=0.0),
    Stage(steps=400, batch=64, sizes=(3, 3, 4, 4, 5), habits=0.1),
    Stage(steps=350, batch=64, sizes=(3, 3, 4, 4, 5, 6), habits=0.4),
)
"""The shipped warm start: one expert first, then more, and habits when reading is learned."""

LEARNING_RATE = 5e-3


def batches(stages: Sequence[Stage], seed: int) -> Iterator[list[Demonstration]]:
    """Every batch of the warm start in order; demonstrations of like length go together."""
    dice = random.Random(f"warm start {seed}")  # noqa: S311  # a lot, not a secret
    number = 0
    for stage in stages:
        markets = Markets(kind=SEEN, seed=_DRAWS + seed, sizes=stage.sizes)
        left = stage.steps
        while left:
            count = min(_POOL, left)
            pool = []
            for _ in range(count * stage.batch):
                show = habit if dice.random() < stage.habits else skill
                pool.append(show(markets.market(number), dice))
                number += 1
            pool.sort(key=lambda one: len(one.ids))
            chunks = [pool[at : at + stage.batch] for at in range(0, len(pool), stage.batch)]
            dice.shuffle(chunks)
            yield from chunks
            left -= count


def warm_start(
    network: Qwen3ForCausalLM,
    stages: Sequence[Stage] = STAGES,
    *,
    seed: int,
    lr: float = LEARNING_RATE,
    on_step: Callable[[int, float], None] = lambda step, loss: None,
) -> float:
    """Train in place; the CPU seconds it took. `on_step` is told the step and its loss."""
    began = time.process_time()
    steps = sum(stage.steps for stage in stages)
    matrices = [p for name, p in network.named_parameters() if p.ndim == 2 and "embed" not in name]
    others = [p for name, p in network.named_parameters() if p.ndim != 2 or "embed" in name]
    optimizers = (
        torch.optim.Muon(matrices, lr=1.0, weight_decay=0.01, adjust_lr_fn="match_rms_adamw"),
        torch.optim.AdamW(others, lr=1.0, betas=(0.9, 0.98), weight_decay=0.0),
    )
    network.train()
    for step, batch in enumerate(batches(stages, seed)):
        for optimizer in optimizers:
            for group in optimizer.param_groups:
                group["lr"] = lr * _schedule(step, steps)
        loss = _loss(network, batch)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        for optimizer in optimizers:
            optimizer.step()
            optimizer.zero_grad()
        on_step(step + 1, loss.item())
    network.eval()
    return time.process_time() - began


def _schedule(step: int, steps: int) -> float:
    """Forty steps up, level, and down over the last half to a fiftieth."""
    return min(1.0, (step + 1) / 40) * min(1.0, max(0.02, (steps - step) / (steps / 2)))


def _loss(network: Qwen3ForCausalLM, batch: Sequence[Demonstration]) -> torch.Tensor:
    """Padding stands at the end, where no token that counts can see it, so no mask is needed."""
    longest = max(len(one.ids) for one in batch)
    ids = torch.tensor([[*one.ids, *[ID[PAD]] * (longest - len(one.ids))] for one in batch])
    labels = torch.tensor(
        [
            [token if own else _IGNORED for token, own in zip(one.ids, one.own, strict=True)]
            + [_IGNORED] * (longest - len(one.ids))
            for one in batch
        ]
    )
    hidden = network.model(input_ids=ids, use_cache=False).last_hidden_state[:, :-1]
    wanted = labels[:, 1:]
    counted = wanted != _IGNORED
    return cross_entropy(network.lm_head(hidden[counted]), wanted[counted])
