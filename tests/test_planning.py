"""The dry run of a large training: its arithmetic, what it refuses and in which words, and the files that launch it."""

import json
import re
import subprocess
import tomllib
from importlib.util import find_spec
from pathlib import Path

import pytest
from accelerate.commands.config.config_args import load_config_from_file

from orchestra_lib.cli.planning import dry_run
from orchestra_lib.errors import BadInput
from orchestra_lib.training import commands, memory
from orchestra_lib.training.cluster import Cluster
from orchestra_lib.training.planning import PINNED, VLLM, plan
from orchestra_lib.training.settings import Lora, PolicySettings, Settings, resolve
from orchestra_lib.training.shape import shape_of

ROOT = Path(__file__).resolve().parent.parent
H100 = ROOT / "configs" / "h100.toml"
CONFIG = {
    "hidden_size": 1024, "num_hidden_layers": 28, "num_attention_heads": 16, "num_key_value_heads": 8, "head_dim": 128,
    "intermediate_size": 3072, "vocab_size": 151936, "max_position_embeddings": 40960, "tie_word_embeddings": True,
}  # fmt: skip
PUBLISHED = {"0.6B": 596_049_920, "1.7B": 1_720_574_976, "4B": 4_022_468_096, "8B": 8_190_735_360}


@pytest.fixture
def planned(tmp_path):
    """Plans the shipped config with changes; its questions are there, everybody answers."""
    (tmp_path / "q.jsonl").write_text("{}")

    def go(*sets: str, answers=lambda name: None, reachable=lambda url: None):
        own = [f'course.questions=["{tmp_path / "q.jsonl"}"]', *sets]
        return plan(resolve(H100, own, home=tmp_path), answers=answers, reachable=reachable)

    return go


def gb(name, items):
    return next(item.gb for item in items if item.name == name)


def test_shapes_weigh_what_the_models_weigh(tmp_path):
    assert {name: shape_of(f"Qwen/Qwen3-{name}").parameters for name in PUBLISHED} == PUBLISHED
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    assert shape_of(str(tmp_path)).parameters == PUBLISHED["0.6B"]
    (tmp_path / "config.json").write_text('{"hidden_size": "wide"}')
    with pytest.raises(BadInput, match="not the config of a decoder"):
        shape_of(str(tmp_path))


@pytest.mark.parametrize("sharding, states_gb", [("zero3", 16 * 8.19 / 8), ("fsdp", 16 * 8.19 / 8), ("none", 8 * 8.19)])
def test_weights_gradients_and_optimiser_are_spread_as_the_sharding_says(sharding, states_gb):
    shape, settings = (
        shape_of("Qwen/Qwen3-8B"),
        Settings(name="x", scale="large", policy=PolicySettings(recompute=True)),
    )
    items = memory.training(settings, shape, Cluster(sharding=sharding), 32_768)
    assert sum(gb(name, items) for name in ("weights", "gradients", "optimiser")) == pytest.approx(states_gb, rel=1e-3)
    assert gb("kept activations", items) == pytest.approx(32_768 * 4096 * 36 * 2 / 1e9)


def test_adapters_train_a_hundredth_and_a_kl_needs_a_reference():
    shape, cluster = shape_of("Qwen/Qwen3-8B"), Cluster(sharding="none")
    base = Settings(name="x", scale="large")
    lora = memory.training(Settings(name="x", scale="large", policy=PolicySettings(lora=Lora())), shape, cluster, 1)
    assert gb("optimiser", lora) < 0.01 * gb("optimiser", memory.training(base, shape, cluster, 1))
    kl = memory.training(Settings(name="x", scale="large", grpo=base.grpo.__class__(kl=0.02)), shape, cluster, 1)
    assert gb("reference weights", kl) == gb("weights", kl)


def test_the_shipped_plan_stands_and_every_number_says_how_it_came_about(planned):
    made = planned()
    assert made.problems == ()
    assert all(row.how for rows in made.rows.values() for row in rows)
    step = {row.name: row.value for row in made.rows["a step"]}
    assert step["rollouts"] == "128"
    assert step["rollouts of a process"] == "16"
    assert step["tokens of a rollout, at most"] == "32,768"


@pytest.mark.parametrize(
    "change, says",
    [
        ("grpo.prompts=12", "splits a group"),
        ("grpo.micro_batch=3", "take a divisor"),
        ("grpo.micro_batch=16", "grpo.micro_batch = 1"),
        ('cluster.sharding="none"', 'cluster.sharding = "zero3"'),
        ("policy.recompute=false", "policy.recompute = true"),
        ("grpo.context=99999", "40,960 positions"),
        ("grpo.max_new_tokens=32768", "no room for a prompt"),
        ("cluster.gpu_gb=20", "cluster.sampler_tensor = 1"),
        ('policy.dtype="float32"', 'take it'),
        ('vllm_url="gpu-01"', "is no address"),
        ('cluster.vllm="0.32.0"', "TRL takes 0.22.0 to 0.31.0"),
        ('cluster.vllm="new"', "TRL takes"),
        ('course.questions=["no.jsonl"]', "no.jsonl is not there"),
    ],
)  # fmt: skip
def test_what_stands_in_the_way_is_one_clear_line(planned, change, says):
    problems = planned(change).problems
    assert any(says in one for one in problems), problems
    assert not any("\n" in one for one in problems)


