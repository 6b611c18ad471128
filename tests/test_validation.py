"""What makes a domain unfit is named with file, path and remedy."""

import json
from random import Random

import pytest
from worlds import changed, operation, world, written

from orchestra_lib.environment.domain import (
    DOMAINS,
    World,
    domain_names,
    domain_of,
    load_domain,
    load_world,
    records_of,
)
from orchestra_lib.environment.validation import kinds, look_alikes, validate
from orchestra_lib.errors import BadInput


def problems(change):
    return [str(problem) for problem in validate(changed(change))]


def test_the_mock_has_no_problem_and_every_feature():
    assert validate(world()) == ()
    domain = world().domain
    assert len(domain.tables) == 3
    assert kinds(domain) == {"read": 7, "write": 5, "generic": 2}
    modes = {rule.mode for one in domain.operations for rule in one.rules}
    assert modes == {"enforced", "policy"}


@pytest.mark.parametrize(
    "change, words",
    [
        (
            lambda domain, records: records["hires"]["H1001"].update(bike_id="B999"),
            "records.json: hires.H1001.bike_id: 'B999' is no key of bikes; name a record of bikes, or add it there",
        ),
        (
            lambda domain, records: records["hires"]["H1001"]["payments"][0].update(amount="a lot"),
            "records.json: hires.H1001.payments[0].amount: 'a lot' must be a number; correct the value or the field",
        ),
        (
            lambda domain, records: records["bikes"]["B101"].update(colour="red"),
            "records.json: bikes.B101.colour: no such field; remove it, or add it to the table",
        ),
        (
            lambda domain, records: records["bikes"]["B101"].pop("free"),
            "records.json: bikes.B101.free: it is missing; give it, or make the field optional",
        ),
        (
            lambda domain, records: domain["tables"][2]["machine"]["transitions"].update(lost=["found"]),
            "domain.json: tables.hires.machine.lost: the status is unreachable; add a transition to it from 'booked'",
        ),
        (
            lambda domain, records: domain["tables"][2]["machine"]["transitions"].update(booked=["cancelled", "moved"]),
            "domain.json: tables.hires.machine.moved: no operation leads to this status",
        ),
        (
            lambda domain, records: records["hires"].pop("H1005"),
            "records.json: hires: no record has the status 'running'; add one",
        ),
        (
            lambda domain, records: records["bikes"].update(B104=records["bikes"]["B109"] | {"bike_id": "B104"}),
            "records.json: bikes.B109: but for its key it is the same as B104, and no user could tell them apart",
        ),
        (
            lambda domain, records: records["members"]["ana_berg_4417"].update(zip="10115"),
            "records.json: members.ana_berg_4417: find_member_by_name_and_zip cannot tell it from ana_berg_1201",
        ),
        (
            lambda domain, records: domain.update(without=["find_member_by_email", "find_member_by_name_and_zip"]),
            "domain.json: operations: nothing finds who of the members is calling",
        ),
        (
            lambda domain, records: records["bikes"]["B103"].update(free=-1),
            "records.json: bikes.B103: it breaks invariants[0]: A bike is never promised twice",
        ),
        (
            lambda domain, records: operation(domain, "cancel_hire").update({"from": ["running"], "to": None})
            or records["hires"]["H1005"].update(status="booked"),
            "operations.cancel_hire: no task can use it: none of the hires meets its rules (status, early)",
        ),
        (
            lambda domain, records: operation(domain, "cancel_hire")["rules"].append(
                {"id": "nice", "when": True, "mode": "policy", "text": "Be nice."}
            ),
            "domain.json: operations.cancel_hire.rules.nice: no predicate carries it; give `when` a condition",
        ),
        (
            lambda domain, records: operation(domain, "cancel_hire")["rules"][0].update(text="Cancel a day before."),
            "domain.json: operations.cancel_hire.rules.early: its text does not say @free_hours, which its predicate",
        ),
        (
            lambda domain, records: operation(domain, "cancel_hire")["rules"][0].update(silent=True),
            "domain.json: operations.cancel_hire.rules.early: nobody can know it; drop `silent`, or make it enforced",
        ),
        (
            lambda domain, records: domain["facts"].append({"text": "Cats are welcome."}),
            "domain.json: facts[3]: a policy line that no data carries",
        ),
        (
            lambda domain, records: domain["parameters"].append({"name": "pets", "value": 3}),
            "domain.json: parameters.pets: no predicate, value or effect uses it",
        ),
        (
            lambda domain, records: domain["facts"].append({"text": "At most {@pets} pets."}),
            "domain.json: mock: no policy parameter @pets",
        ),
    ],
)  # fmt: skip
def test_a_problem_is_named_with_its_place_and_a_remedy(change, words):
    found = problems(change)
    assert any(words in one for one in found), found


