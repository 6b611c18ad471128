"""Operations on a state: rules, effects, all or nothing, searching."""

from contextlib import suppress

import pytest
from worlds import changed, operation, world

from orchestra_lib.environment.canonical import NEW
from orchestra_lib.environment.domain import domain_names, load_world
from orchestra_lib.environment.schema import Mode
from orchestra_lib.environment.trying import Caller
from orchestra_lib.errors import BadInput, ModelMistake


def run(state, name, /, **arguments):
    return world().operations.run(state, name, arguments)


BOOKING = {
    "member_id": "ana_berg_1201",
    "bike_id": "B104",
    "starts_on": "2026-05-10",
    "days": 2,
    "payment_id": "wallet_12",
}


def test_a_write_changes_what_it_says_and_the_base_never():
    state = world().state()
    made = run(state, "create_hire", **BOOKING)
    assert (made["hire_id"], made["status"], made["total"]) == ("H1010", "booked", 22.5)
    assert state.find("bikes", "B104")["free"] == 3
    assert state.find("members", "ana_berg_1201")["payment_methods"][1]["balance"] == 57.5
    assert world().records["bikes"]["B104"]["free"] == 4
    assert "H1010" not in world().records["hires"]


@pytest.mark.parametrize(
    "name, arguments, words",
    [
        ("get_bike", {"bike_id": "B9"}, "There is no bike 'B9'. Look it up first."),
        ("get_bike", {}, "`bike_id` is missing"),
        ("get_bike", {"bike_id": "B101", "x": 1}, "there is no `x`; it takes bike_id"),
        ("cancel_hire", {"hire_id": "H1003", "reason": "rain"}, "must be one of illness"),
        ("cancel_hire", {"hire_id": "H1005", "reason": "illness"}, "the hire's status is booked"),
        ("create_hire", BOOKING | {"starts_on": "10 May"}, "must be written YYYY-MM-DD"),
        ("create_hire", BOOKING | {"starts_on": "2026-02-30"}, "must be written YYYY-MM-DD"),
        ("create_hire", BOOKING | {"days": 1.5}, "must be a whole number"),
        ("create_hire", BOOKING | {"bike_id": "B103"}, "the bike's free is at least 1"),
        ("create_hire", BOOKING | {"bike_id": "B108"}, "The bike is withdrawn."),
        ("create_hire", BOOKING | {"days": 9}, "does not cover"),
        ("create_hire", BOOKING | {"payment_id": "card_99"}, "no such payment method"),
        ("find_member_by_email", {"email": "x"}, "No member matches."),
        ("search_bikes", {"page": 3}, "There are 2 pages; page 3 is beyond."),
        ("calculate", {"expression": "__import__('os')"}, "is no arithmetic"),
        ("calculate", {"expression": "1/0"}, "divides by zero"),
        ("fly", {}, "no operation 'fly'"),
    ],
)
def test_what_cannot_be_done_is_told_and_changes_nothing(name, arguments, words):
    state = world().state()
    with pytest.raises(ModelMistake) as mistake:
        world().operations.run(state, name, arguments)
    assert words in str(mistake.value)
    assert not state.overlay


def test_rules_of_the_policy_alone_are_not_enforced_but_known():
    state = world().state()
    arguments = {"hire_id": "H1002", "reason": "illness"}
    [broken] = world().operations.broken_rules(state, "cancel_hire", arguments)
    assert (broken.id, broken.mode) == ("early", Mode.POLICY)
    assert not state.read
    assert run(state, "cancel_hire", **arguments)["status"] == "cancelled"


def test_an_invariant_takes_everything_back():
    def unguarded(domain, records):
        booking = operation(domain, "create_hire")
        booking["rules"] = [one for one in booking["rules"] if one["id"] != "free"]

    full = changed(unguarded)
    state = full.state()
    full.operations.run(state, "get_bike", {"bike_id": "B103"})
    with pytest.raises(ModelMistake, match="A bike is never promised twice"):
        full.operations.run(state, "create_hire", BOOKING | {"bike_id": "B103"})
    assert not state.overlay
    assert not state.written
    assert full.operations.run(state, "create_hire", BOOKING)["hire_id"] == "H1010"


def test_two_names_of_one_record_see_each_others_changes():
    def same(domain, records):
        operation(domain, "move_hire")["rules"] = []

    free = changed(same)
    state = free.state()
    free.operations.run(state, "move_hire", {"hire_id": "H1003", "new_bike_id": "B104", "payment_id": "card_32"})
    assert state.find("bikes", "B104")["free"] == 4


