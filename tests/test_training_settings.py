"""Settings of a run: what is misspelt or impossible is named, and what is saved is read back."""

import pytest

from orchestra_lib.errors import BadInput
from orchestra_lib.training.settings import resolve, saved

TOML = 'scale = "toy_scale"\n[grpo]\nsteps = 4\n'


def resolved(tmp_path, *sets, toml=TOML):
    file = tmp_path / "mine.toml"
    file.write_text(toml, "utf-8")
    return resolve(file, sets, home=tmp_path)


def test_settings_win_over_the_file_and_the_rest_has_defaults(tmp_path):
    found = resolved(tmp_path, "grpo.steps=3", 'course.kind="seen"', "grpo.loss=dapo")
    assert (found.name, found.grpo.steps, found.grpo.loss, found.course) == ("mine", 3, "dapo", {"kind": "seen"})
    assert found.output_dir == str(tmp_path / "training" / "mine")
    assert (found.grpo.kl, found.grpo.malformed, found.grpo.clip_high) == (0.0, "mask", 0.2)


def test_the_saved_settings_are_read_back_the_same(tmp_path):
    found = resolved(tmp_path, "policy.lora.rank=8", "trl.bf16=false", "rollouts.at_once=3")
    assert resolved(tmp_path, toml=saved(found)) == found


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ("grpo.stepz=3", r"mine\.toml: grpo\.stepz: Unexpected keyword"),
        ("gpro.steps=3", r"mine\.toml: gpro: Unexpected keyword"),
        ("grpo.steps=many", r"grpo\.steps: "),
        ("grpo.steps=0", r"grpo\.steps = 0; it is 1 or more"),
        ("grpo.rollouts=1", "fewer than 2 has nothing to compare"),
        ("grpo.temperature=0", "without chance all rollouts are the same"),
        ("grpo.malformed=ignore", r"grpo\.malformed: "),
        ('grpo.drop=["price"]', r"grpo\.drop"),
        ("grpo.min_std=-1", "it is a number from 0"),
        ("grpo.iterations=3", r"checkpoint\.every = 20 falls amid rollouts"),
        ("checkpoint.keep=0", r"both are 1 or more"),
    ],
)
def test_what_cannot_be_is_named(tmp_path, wrong, named):
    with pytest.raises(BadInput, match=named):
        resolved(tmp_path, wrong)
