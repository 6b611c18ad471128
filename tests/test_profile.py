"""A profile says what it is; lots decide, the same everywhere, and as often as it says."""

import math
import statistics

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from simulating import profile

from orchestra_lib.errors import BadInput
from orchestra_lib.pricelist import load_tables
from orchestra_lib.profile import Spread, description, draw, level, price_table, shuffled_names
from orchestra_lib.profilelist import SHIPPED, find_profile, load_profile, load_profiles

N = 2_000


def exact_tail(hits, n, chance):
    """The chance of something at least so far from the expected count, on either side of it, exactly."""
    ways = [math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1) for k in range(n + 1)]
    logs = [way + k * math.log(chance) + (n - k) * math.log1p(-chance) for k, way in enumerate(ways)]
    below = math.fsum(math.exp(log) for log in logs[: hits + 1])
    above = math.fsum(math.exp(log) for log in logs[hits:])
    return min(1.0, 2 * min(below, above))


def draws(one, chance, *, seed=0, count=N):
    return [draw(one, chance, seed=seed, task=f"t{number}", number=1) for number in range(count)]


@settings(max_examples=15, derandomize=True)
@given(st.floats(0.02, 0.98), st.integers(0, 10**6))
def test_an_expert_is_right_as_often_as_it_says(chance, seed):
    right = sum(one.right for one in draws(profile(), chance, seed=seed))
    assert exact_tail(right, N, chance) > 1e-6


@pytest.mark.parametrize("rate", [0.05, 0.3])
def test_it_fails_as_often_as_it_says(rate):
    failed = sum(one.failed for one in draws(profile(fault_rate=rate), 0.5))
    assert exact_tail(failed, N, rate) > 1e-6


def test_latency_and_length_have_the_stated_median_and_spread_and_an_end():
    found = draws(profile(latency_s=5.0), 0.5)
    logs = [math.log(one.latency_s / 5.0) for one in found]
    assert abs(statistics.fmean(logs)) < 5 * 0.5 / math.sqrt(N)
    assert statistics.pstdev(logs) == pytest.approx(0.5, rel=0.1)
    wide = draws(profile(latency=Spread(median=1.0, sigma=3.0)), 0.5)
    assert max(one.latency_s for one in wide) == 10.0
    assert min(one.answer_tokens for one in found) >= 1


@given(st.text(max_size=20), st.integers(), st.integers(1, 9))
def test_the_same_call_draws_the_same_and_any_other_its_own(task, seed, number):
    one = profile()
    first = draw(one, 0.5, seed=seed, task=task, number=number)
    assert draw(one, 0.5, seed=seed, task=task, number=number) == first
    others = [
        draw(one, 0.5, seed=seed + 1, task=task, number=number),
        draw(one, 0.5, seed=seed, task=task + "x", number=number),
        draw(one, 0.5, seed=seed, task=task, number=number + 1),
        draw(profile("two"), 0.5, seed=seed, task=task, number=number),
    ]
    assert first.lot not in {other.lot for other in others}


def test_a_draw_is_the_same_on_every_machine():
    drawn = draw(profile(), 0.7, seed=7, task="simulated-7-0", number=1)
    assert (drawn.right, drawn.latency_s, drawn.answer_tokens) == (True, 4.301, 456)


def test_a_better_one_of_the_same_name_is_right_wherever_a_worse_one_is():
    worse, better = draws(profile(), 0.4), draws(profile(), 0.6)
    assert all(good.right for bad, good in zip(worse, better, strict=True) if bad.right)


def test_what_a_profile_says_of_a_kind_it_does_not_name():
    one = profile(skills={"math": {"easy": 0.9}, "law": {"any": 0.3}}, otherwise=0.2)
    asked = [("math", "easy"), ("math", "hard"), ("law", "hard"), ("code", "easy"), (None, None)]
    assert [one.chance(*kind) for kind in asked] == [0.9, 0.2, 0.3, 0.2, 0.2]
    assert profile(skills={}).chance("math", "easy") is None


