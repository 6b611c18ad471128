"""Pairs of instruction and vector: read back, checked, split without a shared wording, the same for a seed."""

from collections import Counter
from dataclasses import replace
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_preference_text import REMOTE, TOOLS, read

from orchestra_lib.codec import from_data, to_data
from orchestra_lib.errors import BadInput
from orchestra_lib.preference import GOALS, Preference
from orchestra_lib.preference_drawing import Offered, draw, lifted
from orchestra_lib.preference_needs import EVAL, GOAL_OF, NEEDS, STANCES, TRAIN, Stance
from orchestra_lib.preference_pairs import Pair, Sieve, contradiction, disagreement, generate
from orchestra_lib.preference_situations import SITUATIONS

PAPER = Offered(tools=TOOLS, remote=frozenset(REMOTE))
EXTENDED = replace(PAPER, extension=True)
NAMES = PAPER.names
EXAMPLE = "I am an employee with confidential data and many GPUs, avoid API calls."


def pair(instruction, weights=None, **goals):
    said = Preference(**{**dict.fromkeys(GOALS, 0.0), **goals}, tools=weights or {})
    return Pair(id="p", split=TRAIN, situation="s", instruction=instruction, tools=NAMES, preference=said)


@pytest.mark.parametrize("need", NEEDS)
def test_every_wording_of_a_need_is_read_as_what_it_weighs(need):
    for words in (*NEEDS[need].train, *NEEDS[need].held_out):
        found = read(words)
        assert {said.weight for said in found.understood} == {NEEDS[need].weight}, words
        assert need not in GOAL_OF or {said.name for said in found.understood} == {GOAL_OF[need]}, words


@pytest.mark.parametrize("stance", STANCES)
def test_every_wording_of_a_stance_is_read_as_what_it_weighs(stance):
    other = {"o3_mini": -0.5} if stance is Stance.OVER else {}
    for words in (*STANCES[stance].train, *STANCES[stance].held_out):
        found = read(words.format("Web search", "o3-mini"))
        assert dict(found.preference.tools) == {"web_search": STANCES[stance].weight, **other}, words


def test_openings_only_tell_of_the_situation():
    read_into = {words for one in SITUATIONS for words in one.openings if read(words).understood}
    assert read_into == set()


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**9), extension=st.booleans(), tools=st.sets(st.sampled_from(NAMES), min_size=1))
def test_pairs_agree_with_what_the_reader_reads_and_stay_in_range(seed, extension, tools):
    offered = Offered(
        tools=tuple(spec for spec in TOOLS if spec.name in tools), remote=frozenset(REMOTE & tools), extension=extension
    )
    pairs, _ = generate(12, seed, offered)
    for one in pairs:
        assert disagreement(one, offered) is None
        assert set(one.preference.tools) <= tools
        assert extension or all(0 <= weight <= 1 for weight in one.preference.tools.values())
        assert from_data(to_data(one), Pair, where="pair") == one


def test_a_seed_says_it_all_and_another_seed_says_something_else():
    first, again, other = (generate(60, seed, PAPER) for seed in (7, 7, 8))
    assert first == again
    assert not {one.instruction for one in first[0]} & {one.instruction for one in other[0]}


def test_there_is_real_variety_and_the_report_adds_up():
    pairs, report = generate(300, 7, PAPER)
    assert report.accepted == {TRAIN: 240, EVAL: 60}
    assert report.drawn == len(pairs) + sum(report.rejected.values())
    assert len({one.instruction for one in pairs}) == 300
    assert len({tuple(to_data(one.preference).items().__repr__()) for one in pairs}) > 150
    assert len({one.situation for one in pairs}) > 20
    openings = Counter(" ".join(one.instruction.split()[:4]) for one in pairs)
    assert openings.most_common(1)[0][1] < 20


def test_the_splits_share_no_situation_and_no_wording():
    for split in ("situation", "instruction"):
        parts = [
            {getattr(one, split) for one in generate(200, 3, EXTENDED)[0] if one.split == part}
            for part in (TRAIN, EVAL)
        ]
        assert not parts[0] & parts[1]
    said = {
        part: {clause for at in range(300) for clause in draw(3, part, at, EXTENDED).clauses} for part in (TRAIN, EVAL)
    }
    assert not said[TRAIN] & said[EVAL]


def test_no_two_instructions_are_nearly_the_same():
    sieve = Sieve(9, EXTENDED)
    drawn = replace(draw(0, TRAIN, 0, EXTENDED), preference=pair("", {"o3": -1.0}, latency=1.0).preference)
    words = "We write a long report on the weather of last winter. Be quick, avoid o3"
    assert sieve.take(drawn, f"{words}.") is None
    assert (
        sieve.take(drawn, f"{words}!") == sieve.take(drawn, f"Please, {words}.") == "nearly the words of another pair"
    )
    assert sieve.take(drawn, "It is quiz night. I don't like o3; hurry, answer as fast as possible.") is None
    assert sieve.report.rejected == {"nearly the words of another pair": 2}


