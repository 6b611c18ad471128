"""Instances for training: what is drawn for each, what its prompt shows, and that a seed says it all."""

import json
import re
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import islice, pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from worlds import cancellation

from orchestra_lib.codec import from_data, to_data
from orchestra_lib.ensemble import NamedModel
from orchestra_lib.environment.domain import load_world
from orchestra_lib.errors import BadInput
from orchestra_lib.policy.toolorchestra import ToolOrchestraInDomain
from orchestra_lib.preference import Preference, describe
from orchestra_lib.pricing import PriceTable
from orchestra_lib.protocols import Situation
from orchestra_lib.published.questions import QuestionRow
from orchestra_lib.published.task import GoldenAction, PublishedTask, Scenario
from orchestra_lib.sampling import sources
from orchestra_lib.sampling.cases import Category, Worlds, functions_of, published_case, question_case
from orchestra_lib.sampling.instance import PROTOCOLS, prompt_of, row_of
from orchestra_lib.sampling.mixing import largest_remainder, share_of
from orchestra_lib.sampling.prices import Regime, by_strength
from orchestra_lib.sampling.sample import Plan, repeats, sample
from orchestra_lib.sampling.wishes import DrawnWish
from orchestra_lib.tool import ToolKind, ToolSpec
from orchestra_lib.toolkit.code_interpreter import CodeInterpreter
from orchestra_lib.toolorchestra.domain import TRANSFER
from orchestra_lib.toolorchestra.tokens import WordPieces

SEARCH_TOOL = ToolSpec(
    name="local_search", title="Search", description="Finds passages.", parameters={"type": "object", "properties": {}}
)


@cache
def materials():
    return sources.materials([CodeInterpreter().spec, SEARCH_TOOL])


@cache
def cases():
    asked = [
        QuestionRow(id=f"q{at}", question=f"What is {at} + {at}?", answer=str(2 * at), source="sums") for at in range(9)
    ]
    worlds = Worlds()
    return (*map(question_case, asked), *(worlds.case(cancellation(id=f"mock-{at}")) for at in range(3)))


def drawn(seed=0, n=12, **plan):
    return list(sample(Plan(n=n, seed=seed, **{"qa_share": Fraction(1, 2), **plan}), cases(), materials()))


def shown(instance):
    messages, tools = prompt_of(instance, materials().words)
    return "\n".join(message["content"] for message in messages), tools


protocols = pytest.mark.parametrize("protocol", PROTOCOLS)
seeds = st.integers(0, 10**9)


@protocols
@settings(max_examples=20)
@given(seed=seeds)
def test_a_wish_weighs_only_tools_on_offer_and_stands_in_the_prompt_in_words(protocol, seed):
    for instance in drawn(seed, 4, protocol=protocol):
        offered = [spec.name for spec in instance.setting().tools]
        assert set(instance.preference.tools) <= set(offered)
        assert instance.sentence == describe(instance.preference, {name: name for name in offered})
        text, _ = shown(instance)
        assert text.count(instance.sentence) == 1


@protocols
@settings(max_examples=20)
@given(seed=seeds)
def test_the_prompt_names_every_tool_on_offer_and_none_other(protocol, seed):
    for instance in drawn(seed, 4, protocol=protocol):
        _, tools = shown(instance)
        offered = {spec.name for spec in instance.setting().tools}
        experts = protocol == "toolorchestra" and instance.case.category == Category.FUNCTION_CALL
        assert {tool["function"]["name"] for tool in tools} == offered - ({TRANSFER} if experts else set())


@protocols
@settings(max_examples=20)
@given(seed=seeds)
def test_aliases_are_a_bijection_that_the_prompt_shows_whole(protocol, seed):
    published = {tool.name: tool.aliases for tool in (*materials().kit.tools, *materials().words.kit.tools)}
    known = {alias.name for aliases in published.values() for alias in aliases}
    for instance in drawn(seed, 4, protocol=protocol):
        for tool in instance.offer.kit.tools:
            models = {alias.name: alias.model for alias in tool.aliases}
            assert len(set(models.values())) == len(models) == len(tool.aliases) >= 2
            assert set(models.values()) <= {alias.model for alias in published[tool.name]}
        text = json.dumps(shown(instance)[1])
        found = set(re.findall(r"(?:reasoner|answer|answer-math|search|expert)-\d", text))
        assert found == set(instance.offer.models) <= known | {f"expert-{at}" for at in range(1, 7)}
        assert not any(model in text for model in instance.offer.models.values())


