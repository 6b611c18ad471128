"""Every group of a store at once gives the numbers that each group gives by itself."""

import math
from dataclasses import replace
from datetime import date

import pytest
from episodes import PRICES, setting, trajectory
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from orchestra_lib import grouping
from orchestra_lib.errors import BadInput
from orchestra_lib.preference import Preference
from orchestra_lib.pricing import Price, PriceTable
from orchestra_lib.rescoring import Refused, Scored, rescore
from orchestra_lib.reward import Mode
from orchestra_lib.reward_report import of_offered, reward_reports
from orchestra_lib.store.store import Store
from orchestra_lib.store.summary import Filter
from orchestra_lib.tool import CallStatus
from orchestra_lib.trajectory import StopReason

OTHER = PriceTable(
    name="other",
    dated=date(2026, 10, 1),
    source="tests",
    prices={
        "small": Price(input_usd_per_mtok=7.0, output_usd_per_mtok=3.0, cached_usd_per_mtok=1.0, source="t"),
        "search": Price(call_usd=0.5, second_usd=0.1, source="t"),
    },
)
WRITES = replace(OTHER, prices={**OTHER.prices, "small": replace(OTHER.prices["small"], cache_write_usd_per_mtok=9.0)})


def run(run_id, *, group, outcome, turns, tool="search", status=CallStatus.OK, stop=None, preference=None):
    made = trajectory(run_id, turns=turns, tool=tool, call_status=status, group=group, task=f"Task of {group}")
    changes = {"outcome": outcome, **({"stop": stop} if stop else {})}
    made = replace(made, **changes)
    return made if preference is None else replace(made, setting=replace(made.setting, preference=preference))


ROLLOUTS = st.lists(
    st.tuples(
        st.sampled_from("abc"),
        st.sampled_from([True, True, False, None]),
        st.integers(1, 4),
        st.sampled_from(["search", "coder", "unknown_tool"]),
        st.sampled_from(list(CallStatus)),
        st.sampled_from([None, None, StopReason.LOOP, StopReason.FAULT]),
    ),
    min_size=1,
    max_size=10,
)


@pytest.mark.parametrize("prices", [None, OTHER, WRITES])
@pytest.mark.parametrize("preference", [None, Preference(outcome=1.0, cost=0.7, tools={"coder": 0.4, "search": -0.3})])
@given(rows=ROLLOUTS)
@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_numbers_are_those_of_each_group_by_itself(tmp_path_factory, rows, prices, preference):
    runs = [
        run(f"run-{n}", group=group, outcome=outcome, turns=turns, tool=tool, status=status, stop=stop)
        for n, (group, outcome, turns, tool, status, stop) in enumerate(rows)
    ]
    with Store.open(tmp_path_factory.mktemp("store")) as store:
        store.add_many(runs)
        found = {one.report.group: one for one in rescore(store, Filter(), preference=preference, prices=prices)}
    for name in {one.setting.group for one in runs}:
        members = [one for one in runs if one.setting.group == name]
        rollouts = [
            replace(one, group=name)
            for one in grouping.group(members, prices=prices, any_preference=preference is not None)
        ]
        weighed = of_offered(preference or members[0].setting.preference, rollouts[0].tool_counts)
        assert found[name].rollouts == tuple(rollouts)
        assert found[name].report == reward_reports(rollouts, weighed)[0]


def kept(tmp_path, *runs):
    store = Store.open(tmp_path)
    store.add_many(runs)
    return store


def three(name, **changes):
    return [run(f"{name}-{n}", group=name, outcome=n < 2, turns=n + 1, **changes) for n in range(3)]


def test_a_run_may_stand_in_two_groups(tmp_path):
    with kept(tmp_path, *three("a")) as store:
        grouping.make(store, "again", ["a-0", "a-1"])
        found = list(rescore(store, Filter(), preference=Preference()))
    assert [(one.report.group, len(one.rollouts)) for one in found] == [("a", 3), ("again", 2)]


def test_what_is_no_group_is_left_out_and_says_why(tmp_path):
    mixed = run("m-9", group="m", outcome=True, turns=2, preference=Preference(cost=0.1))
    bare = replace(trajectory("u-1", group="u", task="u"), outcome=True)
    unpriced = replace(bare, setting=replace(bare.setting, prices=replace(PRICES, prices={})))
    with kept(tmp_path, *three("a"), *three("m"), mixed, unpriced) as store:
        found = {getattr(one, "group", None) or one.report.group: one for one in rescore(store, Filter())}
        assert isinstance(found["a"], Scored)
        assert isinstance(found["m"], Refused)
        assert "m-9 has another preference" in found["m"].why or "another preference than m-9" in found["m"].why
        assert "u-1: its cost is unknown" in found["u"].why
        priced = {one.report.group for one in rescore(store, Filter(), preference=Preference(), prices=OTHER)}
        assert priced == {"a", "m", "u"}


def test_a_filter_narrows_and_a_weight_that_nobody_can_follow_is_refused(tmp_path):
    with kept(tmp_path, *three("a"), *three("b")) as store:
        found = list(rescore(store, Filter(text="task of b"), mode=Mode.RELEASED_CODE))
        assert [one.report.group for one in found] == ["b"]
        assert not math.isnan(found[0].report.mean)
        with pytest.raises(BadInput, match="spoon"):
            list(rescore(store, Filter(), preference=Preference(tools={"spoon": 1.0})))


def test_groups_are_made_grow_and_refuse_what_is_not_alike(tmp_path):
    with kept(tmp_path, *three("a"), *three("b"), run("a-9", group=None, outcome=True, turns=1)) as store:
        grouping.make(store, "mine", ["a-0", "a-1"])
        grouping.make(store, "mine", ["a-1", "a-2"])
        assert store.members("mine") == ("a-0", "a-1", "a-2")
        with pytest.raises(BadInput, match="run b-0 has another task than a-0"):
            grouping.make(store, "mine", ["b-0"])
        with pytest.raises(BadInput, match="nothing"):
            grouping.make(store, "new", ["nothing"])
        with pytest.raises(BadInput, match="reads like a file"):
            grouping.make(store, "x.json", ["a-0"])
        store.group("mine", ["a-1"], on=False)
        assert store.members("mine") == ("a-0", "a-2")
        with pytest.raises(BadInput, match="was started in the group"):
            store.group("a", ["a-0"], on=False)
        assert [(one.name, one.runs, one.solved) for one in store.groups()] == [
            ("a", 3, 2),
            ("b", 3, 2),
            ("mine", 2, 1),
        ]
        assert {one.id for one in store.list(Filter(group="mine"))} == {"a-0", "a-2"}
        assert store.members("none") == ()


def test_hand_made_groups_outlive_the_query_store(tmp_path):
    with kept(tmp_path, *three("a")) as store:
        grouping.make(store, "mine", ["a-0"])
    for file in tmp_path.glob("workbench.duckdb*"):
        file.unlink()
    with kept(tmp_path, *three("a")) as store:
        assert store.members("mine") == ("a-0",)
    assert setting().group is None
