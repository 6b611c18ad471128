"""The tiny scale for the trainer: its warm start, its dialect, and markets as the course."""

from pathlib import Path

from orchestra_lib.codec import from_data
from orchestra_lib.errors import BadInput
from orchestra_lib.paths import DATA
from orchestra_lib.record import record
from orchestra_lib.training.scales import Parts
from orchestra_lib.training.settings import Settings
from orchestra_lib.training.tiny.course import TinyCourse
from orchestra_lib.training.tiny.dialect import TinyDialect
from orchestra_lib.training.tiny.evaluation import HELD_OUT_SEED
from orchestra_lib.training.tiny.market import SEEN, Markets
from orchestra_lib.training.tiny.network import load_network
from orchestra_lib.training.tiny.tokenizer import tokenizer

WARM_START = DATA / "checkpoints" / "tiny-warm-start"
"""Where GRPO begins when the settings name no checkpoint."""


@record
class TinyCourseSettings:
    """The settings of the course: the kind of market, and how many experts one has."""

    kind: str = SEEN
    sizes: tuple[int, ...] = (3, 4)


def parts(settings: Settings) -> Parts:
    """Raises `BadInput` for a checkpoint that is none of ours, unknown settings, and a seed kept for measuring."""
    course = from_data(dict(settings.course), TinyCourseSettings, where="course")
    if settings.seed >= HELD_OUT_SEED - 1:
        raise BadInput(f"seed = {settings.seed}: seeds from {HELD_OUT_SEED - 1:,} on are kept for measuring")
    if settings.policy.lora is not None:
        raise BadInput("policy.lora: the tiny policy is trained whole; leave it out")
    checkpoint = settings.policy.checkpoint
    network = load_network(Path(checkpoint).expanduser() if checkpoint else WARM_START)
    return Parts(
        network=network,
        tokenizer=tokenizer(),
        dialect=TinyDialect(),
        course=TinyCourse(markets=Markets(kind=course.kind, seed=settings.seed, sizes=course.sizes)),
        name="tiny",
        dialect_name="tiny",
    )
