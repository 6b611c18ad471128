"""Baselines choose by one plain rule, say so, and end with what the last good call brought."""

import asyncio
from collections import Counter
from dataclasses import replace
from datetime import date

import numpy as np
import pytest
from playing import Echo, events_of, run, setting

from orchestra_lib.event import Generated, fold
from orchestra_lib.generation import Generation
from orchestra_lib.policy.baseline import NO_ANSWER, at_random, cheapest, nearest, strongest
from orchestra_lib.pricing import Price, PriceTable
from orchestra_lib.protocols import Situation, ToolResult
from orchestra_lib.tool import ToolKind

PRICES = PriceTable(
    name="test",
    dated=date(2026, 1, 1),
    source="tests",
    prices={
        "big": Price(input_usd_per_mtok=2, output_usd_per_mtok=10, source="tests"),
        "small": Price(input_usd_per_mtok=0.1, output_usd_per_mtok=0.4, source="tests"),
        "lookup": Price(call_usd=0.0001, source="tests"),
    },
)


class Letters:
    """An embedder: how often each letter stands in a text."""

    def embed(self, texts):
        counts = np.array([[text.lower().count(chr(97 + n)) for n in range(26)] for text in texts], np.float32)
        return counts / np.linalg.norm(counts, axis=1, keepdims=True)


async def _fails(word):
    return ToolResult(text="no", failed=True)


def tools():
    return [
        Echo("lookup", description="qqq"),
        Echo("small", kind=ToolKind.GENERALIST, description="Say hi, say hi."),
        Echo("big", kind=ToolKind.SPECIALIST, description="zzz"),
        Echo("mystery", description="xxx"),
        Echo("runner", parameters={"type": "object", "properties": {"code": {"type": "string"}}, "required": ["code"]}),
    ]


RULES = {"strongest": strongest(), "cheapest": cheapest(), "nearest": nearest(Letters()), "random": at_random()}


@pytest.mark.parametrize("name, first", [("strongest", "big"), ("cheapest", "lookup"), ("nearest", "small")])
def test_each_rule_calls_its_own_best_tool_with_the_task_and_answers_with_what_it_says(name, first):
    trajectory = run(RULES[name], tools(), prices=PRICES)
    assert [(call.call.tool, call.call.arguments) for call in trajectory.calls] == [(first, {"word": "Say hi."})]
    assert (trajectory.status, trajectory.answer) == ("answered", "Say hi.")


@pytest.mark.parametrize("name", RULES)
def test_every_tool_is_accounted_for_with_a_reason(name):
    generation = run(RULES[name], tools(), prices=PRICES).turns[0].generation
    assert {estimate.tool for estimate in generation.estimates} == {tool.spec.name for tool in tools()}
    assert all(estimate.note for estimate in generation.estimates)
    assert generation.estimates[-1].note == "it takes code and not words"
    assert generation.estimates[0].note in generation.reasoning


def test_a_failed_tool_is_followed_by_the_next_best():
    offered = [Echo("big", _fails), *(tool for tool in tools() if tool.spec.name != "big")]
    trajectory = run(strongest(), offered, prices=PRICES)
    assert [call.call.tool for call in trajectory.calls] == ["big", "small"]
    assert trajectory.turns[1].generation.estimates[-1].note in ("it had its chance", "it takes code and not words")
    assert trajectory.answer == "Say hi."


def test_when_nothing_helps_it_says_so():
    trajectory = run(cheapest(), [Echo("lookup", _fails), tools()[-1]], prices=PRICES)
    assert (len(trajectory.calls), trajectory.answer) == (1, NO_ANSWER)
    assert run(cheapest(), [], prices=PRICES).answer == NO_ANSWER


def first_of(run_id, seed=None):
    started = replace(setting(tools()), run_id=run_id, seed=seed)
    situation = Situation(setting=started, turns=(), spent_usd=0.0, elapsed_s=0.0)

    async def parts():
        return [part async for part in at_random().act(situation)]

    generation = asyncio.run(parts())[-1]
    assert isinstance(generation, Generation)
    return generation.calls[0].tool


def test_random_follows_the_seed_and_without_one_the_run():
    assert len({first_of(f"run-{n}", seed=7) for n in range(5)}) == 1
    drawn = Counter(first_of(f"run-{n}") for n in range(200))
    assert set(drawn) == {"lookup", "small", "big", "mystery"}
    assert min(drawn.values()) > 20


def test_an_unknown_price_is_tried_last_and_never_counts_as_free():
    estimates = run(cheapest(), tools(), prices=PRICES).turns[0].generation.estimates
    assert [estimate.tool for estimate in estimates] == ["lookup", "small", "big", "mystery", "runner"]
    assert (estimates[3].cost_usd, estimates[3].note) == (None, "its price is unknown")


@pytest.mark.parametrize(
    "parameters, why",
    [
        ({}, "it takes 0 arguments, not one text"),
        (
            {"properties": {"a": {"type": "string"}, "b": {"type": "string"}}, "required": ["a", "b"]},
            "it takes 2 arguments, not one text",
        ),
        ({"properties": {"n": {"type": "integer"}}}, "its n takes no free text"),
        ({"properties": {"unit": {"type": "string", "enum": ["km"]}}}, "its unit takes no free text"),
        ({"properties": {"q": {"type": "string", "maxLength": 3}}}, "its q takes 3 characters and the task has 7"),
    ],
)
def test_a_tool_without_an_obvious_argument_is_ruled_out(parameters, why):
    generation = run(cheapest(), [Echo("lookup", parameters=parameters)], prices=PRICES).turns[0].generation
    assert (generation.calls, generation.estimates[0].note) == ((), why)


def test_an_optional_second_parameter_is_left_alone():
    two = {"properties": {"word": {"type": "string"}, "k": {"type": "integer"}}, "required": ["word"]}
    trajectory = run(cheapest(), [Echo("lookup", parameters=two)], prices=PRICES)
    assert trajectory.calls[0].call.arguments == {"word": "Say hi."}


def test_it_streams_its_reason_and_keeps_nothing_between_turns():
    events = asyncio.run(events_of(cheapest(), tools(), prices=PRICES))
    said = [event.text for event in events if event.kind == "streamed"]
    assert said == [event.generation.reasoning for event in events if isinstance(event, Generated)]
    assert fold(events).answer == "Say hi."
