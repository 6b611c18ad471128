"""What a scale brings to the trainer: a network with its tokenizer, how it is spoken to, and what it is trained on."""

from dataclasses import dataclass
from importlib import import_module
from typing import Any

from orchestra_lib.errors import BadInput
from orchestra_lib.training.course import Course
from orchestra_lib.training.dialect import Dialect
from orchestra_lib.training.settings import Settings

_MODULES = {
    "tiny": "orchestra_lib.training.tiny.parts",
    "small": "orchestra_lib.training.pretrained_parts",
    "large": "orchestra_lib.training.pretrained_parts",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """`network` is a causal language model of transformers, `tokenizer` the one of its checkpoint, `name` how the
    policy stands in records; `adapters` is a peft configuration, None to train all weights. `dialect_name` is what
    `orchestra.json` beside the trained weights says, so that they are spoken to alike."""

    network: Any
    tokenizer: Any
    dialect: Dialect
    course: Course
    name: str
    dialect_name: str
    adapters: Any = None


def parts(settings: Settings) -> Parts:
    """Make the parts of a scale, or of a module of one's own that has a function `parts`. Raises `BadInput`."""
    name = _MODULES.get(settings.scale, settings.scale)
    try:
        module = import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name and not name.startswith(f"{error.name}."):
            raise
        raise BadInput(
            f"scale = {settings.scale[:80]!r}: there is no such module; use {', '.join(_MODULES)} or package.module"
        ) from None
    made = module.parts(settings)
    assert isinstance(made, Parts)
    return made
