"""What a network of Qwen3's build weighs: its parameters, and the bytes of a token in its cache."""

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from orchestra_lib.codec import from_data
from orchestra_lib.errors import BadInput
from orchestra_lib.paths import DATA
from orchestra_lib.record import record

SHAPES = DATA / "models" / "shapes.toml"
_CONFIG = {
    "hidden": "hidden_size",
    "layers": "num_hidden_layers",
    "heads": "num_attention_heads",
    "kv_heads": "num_key_value_heads",
    "intermediate": "intermediate_size",
    "vocabulary": "vocab_size",
    "positions": "max_position_embeddings",
}


@record
class Shape:
    """A decoder with grouped queries and a gated MLP. `head` is the width of a head, `positions` the longest context.

    Parameters leave out biases, which other families have: under a thousandth.
    """

    hidden: int
    layers: int
    heads: int
    kv_heads: int
    head: int
    intermediate: int
    vocabulary: int
    tied: bool
    positions: int

    @property
    def linear(self) -> int:
        """Weights of one layer's linear parts: queries and output, keys and values, the MLP's three."""
        attention = 2 * self.heads * self.head + 2 * self.kv_heads * self.head
        return self.hidden * (attention + 3 * self.intermediate)

    @property
    def layer(self) -> int:
        """Weights of one layer: its linear parts and four norms."""
        return self.linear + 2 * self.hidden + 2 * self.head

    @property
    def embedding(self) -> int:
        """Weights of the embedding, and again of the head where that is its own."""
        return self.vocabulary * self.hidden * (1 if self.tied else 2)

    @property
    def parameters(self) -> int:
        return self.layers * self.layer + self.embedding + self.hidden

    def adapters(self, rank: int) -> int:
        """Weights of low-rank adapters on every linear layer: rank x (inputs + outputs) of each."""
        wide, narrow = self.heads * self.head, self.kv_heads * self.head
        ends = 2 * (self.hidden + wide) + 2 * (self.hidden + narrow) + 3 * (self.hidden + self.intermediate)
        return self.layers * rank * ends

    @property
    def cache_bytes(self) -> int:
        """Keys and values of one token in 16 bits."""
        return 2 * self.layers * self.kv_heads * self.head * 2


def shape_of(checkpoint: str) -> Shape:
    """The shape of a folder's model or of a well-known one. Raises `BadInput` where nobody knows it."""
    config = Path(checkpoint).expanduser() / "config.json"
    try:
        return _of_config(json.loads(config.read_text("utf-8")))
    except OSError:
        known: dict[str, Shape] = from_data(
            tomllib.loads(SHAPES.read_text("utf-8")), dict[str, Shape], where=SHAPES.name
        )
    except (ValueError, KeyError, TypeError) as error:
        raise BadInput(f"{config}: not the config of a decoder of Qwen3's kind ({error})") from None
    if checkpoint not in known:
        raise BadInput(
            f"nobody knows the shape of {checkpoint!r}: it is no folder with a config.json, and {SHAPES.name} has "
            f"{', '.join(known)}; fetch the model, or add its shape"
        )
    return known[checkpoint]


def _of_config(config: Mapping[str, Any]) -> Shape:
    values = {name: int(config[key]) for name, key in _CONFIG.items()}
    head = config.get("head_dim") or values["hidden"] // values["heads"]
    return Shape(head=int(head), tied=bool(config.get("tie_word_embeddings", False)), **values)
