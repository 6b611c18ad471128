"""Records drawn from a seed: as the plan says, closed, and byte for byte those that ship."""

import os
import subprocess
import sys
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestra_lib.codec import from_data
from orchestra_lib.environment.domain import DOMAINS, domain_names, domain_of, load_domain
from orchestra_lib.environment.expression import Compiler
from orchestra_lib.environment.state import Base
from orchestra_lib.errors import BadInput
from orchestra_lib.synthesis.drawing import Drawer, slug
from orchestra_lib.synthesis.records import Plan, draw_records, read_plan, records_text

SHIPPED = [name for name in domain_names() if (DOMAINS / name / "generate.json").is_file()]
HOTEL = domain_of(
    {
        "name": "hotel",
        "title": "Hotel",
        "archetype": "none",
        "now": "2026-05-04T09:00:00",
        "owner": "guests",
        "operations": [],
        "tables": [
            {"name": "guests", "one": "guest", "key": "guest_id", "fields": ["name", "zip", "nights:integer?"]},
            {
                "name": "stays",
                "one": "stay",
                "key": "stay_id",
                "fields": ["guest_id->guests", "starts_on:date", "status=booked|over", "total:money"],
            },
        ],
    },
    where="test",
)
GUESTS = {
    "table": "guests",
    "count": 30,
    "fields": {
        "_number": {"serial": "", "start": 7, "stride": 3, "digits": 3},
        "guest_id": {"text": "{_number}_x"},
        "name": {"pick": ["Noor", "Émile", "Ana"], "weights": [0, 1, 1]},
        "zip": {"code": "8999", "unique": True},
    },
    "twins": [{"share": 0.5, "keep": ["name"]}],
    "cases": [{"times": 3, "set": {"name": "Yusuf"}}],
}
STAYS = {
    "table": "stays",
    "count": 40,
    "fields": {
        "stay_id": {"serial": "S"},
        "guest_id": {"ref": "guests", "where": ["!=", "$it.name", "Ana"]},
        "starts_on": {"days": [-3, 3]},
        "status": {"case": [[["<", "$row.starts_on", "$today"], "over"], "booked"]},
        "total": {"range": [10, 12], "step": 0.5},
    },
    "distinct": ["guest_id", "starts_on"],
}
NIGHTS = {
    "table": "guests",
    "set": {"nights": ["len", ["records", "stays", "s", ["==", "$s.guest_id", "$row.guest_id"]]]},
}


def plan(*tables, settle=(), seed=1):
    return from_data({"seed": seed, "tables": list(tables), "settle": list(settle)}, Plan, where="test")


@pytest.fixture(scope="module")
def drawn():
    return draw_records(HOTEL, plan(GUESTS, STAYS, settle=[NIGHTS]))


def test_keys_are_made_and_helpers_left_out(drawn):
    assert list(drawn["guests"])[:3] == ["007_x", "010_x", "013_x"]
    assert set(drawn["guests"]["007_x"]) == {"guest_id", "name", "zip", "nights"}
    assert len({one["zip"] for one in drawn["guests"].values()}) == 30


def test_cases_are_there_and_weights_of_zero_are_not_drawn(drawn):
    names = [one["name"] for one in drawn["guests"].values()]
    assert names[0] == names[10] == names[20] == "Yusuf"
    assert "Noor" not in names


def test_references_are_closed_and_follow_their_condition(drawn):
    for stay in drawn["stays"].values():
        assert drawn["guests"][stay["guest_id"]]["name"] != "Ana"
        assert (stay["status"] == "over") == (stay["starts_on"] < "2026-05-04")
        assert stay["total"] in (10, 10.5, 11, 11.5, 12)
    pairs = [(one["guest_id"], one["starts_on"]) for one in drawn["stays"].values()]
    assert len(set(pairs)) == len(pairs)


def test_what_depends_on_later_tables_is_settled(drawn):
    assert sum(one["nights"] for one in drawn["guests"].values()) == 40


def test_twins_take_what_they_keep_from_an_earlier_row():
    guests = {
        **GUESTS,
        "fields": {**GUESTS["fields"], "name": {"code": "AAAAAA"}},
        "twins": [{"share": 1, "keep": ["name"]}],
    }
    records = draw_records(HOTEL, plan({**guests, "cases": []}, STAYS))
    assert len({one["name"] for one in records["guests"].values()}) == 1


def test_a_table_does_not_move_when_another_changes(drawn):
    longer = draw_records(HOTEL, plan(GUESTS, {**STAYS, "count": 41}, settle=[NIGHTS]))
    assert [one["zip"] for one in longer["guests"].values()] == [one["zip"] for one in drawn["guests"].values()]


@given(seed=st.integers(0, 2**40))
@settings(max_examples=15, deadline=None)
def test_a_seed_decides_everything(seed):
    first, second = (records_text(draw_records(HOTEL, plan(GUESTS, STAYS, seed=seed))) for _ in range(2))
    assert first == second
    assert first != records_text(draw_records(HOTEL, plan(GUESTS, STAYS, seed=seed + 1)))


