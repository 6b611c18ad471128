"""Write a GGUF file as the safetensors folder that vLLM reads. Runs in the environment of `make vllm-check`.

    .venv-vllm/bin/python scripts/gguf_as_hf.py MODEL.gguf FOLDER

What quantization lost stays lost; the weights become bfloat16.
"""

import sys
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig
from transformers.utils import logging


def main(gguf: Path, folder: Path) -> None:
    """Read, unpack, write; the folder gets its name only when it is whole."""
    torch.set_num_threads(1)
    logging.disable_progress_bar()
    part = folder.with_name(folder.name + ".part")
    model = AutoModelForCausalLM.from_pretrained(
        str(gguf.parent),
        gguf_file=gguf.name,
        dtype=torch.bfloat16,
        quantization_config=GgufConfig(gguf_file=gguf.name, dequantize=True),
    )
    # Else the saved folder claims to be packed still, and saving refuses.
    model.hf_quantizer = None
    if hasattr(model.config, "quantization_config"):
        del model.config.quantization_config
    model.save_pretrained(part)
    AutoTokenizer.from_pretrained(str(gguf.parent), gguf_file=gguf.name).save_pretrained(part)
    part.rename(folder)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
