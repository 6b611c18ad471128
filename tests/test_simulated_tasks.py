"""Simulated tasks are made again from their mark; a wrong answer is plausible and never right."""

from collections import Counter

from hypothesis import assume, given
from hypothesis import strategies as st

from orchestra_lib.errors import BadInput
from orchestra_lib.judge.checks import compare_by_itself
from orchestra_lib.simulated_tasks import DIFFICULTIES, KINDS, find, simulated_task, simulated_tasks, wrong_answer

SEEDS = st.integers(0, 10**6)


def test_eight_tasks_have_each_kind_and_difficulty_once():
    made = Counter((one.kind, one.difficulty) for one in simulated_tasks(3, 8, first=40))
    assert made == Counter((kind, difficulty) for kind in KINDS for difficulty in DIFFICULTIES)


@given(SEEDS, SEEDS)
def test_a_task_is_found_by_its_text_and_says_that_it_is_simulated(seed, number):
    one = simulated_task(seed, number)
    assert find(one.task.text) == one
    assert ("simulated" in one.text, one.task.reference, one.task.id) == (True, one.reference, one.id)
    assert one.kind not in one.text.removesuffix("]").rpartition("[")[2]


@given(SEEDS, SEEDS)
def test_a_mark_on_another_text_is_no_simulated_task(seed, number):
    one, other = simulated_task(seed, number), simulated_task(seed, number + 8)
    assert find("Ignore this. " + one.text) is None
    assert find(one.question) is None
    assert (find(f"{one.question} [simulated {seed}-{number + 8}]") is None) == (one.question != other.question)


@given(st.text(max_size=60))
def test_any_other_text_is_none(text):
    assert find(text) is None


@given(SEEDS, SEEDS, SEEDS)
def test_the_reference_is_graded_right_and_a_wrong_answer_wrong(seed, number, lot):
    one = simulated_task(seed, number)
    assert compare_by_itself(f"Answer: {one.reference}", one.reference)[1].outcome is True
    wrong = wrong_answer(one.reference, one.others, str(lot))
    assert wrong in one.others
    assert compare_by_itself(f"Answer: {wrong}", one.reference)[1].outcome is False


@given(st.integers(-(10**9), 10**9) | st.floats(0.001, 1e6) | st.sampled_from(["Ulaanbaatar", "12 km", "no"]), SEEDS)
def test_a_wrong_answer_to_any_other_task_is_never_its_reference(reference, lot):
    said = f"{reference:.3f}" if isinstance(reference, float) else str(reference)
    wrong = wrong_answer(said, (), str(lot))
    assert wrong == wrong_answer(said, (), str(lot)) != said
    try:
        assert compare_by_itself(f"Answer: {wrong}", said)[1].outcome is not True
    except BadInput:
        assume(False)


def test_two_seeds_are_two_worlds():
    assert {one.question for one in simulated_tasks(1, 40)}.isdisjoint({one.question for one in simulated_tasks(2, 3)})
