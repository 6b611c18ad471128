"""What a trained tiny policy comes to on held-out markets, written beside it as `evaluation.json` for whoever watches.

    python -m orchestra_lib.training.evaluating FOLDER --markets 200

FOLDER is that of a run or of a checkpoint. The policy, its warm start, plain rules and the oracle play the same markets
with the same lots; intervals are those of one policy over markets, and say nothing of other seeds. All is simulated.
"""

import argparse
import asyncio
import sys
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from transformers.utils.logging import disable_progress_bar

from orchestra_lib.calibration import Share
from orchestra_lib.codec import dumps
from orchestra_lib.errors import BadInput
from orchestra_lib.training.run_folder import EVALUATION, FINAL
from orchestra_lib.training.tiny.evaluation import HELD_OUT_SEED, compared, held_out, play_all, scripted, summary
from orchestra_lib.training.tiny.learned import learned
from orchestra_lib.training.tiny.market import DRAWS
from orchestra_lib.training.tiny.network import load_network
from orchestra_lib.training.tiny.parts import WARM_START

TRAINED, BEFORE = "trained", "warm start"
Figures = dict[str, dict[str, Any]]


def evaluate(folder: Path, count: int, *, warm_start: Path = WARM_START, told: Callable[[str], None] = print) -> Any:
    """Measure a policy on `count` markets of every kind and write what it came to. Raises `BadInput`, OSError."""
    weights = folder / FINAL if (folder / FINAL).is_dir() else folder
    networks = {TRAINED: load_network(weights).eval(), BEFORE: load_network(warm_start).eval()}
    policies = {
        **scripted(),
        **{name: learned(network, name=name, seed=HELD_OUT_SEED) for name, network in networks.items()},
    }
    figures: dict[str, dict[str, Figures]] = {}
    with TemporaryDirectory() as artefacts:
        for kind in DRAWS:
            markets = held_out(kind, count)
            played = {name: asyncio.run(play_all(markets, of, Path(artefacts))) for name, of in policies.items()}
            rewards = compared(markets, played)
            figures[kind] = {
                name: {**_flat(summary(rows)), "reward": _told(rewards[name])} for name, rows in played.items()
            }
            told(f"{kind}: {count} markets")
    command = f"python -m orchestra_lib.training.evaluating {folder} --markets {count}"
    made = {"command": command, "at": datetime.now(UTC).isoformat(timespec="seconds")}
    found = {"simulated": True, "markets": count, "over": "markets", "made": made, "figures": figures}
    part = folder / f".{EVALUATION}.part"
    part.write_text(dumps(found) + "\n", "utf-8")
    part.replace(folder / EVALUATION)
    return found


def _flat(figures: Mapping[str, Mapping[str, Any]]) -> Figures:
    return {f"{aim} {name}": _told(value) for aim, of in figures.items() for name, value in of.items() if name != "n"}


def _told(value: Any) -> dict[str, Any]:
    mean = value.rate if isinstance(value, Share) else value.mean
    return {"mean": mean, "low": value.low, "high": value.high, "of": value.of}


def main() -> None:
    """Measure the policy of a folder."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("folder", type=Path)
    options.add_argument("--markets", type=int, default=200, help="held-out markets of each kind")
    chosen = options.parse_args()
    torch.set_num_threads(1)
    disable_progress_bar()
    try:
        evaluate(chosen.folder, max(2, chosen.markets), told=lambda line: print(line, flush=True))
    except (BadInput, OSError) as error:
        sys.exit(f"orchestra: {error}")


if __name__ == "__main__":
    main()
