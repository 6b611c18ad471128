"""What the trainer's tests share: settings of the toy scale, and rollouts of it without a trainer."""

from pathlib import Path

from toy_scale import ToyCourse, ToyDialect, toy_network

from orchestra_lib.codec import from_data
from orchestra_lib.protocols import PolicySpec
from orchestra_lib.training.rollouts import Background, Player
from orchestra_lib.training.sampler import LocalSampler
from orchestra_lib.training.settings import Playing, Settings, resolve

TOML = """
scale = "toy_scale"
[grpo]
steps = 4
prompts = 4
rollouts = 6
learning_rate = 1e-3
max_new_tokens = 3
[checkpoint]
every = 2
"""


def settings(folder: Path, *sets: str) -> Settings:
    """The toy's settings, for a run in `folder / "run"`."""
    file = folder / "toy.toml"
    file.write_text(TOML, "utf-8")
    return resolve(file, [f"output_dir={str(folder / 'run')!r}", *sets], home=folder)


def plain(**grpo):
    """Settings that need no file."""
    return from_data({"name": "toy", "scale": "toy_scale", "grpo": grpo}, Settings, where="test")


def player(network=None, *, name="toy", seed=0, dialect=None, **playing):
    network = network or toy_network()
    sampler = LocalSampler(network, ends=[ToyDialect.eos], temperature=1.0, max_new_tokens=3)
    return Player(
        sampler, dialect or ToyDialect(), Playing(**playing), name=name, seed=seed, policy=PolicySpec(name="toy")
    )


def played(course=None, *, exercises=2, rollouts=6, **options):
    """Rollouts of the first exercises, groups side by side."""
    course = course or ToyCourse()
    made = [course.exercise(number) for number in range(exercises)]
    background = Background()
    try:
        return background.run(player(**options).play([(one, n) for one in made for n in range(rollouts)]))
    finally:
        background.close()
