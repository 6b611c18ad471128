import json
import re
from dataclasses import replace

import pytest
from episodes import START, attempt, trajectory
from playing import Echo, run

from orchestra_lib.errors import BadInput, Fault
from orchestra_lib.policy.scripted import Scripted
from orchestra_lib.pricing import Attempt, Usage
from orchestra_lib.spans import spans
from orchestra_lib.tool import CallStatus

NS = 10**9


def start_ns():
    return int(START.timestamp()) * NS


def named(found, name):
    return [span for span in found if span.attributes["gen_ai.operation.name"] == name]


def test_a_run_is_an_agent_over_its_models_moves_and_its_calls():
    root, *inside = spans(trajectory(turns=3))
    assert root.name == "invoke_agent conductor"
    assert [span.name for span in inside] == [
        "chat small", "execute_tool search", "chat small", "execute_tool search", "chat small",
    ]  # fmt: skip
    assert {span.parent_id for span in inside} == {root.span_id}
    assert len({span.span_id for span in (root, *inside)}) == 6
    assert {span.trace_id for span in (root, *inside)} == {root.trace_id}


def test_times_are_the_recorded_ones():
    root, move, call, *_ = spans(trajectory(turns=2))
    assert (root.start_ns, root.end_ns) == (start_ns(), start_ns() + 2 * NS)
    assert (move.start_ns, move.end_ns) == (start_ns(), start_ns() + NS // 5)
    assert (call.start_ns, call.end_ns) == (start_ns() + NS // 5, start_ns() + 8 * NS // 10)


def test_the_same_run_is_the_same_trace_and_another_is_not():
    assert spans(trajectory("run-1")) == spans(trajectory("run-1"))
    ids = {span.span_id for name in ("run-1", "run-2") for span in spans(trajectory(name))}
    assert len(ids) == 2 * len(spans(trajectory("run-1")))


def test_attributes_are_those_of_the_conventions():
    pytest.importorskip("opentelemetry.semconv")
    from opentelemetry.semconv._incubating.attributes import gen_ai_attributes

    known = {value for name, value in vars(gen_ai_attributes).items() if name.startswith("GEN_AI_")}
    found = {key for span in spans(trajectory(tool="coder"), content=True) for key in span.attributes}
    assert {key for key in found if key.startswith("gen_ai.")} <= known
    assert all(re.match(r"gen_ai\.|orchestra\.|error\.type$", key) for key in found)


def test_unknown_usage_is_left_out_and_known_usage_is_told():
    run_ = trajectory(turns=1)
    (turn,) = run_.turns

    def tokens(*attempts):
        told = replace(run_, turns=(replace(turn, generation=replace(turn.generation, attempts=attempts)),))
        (move,) = named(spans(told), "chat")
        return {key: value for key, value in move.attributes.items() if "usage" in key}

    assert tokens(attempt(tokens=None)) == {}
    assert tokens(attempt(tokens=1000), attempt(tokens=None)) == {}
    refused = Attempt(priced_as="small", wall_s=0.1, billed=False, error="503")
    assert tokens(refused, Attempt(priced_as="small", wall_s=1.0, usage=Usage(input_tokens=7, output_tokens=0))) == {
        "gen_ai.usage.input_tokens": 7,
        "gen_ai.usage.output_tokens": 0,
    }


def test_a_model_behind_a_tool_has_its_chat_within_the_call():
    found = spans(trajectory(tool="coder"))
    (call,) = named(found, "execute_tool")
    (inner,) = [span for span in named(found, "chat") if span.parent_id == call.span_id]
    assert (inner.start_ns, inner.end_ns) == (call.start_ns, call.end_ns)
    assert inner.attributes["gen_ai.usage.input_tokens"] == 1000
    assert "gen_ai.usage.input_tokens" not in call.attributes


def test_a_policy_of_rules_plans_and_asks_no_model():
    found = spans(run(Scripted([[("echo", {"word": "hi"})], "done"]), [Echo()]))
    assert [span.name for span in found] == [
        "invoke_agent scripted", "plan scripted", "execute_tool echo", "plan scripted",
    ]  # fmt: skip
    assert all("gen_ai.request.model" not in span.attributes for span in found)


def test_errors_are_named_by_kind():
    (call,) = named(spans(trajectory(call_status=CallStatus.TIMEOUT)), "execute_tool")
    assert (call.error, call.attributes["error.type"]) == ("timeout", "timeout")
    root, *_ = spans(trajectory(answer=None, fault=Fault(where="orchestrator", kind="provider", message="secret")))
    assert root.attributes["error.type"] == "provider"
    assert all("error.type" not in span.attributes for span in spans(trajectory()))


def test_texts_are_told_only_where_content_is_asked_for():
    words = ("What is 2 + 2?", "four", "ü 0")
    silent = json.dumps([dict(span.attributes) for span in spans(trajectory())], ensure_ascii=False)
    told = json.dumps([dict(span.attributes) for span in spans(trajectory(), content=True)], ensure_ascii=False)
    assert not any(word in silent for word in words)
    assert all(word in told for word in words)
    root, *_ = spans(trajectory(), content=True)
    said = {"role": "assistant", "parts": [{"type": "text", "content": "4"}], "finish_reason": "stop"}
    assert json.loads(root.attributes["gen_ai.output.messages"]) == [said]


def test_a_run_that_goes_on_is_refused():
    with pytest.raises(BadInput, match="has not ended"):
        spans(replace(trajectory(), stop=None))
