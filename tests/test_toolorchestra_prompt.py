"""Golden prompts of protocol toolorchestra: what the released orchestrator was trained to read."""

import hashlib
import json
from datetime import date
from pathlib import Path

import pytest
from ensembling import Chat, Interpreter, Library, prices, published, setting, situation, turn
from playing import Echo

from orchestra_lib.ensemble import build, domain_words, load_kit, published_kit, side_by_side
from orchestra_lib.errors import BadInput
from orchestra_lib.pricing import Price, PriceTable
from orchestra_lib.toolorchestra.aliases import alias_schema, openai_tools
from orchestra_lib.toolorchestra.context import FRAMES, HLE, TRAINING
from orchestra_lib.toolorchestra.evidence import write_code, write_documents

PINNED = Path(__file__).parent / "pinned"
REFERENCE = Path(__file__).resolve().parents[2] / "shared" / "data" / "reference_tools.json"
PUBLISHED_SHA256 = "54202b8ae7bb6d9f91a505818b241d31c60dc430301fc19045fea24f12393617"

TURNS = (
    turn(
        1,
        "search",
        write_documents("Ulaanbaatar river", ["The Tuul flows there.", "Mongolia is landlocked."]),
        model="search-1",
    ),
    turn(2, "enhance_reasoning", write_code("\nprint(6 * 7)\n", "42\n"), model="reasoner-3"),
    turn(
        3,
        "search",
        write_documents("Tuul", ["The Tuul is 704 km long. " * 60, "The Tuul flows there."]),
        model="search-2",
    ),
    turn(4, "enhance_reasoning", write_code("\nprint(704)\n", "704\n"), model="reasoner-1"),
)


def tools_of_all():
    return build(Chat(), published(), search=Library(), interpreter=Interpreter())


def shown(table=None):
    _, tools = tools_of_all()
    return openai_tools(published_kit(), [tool.spec for tool in tools], table or prices())


def as_text(request):
    return "".join(f"<<{message['role']}>>\n{message['content']}<<end>>\n" for message in request.messages)


def test_the_published_tools_are_rendered_byte_for_byte():
    text = json.dumps(shown(), indent=2)
    assert hashlib.sha256(text.encode()).hexdigest() == PUBLISHED_SHA256


@pytest.mark.skipif(
    not REFERENCE.is_file(), reason="the published tool schemas lie beside the project only in development"
)
def test_the_rendered_tools_equal_the_published_file():
    assert json.dumps(shown(), indent=2).encode() == REFERENCE.read_bytes()


@pytest.mark.parametrize("turns", [0, 1, 4])
@pytest.mark.parametrize("regime", [HLE, FRAMES, TRAINING], ids=lambda regime: regime.name)
def test_the_prompt_of_each_published_setting_is_pinned(regime, turns):
    policy, tools = build(Chat(), published(), search=Library(), interpreter=Interpreter(), regime=regime)
    request = policy.request(situation(tools, TURNS[:turns]))
    assert as_text(request) == (PINNED / f"toolorchestra_{regime.name}_{turns}.txt").read_text("utf-8")


def test_both_protocols_stand_side_by_side():
    text = side_by_side(setting([Interpreter(), Echo()], sentence="Keep the cost low."))
    left, right = zip(*(line.split("│") for line in text.splitlines() if "│" in line), strict=True)
    assert len({len(line) for line in left}) == 1
    assert "[tool] echo" in "\n".join(left)
    assert " answer-math-2 | $$0.2 | $0.2 | 9s" in right


def test_a_preference_follows_the_question_and_an_empty_one_leaves_no_trace():
    policy, tools = tools_of_all()
    with_one = policy.request(situation(tools, sentence="Be quick.")).messages[1]["content"]
    without = policy.request(situation(tools)).messages[1]["content"]
    assert with_one.replace("\n\nBe quick.", "", 1) == without


def test_other_prices_and_fewer_experts_change_the_table():
    table = PriceTable(
        name="mine",
        dated=date(2026, 1, 1),
        source="test",
        prices={"m": Price(input_usd_per_mtok=3.5, output_usd_per_mtok=14.0, source="test")},
    )
    _, tools = build(Chat(), {"answer-2": Chat(name="m"), "answer-3": Chat(name="unpriced")})
    [tool] = openai_tools(published_kit(), [tool.spec for tool in tools], table)
    text = tool["function"]["parameters"]["properties"]["model"]["description"]
    assert text.startswith("The model used to answer. Choices: ['answer-2', 'answer-3']. answer-2 presents")
    assert text.endswith("\nanswer-2 | $3.5 | $14 | 27s\nanswer-3 | unknown | unknown | 15s")


def test_a_tool_without_what_it_works_with_is_not_offered():
    _, tools = build(Chat(), published())
    assert [tool.spec.name for tool in tools] == ["answer"]


def test_the_kit_is_complete_and_its_schemas_admit_only_its_aliases():
    for tool in (*published_kit().tools, *domain_words().kit.tools):
        offered = [alias.name for alias in tool.aliases]
        schema = alias_schema(tool, offered)
        assert schema["properties"][tool.parameter]["enum"] == offered
        assert schema["required"] == [tool.parameter]


def test_the_specs_of_a_run_name_every_price_it_may_need():
    _, tools = tools_of_all()
    names = {name for spec in setting(tools).tools for name in spec.priced_names}
    assert names <= set(prices().prices)
    assert {"gpt-5", "Qwen3-32B", "code_interpreter", "local_search"} <= names


def test_a_kit_of_ones_own_with_a_misspelt_key_is_named(tmp_path):
    kit = tmp_path / "kit.toml"
    kit.write_text('source = "me"\ntools = []\ntolls = []\n')
    with pytest.raises(BadInput, match=r"kit\.toml: tolls"):
        load_kit(kit)
