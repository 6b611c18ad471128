import asyncio
import random
from datetime import date

import pytest
from playing import Echo, run

from orchestra_lib.budget import Budget
from orchestra_lib.episode_log import EpisodeLog
from orchestra_lib.errors import ModelMistake
from orchestra_lib.limits import Limits
from orchestra_lib.policy.scripted import Scripted
from orchestra_lib.pricing import Attempt, Price, PriceTable, Usage
from orchestra_lib.protocols import PolicySpec, ToolResult
from orchestra_lib.tool import ToolSpec
from orchestra_lib.trajectory import StopReason
from orchestra_lib.unfolding import unfold

TOKENS = Price(input_usd_per_mtok=1.0, output_usd_per_mtok=10.0, source="tests")
PRICES = PriceTable(name="t", dated=date(2026, 1, 1), source="tests", prices={"expert": TOKENS, "mind": TOKENS})
SPEC = ToolSpec(name="expert", title="", description="", parameters={}, max_input_tokens=1000, max_output_tokens=1000)


def budget(usd):
    return Budget(Limits(cost_usd=usd), PRICES, PolicySpec(name="p"), [SPEC])


def test_the_worst_case_is_held_until_the_call_is_paid():
    purse = budget(0.012)
    held = purse.hold(SPEC)
    assert held == pytest.approx(0.011)
    with pytest.raises(ModelMistake, match=r"\$0.0010 of the limit is left"):
        purse.hold(SPEC)
    purse.release(held, [Attempt(priced_as="expert", usage=Usage(input_tokens=10, output_tokens=10), wall_s=1)])
    assert purse.hold(SPEC) == pytest.approx(0.011)


def test_sixty_four_calls_at_once_never_overspend():
    rng = random.Random(7)

    async def work(word):
        await asyncio.sleep(rng.random() / 50)
        usage = Usage(input_tokens=rng.randrange(1000), output_tokens=rng.randrange(1000))
        return ToolResult(text=word, attempts=(Attempt(priced_as="expert", usage=usage, wall_s=0.01),))

    expert = Echo("expert", work, max_input_tokens=1000, max_output_tokens=1000)
    script = [[("expert", {"word": f"{turn}-{call}"}) for call in range(64)] for turn in range(12)]
    limits = Limits(cost_usd=0.2, parallel_calls=64)
    trajectory = run(Scripted(script), [expert], limits=limits, prices=PRICES)
    assert trajectory.stop is StopReason.COST_LIMIT
    assert 0.1 < trajectory.bill().cost_usd <= 0.2


def test_a_turn_that_may_overspend_is_not_begun():
    spec = PolicySpec(name="p", priced_as="mind", max_input_tokens=1000, max_output_tokens=1000)
    assert Budget(Limits(cost_usd=0.01), PRICES, spec, []).exceeded() is StopReason.COST_LIMIT
    assert Budget(Limits(cost_usd=0.02), PRICES, spec, []).exceeded() is None


def test_what_a_log_has_summed_on_the_way_is_the_bill():
    async def work(word):
        usage = Usage(input_tokens=10, output_tokens=20) if word == "a" else None
        return ToolResult(text=word, attempts=(Attempt(priced_as="expert", usage=usage, wall_s=1),))

    expert = Echo("expert", work, max_input_tokens=1000, max_output_tokens=1000)
    none = PriceTable(name="none", dated=PRICES.dated, source="tests")
    for prices, words in ((PRICES, "aa"), (PRICES, "ab"), (none, "aa")):
        trajectory = run(Scripted([[("expert", {"word": word}) for word in words], "done"]), [expert], prices=prices)
        log = EpisodeLog(trajectory.setting, lambda: 0.0)
        log.copy(unfold(trajectory)[1:-1])
        spent, bill = log.spent(), trajectory.bill()
        for what in ("cost_usd", "known_usd", "input_tokens", "output_tokens"):
            assert getattr(spent, what) == getattr(bill, what)
