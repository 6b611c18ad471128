"""The runs of an ablation: one GRPO run for each variant and seed, kept as one JSON file with what its policy then did.

A file holds what every held-out market came to, so that a table is made from files alone and any variants can be
compared on the same markets. It is replaced whole, and a run whose file is there is not made again.
"""

import asyncio
import json
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory
from typing import Any

from orchestra_lib.codec import dumps, fingerprint, from_data
from orchestra_lib.errors import BadInput
from orchestra_lib.paths import DATA
from orchestra_lib.record import record
from orchestra_lib.training.steps import REASONS
from orchestra_lib.training.tiny.evaluation import Played

CONFIG = DATA.parent / "configs" / "tiny.toml"
WARM = "warm start"
"""The policy that every run begins with, measured like the others."""


@record
class Ablated:
    """One run. `sets` are what stands over `configs/tiny.toml`, `step` the steps that were taken.

    `excluded` are shares of all rollouts of the run that were left out of the loss, by why. `played` is what the
    trained policy did on the first markets of `kind` that are held out for its seed, in their order.
    """

    variant: str
    seed: int
    sets: tuple[str, ...]
    step: int
    cpu_s: float | None
    made_at: datetime
    made_with: Mapping[str, str]
    excluded: Mapping[str, float]
    kind: str
    simulated: bool
    played: tuple[Played, ...]

    @property
    def key(self) -> str:
        """What makes two runs the same run."""
        return key_of(self.sets, len(self.played))


def key_of(sets: Sequence[str], markets: int) -> str:
    """The same settings measured on as many markets have the same key."""
    return fingerprint([list(sets), markets])


def place(folder: Path, variant: str, seed: int) -> Path:
    """Where a run is kept."""
    return folder / f"{variant.replace(',', '').replace(' ', '-')}.{seed}.json"


def read(file: Path) -> Ablated:
    """A run that was kept. Raises `BadInput` for a file that is none."""
    try:
        data = json.loads(file.read_text("utf-8"))
        columns = data.pop("played")
        rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    except (OSError, ValueError, KeyError, AttributeError) as error:
        raise BadInput(f"{file} holds no run of an ablation ({error}); make it again with --train") from None
    one: Ablated = from_data({**data, "played": rows}, Ablated, where=str(file))
    return one


def make(variant: str, seed: int, sets: Sequence[str], warm_start: Path, *, kind: str, markets: int) -> Ablated:
    """Train a policy from a warm start, or measure the warm start itself where no settings are given."""
    import torch

    from orchestra_lib.training.running import train
    from orchestra_lib.training.settings import resolve
    from orchestra_lib.training.tiny.network import load_network

    torch.set_num_threads(1)
    begun, cpu_s, step = time.process_time(), None, 0
    excluded: dict[str, float] = {}
    with TemporaryDirectory() as output:
        weights = warm_start
        if sets:
            run = Path(output) / "run"
            own = (f"seed={seed}", f"policy.checkpoint={warm_start}", f"output_dir={run}", "rollouts.keep_groups=0")
            step = train(resolve(CONFIG, [*sets, *own], home=Path(output)))["step"]
            if not (run / "final").is_dir():
                raise SystemExit(f"seed {seed}, {variant}: stopped after step {step}; the same command begins it anew")
            cpu_s, weights, excluded = time.process_time() - begun, run / "final", _excluded(run)
        played = measured(load_network(weights).eval(), variant, kind=kind, markets=markets, seed=seed)
    return Ablated(
        variant=variant, seed=seed, sets=tuple(sets), step=step, cpu_s=cpu_s and round(cpu_s, 1),
        made_at=datetime.now(UTC).replace(microsecond=0), made_with={name: version(name) for name in ("torch", "trl")},
        excluded=excluded, kind=kind, simulated=True, played=tuple(played),
    )  # fmt: skip


def measured(network: Any, name: str, *, kind: str, markets: int, seed: int) -> list[Played]:
    """What a network does on held-out markets, sampled at temperature 1 as in training."""
    from orchestra_lib.training.tiny.evaluation import held_out, play_all
    from orchestra_lib.training.tiny.learned import learned

    with TemporaryDirectory() as artefacts:
        policy = learned(network, name=name, seed=seed)
        return asyncio.run(play_all(held_out(kind, markets, seed), policy, Path(artefacts)))


def _excluded(run: Path) -> dict[str, float]:
    from orchestra_lib.training.run_folder import RunFolder

    steps = RunFolder(run).steps()
    counts: Counter[str] = Counter()
    for one in steps:
        counts.update(one.excluded)
    rollouts = sum(one.samples for one in steps)
    return {reason: round(counts[reason] / rollouts, 5) for reason in REASONS}


def keep(run: Ablated, file: Path) -> None:
    """Write a run, its markets as columns, whole or not at all."""
    names = list(Played.__dataclass_fields__)
    columns = {name: [_short(getattr(one, name)) for one in run.played] for name in names}
    data = {
        **{name: getattr(run, name) for name in Ablated.__dataclass_fields__ if name not in ("played", "made_at")},
        "made_at": run.made_at.isoformat(),
        "played": columns,
    }
    part = file.with_name(f".{file.name}.part")
    part.parent.mkdir(parents=True, exist_ok=True)
    part.write_text(dumps(data) + "\n", "utf-8")
    part.replace(file)


def _short(value: object) -> object:
    """Six digits of a figure are more than anybody reads, and half the file."""
    return float(f"{value:.6g}") if isinstance(value, float) else value


def mean_excluded(runs: Sequence[Ablated], reason: str) -> float | None:
    """The mean share of rollouts that were left out for this reason; None where nothing was trained."""
    shares = [one.excluded[reason] for one in runs if reason in one.excluded]
    return fmean(shares) if shares else None
