"""The tiny policy's network: Qwen3's architecture at under a million weights, and how it is kept on disk."""

import math
import threading
from collections.abc import Mapping
from pathlib import Path

import torch
from transformers import Qwen3Config, Qwen3ForCausalLM

from orchestra_lib.errors import BadInput
from orchestra_lib.json_writing import spoken
from orchestra_lib.training.tiny.scale import STEPS
from orchestra_lib.training.tiny.tokenizer import check_tokenizer, tokenizer
from orchestra_lib.training.tiny.vocabulary import END, ID, PAD, TOKENS

_INITIAL = 0.05
_SHARPNESS = 1.5
"""Qwen3 norms queries and keys: at 1 no attention score exceeds the root of the head's size, too soft to look up."""

_LOADING = threading.Lock()
"""transformers makes networks under a default device of the whole process: two at a time are left without weights."""


def new_network(seed: int, *, width: int = 96, layers: int = 4, heads: int = 4, kv_heads: int = 4) -> Qwen3ForCausalLM:
    """A network before any training. The same seed gives the same weights."""
    torch.manual_seed(seed)
    config = Qwen3Config(
        vocab_size=len(TOKENS),
        hidden_size=width,
        intermediate_size=3 * width,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=kv_heads,
        head_dim=width // heads,
        max_position_embeddings=512,
        tie_word_embeddings=True,
        eos_token_id=ID[END],
        pad_token_id=ID[PAD],
        bos_token_id=None,
        initializer_range=_INITIAL,
    )
    network = Qwen3ForCausalLM(config)
    with torch.no_grad():
        for layer in network.model.layers:
            layer.self_attn.q_norm.weight.fill_(_SHARPNESS)
            layer.self_attn.k_norm.weight.fill_(_SHARPNESS)
        network.model.embed_tokens.weight.copy_(_built_from_features(width))
    return network


def _built_from_features(width: int) -> torch.Tensor:
    """Embeddings as sums of their tokens' features; steps of a scale lie on a smooth curve."""
    names = sorted({feature for token in TOKENS for feature in token.features})
    vector = dict(zip(names, torch.randn(len(names), width), strict=True))
    step = torch.arange(STEPS)[:, None] / STEPS
    waves = [step * 2 - 1] + [wave(math.pi * n * step) for n in (1, 2, 4) for wave in (torch.sin, torch.cos)]
    curve = sum(wave * torch.randn(1, width) for wave in waves)
    curve = curve / curve.std()
    rows = []
    for token in TOKENS:
        parts = [vector[feature] for feature in token.features]
        if token.step is not None:
            parts.append(curve[token.step])
        rows.append(torch.stack(parts).sum(0) / math.sqrt(len(parts)))
    return torch.stack(rows) * _INITIAL


def save_network(network: Qwen3ForCausalLM, folder: Path, card: Mapping[str, object]) -> None:
    """Write weights as safetensors in half precision, the tokenizer, and `orchestra.json` that says what it is."""
    kept = Qwen3ForCausalLM(network.config).to(torch.float16)
    kept.load_state_dict(network.state_dict())
    kept.save_pretrained(folder)
    tokenizer().save_pretrained(folder)
    (folder / "orchestra.json").write_text(spoken({"dialect": "tiny", **card}, indent=2) + "\n", "utf-8")


def load_network(folder: Path) -> Qwen3ForCausalLM:
    """Read a network, in single precision. Raises `BadInput` where there is none, or one of another vocabulary."""
    check_tokenizer(folder)
    try:
        with _LOADING:
            return Qwen3ForCausalLM.from_pretrained(folder, dtype=torch.float32)
    except OSError as error:
        raise BadInput(f"{folder} holds no weights ({error}); name the folder of a checkpoint") from None
