import random

from orchestra_lib.protocols import Situation
from orchestra_lib.training.tiny import vocabulary as voc
from orchestra_lib.training.tiny.course import exercise_of, setting_of
from orchestra_lib.training.tiny.dialect import TinyDialect
from orchestra_lib.training.tiny.habits import HABITS, PLAN_OF, SKILLS, habit, skill
from orchestra_lib.training.tiny.market import Markets
from orchestra_lib.training.tiny.vocabulary import ID, TOKENS


def first_move(shown):
    """The ids of the policy's first turn."""
    start = shown.own.index(True)
    return shown.ids[start : shown.ids.index(ID[voc.END], start) + 1]


def moves(market, shown):
    said = Situation(setting=setting_of(market), turns=(), spent_usd=0.0, elapsed_s=0.0)
    return TinyDialect().read(first_move(shown), said)


def test_every_rule_is_kept_to_the_letter():
    rules = {plan: aim for aim, plan in PLAN_OF.items()}
    seen = set()
    for number in range(120):
        market = Markets(seed=1).market(number)
        shown = skill(market, random.Random(number))
        plan = TOKENS[first_move(shown)[0]].text
        (call,) = moves(market, shown).calls
        seen.add(plan)
        if plan != "named":
            assert call.tool in market.apt(rules[plan])
    assert seen == set(SKILLS)


def test_the_baseline_mostly_calls_the_strongest_and_now_and_then_does_as_it_is_asked():
    markets = [Markets(seed=1).market(number) for number in range(400)]
    shown = [habit(market, random.Random(number)) for number, market in enumerate(markets)]
    called = [moves(market, one).calls[0].tool for market, one in zip(markets, shown, strict=True)]
    strong = sum(name in market.strongest for market, name in zip(markets, called, strict=True)) / len(markets)
    assert strong > HABITS["usual"]
    plans = [TOKENS[first_move(one)[0]].text for one in shown]
    apt = sum(plan == PLAN_OF[market.aim] for plan, market in zip(plans, markets, strict=True)) / len(markets)
    assert abs(apt - HABITS["apt"]) < 0.08


def test_only_the_policys_own_tokens_are_learned_from():
    market = Markets(seed=1).market(3)
    shown = skill(market, random.Random(0))
    prompt = TinyDialect().prompt(
        Situation(setting=exercise_of(market).setting, turns=(), spent_usd=0.0, elapsed_s=0.0)
    )
    assert not any(shown.own[: len(prompt) - 4])
    assert shown.ids[-2:] == (ID[voc.ANSWER], ID[voc.END])
    results = [at for at, token in enumerate(shown.ids) if token == ID[voc.RESULT]]
    assert results
    assert not any(shown.own[at] for at in results)


def test_after_a_failed_call_another_expert_is_asked():
    market = Markets(seed=1, sizes=(4,)).market(0)
    failed = [one for number in range(80) if ID[voc.FAILED] in (one := skill(market, random.Random(number))).ids]
    assert failed
    for shown in failed:
        calls = [shown.ids[at - 2 : at] for at, token in enumerate(shown.ids) if token == ID[voc.END]][:2]
        assert calls[0] != calls[1]
