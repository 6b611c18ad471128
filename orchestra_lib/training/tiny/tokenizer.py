"""The tiny vocabulary as a tokenizer of transformers, which is how a checkpoint says what its ids mean."""

import json
from pathlib import Path

from tokenizers import Tokenizer, decoders, models
from transformers import PreTrainedTokenizerFast

from orchestra_lib.errors import BadInput
from orchestra_lib.training.tiny.vocabulary import END, ID, PAD, TOKENS, WORD

FILE = "tokenizer.json"


def tokenizer() -> PreTrainedTokenizerFast:
    """One id a token. It decodes; texts are made into ids by the dialect alone."""
    made = Tokenizer(models.WordLevel(vocab=dict(ID), unk_token=WORD))
    made.decoder = decoders.Fuse()
    return PreTrainedTokenizerFast(
        tokenizer_object=made, eos_token=END, pad_token=PAD, unk_token=WORD, clean_up_tokenization_spaces=False
    )


def check_tokenizer(folder: Path) -> None:
    """Raises `BadInput` where a folder holds no tiny checkpoint, or one of another vocabulary."""
    try:
        kept = json.loads((folder / FILE).read_text("utf-8"))["model"]["vocab"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BadInput(f"{folder} holds no checkpoint of the tiny policy ({error!r}); name the folder of one") from None
    if kept != ID:
        raise BadInput(
            f"the checkpoint {folder} has another vocabulary ({len(kept)} tokens, ours has {len(TOKENS)}); "
            "train it anew, or use the version that wrote it"
        )
