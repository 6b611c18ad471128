"""A tokenizer of our own with Qwen3's chat template: for checks and tests, which must not download one."""

from collections.abc import Iterable

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast
from trl.chat_template_utils import qwen3_chat_template

_SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
_MARKS = ("<tool_call>", "</tool_call>", "<think>", "</think>", "<tool_response>", "</tool_response>")


def plain_tokenizer(
    texts: Iterable[str], *, size: int = 512, template: str = qwen3_chat_template
) -> PreTrainedTokenizerFast:
    """Byte pairs learnt from `texts`, at most `size` tokens with the special ones; every text decodes as it was."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    room = size - len(_SPECIAL) - len(_MARKS)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    tokenizer.train_from_iterator(
        texts, trainers.BpeTrainer(vocab_size=room, initial_alphabet=alphabet, show_progress=False)
    )
    tokenizer.add_special_tokens([AddedToken(one, normalized=False) for one in _SPECIAL])
    tokenizer.add_tokens([AddedToken(one, normalized=False) for one in _MARKS])
    end, pad = _SPECIAL[2], _SPECIAL[0]
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token=end, pad_token=pad, chat_template=template)
