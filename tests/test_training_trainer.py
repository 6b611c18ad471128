"""The trainer beside TRL's own: advantages, masks and the loss, on a real `GRPOTrainer`."""

import math

import pytest
import torch
from datasets import Dataset
from toy_scale import ToyCourse, toy_network, toy_tokenizer
from toy_training import plain, player, settings

from orchestra_lib.errors import BadInput
from orchestra_lib.training.trainer import OrchestraTrainer
from orchestra_lib.training.trl_settings import trl_config

pytestmark = pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing`:FutureWarning")


@pytest.fixture
def trainer(tmp_path):
    """A function that makes a trainer by settings over the toy's."""
    made = []

    def make(*sets, network=None):
        found = settings(tmp_path, *sets)
        network = network or toy_network()
        rows = Dataset.from_dict({"prompt": ["exercise"] * 4, "exercise": list(range(4))})
        made.append(
            OrchestraTrainer(
                player=player(network), course=ToyCourse(), grpo=found.grpo, seen=lambda *told: None, model=network,
                args=trl_config(found, tmp_path / "run"), train_dataset=rows, processing_class=toy_tokenizer(),
            )
        )  # fmt: skip
        return made[-1]

    yield make
    for one in made:
        one.close()


def batch(trainer):
    rows = [{"prompt": "exercise", "exercise": number} for number in range(4) for _ in range(6)]
    return trainer._generate_and_score_completions(rows)


def logprobs_by_hand(network, inputs):
    """Of every completion token, from the unpadded sequence of its own row."""
    rows = []
    for at in range(len(inputs["prompt_ids"])):
        prompt = inputs["prompt_ids"][at][inputs["prompt_mask"][at].bool()]
        completion = inputs["completion_ids"][at][inputs["completion_mask"][at].bool()]
        scores = torch.log_softmax(network(torch.cat([prompt, completion])[None]).logits[0], dim=-1)
        rows.append(scores[len(prompt) - 1 : -1].gather(1, completion[:, None])[:, 0])
    return rows


@pytest.mark.parametrize("loss", ["grpo", "dapo"])
def test_the_loss_is_that_of_the_kept_tokens_alone(trainer, loss):
    one = trainer(f'grpo.loss="{loss}"')
    inputs = batch(one)
    kept = [scored.kept for scored in one._scored]
    assert 0 < sum(kept) < len(kept)
    assert inputs["advantages"].tolist() == pytest.approx(
        [scored.advantage if scored.kept else 0.0 for scored in one._scored]
    )
    masks = [torch.tensor(scored.mask) for scored in one._scored]
    assert int(inputs["num_items_in_batch"]) == sum(int(mask.sum()) for mask in masks)
    # At ratio 1 each token's loss is minus its row's advantage; what differs is over what it is averaged.
    advantages = inputs["advantages"].tolist()
    if loss == "dapo":
        total = sum(-value * int(mask.sum()) for value, mask in zip(advantages, masks, strict=True))
        expected = total / sum(int(mask.sum()) for mask in masks)
    else:
        expected = -sum(advantages) / sum(kept)
    one.current_gradient_accumulation_steps = 1
    assert float(one._compute_loss(one.model, inputs).detach()) == pytest.approx(expected, abs=1e-5)


def test_the_gradient_is_that_of_the_formula(trainer):
    network = toy_network()
    one = trainer('grpo.loss="dapo"', network=network)
    inputs = batch(one)
    one.current_gradient_accumulation_steps = 1
    one._compute_loss(network, inputs).backward()
    theirs = [parameter.grad.clone() for parameter in network.parameters()]
    network.zero_grad()
    rows = zip(logprobs_by_hand(network, inputs), one._scored, strict=True)
    total = sum(-scored.advantage * (row * torch.tensor(scored.mask)).sum() for row, scored in rows if scored.kept)
    (total / inputs["num_items_in_batch"]).backward()
    for ours, parameter in zip(theirs, network.parameters(), strict=True):
        assert torch.allclose(ours, parameter.grad, atol=1e-5)


def test_logprobs_of_sampling_are_those_of_training(trainer):
    one = trainer()
    inputs = batch(one)
    with torch.no_grad():
        by_hand = logprobs_by_hand(one.model, inputs)
    for at, row in enumerate(by_hand):
        sampled = torch.tensor(one._scored[at].mask).bool()
        assert torch.allclose(row[sampled], inputs["sampling_per_token_logps"][at, : len(row)][sampled], atol=1e-4)


def test_advantages_are_trl_s_but_for_its_epsilon(trainer):
    """With everything counted TRL divides by std + 0.0001 where we divide by std."""
    one = trainer('grpo.malformed="penalise"', 'grpo.no_answer="penalise"')
    batch(one)
    theirs = one._logs["advantages"]
    for scored, value in zip(one._scored, theirs, strict=True):
        assert value == pytest.approx(scored.advantage, abs=2e-3)


def test_a_group_split_over_processes_is_a_clear_error(trainer):
    one = trainer()
    rows = [{"prompt": "exercise", "exercise": number} for number in range(4) for _ in range(6)]
    with pytest.raises(BadInput, match=r"grpo.prompts a multiple of the number of processes"):
        one._generate_and_score_completions(rows[3:-3])


def test_sizes_that_do_not_come_out_even_are_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "3")
    with pytest.raises(BadInput, match=r"grpo.prompts = 4 over 3 processes splits a group of 6.*take 6"):
        trl_config(plain(prompts=4, rollouts=6), tmp_path)
    monkeypatch.delenv("WORLD_SIZE")
    with pytest.raises(BadInput, match=r"grpo.micro_batch = 7 does not divide the 24 rollouts"):
        trl_config(plain(prompts=4, rollouts=6, micro_batch=7), tmp_path)


def test_nothing_in_the_loss_is_no_loss_and_no_nan(trainer):
    one = trainer("grpo.learning_rate=0.0")
    inputs = batch(one)
    inputs["tool_mask"] = torch.zeros_like(inputs["tool_mask"])
    inputs["num_items_in_batch"] = inputs["tool_mask"].sum()
    one.current_gradient_accumulation_steps = 1
    loss = float(one._compute_loss(one.model, inputs).detach())
    assert loss == 0
    assert not math.isnan(loss)
