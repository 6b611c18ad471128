"""Pretrained chat models: from the catalogue's GGUF files, a folder, or the model hub; with low-rank adapters.

GGUF weights are unpacked as they are read, so that they train and save like any other; what quantization lost
stays lost.
"""

from pathlib import Path

import torch
from peft import LoraConfig
from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig, PreTrainedModel, PreTrainedTokenizerBase

from orchestra_lib.errors import BadInput, WeightsFault, first_line
from orchestra_lib.model.weights import WeightsCatalog
from orchestra_lib.training.settings import Lora

_GGUF = ".gguf"


def load(
    name: str, *, home: Path, dtype: torch.dtype = torch.float32, attention: str = "sdpa"
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """The model and tokenizer that `name` means, on the CPU and ready to train.

    `name` is one of the weights catalogue, a folder of safetensors, a `.gguf` file, or `owner/name` of the model hub.
    Raises `WeightsFault` for weights that are not here or cannot be fetched, `BadInput` for a file that holds no model.
    """
    folder, file = _place(name, home)
    unpack = {"gguf_file": file} if file else {}
    packed = {**unpack, "quantization_config": GgufConfig(gguf_file=file, dequantize=True)} if file else {}
    try:
        tokenizer = AutoTokenizer.from_pretrained(folder, **unpack)
        model = AutoModelForCausalLM.from_pretrained(folder, dtype=dtype, attn_implementation=attention, **packed)
    except OSError as error:
        raise WeightsFault(
            f"{name}: {first_line(error)}; fetch it with `orchestra models fetch`, name a folder of safetensors, "
            "or check the connection to the model hub"
        ) from None
    except (ValueError, KeyError, RuntimeError) as error:
        raise BadInput(f"{name} cannot be read as a model: {first_line(error)}") from None
    # Else the model claims to be packed still, and neither trains nor saves.
    model.hf_quantizer = None
    if hasattr(model.config, "quantization_config"):
        del model.config.quantization_config
    return model, tokenizer


def adapters(lora: Lora) -> LoraConfig:
    """The adapters for TRL's `peft_config`. `all-linear` leaves out the head, which TRL multiplies with by itself."""
    modules = lora.modules[0] if lora.modules == ("all-linear",) else list(lora.modules)
    return LoraConfig(
        r=lora.rank, lora_alpha=lora.alpha, lora_dropout=lora.dropout, target_modules=modules, task_type="CAUSAL_LM"
    )


def _place(name: str, home: Path) -> tuple[str, str | None]:
    """The folder or hub name, and the GGUF file in it."""
    path = Path(name).expanduser()
    if not path.exists():
        catalog = WeightsCatalog.load(home)
        if name not in catalog.names:
            if name.count("/") != 1 or name.startswith((".", "/", "~")):
                raise BadInput(
                    f"there is no model {name!r}: it is no folder, and the weights catalogue has "
                    f"{', '.join(catalog.names)}; a model of the hub is named OWNER/NAME"
                )
            return name, None
        path = catalog.path(name)
    if path.is_file() and path.suffix != _GGUF:
        raise BadInput(f"{name} is neither a folder nor a {_GGUF} file")
    return (str(path.parent), path.name) if path.is_file() else (str(path), None)
