"""How far a judge can be trusted: the arithmetic, against what can be worked out by hand."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestra_lib.calibration import Rating, agreement, calibration, flips, share

VERDICTS = st.sampled_from([True, False, None])
RATINGS = st.lists(
    st.builds(
        Rating,
        human=st.booleans(),
        judge=VERDICTS,
        swapped=VERDICTS,
        padded=VERDICTS,
        answer_chars=st.integers(0, 10_000),
    )
)


def test_the_wilson_interval_of_a_textbook():
    seen = share(9, 10)
    assert (seen.rate, round(seen.low, 4), round(seen.high, 4)) == (0.9, 0.5958, 0.9821)
    assert share(0, 0).rate is None
    with pytest.raises(ValueError, match="3 of 2"):
        share(3, 2)


def test_kappa_by_hand():
    pairs = [(True, True)] * 20 + [(True, False)] * 5 + [(False, True)] * 10 + [(False, False)] * 15
    found = agreement([*pairs, (True, None)])
    assert (found.share.hits, found.share.of, found.unknown) == (35, 50, 1)
    assert found.kappa == pytest.approx(0.4)
    assert agreement([(True, True)] * 5).kappa is None
    assert agreement([]).kappa is None


def test_flips_are_counted_by_what_they_lead_to():
    found = flips([(False, True), (True, False), (True, False), (True, True), (None, True), (False, None)])
    assert (found.to_solved, found.to_not_solved, found.unknown, found.share.of) == (1, 2, 2, 4)


@given(st.integers(0, 5000), st.integers(0, 5000))
def test_an_interval_holds_its_rate_and_lies_in_0_to_1(hits, misses):
    seen = share(hits, hits + misses)
    if seen.rate is not None:
        assert 0 <= seen.low <= seen.rate <= seen.high <= 1
        other = share(misses, hits + misses)
        assert seen.low == pytest.approx(1 - other.high)


@given(st.lists(st.tuples(st.booleans(), VERDICTS)))
def test_agreement_is_symmetric_and_bounded(pairs):
    found = agreement(pairs)
    assert found.share.of + found.unknown == len(pairs)
    turned = agreement([(said, human) for human, said in pairs if said is not None])
    assert turned.kappa == found.kappa
    if found.kappa is not None:
        assert -1 - 1e-9 <= found.kappa <= 1 + 1e-9
        assert math.isclose(found.kappa, 1) == (found.share.rate == 1)


@given(RATINGS)
def test_every_rating_is_counted_once(ratings):
    found = calibration(ratings)
    assert found.agreement.share.of + found.agreement.unknown == len(ratings)
    assert found.swap.share.of + found.swap.unknown == len(ratings)
    short, long = found.length.short, found.length.long
    assert sum(part.share.of + part.unknown for part in (short, long)) == len(ratings)
    assert short.share.hits + long.share.hits == found.agreement.share.hits


def test_a_judge_that_goes_by_length_is_seen():
    said = [Rating(human=n % 2 == 0, judge=n >= 5, swapped=n >= 5, padded=True, answer_chars=n) for n in range(10)]
    found = calibration(said)
    assert (found.length.short_solved.rate, found.length.long_solved.rate) == (0.0, 1.0)
    assert found.padding.to_solved == 5
    assert found.swap.share.hits == 0
