"""A domain played through the real loop: tools, the user, and the verdict from the record alone."""

import asyncio
import json

import pytest
from ensembling import Chat, box, published_domain
from ensembling import run as converse
from playing import run
from worlds import cancellation, world

from orchestra_lib.ensemble import build_domain
from orchestra_lib.environment.domain_tools import (
    ASK_USER,
    chat_task,
    domain_prices,
    domain_tools,
    messages_of,
    state_of,
    verdict_of,
)
from orchestra_lib.environment.policy_text import policy_text
from orchestra_lib.environment.user import DONE, YES, StatedUser
from orchestra_lib.errors import ModelMistake
from orchestra_lib.policy.scripted import Scripted
from orchestra_lib.tool import CallStatus, ToolCall, ToolKind
from orchestra_lib.toolkit.arguments import check
from orchestra_lib.trajectory import StopReason

EMAIL = "omar_haddad_2380@example.org"
WORK = (
    [(ASK_USER, {"message": "Could you give me your e-mail address?"})],
    [("find_member_by_email", {"email": EMAIL})],
    [("list_hires_of_member", {"member_id": "omar_haddad_2380"}), ("get_member", {"member_id": "omar_haddad_2380"})],
    [("get_hire", {"hire_id": "H1003"}), ("get_bike", {"bike_id": "B104"})],
    [(ASK_USER, {"message": "I cancel H1003 because of illness and pay back $50.00. Shall I go ahead?"})],
    [("cancel_hire", {"hire_id": "H1003", "reason": "illness"})],
)


def play(*script):
    assignment = cancellation()
    trajectory = run(Scripted(script), domain_tools(world(), StatedUser(assignment)))
    verdict = verdict_of(world(), assignment, trajectory)
    return trajectory, verdict


def test_an_episode_that_does_the_task_succeeds():
    trajectory, verdict = play(*WORK, "Your hire is cancelled and you get $50.00 back.")
    assert (verdict.success, verdict.upstream, verdict.reasons) == (True, True, ())
    asked = [call.observation.text for call in trajectory.calls if call.call.tool == ASK_USER]
    assert asked == [f"My e-mail address is {EMAIL}.", YES]


def test_the_users_last_word_ends_the_episode_with_what_the_agent_said():
    closing = "It is cancelled, $50.00 go back to your wallet. Is there anything else?"
    trajectory, verdict = play(*WORK, [(ASK_USER, {"message": closing})])
    assert trajectory.answer == closing
    assert trajectory.calls[-1].observation.text == DONE
    assert verdict.success
    assert messages_of(trajectory).count(closing) == 1


def test_doing_nothing_fails_in_all_three():
    _, verdict = play("Done!")
    assert (verdict.state_ok, verdict.said_ok, verdict.touched_ok) == (False, False, False)
    assert verdict.reasons == (
        "should have changed: bikes B104, hires H1003, members omar_haddad_2380",
        "never looked at: bikes B104, hires H1003, members omar_haddad_2380",
        "not said: what is paid back ($50.0)",
    )


def test_only_reading_fails_in_the_state():
    _, verdict = play(*WORK[:-2], "You would get $50.00 back.")
    assert (verdict.state_ok, verdict.said_ok, verdict.touched_ok) == (False, True, True)


def test_the_record_alone_gives_the_state():
    trajectory, _ = play(*WORK, "Done.")
    state = state_of(world(), trajectory)
    assert state.find("hires", "H1003")["status"] == "cancelled"
    assert world().base.records["hires"]["H1003"]["status"] == "booked"


def test_a_mistake_is_told_and_changes_nothing():
    trajectory, verdict = play([("cancel_hire", {"hire_id": "H1005", "reason": "illness"})], "No.")
    said = trajectory.calls[0].observation
    assert said.status is CallStatus.ERROR
    assert said.text == "cancel_hire was not done: It needs that the hire's status is booked."
    assert not state_of(world(), trajectory).diff()
    assert not verdict.success


def test_two_runs_at_once_have_states_of_their_own():
    [cancel] = [tool for tool in domain_tools(world()) if tool.spec.name == "cancel_hire"]
    arguments = {"hire_id": "H1003", "reason": "mistake"}
    for run_id in ("one", "two"):
        said = asyncio.run(cancel.call(arguments, run_id=run_id))
        assert json.loads(said.text)["status"] == "cancelled"
    with pytest.raises(ModelMistake, match="booked"):
        asyncio.run(cancel.call(arguments, run_id="one"))
    asyncio.run(cancel.release("one"))
    asyncio.run(cancel.call(arguments, run_id="one"))


def test_every_operation_is_a_tool_with_a_closed_schema_and_costs_nothing():
    tools, prices = domain_tools(world(), StatedUser(cancellation())), domain_prices(world())
    assert [tool.spec.name for tool in tools] == [*(one.name for one in world().domain.operations), ASK_USER]
    for tool in tools:
        assert tool.spec.kind is ToolKind.DOMAIN
        assert tool.spec.parameters["additionalProperties"] is False
        assert prices[tool.spec.priced_as].call_usd == 0.0


def test_the_schema_refuses_what_the_operation_would():
    [create] = [tool.spec for tool in domain_tools(world()) if tool.spec.name == "create_hire"]
    with pytest.raises(ModelMistake, match="`days` must be at least 1"):
        check(create, ToolCall.of("1", "create_hire", {
            "member_id": "a", "bike_id": "b", "starts_on": "2026-05-09", "days": 0, "payment_id": "c",
        }))  # fmt: skip


def test_the_chat_task_shows_policy_and_opening():
    task = chat_task(world(), cancellation())
    assert "# Bike hire policy" in task.text
    assert task.text.endswith(cancellation().instruction)


def test_in_protocol_toolorchestra_a_message_goes_to_the_user_and_the_reply_comes_back_as_the_users_words():
    assignment = cancellation()
    orchestrator = Chat(
        "<message>What is your e-mail address?</message>",
        box("find_member_by_email", email=EMAIL),
        box("get_member", member_id="omar_haddad_2380"),
        box("get_hire", hire_id="H1003"),
        box("cancel_hire", hire_id="H1003", reason="illness"),
        "<message>Cancelled, $50.00 go back. Is there anything else?</message>",
    )
    policy, tools = build_domain(
        orchestrator, {}, policy_text(world().domain), domain_tools(world(), StatedUser(assignment))
    )
    trajectory = converse(policy, tools, text=assignment.instruction)
    verdict = verdict_of(world(), assignment, trajectory)
    assert (verdict.success, trajectory.stop) == (True, StopReason.ANSWERED)
    [_, opening, asked, told] = orchestrator.requests[1].messages
    assert [one["role"] for one in (opening, asked, told)] == ["user", "assistant", "user"]
    assert told["content"] == f"My e-mail address is {EMAIL}."
    assert ASK_USER not in str(orchestrator.requests[1])


def test_an_experts_message_goes_to_the_user_too():
    orchestrator = Chat(box("call_expert", expert="expert-1"), "<message>Anything else?</message>")
    experts = published_domain(gpt_5=["What is your e-mail address?"])
    policy, tools = build_domain(orchestrator, experts, "Help.", domain_tools(world(), StatedUser(cancellation())))
    trajectory = converse(policy, tools, text="Hello")
    assert messages_of(trajectory) == ("What is your e-mail address?", "Anything else?")
    assert trajectory.calls[1].observation.text == f"My e-mail address is {EMAIL}."
