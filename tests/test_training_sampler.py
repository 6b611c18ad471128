"""Sampling for many rollouts at once: the same as one by one through the whole network."""

import asyncio

import pytest
import torch
from toy_scale import WORDS, toy_network

from orchestra_lib.errors import BadInput, ContextOverflow
from orchestra_lib.training.sampler import LocalSampler, Stream

PROMPTS = ([2, 3, 5], [2, 4, 5], [2, 4, 5, 11, 11, 2])


def sampler(network, **options):
    fields = {"ends": [1], "temperature": 1.0, "max_new_tokens": 5, **options}
    return LocalSampler(network, **fields)


async def conversation(sampler, prompt, number, turns=3):
    """Three turns of one rollout: of each the ids before it, and what was sampled."""
    stream, ids, said = Stream(7, number), list(prompt), []
    for turn in range(turns):
        if turn % 2:
            await asyncio.sleep(0.001 * number)  # rollouts fall out of step, as they do when tools take time
        sampled = await sampler.generate(ids, stream)
        said.append((list(ids), sampled))
        ids += [*sampled.ids, 9, 5][: len(sampled.ids) + 1 + number % 2]
    sampler.forget(stream)
    return said


def all_of(network, count, **options):
    async def main():
        shared = sampler(network, **options)
        return await asyncio.gather(*(conversation(shared, PROMPTS[n % 3], n) for n in range(count)))

    return asyncio.run(main())


def test_logprobs_are_those_of_the_whole_network():
    network = toy_network()
    for said in all_of(network, 24):
        for before, sampled in said:
            assert len(sampled.ids) == len(sampled.logprobs) <= 5
            with torch.no_grad():
                scores = torch.log_softmax(network(torch.tensor([before + sampled.ids])).logits[0], dim=-1)
            places = range(len(before) - 1, len(before) - 1 + len(sampled.ids))
            expected = [float(scores[at, token]) for at, token in zip(places, sampled.ids, strict=True)]
            assert sampled.logprobs == pytest.approx(expected, abs=1e-4)


def test_a_rollout_samples_the_same_whoever_is_beside_it():
    network = toy_network()
    alone = all_of(network, 1)[0]
    assert [sampled.ids for _, sampled in all_of(network, 24)[0]] == [sampled.ids for _, sampled in alone]


def test_tokens_come_as_often_as_the_policy_gives_them():
    network = toy_network(steps=20)
    firsts = [said[0][1].ids[0] for said in all_of(network, 600, max_new_tokens=1)[::3]]
    with torch.no_grad():
        chances = torch.softmax(network(torch.tensor([PROMPTS[0]])).logits[0, -1], dim=-1)
    for token in range(len(WORDS)):
        assert firsts.count(token) / 200 == pytest.approx(float(chances[token]), abs=0.12)


def test_ids_that_were_written_anew_are_refused():
    async def main():
        one, stream = sampler(toy_network()), Stream(1)
        await one.generate([2, 3, 5], stream)
        await one.generate([2, 4, 5, 1, 9, 5], stream)

    with pytest.raises(RuntimeError, match="never writes them anew"):
        asyncio.run(main())


def test_a_rollout_without_room_left_overflows_and_one_with_little_stops_there():
    async def main():
        one = sampler(toy_network(), context=5, ends=[])
        assert len((await one.generate([2, 3, 5], Stream(1))).ids) == 2
        await one.generate([2, 3, 5, 5, 5], Stream(2))

    with pytest.raises(ContextOverflow, match=r"grpo.context"):
        asyncio.run(main())


def test_a_failure_of_the_network_reaches_everybody_who_waits():
    network = toy_network()

    async def main():
        one = sampler(network)
        waiting = [one.generate([2, 3, 99], Stream(n)) for n in range(3)]  # no such token
        return await asyncio.gather(*waiting, return_exceptions=True)

    assert [type(error) for error in asyncio.run(main())] == [IndexError] * 3


def test_a_network_with_sliding_layers_is_refused():
    network = toy_network(steps=0)
    network.config.layer_types = ["sliding_attention", "full_attention"]
    with pytest.raises(BadInput, match="sliding_attention"):
        sampler(network)
