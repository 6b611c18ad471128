"""Weights on the disk, with the tokenizer they were trained with and a card that says what they are."""

import hashlib
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from transformers import AutoTokenizer

from orchestra_lib.errors import BadInput
from orchestra_lib.json_writing import dumps, spoken
from orchestra_lib.training.scales import Parts
from orchestra_lib.training.settings import Settings

CARD = "orchestra.json"


def tokenizer_digest(tokenizer: Any) -> str:
    """The SHA-256 of a vocabulary with its end and padding tokens: what makes ids mean the same."""
    told = [sorted(tokenizer.get_vocab().items()), tokenizer.eos_token_id, tokenizer.pad_token_id]
    return hashlib.sha256(dumps(told).encode()).hexdigest()


def check_same_tokenizer(folder: Path, tokenizer: Any) -> None:
    """Raises `BadInput` for a checkpoint whose ids mean other tokens. One without a tokenizer is taken at its word."""
    if not any((folder / name).is_file() for name in ("tokenizer.json", "tokenizer_config.json")):
        return
    try:
        theirs = AutoTokenizer.from_pretrained(folder)
    except (OSError, ValueError, KeyError) as error:
        raise BadInput(f"the tokenizer of checkpoint {folder} cannot be read ({error}); take another one") from None
    if tokenizer_digest(theirs) != tokenizer_digest(tokenizer):
        ours, other = len(tokenizer), len(theirs)
        raise BadInput(
            f"checkpoint {folder} was trained with another tokenizer ({other:,} tokens, this scale has {ours:,}): its "
            "ids mean other tokens; choose a checkpoint of this scale, or the scale of this checkpoint"
        )


def write_card(folder: Path, made: Parts, settings: Settings, step: int) -> None:
    """Say beside the weights how they are spoken to and where they come from."""
    card = {
        "dialect": made.dialect_name,
        "stage": "grpo",
        "trained_on": settings.name,
        "scale": settings.scale,
        "step": step,
        "seed": settings.seed,
        "tokenizer": tokenizer_digest(made.tokenizer),
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    (folder / CARD).write_text(spoken(card, indent=2) + "\n", "utf-8")
