"""The tokenizer read out of a GGUF header, on a small file that is written here."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers.pre_tokenizers import ByteLevel

from orchestra_lib.ensemble import token_counter
from orchestra_lib.errors import WeightsFault
from orchestra_lib.model.qwen_tokens import QwenTokens
from orchestra_lib.toolorchestra.tokens import WordPieces, count, tail

LETTERS = sorted(ByteLevel.alphabet())
MERGES = ["h e", "l l", "he ll", "hell o", "Ġ w"]


def text(value):
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def array(values):
    return struct.pack("<IIQ", 9, 8, len(values)) + b"".join(map(text, values))


def gguf(folder, *, family="qwen2", count=5, magic=b"GGUF"):
    tokens = LETTERS + [merge.replace(" ", "") for merge in MERGES]
    pairs = [
        text("general.size") + struct.pack("<IQ", 10, 7),
        text("tokenizer.ggml.model") + struct.pack("<I", 8) + text("gpt2"),
        text("tokenizer.ggml.pre") + struct.pack("<I", 8) + text(family),
        text("tokenizer.ggml.tokens") + array(tokens),
        text("tokenizer.ggml.merges") + array(MERGES),
    ]
    file = folder / "small.gguf"
    file.write_bytes(magic + struct.pack("<IQQ", 3, 0, count) + b"".join(pairs))
    return file


@pytest.fixture(scope="module")
def tokens(tmp_path_factory):
    return QwenTokens(gguf(tmp_path_factory.mktemp("weights")))


def test_merges_make_tokens_and_each_digit_is_one(tokens):
    assert list(tokens.starts("hello 42")) == [0, 5, 6, 7]
    assert tokens.exact


def test_the_bytes_of_one_character_begin_at_that_character(tokens):
    assert list(tokens.starts("é!")) == [0, 0, 1]


def test_half_a_character_is_counted_and_breaks_nothing(tokens):
    assert list(tokens.starts("a\ud800b")) == [0, 1, 2]


@given(st.text(max_size=60), st.integers(0, 40))
def test_a_tail_never_has_more_tokens_than_allowed(tokens, said, limit):
    kept = tail(tokens, said, limit)
    assert said.endswith(kept)
    assert count(tokens, kept) <= limit


@pytest.mark.parametrize(
    ("change", "words"),
    [({"family": "llama-bpe"}, "of llama-bpe"), ({"magic": b"GGML"}, "no GGUF"), ({"count": 9}, "cannot be read")],
)
def test_a_file_that_holds_no_such_vocabulary_is_refused(tmp_path, change, words):
    with pytest.raises(WeightsFault, match=words):
        QwenTokens(gguf(tmp_path, **change))


def test_an_absurd_length_is_refused_and_not_allocated(tmp_path):
    file = tmp_path / "x.gguf"
    file.write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + struct.pack("<Q", 2**60))
    with pytest.raises(WeightsFault, match="is no vocabulary"):
        QwenTokens(file)


def test_without_a_vocabulary_the_approximation_counts(tmp_path):
    assert isinstance(token_counter(tmp_path / "absent.gguf"), WordPieces)
    assert token_counter(tmp_path / "absent.gguf", gguf(tmp_path)).exact
