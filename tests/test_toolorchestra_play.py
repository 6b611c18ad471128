"""Episodes of protocol toolorchestra, played by the one loop with scripted models."""

import asyncio

import pytest
from ensembling import (
    QUESTION,
    Chat,
    Interpreter,
    Library,
    box,
    episode,
    events_of,
    native,
    published,
    run,
    situation,
)

from orchestra_lib.codec import event_from_line, event_to_line
from orchestra_lib.ensemble import build
from orchestra_lib.errors import BadInput, ProviderFault
from orchestra_lib.event import fold
from orchestra_lib.generation import Completion
from orchestra_lib.limits import Limits
from orchestra_lib.pricing import Attempt
from orchestra_lib.protocols import ToolResult
from orchestra_lib.tool import CallStatus
from orchestra_lib.toolorchestra.context import FRAMES
from orchestra_lib.trajectory import StopReason


def statuses(trajectory):
    return [(call.call.tool, str(call.observation.status)) for call in trajectory.calls]


def user_text(request):
    return request.messages[-1]["content"]


def test_search_code_and_answer_make_an_episode():
    orchestrator = Chat(
        "<think>I need facts.</think>" + box("search", model="search-3"),
        box("enhance_reasoning", model="reasoner-3"),
        box("answer", model="answer-4"),
    )
    library = Library(["best", "worst"])
    trajectory = episode(
        orchestrator,
        search=library,
        interpreter=Interpreter("42"),
        qwen3_32b=["<query>river of Ulaanbaatar</query>", "So it is \\boxed{Tuul}."],
        qwen2_5_coder_32b_instruct=["```python\nprint(42)\n```"],
    )
    assert (trajectory.stop, trajectory.answer) == (StopReason.ANSWERED, "Tuul")
    assert statuses(trajectory) == [("search", "ok"), ("enhance_reasoning", "ok"), ("answer", "ok")]
    assert library.queries == ["river of Ulaanbaatar"]
    assert user_text(orchestrator.requests[2]) == (
        f"Problem: {QUESTION}\n\n"
        "Documents:\nDoc 1: worst ...\n\nDoc 2: best ...\n\n\npython code and execution outputs:\n"
        "```python\n\nprint(42)\n\n```\n\n```output\n42\n\n```\n\n"
        "\n\nChoose an appropriate tool."
    )


def test_each_turn_is_two_messages_and_never_a_history():
    orchestrator = Chat("words only", box("answer", model="answer-1"))
    episode(orchestrator, gpt_5=["<answer>Tuul</answer>"])
    for request in orchestrator.requests:
        assert [message["role"] for message in request.messages] == ["system", "user"]
        assert (request.temperature, request.max_tokens) == (1.0, 12_000)
    assert orchestrator.requests[0].messages == orchestrator.requests[1].messages


def test_text_without_a_call_spends_a_turn_and_is_no_answer():
    """A15: a call that the model only claims to have made was not made."""
    trajectory = episode(Chat("The answer is Tuul."), limits=Limits(max_turns=1))
    assert (trajectory.stop, trajectory.answer) == (StopReason.MAX_TURNS, None)


def test_only_the_first_valid_call_of_a_turn_is_made():
    reply = (
        box("sing", model="x")
        + box("answer", model="nobody")
        + box("answer", model="answer-2")
        + box("search", model="search-1")
    )
    trajectory = episode(Chat(reply), gpt_5_mini=["<answer>Tuul</answer>"])
    [turn] = trajectory.turns
    assert [call.call.arguments for call in turn.calls] == [{"model": "answer-2"}]
    assert turn.generation.raw_text == reply


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (box("answer", model="answer-9"), "answer-1"),
        (box("anwser", model="answer-1"), "Did you mean answer?"),
        (box("answer", query="x"), "`model` is missing"),
        ('<tool_call>{"name": "answer", "arguments": {"model": "answer-1"', "not a JSON object"),
    ],
    ids=["alias", "A11-tool", "parameter", "cut"],
)
def test_a_call_that_cannot_be_made_says_why_in_the_record_and_nothing_in_the_prompt(reply, words):
    """A11: an unknown name is answered with near names, counted as rejected and never mapped to another tool."""
    orchestrator = Chat(reply, box("answer", model="answer-1"))
    trajectory = episode(orchestrator, gpt_5=["<answer>Tuul</answer>"])
    first = trajectory.calls[0].observation
    assert first.status is CallStatus.REJECTED
    assert words in first.text
    assert user_text(orchestrator.requests[0]) == user_text(orchestrator.requests[1])


