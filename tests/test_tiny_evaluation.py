import asyncio

from orchestra_lib.training.tiny.evaluation import compared, held_out, play_all, scripted, summary


def played(kind, count, folder):
    markets = held_out(kind, count)
    rules = scripted()
    return markets, {name: asyncio.run(play_all(markets, rules[name], folder)) for name in rules}


def test_the_oracle_complies_always_and_is_paid_best(tmp_path):
    markets, rows = played("uniform", 80, tmp_path)
    told = {name: summary(one) for name, one in rows.items()}
    assert told["oracle"]["all"]["compliance"].rate == 1.0
    assert told["always strongest"]["all"]["strongest_share"].mean == 1.0
    reward = compared(markets, rows)
    assert max(reward, key=lambda name: reward[name].mean) == "oracle"
    assert not any(one.malformed for name in rows for one in rows[name])


def test_on_inverted_markets_always_the_strongest_looks_as_if_it_complied(tmp_path):
    _, rows = played("inverted", 80, tmp_path)
    told = summary(rows["always strongest"])
    assert told["cost"]["compliance"].rate > 0.85
    assert told["latency"]["compliance"].rate > 0.85


def test_the_lots_are_those_of_the_exercise_and_not_of_who_plays(tmp_path):
    _, rows = played("seen", 40, tmp_path)
    same = [
        (one, other)
        for one, other in zip(rows["oracle"], rows["always strongest"], strict=True)
        if one.counts == other.counts
    ]
    assert same
    assert all(one.solved == other.solved and one.latency_s == other.latency_s for one, other in same)