@protocols
@settings(max_examples=20)
@given(seed=seeds)
def test_every_price_that_a_run_needs_is_drawn_and_shown(protocol, seed):
    for instance in drawn(seed, 4, protocol=protocol):
        names = [name for spec in instance.setting().tools for name in spec.priced_names]
        assert all(instance.prices.find(name) for name in names if name != TRANSFER or protocol == "chat")
        assert instance.prices.nominal
        assert "nobody charges this" in instance.prices.source
        text = json.dumps(shown(instance)[1])
        for model in instance.offer.models.values():
            assert f"${instance.prices.find(model).input_usd_per_mtok:g} " in text
        assert "price unknown" not in text


@settings(max_examples=20)
@given(seed=seeds)
def test_prices_follow_strength_in_the_regimes_that_say_so(seed):
    ranked = by_strength((*materials().kit.tools, *materials().words.kit.tools))
    assert ranked[:2] == ("gpt-5", "gpt-5-mini")
    for regime, sign in ((Regime.PROPORTIONAL, 1), (Regime.INVERTED, -1)):
        for instance in drawn(seed, 3, regimes=(regime,)):
            rows = [row for model in ranked if (row := instance.prices.find(model))]
            for strong, weak in pairwise(rows):
                assert sign * (strong.input_usd_per_mtok - weak.input_usd_per_mtok) >= 0
                assert sign * (strong.output_usd_per_mtok - weak.output_usd_per_mtok) >= 0


def test_a_providers_prices_keep_their_order():
    table = next(table for table in materials().providers if table.name == "vendor")
    only = replace(materials(), providers=(table,))
    for instance in sample(Plan(n=5, seed=1, qa_share=Fraction(1), regimes=(Regime.PROVIDER,)), cases(), only):
        ratio = instance.prices.find("gpt-5").input_usd_per_mtok / table.find("gpt-5").input_usd_per_mtok
        assert 1 / 1.5 < ratio < 1.5
        assert "level of vendor" in instance.prices.source


@given(total=st.integers(0, 10_000), parts=st.lists(st.integers(0, 50), min_size=1, max_size=6).filter(any))
def test_numbers_are_exact_by_the_largest_remainder(total, parts):
    shares = {str(at): Fraction(part, sum(parts)) for at, part in enumerate(parts)}
    counts = largest_remainder(total, shares)
    assert sum(counts.values()) == total
    assert all(abs(counts[name] - total * share) < 1 for name, share in shares.items())
    assert all(counts[name] == 0 for name, share in shares.items() if share == 0)


@pytest.mark.parametrize("ratio, questions", [("0", 0), ("1/3", 3), ("0.2", 2), ("1", 10)])
def test_the_ratio_holds_in_what_is_drawn(ratio, questions):
    counted = Counter(instance.case.category for instance in drawn(n=10, qa_share=share_of(ratio, "ratio")))
    assert counted[Category.QA] == questions
    assert counted.total() == 10


def test_cases_come_equally_often_and_it_is_said_how_often():
    plan = Plan(n=20, seed=4, qa_share=Fraction(1, 2))
    counted = Counter(instance.case.id for instance in sample(plan, cases(), materials()))
    assert {counted[f"mock-{at}"] for at in range(3)} == {3, 4}
    assert {counted[f"q{at}"] for at in range(9)} == {1, 2}
    assert repeats(plan, cases()) == {"qa": 2, "func_call": 4}


@protocols
def test_the_same_seed_gives_the_same_rows_and_another_one_others(protocol):
    def rows(seed):
        return [row_of(one, prompt_of(one, materials().words)) for one in drawn(seed, protocol=protocol)]

    assert json.dumps(rows(5)) == json.dumps(rows(5))
    assert all(one != other for one, other in zip(rows(5), rows(6), strict=True))


def test_aliases_really_are_shuffled_and_subsets_really_differ():
    instances = drawn(n=60, qa_share=Fraction(1))
    assert len({instance.offer.models.get("answer-1") for instance in instances}) >= 5
    assert len({tuple(sorted(spec.name for spec in instance.offer.specs)) for instance in instances}) == 4
    assert {instance.regime for instance in instances} == set(Regime)


def test_a_row_reads_back_to_what_was_drawn():
    for instance in drawn(n=6):
        row = row_of(instance, prompt_of(instance, materials().words))
        assert from_data(json.loads(row["prices"]), PriceTable, where="row") == instance.prices
        assert from_data(json.loads(row["preference"]), Preference, where="row") == instance.preference
        assert json.loads(row["models"]) == instance.offer.models
        assert row["extension"] == any(weight < 0 for weight in instance.preference.tools.values())
        assert (row["reference"] is None) == (row["category"] == "func_call") == bool(row["assignment"])