def test_a_call_that_the_server_has_read_counts_and_stays_in_the_raw_text():
    orchestrator = Chat(native("answer", '{"model": "answer-1"}', "<think>hm</think>"))
    trajectory = episode(orchestrator, gpt_5=["<answer>Tuul</answer>"])
    assert trajectory.answer == "Tuul"
    generation = trajectory.turns[0].generation
    assert generation.reasoning == "hm"
    assert '{"name": "answer", "arguments": {"model": "answer-1"}}' in generation.raw_text


def test_the_same_call_may_be_made_again_because_the_evidence_has_grown():
    script = [box("search", model="search-1")] * 5 + [box("answer", model="answer-2")]
    library = Library(*[[f"document {number}"] for number in range(5)])
    trajectory = episode(
        Chat(*script), search=library, gpt_5=["<query>more, please</query>"] * 5, gpt_5_mini=["<answer>x</answer>"]
    )
    assert [status for _, status in statuses(trajectory)] == ["ok"] * 6


def test_an_expert_reads_the_question_and_the_evidence_and_not_the_preference():
    orchestrator = Chat(box("search", model="search-1"), box("answer", model="answer-1"))
    experts = published(gpt_5=["<query>Tuul river</query>", "<answer>Tuul</answer>"])
    policy, tools = build(orchestrator, experts, search=Library(["The Tuul flows there."]), interpreter=Interpreter())
    run(policy, tools, sentence="Keep the cost low.")
    asked = user_text(experts["answer-1"].requests[1])
    assert asked.startswith("Documents:\nDoc 1: The Tuul flows there.")
    assert f"Problem:\n{QUESTION}" in asked
    assert "Keep the cost low." not in asked
    assert user_text(orchestrator.requests[0]).startswith(f"Problem: {QUESTION}\n\nKeep the cost low.\n\n")


def test_an_expert_that_fails_leaves_a_fault_and_the_question_is_the_query():
    tried = (Attempt(priced_as="gpt-5", wall_s=1.0, billed=False, error="503"),)
    library = Library(["The Tuul flows there."])
    orchestrator = Chat(box("search", model="search-1"), box("answer", model="answer-2"))
    trajectory = episode(
        orchestrator,
        search=library,
        gpt_5=[ProviderFault("gpt-5 is down", tried)],
        gpt_5_mini=["<answer>Tuul</answer>"],
    )
    assert library.queries == [QUESTION]
    assert [fault.message for fault in trajectory.faults] == ["gpt-5 is down"]
    assert trajectory.calls[0].attempts[0] == tried[0]
    assert "Doc 1: The Tuul flows there." in user_text(orchestrator.requests[1])


def test_a_search_that_could_not_be_made_is_a_fault_and_never_an_empty_result():
    """C7: what could not be searched must not look like nothing found; the expert's tokens stay on the bill."""
    script = [box("search", model="search-1"), box("answer", model="answer-2")]
    trajectory = episode(
        Chat(*script),
        search=Library(ProviderFault("throttled")),
        gpt_5=["<query>Tuul river</query>"],
        gpt_5_mini=["<answer>x</answer>"],
    )
    searched = trajectory.calls[0]
    assert searched.observation.status is CallStatus.ERROR
    assert searched.observation.text == "Could not search for 'Tuul river': throttled"
    assert [attempt.priced_as for attempt in searched.attempts] == ["gpt-5"]


def test_nothing_found_says_so_and_adds_nothing():
    orchestrator = Chat(box("search", model="search-1"), box("answer", model="answer-2"))
    trajectory = episode(
        orchestrator, search=Library([]), gpt_5=["<query>Tuul river</query>"], gpt_5_mini=["<answer>x</answer>"]
    )
    assert trajectory.calls[0].observation.text == "Query: Tuul river\n\nNo documents."
    assert user_text(orchestrator.requests[0]) == user_text(orchestrator.requests[1])


@pytest.mark.parametrize(
    ("reply", "printed", "status"),
    [
        ("I cannot program.", None, CallStatus.ERROR),
        ("```python\n1/0\n```", ToolResult(text="ZeroDivisionError", failed=True), CallStatus.ERROR),
        ("```python\nx = 1\n```", "The code ran and printed nothing. Print the result.", CallStatus.OK),
    ],
    ids=["no-code", "fails", "silent"],
)
def test_code_that_shows_nothing_is_no_evidence_and_the_record_says_why(reply, printed, status):
    orchestrator = Chat(box("enhance_reasoning", model="reasoner-1"), box("answer", model="answer-2"))
    trajectory = episode(
        orchestrator, interpreter=Interpreter(printed), gpt_5=[reply], gpt_5_mini=["<answer>x</answer>"]
    )
    assert trajectory.calls[0].observation.status is status
    assert trajectory.calls[0].observation.text
    assert user_text(orchestrator.requests[0]) == user_text(orchestrator.requests[1])


