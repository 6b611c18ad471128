"""The user: reveals what is asked, says yes, insists once, goes on, ends; with rules or with a model."""

import asyncio

import pytest
from ensembling import Chat
from worlds import cancellation

from orchestra_lib.environment.assignment import AssignmentKind, UserFact
from orchestra_lib.environment.user import DONE, STOP, UNKNOWN, YES, Exchange, ModelUser, StatedUser

FACTS = (
    UserFact(name="email", says="It is omar@example.org.", asked_by=("email", "e-mail", "mail address")),
    UserFact(name="reason", says="I fell ill.", asked_by=("reason", "why")),
)


def told(message, *before, **changes):
    user = StatedUser(cancellation(facts=FACTS, **changes))
    return user.answer([Exchange(agent="…", user=said) for said in before], message)


@pytest.mark.parametrize(
    "message, reply",
    [
        ("Please give me your e-mail.", FACTS[0].says),
        ("I need your e-mail and the reason, please.", "It is omar@example.org. I fell ill."),
        ("Could I have your zip code?", UNKNOWN),
        ("I will cancel H1003. Shall I go ahead?", YES),
        ("Do you want me to proceed (yes/no)?", YES),
        ("Please confirm the cancellation of H1003.", YES),
        ("It is cancelled and $50 go back.", DONE),
        ("I emailed you.", DONE),
        ("Is there anything else I can help with?", DONE),
    ],
)
def test_what_the_user_says(message, reply):
    assert told(message).text == reply


def test_only_the_last_word_ends_the_conversation():
    assert told("It is done.").done
    assert not told("Shall I go ahead?").done
    assert not told("It is done.", followups=("And my other hire?",)).done


def test_further_requests_come_one_by_one():
    followups = ("Second, please.", "Third, please.")
    assert told("Done.", followups=followups).text == "Second, please."
    assert told("Done. Anything else?", "Second, please.", followups=followups).text == "Third, please."
    assert told("Done.", *followups, followups=followups).done


def test_a_refusal_is_met_once():
    refusal = "I am sorry, I cannot cancel it: the policy does not allow that."
    assert told(refusal, insists="But I must!").text == "But I must!"
    assert told(refusal, "But I must!", insists="But I must!").done


def test_a_confirmation_that_names_a_known_fact_is_a_yes():
    question = "I cancel H1003, reason illness. Do you confirm?"
    assert told(question).text == "I fell ill."
    assert told(question, "I fell ill.").text == YES


def test_a_model_plays_the_user_and_is_on_no_bill():
    model = Chat("Yes, do it.", f"Thanks! {STOP}", name="small")
    user = ModelUser(cancellation(), model)
    first = asyncio.run(user.reply((), "Shall I?"))
    last = asyncio.run(user.reply((Exchange(agent="Shall I?", user=first.text),), "Done."))
    assert [(one.text, one.done) for one in (first, last)] == [("Yes, do it.", False), ("Thanks!", True)]
    assert [attempt.billed for attempt in first.attempts] == [False]
    roles = [message["role"] for message in model.requests[1].messages]
    assert roles == ["system", "user", "assistant", "user", "assistant", "user"]
    assert "omar_haddad_2380@example.org" in model.requests[0].messages[0]["content"]
    assert "H1003" not in model.requests[0].messages[0]["content"], "the user must not know the golden calls"


def test_a_question_beside_a_refusal_is_answered_unless_all_is_to_be_refused():
    offer = "It cannot be moved for free: the fee is $3.50. Shall I go ahead?"
    assert told(offer).text == YES
    assert told(offer, "But I must!", insists="But I must!").text == YES
    assert told(offer, kind=AssignmentKind.REFUSAL).done