@protocols
def test_no_prompt_gives_the_answer_away(protocol):
    for instance in drawn(protocol=protocol):
        text, tools = shown(instance)
        told = text + json.dumps(tools)
        if instance.case.assignment:
            assert cancellation().instruction in text
            assert "omar_haddad_2380@example.org" not in told
        else:
            assert instance.case.text in text
            assert to_data(instance.case.golden) == []


def test_a_domain_in_chat_speaks_to_the_user_through_a_tool_and_shows_the_policy():
    instance = drawn(n=1, qa_share=Fraction(0), protocol="chat")[0]
    text, _ = shown(instance)
    assert "ask_user" in {spec.name for spec in instance.setting().tools}
    assert instance.case.policy.strip() in text


def test_a_prompt_is_that_of_the_policy_that_plays_it():
    instance = drawn(n=1, qa_share=Fraction(0))[0]
    words = replace(materials().words, kit=instance.offer.kit)
    policy = ToolOrchestraInDomain(NamedModel("any"), words, instance.case.policy, WordPieces())
    start = Situation(setting=instance.setting("run-1"), turns=(), spent_usd=0.0, elapsed_s=0.0)
    asked = policy.request(start)
    assert prompt_of(instance, materials().words) == (tuple(asked.messages), tuple(asked.tools))


def test_wishes_of_the_paper_have_no_weight_below_0():
    plan = Plan(n=40, seed=2, qa_share=Fraction(1))
    paper = [one.preference for one in sample(plan, cases(), materials(), DrawnWish(0.0))]
    assert min(weight for one in paper for weight in one.tools.values()) > 0
    ours = [one.preference for one in sample(plan, cases(), materials(), DrawnWish(1.0))]
    assert max(weight for one in ours for weight in one.tools.values()) < 0


def test_a_published_task_comes_with_the_functions_that_its_row_has():
    tools = [{"function": {"name": name, "parameters": {"type": "object"}}} for name in ("pay", "call_expert")]
    functions = functions_of(tools, "row 1")
    task = PublishedTask(
        id="1", domain="bank", scenario=Scenario(reason="You want to pay."), golden=(GoldenAction(tool="pay"),)
    )
    case = published_case(task, functions, policy="Be kind.", source="data")
    assert [(spec.name, spec.kind) for spec in case.functions] == [("pay", ToolKind.DOMAIN)]
    [instance] = sample(Plan(n=1, seed=1, qa_share=Fraction(0)), [case], materials())
    text, _ = shown(instance)
    assert "You want to pay." in text
    assert "Be kind." in text
    with pytest.raises(BadInput, match="needs the domain's functions"):
        published_case(task, [], policy="", source="data")
    with pytest.raises(BadInput, match="nothing is asked"):
        published_case(PublishedTask(id="1", domain="bank", scenario=Scenario()), functions, policy="", source="data")


@pytest.mark.parametrize("plan, words", [
    ({"n": 0}, "draw at least one"),
    ({"protocol": "telepathy"}, "use chat or toolorchestra"),
    ({"regimes": ()}, "name at least one price regime of uniform"),
    ({"qa_share": Fraction(3, 2)}, "shares lie between 0 and 1"),
])  # fmt: skip
def test_a_plan_that_cannot_be_drawn_is_refused(plan, words):
    with pytest.raises(BadInput, match=re.escape(words)):
        drawn(**plan)


def test_a_question_that_no_orchestrator_could_read_is_named():
    long = question_case(QuestionRow(id="q1", question="word " * 30_000, answer="x", source="books"))
    [instance] = sample(Plan(n=1, seed=0, qa_share=Fraction(1)), [long], materials())
    with pytest.raises(BadInput, match=r"books q1: the task has 30,0.. tokens and the protocol takes 24,000"):
        prompt_of(instance, materials().words)


def test_a_wanted_category_without_a_case_is_refused():
    questions = [case for case in cases() if case.category == Category.QA]
    with pytest.raises(BadInput, match="6 instances of func_call are wanted and there is no case of it; give tasks"):
        list(sample(Plan(n=12, seed=0, qa_share=Fraction(1, 2)), questions, materials()))


def test_the_first_instances_do_not_wait_for_the_last():
    assert len(list(islice(sample(Plan(n=10**5, seed=0, qa_share=Fraction(1)), cases(), materials()), 3))) == 3


@pytest.mark.parametrize("text", ["much", "1.2", "-0.1", "1/0"])
def test_a_share_is_a_number_from_0_to_1(text):
    with pytest.raises(BadInput, match="--qa-ratio"):
        share_of(text, "--qa-ratio")


def test_a_policy_under_other_parameters_is_the_one_that_is_shown():
    name = load_world("mock").domain.parameters[0].name
    plain, tuned = (Worlds().case(cancellation(parameters=values)) for values in ({}, {name: 77}))
    assert "77" in tuned.policy
    assert "77" not in plain.policy
