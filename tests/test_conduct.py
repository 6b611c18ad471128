"""Lines of conduct held against the record of a real episode, and no part of success."""

import pytest
from playing import run
from worlds import cancellation, world

from orchestra_lib.environment.domain_tools import ASK_USER, domain_tools, verdict_of
from orchestra_lib.environment.user import StatedUser
from orchestra_lib.policy.scripted import Scripted

FOUND = [("find_member_by_email", {"email": "omar_haddad_2380@example.org"})]
OTHER = [("find_member_by_email", {"email": "jun_ito_7719@example.org"})]
LOOK = [("get_member", {"member_id": "omar_haddad_2380"}), ("get_hire", {"hire_id": "H1003"})]
BIKE = [("get_bike", {"bike_id": "B104"}), ("search_bikes", {"kind": "city"})]
ASK = [(ASK_USER, {"message": "I cancel H1003. Shall I go ahead?"})]
CANCEL = ("cancel_hire", {"hire_id": "H1003", "reason": "illness"})
CLOSING = "Your hire is cancelled and you get $50.00 back."


def verdict(*script):
    assignment = cancellation()
    trajectory = run(Scripted((*script, CLOSING)), domain_tools(world(), StatedUser(assignment)))
    return verdict_of(world(), assignment, trajectory)


def test_good_conduct_has_nothing_to_tell():
    assert verdict(BIKE, FOUND, LOOK, ASK, [CANCEL]).conduct == ()


@pytest.mark.parametrize(
    "script, told",
    [
        ((LOOK, FOUND, [CANCEL]), "authenticate: get_member before the user was identified"),
        (([CANCEL], FOUND, LOOK), "authenticate: cancel_hire before the user was identified"),
        ((FOUND, OTHER, FOUND, LOOK, [CANCEL]), "one_user: 2 users in one conversation, omar_haddad_2380 first"),
        (
            (FOUND, LOOK, [("transfer_to_human_agents", {"summary": "No."})], [CANCEL]),
            "transfer: transferred what could be settled or refused",
        ),
    ],
)
def test_a_breach_is_told_and_not_judged(script, told):
    found = verdict(BIKE, *script)
    assert found.conduct == (told,)
    assert found.success


def test_two_changes_at_once_are_told():
    mail = ("update_member_email", {"member_id": "omar_haddad_2380", "email": "omar@example.org"})
    assert verdict(FOUND, LOOK, [CANCEL, mail]).conduct == ("one_call: 2 changes at once in turn 3",)
