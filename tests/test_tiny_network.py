import json
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from orchestra_lib.errors import BadInput
from orchestra_lib.training.settings import PolicySettings, Settings
from orchestra_lib.training.tiny.network import load_network, new_network, save_network
from orchestra_lib.training.tiny.parts import parts
from orchestra_lib.training.tiny.vocabulary import ID, TOKENS
from orchestra_lib.training.tiny.warm_start import Stage, batches, warm_start

torch.set_num_threads(1)  # on networks this small a second thread only spins


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    folder = tmp_path_factory.mktemp("checkpoint")
    save_network(new_network(1, width=32, layers=1, heads=2, kv_heads=2), folder, {"stage": "warm_start", "seed": 1})
    return folder


def settings(**of):
    return Settings(name="t", scale="tiny", **of)


def test_the_same_seed_makes_the_same_network_and_neighbours_on_a_scale_begin_alike():
    rows = new_network(3, width=48).model.embed_tokens.weight
    assert torch.equal(rows, new_network(3, width=48).model.embed_tokens.weight)

    def alike(one, other):
        return torch.cosine_similarity(rows[ID[one]], rows[ID[other]], dim=0).item()

    assert alike("price 10", "price 11") > alike("price 10", "price 20")
    assert alike("price 10", "time 10") > alike("price 10", "weak")


def test_a_checkpoint_is_read_back_to_half_precision_with_its_card(checkpoint):
    network = load_network(checkpoint)
    first = new_network(1, width=32, layers=1, heads=2, kv_heads=2)
    torch.testing.assert_close(network.lm_head.weight, first.lm_head.weight, atol=1e-3, rtol=0)
    assert network.dtype == torch.float32
    assert json.loads((checkpoint / "orchestra.json").read_text()) == {
        "dialect": "tiny",
        "stage": "warm_start",
        "seed": 1,
    }


def test_checkpoints_that_are_read_at_once_are_read_whole(checkpoint):
    with ThreadPoolExecutor(4) as threads:
        networks = list(threads.map(load_network, [checkpoint] * 4))
    assert {part.device.type for network in networks for part in network.parameters()} == {"cpu"}


def test_a_checkpoint_of_another_vocabulary_is_refused_with_both_sizes(checkpoint, tmp_path):
    data = json.loads((checkpoint / "tokenizer.json").read_text())
    data["model"]["vocab"] = {"a": 0, "b": 1}
    (tmp_path / "tokenizer.json").write_text(json.dumps(data))
    with pytest.raises(BadInput, match=rf"2 tokens, ours has {len(TOKENS)}"):
        load_network(tmp_path)
    with pytest.raises(BadInput, match="holds no checkpoint"):
        load_network(tmp_path / "nowhere")


def test_parts_take_the_settings_of_a_course_and_refuse_others(checkpoint):
    policy = PolicySettings(checkpoint=str(checkpoint))
    made = parts(settings(policy=policy, course={"kind": "uniform", "sizes": [3]}))
    exercise = made.course.exercise(4)
    assert (exercise.kind, exercise.aim, len(exercise.setting.tools)) == ("uniform", "cost", 3)
    assert made.tokenizer.decode([made.dialect.eos]) == "<end>"
    with pytest.raises(BadInput, match="colour"):
        parts(settings(policy=policy, course={"colour": "red"}))
    with pytest.raises(BadInput, match="kept for measuring"):
        parts(settings(policy=policy, seed=900_001))


def test_a_warm_start_learns_and_is_the_same_every_time():
    stages = (Stage(steps=12, batch=16, sizes=(1,), habits=0.0),)
    losses = []
    for _ in range(2):
        losses.append([])
        warm_start(
            new_network(0, width=32, layers=2, heads=2, kv_heads=2), stages, seed=0, lr=2e-2,
            on_step=lambda step, loss: losses[-1].append(loss),
        )  # fmt: skip
    assert losses[0] == losses[1]
    assert losses[0][-1] < losses[0][0] - 0.5


def test_batches_follow_the_stages():
    stages = (
        Stage(steps=2, batch=4, sizes=(1,), habits=0.0),
        Stage(steps=3, batch=5, sizes=(3,), habits=1.0),
    )
    assert [len(batch) for batch in batches(stages, 0)] == [4, 4, 5, 5, 5]
