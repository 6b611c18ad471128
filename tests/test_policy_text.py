"""The policy says what is evaluated, and nothing else."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from worlds import changed, operation, world

from orchestra_lib.environment.policy_text import policy_lines, policy_text
from orchestra_lib.environment.prose import Prose
from orchestra_lib.environment.schema import Conduct


def test_every_rule_and_every_operation_stands_in_it():
    text = policy_text(world().domain)
    prose = Prose(world().domain)
    for one in world().domain.operations:
        if one.kind != "generic":
            assert f"`{one.name}`" in text
        for rule in one.rules:
            assert f"- {prose.rule(rule)}" in text
    assert 900 <= len(text.split()) <= 1600
    assert not re.search(r"[{}@$]\w", text.replace("$3.50", "").replace("$20.00", ""))


def test_another_parameter_changes_text_and_verdict_together():
    strict = world().with_parameters({"free_hours": 100})
    assert "at least 100 hours before" in policy_text(strict.domain)
    arguments = {"hire_id": "H1003", "reason": "illness"}
    assert world().operations.broken_rules(world().state(), "cancel_hire", arguments) == ()
    [rule] = strict.operations.broken_rules(strict.state(), "cancel_hire", arguments)
    assert rule.id == "early"


@given(st.integers(1, 10_000))
def test_a_parameter_stands_with_its_unit(hours):
    strict = changed(lambda domain, records: domain["parameters"][0].update(value=hours))
    words = "1 hour before" if hours == 1 else f"{hours:,} hours before"
    assert f"at least {words} the first day" in policy_text(strict.domain)


@pytest.mark.parametrize(
    "expression, words",
    [
        (["==", "$hire.status", "booked"], "the hire's status is booked"),
        (["in", "$hire.status", ["list", "a", "b", "c"]], "the hire's status is one of a, b or c"),
        ([">=", ["hours_between", "$now", "$hire.starts_on"], "@free_hours"],
         "the hours from now to the hire's starts on is at least 24 hours"),
        (["any", "p", "$hire.payments", [">", "$p.amount", "@change_fee"]],
         "for at least one of the hire's payments the p's amount is more than $3.50"),
        (["and", ["exists", "$x"], ["not", ["missing", "$y"]]], "the x exists and it is not so that the y is not set"),
    ],
)  # fmt: skip
def test_a_predicate_in_words(expression, words):
    assert Prose(world().domain).say(expression) == words


def test_conduct_can_be_chosen_and_names_the_finders():
    lines = policy_lines(world().domain)
    assert any("`find_member_by_email` or `find_member_by_name_and_zip`" in line for line in lines)
    short = changed(lambda domain, records: domain.update(conduct=["confirm"]))
    assert len(policy_lines(short.domain)) == len(lines) - len(Conduct) + 1


def test_a_silent_rule_has_no_line():
    def silent(domain, records):
        operation(domain, "move_hire")["rules"][0]["silent"] = True

    assert "the new bike id is not" in policy_text(world().domain)
    assert "the new bike id is not" not in policy_text(changed(silent).domain)
