from orchestra_lib.profile import ABLE
from orchestra_lib.training.tiny.market import AIMS, DRAWS, Markets, figure, is_held_out
from orchestra_lib.training.tiny.names import HELD_OUT, KNOWN, syllables
from orchestra_lib.training.tiny.scale import PRICES_USD, SECONDS, price_step, time_step


def drawn(kind, count=60, seed=4):
    return [Markets(kind=kind, seed=seed).market(number) for number in range(count)]


def test_the_same_number_draws_the_same_market_and_aims_take_turns():
    assert drawn("seen") == drawn("seen")
    assert drawn("seen")[0] != drawn("seen", seed=5)[0]
    assert [market.aim for market in drawn("uniform", 8)] == [*AIMS, *AIMS]


def test_somebody_is_always_able_and_whoever_is_named_is():
    for kind in DRAWS:
        for market in drawn(kind):
            assert market.able
            assert market.named is None or market.chance(market.named) >= ABLE
            assert market.apt() <= set(market.experts)


def test_in_a_seen_market_no_strongest_is_the_cheapest_and_in_an_inverted_one_it_is():
    def cheapest_is_strongest(market, aim):
        least = min(figure(one, aim) for one in market.experts.values())
        return any(figure(market.experts[name], aim) == least for name in market.strongest)

    for aim in ("cost", "latency"):
        assert not any(cheapest_is_strongest(market, aim) for market in drawn("seen"))
        assert all(cheapest_is_strongest(market, aim) for market in drawn("inverted"))
        assert 5 < sum(cheapest_is_strongest(market, aim) for market in drawn("uniform")) < 40


def test_held_out_names_and_profiles_are_drawn_only_where_the_kind_says_so():
    def profiles(market):
        level = {0.1: 0, 0.74: 1, 0.88: 2, 0.96: 3}
        return [
            tuple((level[by["easy"]], level[by["hard"]]) for by in one.skills.values())
            for one in market.experts.values()
        ]

    for kind in DRAWS:
        new_names, new_profiles = kind in ("new_names", "all_new"), kind in ("new_profiles", "all_new")
        for market in drawn(kind, 20):
            assert set(market.experts) <= set(HELD_OUT if new_names else KNOWN)
            assert {is_held_out(one) for one in profiles(market)} == {new_profiles}


def test_both_syllables_of_a_held_out_name_are_used_in_training():
    firsts, seconds = ({syllables(name)[at] for name in KNOWN} for at in (0, 1))
    assert all(syllables(name)[0] in firsts and syllables(name)[1] in seconds for name in HELD_OUT)
    assert syllables("expert_a") is None


def test_a_step_survives_being_told_in_two_digits():
    assert [price_step(value) for value in PRICES_USD] == list(range(24))
    assert [time_step(value) for value in SECONDS] == list(range(24))
    assert (price_step(0.0), price_step(9.0)) == (0, 23)