def test_each_piece_of_code_runs_in_a_session_of_its_own_that_is_released():
    interpreter = Interpreter("1", "2")
    script = [box("enhance_reasoning", model="reasoner-1")] * 2 + [box("answer", model="answer-2")]
    episode(
        Chat(*script),
        interpreter=interpreter,
        gpt_5=["```python\nprint(1)\n```"] * 2,
        gpt_5_mini=["<answer>x</answer>"],
    )
    sessions = [session for session, _ in interpreter.ran]
    assert len(set(sessions)) == 2
    assert interpreter.released == sessions


def test_an_empty_answer_is_a_failed_call_and_the_episode_goes_on():
    script = [box("answer", model="answer-1"), box("answer", model="answer-2")]
    trajectory = episode(Chat(*script), gpt_5=["<think>hm</think>"], gpt_5_mini=["<answer>Tuul</answer>"])
    assert statuses(trajectory) == [("answer", "error"), ("answer", "ok")]
    assert trajectory.answer == "Tuul"


def test_an_answer_cut_by_the_token_limit_is_none():
    cut = Completion(content="First I consider", finish_reason="length")
    script = [box("answer", model="answer-1"), box("answer", model="answer-2")]
    trajectory = episode(Chat(*script), gpt_5=[cut], gpt_5_mini=["<answer>Tuul</answer>"])
    assert statuses(trajectory) == [("answer", "error"), ("answer", "ok")]


def test_the_bill_names_the_chosen_experts_and_what_they_worked_with():
    script = [box("search", model="search-1"), box("answer", model="answer-4")]
    trajectory = episode(
        Chat(*script), search=Library(["d"]), gpt_5=["<query>Tuul river</query>"], qwen3_32b=["\\boxed{Tuul}"]
    )
    rows = {(row.payee, row.priced_as): row.cost_usd for row in trajectory.bill().rows}
    assert rows["search", "gpt-5"] == pytest.approx(1000 * 1.25e-6 + 100 * 10e-6)
    assert rows["answer", "Qwen3-32B"] == pytest.approx(1100 * 0.8e-6)
    assert rows["search", "local_search"] == 0
    assert ("orchestrator", "Nemotron-Orchestrator-8B") in rows


def test_a_cost_limit_admits_a_cheap_alias_and_refuses_a_dear_one_of_the_same_tool():
    script = [box("answer", model="answer-1"), box("answer", model="answer-math-2")]
    trajectory = episode(Chat(*script), limits=Limits(cost_usd=0.05), qwen2_5_math_7b_instruct=["\\boxed{4}"])
    assert statuses(trajectory) == [("answer", "rejected"), ("answer", "ok")]
    assert "may cost up to $" in trajectory.calls[0].observation.text


def test_frames_offers_search_until_there_are_documents():
    script = [box("search", model="search-1"), box("answer", model="answer-2")]
    orchestrator = Chat(*script)
    episode(
        orchestrator,
        regime=FRAMES,
        search=Library(["d"]),
        gpt_5=["<query>Tuul river</query>"],
        gpt_5_mini=["<answer>x</answer>"],
    )
    offered = [[tool["function"]["name"] for tool in request.tools] for request in orchestrator.requests]
    assert offered == [["enhance_reasoning", "answer", "search"], ["enhance_reasoning", "answer"]]


def test_a_journalled_episode_rebuilds_the_same_prompt():
    hostile = "x\n\nDocument 2, 3 characters:\nabc \ud800 \x1b[31m"
    orchestrator = Chat(box("search", model="search-1"), box("answer", model="answer-2"))
    experts = published(gpt_5=["<query>Tuul river</query>"], gpt_5_mini=["<answer>x</answer>"])
    policy, tools = build(orchestrator, experts, search=Library([hostile, "second"]))
    events = asyncio.run(events_of(policy, tools))
    again = fold(event_from_line(event_to_line(event), where="test") for event in events)
    assert policy.request(situation(tools, again.turns[:1])) == orchestrator.requests[1]


def test_a_task_longer_than_the_prompt_may_be_is_an_overflow_before_anybody_is_asked():
    """C4: a prompt that cannot fit is never sent, and only this run ends."""
    orchestrator = Chat()
    policy, tools = build(orchestrator, published())
    trajectory = run(policy, tools, text="word " * 30_000)
    assert (trajectory.stop, trajectory.faults[0].kind) == (StopReason.FAULT, "context_overflow")
    assert orchestrator.requests == []


def test_without_anybody_to_answer_nothing_is_built():
    with pytest.raises(BadInput, match="no expert can answer"):
        build(Chat(), {"search-1": Chat()}, search=Library())


def test_an_unknown_alias_is_named_with_the_known_ones():
    with pytest.raises(BadInput, match="'answer-9'; the aliases are reasoner-1"):
        build(Chat(), {"answer-9": Chat()})