def test_a_search_filters_sorts_and_pages():
    state = world().state()
    found = run(state, "search_bikes", kind="city", max_day_price=13.5, sort_by="-day_price")
    assert [one["bike_id"] for one in found["results"]] == ["B109", "B104", "B105"]
    assert run(state, "search_bikes", extras="lights")["total"] == 3
    second = run(state, "search_bikes", page=2)
    assert (second["total"], second["pages"], len(second["results"])) == (9, 2, 4)
    assert ("bikes", "B109") in state.seen
    assert not state.read


def test_a_list_sees_what_was_made_and_changed():
    state = world().state()
    run(state, "create_hire", **BOOKING)
    run(state, "cancel_hire", hire_id="H1001", reason="mistake")
    listed = run(state, "list_hires_of_member", member_id="ana_berg_1201")["results"]
    assert [(one["hire_id"], one["status"]) for one in listed] == [("H1001", "cancelled"), ("H1010", "booked")]


def test_what_was_handed_out_never_changes():
    state = world().state()
    before = run(state, "get_hire", hire_id="H1001")
    first = run(state, "cancel_hire", hire_id="H1001", reason="mistake")
    assert (before["status"], first["status"]) == ("booked", "cancelled")
    assert (len(before["payments"]), len(first["payments"])) == (1, 2)


def test_values_tell_a_planner_of_totals_and_fees():
    values = world().operations.values(world().state(), "move_hire", {
        "hire_id": "H1003", "new_bike_id": "B109", "payment_id": "card_32",
    })  # fmt: skip
    assert (values["fee"], values["new_total"], values["difference"]) == (3.5, 57.5, 7.5)


@pytest.mark.parametrize(
    "effect, words",
    [
        (["sell", "$hire"], "is no effect; start a list with one of set"),
        (["set", "$hire_id", 1], "is no place"),
        (["set", "$hire.days", "two"], "text cannot stand where days is integer"),
        (["set", "$hire.status", "lost"], "'lost' is none of booked, running, completed, cancelled"),
        (["add", "$hire.status", 1], "a number is expected"),
        (["append", "$hire.payments", {"sum": 1}], "has no 'sum'; it has payment_id, amount"),
        (["insert", "bikes", "b", {}], "tables with a `prefix`: hires"),
        (["insert", "hires", "h", {"days": 1}], "a new hire needs 'member_id'"),
        (["set", "$hire.days"], "does not take 1 parts"),
    ],
)
def test_a_wrong_effect_is_named_with_its_place(effect, words):
    def wrong(domain, records):
        operation(domain, "cancel_hire")["effects"].append(effect)

    with pytest.raises(BadInput) as error:
        changed(wrong)
    assert words in str(error.value)
    assert "operations.cancel_hire.effects" in str(error.value)


def test_a_status_moves_only_as_its_machine_allows():
    def loose(domain, records):
        cancel = operation(domain, "cancel_hire")
        cancel["from"] = ["booked", "completed"]

    free = changed(loose)
    with pytest.raises(ModelMistake, match="The hire is completed; from there it cannot become cancelled"):
        free.operations.run(free.state(), "cancel_hire", {"hire_id": "H1006", "reason": "illness"})


def test_a_load_whose_key_is_null_is_null_and_a_rule_speaks_first():
    def optional(domain, records):
        records["bikes"]["B101"]["last_hire"] = "H1003"
        domain["tables"][1]["fields"].append("last_hire?->hires")
        domain["operations"].append({
            "macro": "change", "table": "bikes", "name": "reopen", "description": "Reopen a bike.",
            "loads": [{"name": "hire", "table": "hires", "key": "$bike.last_hire"}],
            "rules": [{"id": "lent", "when": ["!=", "$hire.status", "running"], "error": "It is out."}],
            "effects": [["set", "$hire.note", "seen"]],
        })  # fmt: skip

    lent = changed(optional)
    assert lent.operations.run(lent.state(), "reopen", {"bike_id": "B101"})["last_hire"] == "H1003"
    with pytest.raises(ModelMistake, match="There is no hire that this could change"):
        lent.operations.run(lent.state(), "reopen", {"bike_id": "B102"})


@pytest.mark.parametrize("name", domain_names())
def test_an_operation_changes_nothing_but_what_it_says(name):
    here = load_world(name)
    caller, state, told = Caller(here, seed=5), here.state(), 0
    for write in [one for one in here.domain.operations if one.kind == "write"] * 4:
        call, before = caller.call(write), dict(state.overlay)
        with suppress(ModelMistake):
            here.operations.run(state, call.operation, call.arguments)
        for place, one in state.overlay.items():
            table, key = place
            old = before.get(place) or here.records[table].get(key)
            fields = {NEW} if old is None else {field for field in one if one[field] != old.get(field)}
            assert fields <= here.operations.written(write.name).get(table, set()), (call, place)
            told += bool(fields)
    assert told