def test_a_description_tells_skills_and_cost_and_no_name():
    one = profile("onyx", 0.95, skills={"math": {"easy": 0.95, "hard": 0.5}, "code": {"easy": 0.1, "hard": 0.1}})
    words = description(one)
    assert words == (
        "Simulated expert. A call costs about $0.0009 and takes about 5 s. "
        "Skills: math: easy expert, hard fair; code: weak."
    )
    assert "$" not in description(one, figures=False)
    assert [level(chance) for chance in (0.9, 0.75, 0.5, 0.49)] == ["expert", "good", "fair", "weak"]


@given(st.integers())
def test_names_are_dealt_by_lot_and_say_nothing(seed):
    profiles = [profile(name) for name in ("a", "b", "c", "d")]
    dealt = shuffled_names(profiles, seed)
    assert list(dealt) == ["expert_a", "expert_b", "expert_c", "expert_d"]
    assert sorted(one.name for one in dealt.values()) == ["a", "b", "c", "d"]
    assert shuffled_names(profiles, seed) == dealt


def test_every_profile_can_get_every_name():
    profiles = [profile(name) for name in ("a", "b", "c")]
    assert {shuffled_names(profiles, seed)["expert_a"].name for seed in range(40)} == {"a", "b", "c"}


@pytest.mark.parametrize(
    "fields, words",
    [
        ({"skills": {"math": {"easy": 1.2}}}, "skill math easy = 1.2"),
        ({"skills": {"ma th": {"easy": 1}}}, "in one word"),
        ({"otherwise": float("nan")}, "otherwise = nan"),
        ({"fault_rate": -1}, "fault_rate"),
        ({"prompt_tokens": -1}, "prompt_tokens"),
    ],
)
def test_a_profile_that_makes_no_sense_is_refused(fields, words):
    with pytest.raises(BadInput, match=words):
        profile(**fields)
    with pytest.raises(BadInput, match="small letters"):
        profile("No Name")
    with pytest.raises(BadInput, match="median"):
        Spread(median=0)


def test_the_shipped_price_table_is_that_of_the_shipped_profiles(tmp_path):
    table = load_tables(tmp_path)["simulated"]
    made = price_table(load_profiles(tmp_path).values(), name="simulated", dated=table.dated)
    assert made == table
    assert table.nominal
    assert all("simulated" in price.source for price in table.prices.values())


def test_shipped_profiles_say_what_is_invented_and_what_is_anchored(tmp_path):
    profiles = load_profiles(tmp_path)
    assert set(profiles) >= {"strongest", "mid", "small", "maths", "code", "search"}
    assert all(one.invented and "price" in one.anchored for one in profiles.values())
    dearest = max(profiles.values(), key=lambda one: one.typical_usd())
    assert dearest.name == "strongest" == max(profiles.values(), key=lambda one: one.latency.median).name


def test_a_users_profile_replaces_a_shipped_one_and_a_bad_one_is_named(tmp_path):
    folder = tmp_path / "profiles"
    folder.mkdir()
    text = (SHIPPED / "small.json").read_text("utf-8")
    (folder / "mine.json").write_text(text.replace("Small generalist", "My own"), "utf-8")
    assert find_profile(tmp_path, "sim:small").title == "My own"
    (folder / "bad.json").write_text("[", "utf-8")
    with pytest.raises(BadInput, match=r"bad\.json: not JSON"):
        load_profiles(tmp_path)
    (folder / "bad.json").write_text(text.replace('"title"', '"titel"'), "utf-8")
    with pytest.raises(BadInput, match=r"bad\.json: title: Field required"):
        load_profile(folder / "bad.json")
    (folder / "bad.json").unlink()
    with pytest.raises(BadInput, match="there is no profile 'x'"):
        find_profile(tmp_path, "x")
