"""The Qwen tokenizer, exact and offline, from the vocabulary inside a GGUF file.

Qwen2.5 and Qwen3 share one byte-level BPE vocabulary (Qwen3 adds a few special tokens), so any weights of
that family that are here count for Nemotron-Orchestrator-8B. The runtime package offers no tokenizer
without loading the network, and the `gguf` package takes seconds to read arrays one element at a time;
the header is a list of typed keys, so it is read here.
"""

import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO

from orchestra_lib.errors import WeightsFault

_SCALARS = {0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q", 11: "<q", 12: "<d"}
_STRING, _ARRAY = 8, 9
_MAX_ITEMS = 2_000_000
_WORDS = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|"
    r"\s*[\r\n]+|\s+(?!\S)|\s+"
)
"""How the family splits text before merging (its `tokenizer.json`)."""


class QwenTokens:
    """A token counter with the vocabulary of a GGUF file of the Qwen family; it counts as llama.cpp does.

    (The tokenizer of Hugging Face composes characters first, so decomposed accents count less there.)
    Raises `WeightsFault` when the file cannot be read or holds another family's vocabulary.
    """

    exact = True

    def __init__(self, gguf: Path) -> None:
        self._tokenizer = _tokenizer(_metadata(gguf), gguf)

    def starts(self, text: str) -> Sequence[int]:
        # The tokenizer takes UTF-8 only; a question mark for half a character keeps every index in its place.
        readable = text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")
        return [start for start, _ in self._tokenizer.encode(readable).offsets]


def _tokenizer(metadata: dict[str, Any], gguf: Path) -> Any:
    from tokenizers import Regex, Tokenizer
    from tokenizers.models import BPE
    from tokenizers.pre_tokenizers import ByteLevel, Sequence, Split

    family = (metadata.get("tokenizer.ggml.model"), metadata.get("tokenizer.ggml.pre"))
    if family != ("gpt2", "qwen2"):
        raise WeightsFault(f"{gguf.name} holds a vocabulary of {family[1] or family[0]}, not of the Qwen family")
    vocabulary = {token: index for index, token in enumerate(metadata["tokenizer.ggml.tokens"])}
    merges = [tuple(merge.split(" ", 1)) for merge in metadata["tokenizer.ggml.merges"]]
    tokenizer = Tokenizer(BPE(vocabulary, merges))
    words = Split(Regex(_WORDS), behavior="isolated")
    tokenizer.pre_tokenizer = Sequence([words, ByteLevel(add_prefix_space=False, use_regex=False)])
    return tokenizer


def _metadata(gguf: Path) -> dict[str, Any]:
    try:
        with gguf.open("rb") as file:
            if file.read(4) != b"GGUF":
                raise WeightsFault(f"{gguf.name} is no GGUF file")
            _, _, count = struct.unpack("<IQQ", file.read(20))
            return {_string(file): _value(file, _scalar(file, 4)) for _ in range(_bounded(count))}
    except (OSError, struct.error, KeyError, UnicodeDecodeError, RecursionError) as error:
        raise WeightsFault(f"the vocabulary in {gguf.name} cannot be read: {error}") from None


def _value(file: BinaryIO, kind: int) -> Any:
    if kind == _STRING:
        return _string(file)
    if kind != _ARRAY:
        return _scalar(file, kind)
    inner, count = _scalar(file, 4), _bounded(_scalar(file, 10))
    return [_value(file, inner) for _ in range(count)]


def _scalar(file: BinaryIO, kind: int) -> Any:
    form = _SCALARS[kind]
    return struct.unpack(form, file.read(struct.calcsize(form)))[0]


def _string(file: BinaryIO) -> str:
    return file.read(_bounded(_scalar(file, 10))).decode("utf-8")


def _bounded(count: int) -> int:
    if count > _MAX_ITEMS:
        raise WeightsFault(f"a header with {count:,} items is no vocabulary")
    return count