@given(low=st.integers(-50, 50), width=st.integers(0, 40), step=st.sampled_from([0.25, 0.5, 1, 3]))
def test_a_range_keeps_its_ends_and_its_step(low, width, step):
    drawer = Drawer(Compiler(HOTEL), {}, HOTEL.now)
    draw = drawer.compile({"range": [low, low + width], "step": step}, "x")
    values = [draw({"row": {}, "n": 1}, Random(seed)) for seed in range(20)]
    assert all(low <= value <= low + width and (value - low) / step == (value - low) // step for value in values)


def test_lists_have_their_length_and_distinct_items():
    form = {"list": [2, 3], "key": "k", "each": {"object": {"k": {"pick": ["a", "b", "c"]}, "_t": 1, "p": "$place"}}}
    guests = {**GUESTS, "fields": {**GUESTS["fields"], "nights": {"maybe": 0.5, "of": form}}}
    found = [one["nights"] for one in draw_records(HOTEL, plan(guests, STAYS))["guests"].values()]
    assert None in found
    for items in filter(None, found):
        assert len(items) in (2, 3)
        assert len({one["k"] for one in items}) == len(items)
        assert all(set(one) == {"k", "p"} for one in items)
        assert items[0]["p"] == 1


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"zip": {"pock": [1]}}, "names no one way to draw; take one of pick,"),
        ({"zip": {"pick": ["a"], "wheights": [1]}}, "'pick' has no option 'wheights'; it has unique, weights"),
        ({"zip": {"pick": ["a", "b"], "weights": [1]}}, "2 values but 1 weights"),
        ({"zip": {"pick": ["a"], "unique": True}}, "no further value that is unique"),
        ({"zip": {"word": "colours"}}, "no list of words 'colours'"),
        ({"zip": {"ref": "rooms"}}, "no table 'rooms'; known are guests, stays"),
        ({"zip": {"ref": "stays"}}, "no record of stays fits row 1"),
        ({"zip": {"range": [5, 4]}}, "nothing lies between 5 and 4"),
        ({"zip": {"text": "{street}"}}, "nothing drawn before is named 'street'"),
        ({"zip": ["plus", 1, 2]}, "unknown operator 'plus'"),
        ({"zap": 1}, "'zap' is no field of the table"),
        ({"guest_id": "one"}, "key 'one' is missing or taken"),
    ],
)
def test_a_plan_that_does_not_fit_is_named_with_its_place(change, said):
    with pytest.raises(BadInput) as caught:
        draw_records(HOTEL, plan({**GUESTS, "fields": {**GUESTS["fields"], **change}}, STAYS))
    assert said in str(caught.value)


def test_other_faults_of_a_plan():
    for tables, said in (
        ([GUESTS], "tables ['stays'] stand in only one"),
        ([{**GUESTS, "cases": [{"times": 1, "set": {"zop": 1}}]}, STAYS], "cases[0] sets 'zop'"),
        ([{**GUESTS, "cases": [{"times": 31, "set": {"name": 1}}]}, STAYS], "31 cases do not fit 30 rows"),
        ([{**GUESTS, "distinct": ["name"]}, STAYS], "is like another in name; lower `count`"),
    ):
        with pytest.raises(BadInput) as caught:
            draw_records(HOTEL, plan(*tables))
        assert said in str(caught.value)


def test_a_missing_plan_is_bad_input(tmp_path):
    with pytest.raises(BadInput, match=r"holds domain.json and generate.json"):
        read_plan(tmp_path)


def test_names_become_plain_in_addresses():
    assert [slug(name) for name in ("Émile", "O'Brien Łęcki", "Sørensen")] == ["emile", "obrienlecki", "sorensen"]


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_records_are_what_their_plan_draws(name):
    text = records_text(draw_records(load_domain(name), read_plan(DOMAINS / name)))
    assert text == (DOMAINS / name / "records.json").read_text("utf-8")


def test_another_process_with_other_hashes_draws_the_same():
    command = [sys.executable, "-m", "orchestra_lib", "domains", "generate", "weather"]
    run = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONHASHSEED": "4"}, check=True)
    assert run.stdout == (DOMAINS / "weather" / "records.json").read_text("utf-8")


@pytest.mark.parametrize("name", SHIPPED)
def test_another_seed_draws_other_records_that_hold_together(name):
    domain = load_domain(name)
    records = draw_records(domain, read_plan(DOMAINS / name), seed=4242)
    assert records_text(records) != (DOMAINS / name / "records.json").read_text("utf-8")
    assert Base(domain, records).number(domain.tables[0].name) >= 0
    for table in domain.tables:
        for field in table.fields:
            if field.references:
                found = {one[field.name] for one in records[table.name].values()} - {None}
                assert found <= records[field.references].keys()
