"""The state of an episode: diffs that are equal exactly when the states are."""

import json
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from worlds import call, cancellation, changed, done, world

from orchestra_lib.environment.canonical import Form
from orchestra_lib.environment.domain import World, domain_names, load_world
from orchestra_lib.environment.state import State
from orchestra_lib.environment.success import Golden, Judge
from orchestra_lib.environment.trying import Caller
from orchestra_lib.errors import ModelMistake

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.plain_state import PlainState  # benchmarks are no installed package

FIRST = call(
    "create_hire", member_id="ana_berg_1201", bike_id="B104", starts_on="2026-05-10", days=2, payment_id="card_11"
)
SECOND = call(
    "create_hire", member_id="lena_costa_5502", bike_id="B109", starts_on="2026-05-11", days=1, payment_id="card_41"
)
CALLS = (
    FIRST,
    SECOND,
    call("cancel_hire", hire_id="H1003", reason="illness"),
    call("cancel_hire", hire_id="H1004", reason="mistake"),
    call("cancel_hire", hire_id="H1010", reason="mistake"),
    call("move_hire", hire_id="H1004", new_bike_id="B105", payment_id="wallet_31"),
    call("give_credit", member_id="jun_ito_7719", payment_id="wallet_51", amount=5),
    call("give_credit", member_id="jun_ito_7719", payment_id="wallet_51", amount=5.0),
    call("update_member_email", member_id="jun_ito_7719", email="jun@example.org"),
    call("update_member_email", member_id="jun_ito_7719", email="jun_ito_7719@example.org"),
    call("get_hire", hire_id="H1003"),
)  # fmt: skip
PLAYS = st.lists(st.sampled_from(CALLS), max_size=7)


def played(calls):
    state = world().state()
    for one in calls:
        with suppress(ModelMistake):
            world().operations.run(state, one.operation, one.arguments)
    return state


@given(PLAYS, PLAYS)
@settings(deadline=None, max_examples=60)
def test_a_judges_glance_says_what_whole_diffs_say(golden, others):
    judge = Judge(world(), cancellation(), Golden(played(golden), ()))
    for calls in (others, golden, golden[::-1], golden[:-1], [*golden, *others]):
        state = played(calls)
        assert judge.same(state) is (state.diff() == judge.golden.diff)


def test_the_order_of_new_records_is_no_difference():
    one, other = done(None, FIRST, SECOND), done(None, SECOND, FIRST)
    assert one.find("hires", "H1010")["member_id"] != other.find("hires", "H1010")["member_id"]
    assert one.diff() == other.diff()


def test_what_was_changed_back_is_no_difference():
    state = done(None, CALLS[-3], CALLS[-2])
    assert state.overlay
    assert state.diff() == {}
    assert state.full_hash() == world().state().full_hash()


def test_a_cent_is_a_difference_and_free_text_is_none():
    base = done(None, FIRST).diff()
    noted = call("create_hire", **FIRST.arguments, note="Enjoy!")
    assert done(None, noted).diff() == base
    assert done(None, call("create_hire", **(FIRST.arguments | {"days": 3}))).diff() != base


def test_numbers_count_by_value_and_unordered_lists_as_multisets():
    table = world().domain.table("hires")
    one = {
        "hire_id": "H1",
        "total": 3,
        "reason": None,
        "payments": [{"payment_id": "a", "amount": 1}, {"payment_id": "b", "amount": 2.0}],
    }
    other = {
        "hire_id": "H1",
        "total": 3.0,
        "payments": [{"payment_id": "b", "amount": 2}, {"payment_id": "a", "amount": 1.0}],
    }
    assert Form(table)(one) == Form(table)(other)
    doubled = {**other, "payments": [*other["payments"], other["payments"][0]]}
    assert Form(table)(doubled) != Form(table)(one)


@settings(max_examples=40)
@given(PLAYS, PLAYS)
def test_equal_diffs_mean_equal_states(calls, others):
    """The full hash does not know that the order of new records is no difference, hence only one way round."""
    one, other = played(calls), played(others)
    if one.full_hash() == other.full_hash():
        assert one.diff() == other.diff()
    made = [sum(table == "hires" and key == "H1010" for table, key in state.overlay) for state in (one, other)]
    if one.diff() == other.diff() and max(made) < 2 and ("hires", "H1011") not in {*one.overlay, *other.overlay}:
        assert one.full_hash() == other.full_hash()


@settings(max_examples=40)
@given(PLAYS)
def test_the_same_calls_give_the_same_state_and_leave_the_base(calls):
    before = State(world().base).full_hash()
    assert played(calls).full_hash() == played(calls).full_hash()
    assert State(world().base).full_hash() == before


def test_a_failed_call_gives_its_number_back():
    def poor(domain, records):
        records["bikes"]["B103"]["free"] = 1

    small = changed(poor)
    state = small.state()
    for _ in range(2):
        with suppress(ModelMistake):
            small.operations.run(state, "create_hire", {**FIRST.arguments, "bike_id": "B103"})
    assert [key for table, key in state.overlay if table == "hires"] == ["H1010"]


@pytest.mark.parametrize("name", domain_names())
def test_the_overlay_agrees_with_a_plain_copy_of_the_database(name):
    """Another hand's state, without overlay, index or diff: the same results and mistakes, the same end."""
    here = load_world(name)
    caller, text = Caller(here, seed=11), json.dumps(here.records)
    writes = [one for one in here.domain.operations if one.kind == "write"]
    for start in range(2):
        one, other = here.state(), PlainState(here.domain, text)
        for place in range(25):
            operation = [*writes, *here.domain.operations][(start * 25 + place) % (len(writes) + 12)]
            call = caller.call(operation)
            assert _outcome(here, one, call) == _outcome(here, other, call), call
        whole = {name: {row[table.key]: row for row in one.records(name)} for name, table in one.base.tables.items()}
        assert whole == other.data


def _outcome(here, state, call):
    try:
        return json.dumps(here.operations.run(state, call.operation, call.arguments), sort_keys=True)
    except ModelMistake as mistake:
        return "no record" if "There is no" in str(mistake) or "no " in str(mistake)[:3] else str(mistake)


def test_a_text_that_was_written_once_is_never_that_of_another():
    state = world().state()
    run = world().operations.run
    before = state.base.text(run(state, "get_hire", {"hire_id": "H1003"}))
    page = state.base.text(run(state, "search_bikes", {"kind": "city"}))
    assert before == state.base.text(run(world().state(), "get_hire", {"hire_id": "H1003"}))
    run(state, "cancel_hire", {"hire_id": "H1003", "reason": "illness"})
    assert '"status": "cancelled"' in state.base.text(run(state, "get_hire", {"hire_id": "H1003"}))
    assert page != state.base.text(run(state, "search_bikes", {"kind": "city"}))
    assert page == state.base.text(run(world().state(), "search_bikes", {"kind": "city"}))


def test_other_policies_see_remembered_pages_but_where_a_search_asks_the_policy():
    domain = world().domain
    asking = tuple(
        replace(one, query=replace(one.query, where=["<=", "$row.day_price", "@most_credit"]))
        if one.name == "search_bikes"
        else one
        for one in domain.operations
    )
    for here, same in ((world(), True), (World(replace(domain, operations=asking), world().records), False)):
        other = here.with_parameters({"most_credit": 25})
        page, theirs = (one.operations.run(one.state(), "search_bikes", {"kind": "road"}) for one in (here, other))
        assert (page is theirs) is same
        assert (page == theirs) is same