@pytest.mark.parametrize(
    "change, words",
    [
        (lambda domain, records: domain.pop("now"), "mock: now: Field required"),
        (lambda domain, records: domain.update(now="today"), "mock: now = 'today'; write the fixed clock"),
        (lambda domain, records: domain.update(colour=1), "colour: Unexpected keyword argument"),
        (lambda domain, records: domain.update(tables=3), "not in the form of a domain"),
        (lambda domain, records: domain["roles"].pop("resource"), "roles: the archetype needs 'resource'"),
        (
            lambda domain, records: domain["operations"].append({"macro": "fly"}),
            "macro 'fly' is unknown; known are finder",
        ),
        (
            lambda domain, records: domain["operations"].append({"macro": "getter", "table": "cars"}),
            "table 'cars' is unknown; known are members, bikes, hires",
        ),
        (
            lambda domain, records: domain["operations"].append(
                {"macro": "finder", "table": "bikes", "by": ["colour"]}
            ),
            "macro 'finder': 'colour' is missing or unknown",
        ),
        (lambda domain, records: domain["tables"][0]["fields"].append("a b"), "tables[0].fields[7]: 'a b' is no field"),
        (lambda domain, records: domain.update(without=["fly"]), "without: no operation 'fly'"),
        (lambda domain, records: records["bikes"]["B101"].update(bike_id="B1"), "bikes.B101: its bike_id is 'B1'"),
        (lambda domain, records: records.pop("bikes"), "the tables must be members, bikes, hires"),
        (
            lambda domain, records: operation(domain, "cancel_hire")["effects"].append(["insert", ["x"], "y", {}]),
            "an expression is in no form that is known",
        ),
    ],
)
def test_what_cannot_even_be_read_is_refused_with_its_place(change, words):
    with pytest.raises(BadInput) as error:
        changed(change)
    assert words in str(error.value)


def test_an_expression_of_endless_depth_is_refused():
    def deep(domain, records):
        expression = True
        for _ in range(3_000):
            expression = ["not", expression]
        domain["invariants"][0]["holds"] = expression

    with pytest.raises(BadInput, match=r"within one another|not in the form"):
        changed(deep)


def test_an_unknown_domain_names_the_known_ones(tmp_path):
    with pytest.raises(BadInput, match=r"no domain '\.\./x' in .*; there are .*mock"):
        load_domain("../x")
    with pytest.raises(BadInput, match="there are none"):
        load_domain("mock", tmp_path)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"name": NaN'])
def test_a_file_that_is_no_domain_is_named(tmp_path, text):
    (tmp_path / "odd").mkdir()
    (tmp_path / "odd" / "domain.json").write_text(text)
    with pytest.raises(BadInput, match=r"odd/domain\.json"):
        load_world("odd", tmp_path)


def test_records_without_a_file_are_named(tmp_path):
    (tmp_path / "mock").mkdir()
    data = json.loads((DOMAINS / "mock" / "domain.json").read_text("utf-8")) | {"archetype": "", "operations": []}
    (tmp_path / "mock" / "domain.json").write_text(json.dumps(data))
    with pytest.raises(BadInput, match=r"records\.json is missing"):
        load_world("mock", tmp_path)


def test_look_alikes_are_found():
    assert look_alikes(world(), "members") == {("Ana", "Berg"): ("ana_berg_1201", "ana_berg_4417")}
    assert "mock" in domain_names()


JUNK = (None, True, -1, 1e308, "", "$", "$x.y", "@x", "{when}", [], {}, ["set"], ["list"], ["==", 1], {"a": []}, [[[]]])


def _places(data, path=()):
    yield path
    for key, part in data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ():
        yield from _places(part, (*path, key))


@pytest.mark.parametrize("start", range(4))
def test_a_proposal_with_junk_anywhere_is_refused_or_validated_and_never_a_crash(start):
    """What a model proposes may hold anything anywhere; some changes leave a sound domain."""
    random = Random(start)
    refused = 0
    for _ in range(60):
        domain, records = written()
        *path, last = random.choice([place for place in _places(domain) if place])
        holder = domain
        for key in path:
            holder = holder[key]
        holder[last] = random.choice(JUNK)
        try:
            made = domain_of(domain, where="mock")
            found = validate(World(made, records_of(records, made, where="records")))
            refused += bool(found)
        except BadInput:
            refused += 1
    assert refused > 30
