"""Domain mode: a conversation, an expert that takes a turn, and what each of the two reads."""

from pathlib import Path

import pytest
from ensembling import Chat, box, native, published_domain, run, setting, situation, turn
from hypothesis import given
from hypothesis import strategies as st

from orchestra_lib.codec import dumps
from orchestra_lib.ensemble import build_domain, domain_words
from orchestra_lib.errors import BadInput, ProviderFault
from orchestra_lib.generation import Completion, Generation, RawCall
from orchestra_lib.limits import Limits
from orchestra_lib.protocols import ToolResult
from orchestra_lib.tool import CallStatus, ToolSpec
from orchestra_lib.toolorchestra.domain import (
    ExpertMove,
    MoveCall,
    conversation,
    expert_move,
    with_expert_rule,
    write_move,
)
from orchestra_lib.toolorchestra.tokens import WordPieces, count
from orchestra_lib.trajectory import StopReason, Turn

PINNED = Path(__file__).parent / "pinned"
SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
POLICIES = sorted([*SHARED.glob("toolscale_domains/*/policy.md"), *SHARED.glob("tau2/*/*policy.md")])
POLICY = "Only cancel with a booking id.\n\nTransfer the user to a human agent when you cannot help.\n"
RULE = domain_words().expert_rule
PIECES = WordPieces()
BOOKING = {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}


class Function:
    """A function of a domain that remembers its calls."""

    def __init__(self, name="cancel"):
        self.spec = ToolSpec(name=name, title=name, description="Cancels a booking.", parameters=BOOKING)
        self.called = []

    async def call(self, arguments, *, run_id):
        self.called.append(dict(arguments))
        return ToolResult(text="done")

    async def release(self, run_id):
        pass


def episode(orchestrator, *functions, limits=None, **scripts):
    experts = published_domain(**scripts)
    policy, tools = build_domain(orchestrator, experts, POLICY, functions or (Function(),))
    return run(policy, tools, text="Cancel B-1.", limits=limits), experts


def test_functions_are_called_and_a_message_ends_an_episode_without_a_user():
    cancel = Function()
    orchestrator = Chat(box("cancel", id="B-1"), "<think>ok</think><message>It is cancelled.</message>")
    trajectory, _ = episode(orchestrator, cancel)
    assert (trajectory.stop, trajectory.answer) == (StopReason.ANSWERED, "It is cancelled.")
    assert cancel.called == [{"id": "B-1"}]
    assert [message["role"] for message in orchestrator.requests[1].messages] == ["system", "user", "assistant", "tool"]


def test_an_expert_takes_the_turn_and_its_call_stands_in_the_history_as_the_agents_own():
    cancel = Function()
    orchestrator = Chat(box("call_expert", expert="expert-1"), "<message>Done.</message>")
    trajectory, experts = episode(orchestrator, cancel, gpt_5=[native("cancel", '{"id": "B-1"}', "I cancel it.")])
    assert cancel.called == [{"id": "B-1"}]
    assert [call.call.tool for call in trajectory.calls] == ["call_expert", "cancel"]
    [_, user, said, result] = orchestrator.requests[1].messages
    assert (user["content"], said["content"], result["content"]) == ("Cancel B-1.", "I cancel it.", "done")
    assert "call_expert" not in dumps(orchestrator.requests[1].messages[1:])
    assert len(orchestrator.requests) == 2
    assert len(experts["expert-1"].requests) == 1


def test_an_expert_reads_the_clean_prompt_and_all_functions_and_the_orchestrator_its_own():
    orchestrator = Chat(box("call_expert", expert="expert-3"))
    functions = (Function(), Function("transfer_to_human_agents"))
    _, experts = episode(orchestrator, *functions, qwen3_32b=["Please give me the id."])
    asked, own = experts["expert-3"].requests[0], orchestrator.requests[0]
    assert [tool["function"]["name"] for tool in asked.tools] == ["cancel", "transfer_to_human_agents"]
    assert [tool["function"]["name"] for tool in own.tools] == ["cancel", "call_expert"]
    assert "human agent" in asked.messages[0]["content"]
    assert "<message>" not in asked.messages[0]["content"]
    assert "human agent" not in own.messages[0]["content"]
    assert RULE in own.messages[0]["content"]


def test_the_system_prompt_and_call_expert_are_pinned():
    policy, tools = build_domain(Chat(), published_domain(), POLICY, [Function()])
    request = policy.request(situation(tools, text="Cancel B-1."))
    text = (
        f"{request.messages[0]['content']}\n\n{request.tools[-1]['function']['parameters']['properties']['expert']}\n"
    )
    assert text == (PINNED / "toolorchestra_domain.txt").read_text("utf-8")


def test_a_message_of_an_expert_is_the_agents_message():
    trajectory, _ = episode(Chat(box("call_expert", expert="expert-2")), gpt_5_mini=["Which booking?"])
    assert trajectory.answer == "Which booking?"
    assert trajectory.turns[1].generation.attempts == ()


def test_call_expert_wins_over_other_calls_of_its_turn():
    cancel = Function()
    orchestrator = Chat(box("cancel", id="B-1") + box("call_expert", expert="expert-1"))
    trajectory, _ = episode(orchestrator, cancel, gpt_5=["No."])
    assert cancel.called == []
    assert [call.call.tool for call in trajectory.calls] == ["call_expert"]


def test_at_most_six_calls_of_a_message_are_made():
    cancel = Function()
    orchestrator = Chat("".join(box("cancel", id=f"B-{number}") for number in range(9)), "Done.")
    episode(orchestrator, cancel)
    assert len(cancel.called) == 6


