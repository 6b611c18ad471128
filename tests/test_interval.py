"""Intervals: Student's over seeds against a simulation, ends that are unknown where they cannot be known."""

import numpy as np
import pytest

from orchestra_lib.interval import mean, over_seeds


@pytest.mark.parametrize("seeds", [2, 3, 5, 8])
def test_an_interval_over_seeds_holds_the_truth_in_95_of_100_cases(seeds):
    drawn = np.random.default_rng(7).normal(3.0, 2.0, size=(4000, seeds))
    held = [one.low <= 3.0 <= one.high for one in (over_seeds(values.tolist()) for values in drawn)]
    assert np.mean(held) == pytest.approx(0.95, abs=0.012)


def test_few_values_have_wider_intervals_than_many_would():
    assert over_seeds([1.0, 2.0]).high > mean([1.0, 2.0]).high
    assert (over_seeds([4.0]).mean, over_seeds([4.0]).low, over_seeds([4.0]).of) == (4.0, None, 1)