@pytest.mark.parametrize(
    "change, says",
    [
        ("grpo.promts=3", "promts"),
        ("course.max_turn=3", "max_turn"),
        ("cluster.gpus=0", "1 or more"),
        ("cluster.sampler_tensor=3", "no multiple"),
        ('policy.checkpoint="who/knows"', "nobody knows the shape"),
        ('cluster.sharding="zero9"', "sharding"),
    ],
)
def test_settings_that_cannot_be_planned_are_refused(planned, change, says):
    with pytest.raises(BadInput, match=says) as caught:
        planned(change)
    assert "\n" not in str(caught.value)


def test_experts_that_cannot_answer_are_problems_and_a_server_to_come_is_a_remark(planned):
    made = planned(answers=lambda name: "it needs a key", reachable=lambda url: "refused")
    assert len(made.problems) == 4
    assert "it needs a key" in made.problems[0]
    assert any("launch files start it" in one for one in made.remarks)


def test_the_dry_run_prints_the_plan_and_starts_nothing(tmp_path, capsys, monkeypatch):
    for name in ("OPENAI_API_KEY", "DEEPINFRA_API_KEY", "TOGETHER_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ORCHESTRA_HOME", str(tmp_path))
    settings = resolve(H100, ['vllm_url="http://127.0.0.1:9"'], home=tmp_path)
    assert dry_run(settings) == 1
    said = capsys.readouterr().out
    assert "8,190,735,360 parameters x 2 bytes / 8 GPUs" in said
    assert "problem: course.experts.gpt-5 = 'openai/gpt-6.1-sol' cannot answer" in said
    assert list(tmp_path.iterdir()) == []


def test_versions_are_those_that_are_pinned_and_the_range_is_trls_own():
    pins = dict(re.findall(r"^([\w-]+)==([\w.]+)", (ROOT / "requirements.txt").read_text(), re.MULTILINE))
    assert {name: pins[name] for name in PINNED} == dict(PINNED)
    source = (Path(find_spec("trl").origin).parent / "import_utils.py").read_text()
    assert re.search(r'Version\("([\d.]+)"\) <= _vllm_base_version <= Version\("([\d.]+)"\)', source).groups() == VLLM
    assert f"vllm=={VLLM[1]}\n" in (ROOT / "requirements-vllm.txt").read_text()


def test_launch_files_run_the_commands_of_the_settings(tmp_path):
    settings = resolve(H100, [], home=tmp_path)
    served = commands.serve(settings)
    assert served[:5] == ["env", "VLLM_SERVER_DEV_MODE=1", "vllm", "serve", "Qwen/Qwen3-8B"]
    assert served[served.index("--data-parallel-size") + 1] == "8"
    assert served[served.index("--max-model-len") + 1] == "32768"
    trained = commands.train(settings, "c.toml", sampler="gpu-02", main="gpu-01", rank=1, sets=["grpo.steps=3"])
    assert trained[trained.index("--machine_rank") + 1] == "1"
    assert trained[-4:] == ["--set", "grpo.steps=3", "--set", "vllm_url=http://gpu-02:8000"]
    assert "--resume" in commands.train(settings, "c.toml", sampler="a", resume=True)
    with pytest.raises(BadInput, match="trains in one process"):
        commands.serve(Settings(name="tiny", scale="tiny"))


@pytest.mark.parametrize("sharding", ["none", "zero2", "zero3", "fsdp"])
def test_accelerate_reads_its_file_of_each_sharding(sharding):
    read = load_config_from_file(str(commands.ACCELERATE / f"{sharding}.yaml"))
    assert read.num_processes == 8
    assert read.mixed_precision == "bf16"


def test_the_slurm_file_is_a_script_and_needs_one_node_more_than_trains():
    file = ROOT / "launch" / "slurm.sbatch"
    subprocess.run(["bash", "-n", str(file)], check=True)
    nodes = int(re.search(r"--nodes=(\d+)", file.read_text().split("#SBATCH", 1)[1]).group(1))
    assert nodes == tomllib.loads(H100.read_text())["cluster"]["nodes"] + 1
    compile((ROOT / "launch" / "ray_job.py").read_text(), "ray_job.py", "exec")
