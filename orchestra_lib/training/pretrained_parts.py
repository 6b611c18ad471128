"""The scales `small` and `large`: a pretrained chat model that is trained on markets, or on sampled instances.

`small` plays markets of simulated experts, whose settings are those of `TinyCourseSettings`; `large` plays what
`SampledSettings` draws, with experts that answer over the network.
"""

from pathlib import Path

import torch

from orchestra_lib.codec import from_data
from orchestra_lib.errors import BadInput
from orchestra_lib.paths import home
from orchestra_lib.roster import Roster
from orchestra_lib.training.chat_dialect import ChatDialect
from orchestra_lib.training.course import Course
from orchestra_lib.training.pretrained import adapters, load
from orchestra_lib.training.sampled_course import SampledCourse, SampledSettings
from orchestra_lib.training.scales import Parts
from orchestra_lib.training.settings import Settings
from orchestra_lib.training.tiny.course import TinyCourse
from orchestra_lib.training.tiny.market import Markets
from orchestra_lib.training.tiny.parts import TinyCourseSettings


def parts(settings: Settings) -> Parts:
    """Load the model and make its course. Raises `BadInput`, and `WeightsFault` where the weights are not here."""
    policy = settings.policy
    if policy.checkpoint is None:
        raise BadInput(
            'policy.checkpoint names no model; write a name of the weights catalogue ("SmolLM2-135M-Instruct"), a '
            "folder, or OWNER/NAME of the model hub"
        )
    course = _course(settings)
    dtype = torch.bfloat16 if policy.dtype == "bfloat16" else torch.float32
    network, tokenizer = load(policy.checkpoint, home=home(), dtype=dtype, attention=policy.attention)
    return Parts(
        network=network,
        tokenizer=tokenizer,
        dialect=ChatDialect(tokenizer),
        course=course,
        name=Path(policy.checkpoint).name,
        dialect_name="chat",
        adapters=None if policy.lora is None else adapters(policy.lora),
    )


def _course(settings: Settings) -> Course:
    """Made before the model is loaded: a wrong key costs no minutes."""
    if settings.scale == "small":
        market: TinyCourseSettings = from_data(dict(settings.course), TinyCourseSettings, where="course")
        return TinyCourse(markets=Markets(kind=market.kind, seed=settings.seed, sizes=market.sizes))
    sampled: SampledSettings = from_data(dict(settings.course), SampledSettings, where="course")
    return SampledCourse(sampled, settings.seed, home(), Roster(home()).chat_model)
