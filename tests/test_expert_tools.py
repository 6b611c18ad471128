"""The expert tools with the real search and the real sandbox behind them, and their bounds."""

import asyncio

import pytest
from ensembling import Chat, box, published, run, setting, situation

from orchestra_lib.ensemble import build
from orchestra_lib.errors import ModelMistake, SandboxFault
from orchestra_lib.protocols import SituatedTool
from orchestra_lib.tool import CallStatus
from orchestra_lib.toolkit.code_interpreter import CodeInterpreter
from orchestra_lib.toolkit.expert_reasoning import NOTHING_PRINTED
from orchestra_lib.toolkit.local_search import LocalSearch
from orchestra_lib.toolkit.retrieval import LocalRetriever
from orchestra_lib.toolorchestra.evidence import EVIDENCE_CHARS, gather

_OFF = CodeInterpreter().availability()
needs_sandbox = pytest.mark.skipif(_OFF is not None, reason=str(_OFF))


def tool_named(tools, name):
    return next(tool for tool in tools if tool.spec.name == name)


def test_local_search_gives_documents_best_first():
    orchestrator = Chat(box("search", model="search-1"), box("answer", model="answer-1"))
    experts = published(gpt_5=["<query>capital of Mongolia</query>", "<answer>Ulaanbaatar</answer>"])
    policy, tools = build(orchestrator, experts, search=LocalRetriever(LocalSearch()))
    trajectory = run(policy, tools, text="What is the capital of Mongolia?")
    assert gather(trajectory.turns[:1]).documents[-1].startswith("Mongolia\n")
    assert ": Mongolia\n" in orchestrator.requests[1].messages[1]["content"]


@needs_sandbox
def test_code_runs_in_the_sandbox_and_two_runs_share_no_variable():
    orchestrator = Chat(*[box("enhance_reasoning", model="reasoner-1")] * 3, box("answer", model="answer-2"))
    experts = published(
        gpt_5=["```python\nx = 6 * 7\nprint(x)\n```", "```python\nprint(x)\n```", "```python\nx = 1\n```"],
        gpt_5_mini=["<answer>42</answer>"],
    )
    policy, tools = build(orchestrator, experts, interpreter=CodeInterpreter())
    trajectory = run(policy, tools)
    first, second, third = (call.observation for call in trajectory.calls[:3])
    assert first.text == "```python\n\nx = 6 * 7\nprint(x)\n\n```\n\n```output\n42\n\n```"
    assert second.status is CallStatus.ERROR
    assert "NameError" in second.text
    assert third.text.startswith(NOTHING_PRINTED)
    assert len(gather(trajectory.turns).code) == 1


def test_a_sandbox_that_is_off_is_a_fault_and_the_experts_tokens_stay_on_the_bill():
    class Off:
        spec = CodeInterpreter().spec

        async def call(self, arguments, *, run_id):
            raise SandboxFault("no sandbox here")

        async def release(self, run_id):
            pass

    orchestrator = Chat(box("enhance_reasoning", model="reasoner-1"), box("answer", model="answer-2"))
    experts = published(gpt_5=["```python\nprint(1)\n```"], gpt_5_mini=["<answer>x</answer>"])
    policy, tools = build(orchestrator, experts, interpreter=Off())
    trajectory = run(policy, tools)
    assert [fault.message for fault in trajectory.faults] == ["no sandbox here"]
    assert [attempt.priced_as for attempt in trajectory.calls[0].attempts] == ["gpt-5"]


def test_a_question_longer_than_the_expert_reads_is_refused_before_it_is_paid_for():
    """C4: what does not fit is never sent, and the refusal says how much would."""
    orchestrator = Chat(box("answer", model="answer-math-1"), box("answer", model="answer-1"))
    policy, tools = build(orchestrator, experts := published(gpt_5=["<answer>x</answer>"]))
    trajectory = run(policy, tools, text="word " * 4_000)
    assert "answer-math-1 reads 2,000 tokens" in trajectory.calls[0].observation.text
    assert experts["answer-math-1"].requests == []
    assert trajectory.answer == "x"


def test_the_spec_of_a_call_is_that_of_its_alias():
    _, tools = build(Chat(), published())
    answer = tool_named(tools, "answer")
    dear, cheap = (answer.spec_for({"model": alias}) for alias in ("answer-1", "answer-math-2"))
    assert (dear.models, cheap.models) == (("gpt-5",), ("Qwen2.5-Math-7B-Instruct",))
    assert dear.max_input_tokens == answer.spec.max_input_tokens > cheap.max_input_tokens
    assert cheap.typical_latency_s == 9


def test_a_result_is_never_cut_by_the_loop():
    _, tools = build(Chat(), published())
    assert all(tool.spec.observation_chars > EVIDENCE_CHARS for tool in tools)


def test_an_expert_tool_works_on_an_episode_only():
    _, tools = build(Chat(), published())
    assert isinstance(tools[0], SituatedTool)
    with pytest.raises(ModelMistake, match="works on an episode"):
        asyncio.run(tools[0].call({"model": "answer-1"}, run_id="r"))


def test_an_expert_is_asked_within_its_own_bounds_and_with_the_runs_seed():
    experts = published(qwen2_5_math_7b_instruct=["\\boxed{4}"])
    _, tools = build(Chat(), experts)
    result = asyncio.run(tool_named(tools, "answer").call_in(situation(tools), {"model": "answer-math-2"}))
    [request] = experts["answer-math-2"].requests
    assert (request.max_tokens, request.temperature, request.seed) == (2_000, 0.2, setting(tools).seed)
    assert [message["role"] for message in request.messages] == ["system", "user"]
    assert (result.answer, result.files[0].data) == ("4", b"\\boxed{4}")