def test_the_papers_example_agrees_with_the_papers_vector():
    published = dict.fromkeys(("local_search", "code_interpreter", "qwen", "coder"), 1.0)
    assert (
        disagreement(pair(EXAMPLE, {"qwen": 1.0, "coder": 1.0, "local_search": 0.5, "code_interpreter": 0.5}), PAPER)
        is None
    )
    assert disagreement(pair("Avoid API calls.", published), PAPER) is None


@pytest.mark.parametrize(
    "instruction, weights, goals, why",
    [
        ("Be quick.", {}, {"latency": 0.2}, "a goal is read otherwise: latency is stated 0.2 and read 1"),
        ("Be quick.", {}, {"latency": 1.0, "cost": 0.5}, "does not speak of a goal that it weighs: cost 0.5"),
        ("Be quick, no hurry.", {}, {"latency": 1.0}, "contradicts itself: latency is wished 1 and 0"),
        ("Prefer o3, avoid o3.", {"o3": 1.0}, {}, "contradicts itself: tool.o3 is wished 1 and -1"),
        ("Avoid o3.", {"o3": 1.0}, {}, "a tool is read with another sign: o3"),
        ("Prefer o3.", {"o3": 1.0, "qwen": 1.0}, {}, "tools are read in another order"),
        ("Prefer o3.", {}, {"cost": 1.0}, "does not speak of a goal"),
        ("No hurry.", {}, {}, "weighs nothing"),
        ("Avoid o3.", {"o3": -1.0}, {}, "weighs a tool below 0, which is the extension"),
        ("Use sonar.", {"sonar": 1.0}, {}, "weighs a tool that is not on offer: sonar"),
        (" ", {"o3": 1.0}, {}, "empty or over 600 characters"),
    ],
)  # fmt: skip
def test_what_an_instruction_does_not_say_is_named(instruction, weights, goals, why):
    assert disagreement(pair(instruction, weights, **goals), PAPER).startswith(why)


@given(seed=st.integers(0, 99), on_offer=st.sets(st.sampled_from((*NAMES, "new"))))
def test_a_pair_fits_where_the_tools_it_speaks_of_are_on_offer(seed, on_offer):
    for one in few(seed):
        found = one.over(sorted(on_offer))
        assert (found is None) == (not set(one.about) <= on_offer)
        if found is not None:
            assert found.sentence == one.instruction
            assert set(found.tools) <= on_offer
            assert all(found.weight(name) == one.preference.weight(name) for name in on_offer - {"new"})
            assert "new" not in on_offer or found.weight("new") == one.others


@cache
def few(seed):
    return generate(4, seed, PAPER)[0]


def test_a_wish_about_a_tool_may_stand_against_one_about_its_kind():
    assert contradiction(read("avoid search but prefer local search").understood) is None


weights = st.dictionaries(st.sampled_from(NAMES), st.sampled_from([-1.0, -0.5, 0.3, 0.75, 1.0]))


@given(tools=weights)
def test_lifting_keeps_the_order_and_the_papers_range(tools):
    found, others = lifted(tools, NAMES)
    assert all(found.get(name, 0) == others for name in NAMES if name not in tools)
    assert all(0 < weight <= 1 for weight in found.values())
    for one in NAMES:
        for other in NAMES:
            if tools.get(one, 0) > tools.get(other, 0):
                assert found.get(one, 0) > found.get(other, 0)


@pytest.mark.parametrize(
    "n, share, words", [(0, 0.2, "n = 0"), (10_001, 0.2, "n = 10,001"), (5, 1.0, "share for evaluation")]
)
def test_how_many_is_checked(n, share, words):
    with pytest.raises(BadInput, match=words):
        generate(n, 0, PAPER, eval_share=share)


def test_pairs_need_tools():
    with pytest.raises(BadInput, match="name some"):
        Sieve(1, Offered(tools=()))


def test_where_there_is_little_to_say_the_tries_end_and_the_report_says_so():
    sieve = Sieve(2, EXTENDED, 0.0)
    drawn = replace(draw(0, TRAIN, 0, EXTENDED), preference=pair("", latency=1.0).preference)
    for _ in sieve.wanted():
        sieve.take(drawn, "Be quick.")
    assert sieve.report.accepted == {TRAIN: 1, EVAL: 0}
    assert sieve.report.rejected == {"nearly the words of another pair": 39}
