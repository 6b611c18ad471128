"""Statistics of bias: bounds, what intervals hold, what a swap says, when it is a collapse, who is on the front."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestra_lib import bias
from orchestra_lib.bias import Estimate

counts = st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)), min_size=1, max_size=40)


def sums(pairs):
    """The six sums of tasks with x calls of one tool among n."""
    x, n = (np.array([one[at] for one in pairs], dtype=float) for at in (0, 1))
    return x.sum(), (x * x).sum(), (x * n).sum(), n.sum(), (n * n).sum(), len(pairs)


@given(counts)
def test_a_share_lies_in_its_interval_and_both_between_nothing_and_all(pairs):
    tasks = [(x, x + rest) for x, rest in pairs if x + rest]
    (found,) = bias.shares(*sums(tasks)) if tasks else [Estimate(value=None)]
    if found.value is None:
        assert not tasks
    elif len(tasks) < 2:
        assert (found.low, found.high) == (None, None)
    else:
        assert 0 <= found.low <= found.value <= found.high <= 1
        assert found.low < found.high


@given(counts, st.integers(2, 9))
def test_more_tasks_of_the_same_kind_never_widen_an_interval(pairs, times):
    tasks = [(x, x + rest) for x, rest in pairs if x + rest]
    if len(tasks) > 1:
        (few,), (many,) = bias.shares(*sums(tasks)), bias.shares(*sums(tasks * times))
        assert many.value == pytest.approx(few.value)
        assert many.high - many.low <= few.high - few.low + 1e-9


@given(st.lists(st.integers(-5, 5), min_size=2, max_size=30))
def test_an_index_turns_round_with_its_sign(values):
    d = np.array(values, dtype=float)
    n = np.full(len(d), 5.0)
    (one,) = bias.indices(d.sum(), (d * d).sum(), (d * n).sum(), n.sum(), (n * n).sum(), len(d))
    (other,) = bias.indices(-d.sum(), (d * d).sum(), -(d * n).sum(), n.sum(), (n * n).sum(), len(d))
    assert -1 <= one.low <= one.value <= one.high <= 1
    assert (one.value, one.low, one.high) == pytest.approx((-other.value, -other.high, -other.low))


def test_intervals_hold_what_they_promise_where_calls_of_a_task_are_alike():
    dice = np.random.default_rng(7)
    held = 0
    for _ in range(400):
        chances = dice.beta(1.2, 1.8, size=60)  # the mean is 0.4; each task has its own share
        tasks = [(dice.binomial(10, chance), 10) for chance in chances]
        (found,) = bias.shares(*sums(tasks))
        held += found.low <= 0.4 <= found.high
    assert 0.92 <= held / 400 <= 0.98


def test_one_task_has_no_interval_and_no_call_has_no_share():
    assert bias.shares(3, 9, 15, 5, 25, 1) == [Estimate(value=0.6, n=5, tasks=1)]
    assert bias.shares(0, 0, 0, 0, 0, 0) == [Estimate(value=None)]


def test_who_follows_the_swapped_property_moves_by_one_and_a_fixed_choice_by_nothing():
    n = 30
    assert bias.followed([0] * n, [1] * n, [0] * n, [1] * n).value == 1.0
    fixed = bias.followed([0] * n, [0] * n, [0] * n, [1] * n)
    assert fixed.value == 0.0
    assert not fixed.excludes_zero
    assert bias.followed([0], [1], [0], [0]).value is None  # the heir is the same: nothing was swapped
    assert bias.followed([-1], [1], [0], [1]).value is None  # nobody was called


def test_the_interval_of_a_paired_difference_is_newcombes():
    # 36 pairs of 50 hold both times, 12 only after, 2 only before: Newcombe's worked example of method 10
    found = bias.paired([True] * 48 + [False] * 2, [True] * 36 + [False] * 12 + [True] * 2)
    assert (found.value, found.low, found.high) == pytest.approx((0.2, 0.0569, 0.3404), abs=5e-5)
    still = bias.paired([False] * 40, [False] * 40)
    assert (still.value, still.low, still.high) == pytest.approx((0.0, -0.0876, 0.0876), abs=5e-5)


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=40))
def test_a_paired_difference_turns_round_with_its_sign(pairs):
    after, before = zip(*pairs, strict=True)
    one, other = bias.paired(after, before), bias.paired(before, after)
    assert -1 <= one.low <= one.value <= one.high <= 1
    assert (one.value, one.low, one.high) == pytest.approx((-other.value, -other.high, -other.low))


@given(st.integers(0, 2**32 - 1))
def test_a_choice_by_lot_follows_nothing(seed):
    dice = np.random.default_rng(seed)
    before, after, again = dice.integers(0, 4, size=(3, 400))
    found = bias.followed(before, after, again, (before + 1) % 4)
    assert abs(found.value) < 0.2


def test_a_collapse_needs_its_whole_interval_over_the_best_choice():
    sure, loose = (
        Estimate(value=0.8, low=0.7, high=0.9, n=60, tasks=30),
        Estimate(value=0.8, low=0.2, high=1, n=60, tasks=30),
    )
    assert bias.collapse("o", [("m", sure, 0.1)], choices=4).model == "m"
    assert bias.collapse("o", [("m", sure, None)], choices=4).best is None
    assert bias.collapse("o", [("m", sure, 0.6)], choices=4) is None  # the best choice would go there, too
    assert bias.collapse("o", [("m", loose, 0.1)], choices=4) is None
    assert bias.collapse("o", [("m", sure, 0.1)], choices=1) is None  # there was nobody else
    assert bias.collapse("o", [("m", Estimate(value=1.0, low=0.7, high=1.0, n=8, tasks=8), 0.0)], choices=4) is None


@given(st.lists(st.tuples(st.floats(0.001, 10), st.floats(0, 1)), max_size=12))
def test_nobody_off_the_front_is_left_unbeaten(points):
    costs, accuracies = [one[0] for one in points], [one[1] for one in points]
    kept = bias.front(costs, accuracies)
    for at, (cost, accuracy) in enumerate(points):
        beaten = any(c <= cost and a >= accuracy and (c, a) != (cost, accuracy) for c, a in points)
        assert not (at in kept and beaten)
        assert at in kept or beaten or points[:at].count((cost, accuracy)) or points.count((cost, accuracy)) > 1
    assert bias.front([None, 1.0], [0.5, None]) == []


def test_drift_leaves_out_what_is_unknown_and_compares_the_ends():
    steps = [(n, None if n == 3 else 0.9 - n * 0.01, 64) for n in range(50)]
    found = bias.drift(steps)
    assert 3 not in found.steps
    assert found.change.value < -0.3
    assert found.change.excludes_zero
    assert bias.drift([]).change.value is None
    assert all(one.low <= one.value <= one.high for one in found.shares)


def test_a_mean_cost_has_an_interval_that_is_even_on_a_logarithmic_axis():
    found = bias.mean_interval(0.01, 0.02, 100)
    assert math.log(found.high / found.value) == pytest.approx(math.log(found.value / found.low))
    assert bias.mean_interval(0.01, None, 1).low is None
