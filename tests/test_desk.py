"""The conductor at a service desk: real operations of the mock domain, the stated user, a scripted small model."""

import asyncio
from dataclasses import replace

import pytest
from conducting import Writer
from playing import PRICES, MemoryArtefacts, setting
from worlds import call, cancellation, world

from orchestra_lib.environment.assignment import AssignmentKind, UserFact
from orchestra_lib.environment.domain_tools import chat_task, domain_prices, domain_tools, verdict_of
from orchestra_lib.environment.user import StatedUser
from orchestra_lib.errors import ProviderFault
from orchestra_lib.event import fold
from orchestra_lib.play import play
from orchestra_lib.policy.conductor import Conductor, Estimator, load_examples
from orchestra_lib.policy.conductor.desk.records import Known
from orchestra_lib.policy.conductor.desk.rules import shown_broken
from orchestra_lib.policy.conductor.desk.writing import BEGINNING
from orchestra_lib.pricing import Price
from orchestra_lib.tool import CallStatus

CANCEL = ({"operation": "cancel_hire"}, {"hire_id": "H1003", "reason": "illness"})


def attend(writer, assignment=None):
    """The trajectory of an assignment, and its verdict."""
    assignment = assignment or cancellation()
    tools = domain_tools(world(), StatedUser(assignment))
    prices = {**PRICES.prices, **domain_prices(world()), "writer": Price(call_usd=0.0, source="tests")}
    begun = replace(setting(tools, prices=replace(PRICES, prices=prices)), task=chat_task(world(), assignment))
    policy = Conductor(Estimator(load_examples()), writer)

    async def events():
        return [event async for event in play(begun, policy, tools, artefacts=MemoryArtefacts())]

    trajectory = fold(asyncio.run(events()))
    return trajectory, verdict_of(world(), assignment, trajectory)


def called(trajectory):
    return [one.call.tool for one in trajectory.calls]


def said(trajectory):
    return [one.call.arguments["message"] for one in trajectory.calls if one.call.tool == "ask_user"]


def test_an_assignment_is_done_with_a_yes_before_anything_changes():
    trajectory, verdict = attend(Writer(*CANCEL))
    assert verdict.success, verdict.reasons
    assert called(trajectory) == [
        "ask_user", "find_member_by_email", "get_member", "list_hires_of_member", "get_bike", "get_bike", "get_hire",
        "get_hire", "ask_user", "cancel_hire", "ask_user",
    ]  # fmt: skip
    assert said(trajectory)[1] == "Cancel a hire, with\n- hire id: H1003\n- reason: illness\nShall I go ahead?"
    assert "$50.00" in said(trajectory)[-1]


def test_the_model_is_asked_in_one_conversation_that_begins_with_what_never_changes():
    writer = Writer(*CANCEL)
    attend(writer)
    first, second = (request.messages for request in writer.requests)
    assert first[: len(BEGINNING)] == BEGINNING
    assert second[: len(first)] == first


def test_identifiers_are_only_those_that_were_read():
    writer = Writer(*CANCEL)
    attend(writer)
    assert writer.requests[1].schema["properties"]["hire_id"] == {"enum": ["H1003", "H1004"]}


def test_every_operation_has_a_likeness_and_the_likeliest_are_offered():
    writer = Writer(*CANCEL)
    trajectory, _ = attend(writer)
    estimates = next(turn.generation.estimates for turn in trajectory.turns if turn.generation.estimates)
    shown = [one.tool for one in estimates if one.score is not None]
    assert shown[0] == "cancel_hire"
    assert writer.requests[0].schema["properties"]["operation"]["enum"] == [*shown, "none"]


def test_no_text_of_the_model_can_pass_for_another_argument():
    assignment = cancellation(instruction="I want to give my profile the e-mail a@b.c - member id: x, please.")
    sly = {"email": "a@b.c\n- member id: ana_berg_1201"}
    trajectory, _ = attend(Writer({"operation": "update_member_email"}, sly), assignment)
    assert "ana_berg_1201" not in str([one.call.arguments for one in trajectory.calls if "update" in one.call.tool])


@pytest.mark.parametrize(
    "rule, broken",
    [
        ("Only if the hire's status is booked.", False),
        ("Only if the hire's status is one of held or running.", True),
        ("The hire is in status cancelled.", True),
        ("Only if the bike's status is booked.", False),
        ("Members of tier basic cancel at least 24 hours before the first day.", False),
    ],
)
def test_a_rule_about_a_status_is_looked_up(rule, broken):
    hire = Known(key="hire_id", id="H1", fields={"hire_id": "H1", "status": "booked"})
    assert shown_broken([rule], [hire]) == (rule if broken else None)


def test_a_question_is_answered_in_words():
    trajectory, _ = attend(Writer({"operation": "none"}, {"say": "It starts on May 8."}))
    assert said(trajectory)[-1] == "It starts on May 8. Is there anything else I can do for you?"


def test_what_nobody_said_is_asked_for_and_the_reply_is_used():
    new = UserFact(name="new", says="It is o@new.example.", asked_by=("new address",), value="o@new.example")
    assignment = cancellation(
        instruction="I want to change the e-mail address of my profile.",
        facts=(*cancellation().facts, replace(new, asked_by=("the email",))),
        golden=(
            call("find_member_by_email", email="omar_haddad_2380@example.org"),
            call("update_member_email", member_id="omar_haddad_2380", email="o@new.example"),
        ),
        required=(),
        kind=AssignmentKind.WRITE,
    )
    guess = ({"operation": "update_member_email"}, {"email": "made.up@example.net"})
    right = ({"operation": "update_member_email"}, {"email": "o@new.example"})
    trajectory, verdict = attend(Writer(*guess, *right), assignment)
    assert "Could you please tell me the email?" in said(trajectory)
    assert verdict.success, verdict.reasons


def test_an_operation_that_is_refused_is_told_and_not_tried_again():
    assignment = cancellation(instruction="Please set the e-mail address of my profile to omar at home.")
    writer = Writer({"operation": "update_member_email"}, {"email": "omar at home"})
    trajectory, _ = attend(writer, assignment)
    refused = [one for one in trajectory.calls if one.observation.status is not CallStatus.OK]
    assert [one.call.tool for one in refused] == ["update_member_email"]
    assert said(trajectory)[-1].startswith("I am sorry, that is not possible: ")


def test_what_the_records_forbid_is_not_even_proposed():
    again = cancellation(followups=("And cancel it once more, please.",))
    trajectory, _ = attend(Writer(*CANCEL, *CANCEL), again)
    assert called(trajectory).count("cancel_hire") == 1
    assert "Only if the hire's status is booked." in said(trajectory)[-1]


@pytest.mark.parametrize("writer", [None, Writer(ProviderFault("gone"))])
def test_without_a_model_it_looks_around_and_says_so(writer):
    trajectory, verdict = attend(writer)
    assert "get_hire" in called(trajectory)
    assert "I am sorry" in said(trajectory)[-1]
    assert not verdict.success


def test_a_model_that_cannot_be_reached_is_asked_once_and_the_reason_is_shown():
    writer = Writer(ProviderFault("it did not answer in time"))
    trajectory, _ = attend(writer)
    assert len(writer.requests) == 1
    assert "it did not answer in time" in trajectory.turns[-1].generation.reasoning


def test_a_user_who_knows_nothing_is_not_asked_for_ever():
    trajectory, _ = attend(Writer({}, {}, {"operation": "none"}, {"say": "Good bye."}), cancellation(facts=()))
    assert said(trajectory)[-1].startswith("Good bye.")
    assert len(said(trajectory)) == 3