def test_an_expert_that_fails_leaves_the_turn_with_the_orchestrator():
    orchestrator = Chat(box("call_expert", expert="expert-1"), "Then I say it.")
    trajectory, _ = episode(orchestrator, gpt_5=[ProviderFault("down")])
    assert trajectory.answer == "Then I say it."
    assert [fault.message for fault in trajectory.faults] == ["down"]
    assert orchestrator.requests[0].messages == orchestrator.requests[1].messages


def test_a_reply_that_is_empty_or_cut_does_not_end_the_episode():
    orchestrator = Chat("<think>hm</think>", Completion(content="I will", finish_reason="length"), "Done.")
    trajectory, _ = episode(orchestrator)
    assert trajectory.answer == "Done."
    assert orchestrator.requests[1].messages[2]["content"] == domain_words().filler


def test_an_unknown_expert_is_rejected_with_the_known_ones():
    trajectory, _ = episode(Chat(box("call_expert", expert="expert-9"), "Done."))
    assert trajectory.calls[0].observation.status is CallStatus.REJECTED
    assert "expert-1" in trajectory.calls[0].observation.text


def test_arguments_of_an_expert_that_are_no_json_are_answered_and_not_run():
    cancel = Function()
    broken = Completion(content="", calls=(RawCall(id="x", name="cancel", arguments_text='{"id": '),))
    trajectory, _ = episode(Chat(box("call_expert", expert="expert-1"), "Done."), cancel, gpt_5=[broken])
    assert cancel.called == []
    assert trajectory.calls[1].observation.status is CallStatus.REJECTED


@given(st.text(), st.lists(st.builds(MoveCall, name=st.text(), arguments_text=st.text()), max_size=3))
def test_a_move_is_read_back_from_its_observation(content, calls):
    move = ExpertMove(content=content, calls=tuple(calls))
    assert expert_move([turn(1, "call_expert", write_move(move), expert="expert-1")]) == move


@pytest.mark.parametrize("text", ["", "{", '{"content": 1}', "[1]"])
def test_a_broken_move_is_none(text):
    assert expert_move([turn(1, "call_expert", text, expert="expert-1")]) is None


def test_the_transfer_paragraph_becomes_the_rule_and_other_lines_stay():
    policy = "- Be kind.\n- If unclear, transfer to a human agent.\n- Be quick.\n\n## Human agents\n\nElse:\n- go on."
    assert with_expert_rule(policy, "RULE") == "- Be kind.\nRULE\n- Be quick.\n\nRULE\n\nElse:\n- go on."


def test_a_policy_that_never_speaks_of_human_agents_still_gets_the_rule():
    assert with_expert_rule("Be kind.\n", RULE) == f"Be kind.\n\n{RULE}"


@pytest.mark.skipif(not POLICIES, reason="the published policies lie beside the project only in development")
@pytest.mark.parametrize("file", POLICIES, ids=lambda file: file.parent.name)
def test_the_rule_replaces_what_the_published_policies_say_of_human_agents(file):
    policy = file.read_text("utf-8")
    ruled = with_expert_rule(policy, RULE)
    assert RULE in ruled
    assert "human agent" not in ruled.casefold()
    assert "transfer_to_human_agents" not in ruled
    assert len(ruled) > 0.6 * len(policy)


@given(st.lists(st.integers(1, 3_000), max_size=12), st.integers(200, 4_000))
def test_a_conversation_is_cut_in_the_middle_and_never_parts_a_call_from_its_result(sizes, limit):
    turns = [said(number, size) for number, size in enumerate(sizes, start=1)]
    here = situation([Function()], turns, text="Please.")
    messages = conversation(here, "system", "filler", limit, PIECES)
    assert [message["role"] for message in messages[:2]] == ["system", "user"]
    asked = [call["id"] for message in messages for call in message.get("tool_calls", ())]
    assert asked == [message["tool_call_id"] for message in messages if message["role"] == "tool"]
    if turns:
        assert messages[-1]["tool_call_id"] == turns[-1].calls[0].call.id
    whole = count(PIECES, dumps(messages[-2:])) + count(PIECES, dumps(messages[:2]))
    assert count(PIECES, dumps(messages)) <= max(limit, whole) + 20 * len(messages)


def said(index, words):
    done = turn(index, "cancel", "word " * words, id="B-1")
    return Turn(
        index=index,
        started_s=0.0,
        finished_s=1.0,
        calls=done.calls,
        generation=Generation(raw_text="", calls=(done.calls[0].call,)),
    )


def test_without_experts_the_orchestrator_works_alone():
    policy, tools = build_domain(Chat(), {}, POLICY, [Function(), Function("transfer_to_human_agents")])
    request = policy.request(situation(tools))
    assert [tool["function"]["name"] for tool in request.tools] == ["cancel", "transfer_to_human_agents"]
    assert "call_expert" not in request.messages[0]["content"]
    assert setting(tools).protocol == policy.spec.protocol


def test_a_wrong_alias_is_named():
    with pytest.raises(BadInput, match="'answer-1'; the aliases are expert-1"):
        build_domain(Chat(), {"answer-1": Chat()}, POLICY, [])


def test_a_run_that_ends_before_the_move_is_played_says_max_turns():
    trajectory, _ = episode(Chat(box("call_expert", expert="expert-1")), limits=Limits(max_turns=1), gpt_5=["Hi."])
    assert (trajectory.stop, trajectory.answer) == (StopReason.MAX_TURNS, None)
