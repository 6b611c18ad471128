"""Many groups in one array: each is as it would be alone, whatever their order."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from orchestra_lib.segments import Segments

members = st.lists(st.tuples(st.integers(-3, 3), st.floats(-1e9, 1e9)), min_size=1, max_size=64)


def split(pairs):
    labels, values = zip(*pairs, strict=True)
    return Segments(np.array(labels)), np.array(values)


@given(pairs=members)
def test_every_group_has_its_own_extremes_and_size(pairs):
    groups, values = split(pairs)
    apart = {label: [value for other, value in pairs if other == label] for label, _ in pairs}
    assert groups.label_G.tolist() == sorted(apart)
    assert groups.size_G.tolist() == [len(apart[label]) for label in sorted(apart)]
    assert groups.lowest(values).tolist() == [min(apart[label]) for label in sorted(apart)]
    assert groups.highest(values).tolist() == [max(apart[label]) for label in sorted(apart)]


@given(pairs=members, data=st.data())
def test_no_bit_of_a_sum_depends_on_the_order(pairs, data):
    groups, values = split(pairs)
    others, shuffled = split(data.draw(st.permutations(pairs)))
    assert groups.total(values).tolist() == others.total(shuffled).tolist()


@given(pairs=members)
def test_what_is_spread_reaches_the_members_of_its_group(pairs):
    groups, _ = split(pairs)
    assert groups.spread(groups.label_G).tolist() == [label for label, _ in pairs]


def test_no_members_make_no_groups():
    groups = Segments(np.zeros(0, int))
    assert (groups.total(np.zeros(0)).shape, groups.lowest(np.zeros((2, 0))).shape) == ((0,), (2, 0))
