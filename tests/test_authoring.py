"""A domain file as it is written, and the plain form that it stands for."""

import pytest
from worlds import changed, operation, world

from orchestra_lib.environment.authoring import field_of, resolve
from orchestra_lib.errors import BadInput, ModelMistake


@pytest.mark.parametrize(
    "written, plain",
    [
        ("name", {"name": "name"}),
        ("price:money (EUR) -- Per day", {"name": "price", "type": "money", "unit": "EUR", "description": "Per day"}),
        ("kind=a|b c", {"name": "kind", "values": ["a", "b c"]}),
        ("owner?->people", {"name": "owner", "optional": True, "references": "people"}),
        ("when:date? -- A day", {"name": "when", "type": "date", "optional": True, "description": "A day"}),
        ({"name": "x", "fields": ["y:money"]}, {"name": "x", "fields": [{"name": "y", "type": "money"}]}),
    ],
)
def test_a_field_in_short(written, plain):
    assert field_of(written, "here") == plain


@pytest.mark.parametrize("written", ["", "a b", "a:", "a -", "x" * 501])
def test_what_is_no_field_is_named(written):
    with pytest.raises(BadInput, match=r"here: .* is no field"):
        field_of(written, "here")


def test_macros_make_the_operations_and_their_parameters():
    domain = world().domain
    search = domain.operation("search_bikes")
    assert [one.name for one in search.parameters] == [
        "kind", "station", "open", "extras", "min_day_price", "max_day_price", "sort_by", "page",
    ]  # fmt: skip
    assert all(one.optional for one in search.parameters)
    assert search.parameters[0].values == ("road", "city", "cargo")
    assert search.parameters[6].values == ("day_price", "-day_price", "free", "-free")
    assert domain.operation("get_bike").parameters[0].references == "bikes"
    cancel = domain.operation("cancel_hire")
    assert [one.name for one in cancel.loads] == ["hire", "member", "bike"]
    assert [rule.id for rule in cancel.rules] == ["status", "early"]
    assert cancel.effects[0] == ["set", "$hire.status", "cancelled"]


def test_a_bundle_takes_its_arguments():
    rules = {rule.id: rule.when for rule in world().domain.operation("move_hire").rules}
    assert rules["payment_covers"] == ["or", ["!=", "$method.kind", "wallet"], [">=", "$method.balance", "$difference"]]
    assert world().domain.operation("move_hire").effects[-1][2] == "$member.payment_methods"


def test_an_operation_of_its_own_replaces_the_archetypes_and_without_drops_one():
    def own(domain, records):
        domain["operations"].append({"macro": "getter", "table": "bikes", "description": "One bike."})
        domain["without"] = ["calculate"]

    made = changed(own).domain
    assert made.operation("get_bike").description == "One bike."
    assert len(made.operations) == len(world().domain.operations) - 1


def test_an_unknown_bundle_is_named():
    with pytest.raises(BadInput, match=r"with\[0\]: no bundle 'tip'; known are charge"):
        changed(lambda domain, records: operation(domain, "cancel_hire").update({"with": [["tip", {}]]}))


def test_without_an_archetype_a_file_stands_for_itself():
    plain = resolve({"name": "x", "tables": [], "operations": []}, (), where="here")
    assert (plain["operations"], plain["facts"]) == ([], [])


@pytest.mark.parametrize(
    "expression, result",
    [("2 * (14.5 + 3)", 35), ("-3+10", 7), ("7/2", 3.5), (".5*4", 2), ("0.1+0.2", 0.3), ("2--1", 3)],
)
def test_calculate(expression, result):
    assert world().operations.run(world().state(), "calculate", {"expression": expression}) == {"result": result}


@pytest.mark.parametrize("expression", ["", "2 +", "(1", "2 ** 3 x", "a", "1 2", "9" * 500, "(" * 300, "-" * 399])
def test_what_is_no_arithmetic_is_told(expression):
    with pytest.raises(ModelMistake):
        world().operations.run(world().state(), "calculate", {"expression": expression})
