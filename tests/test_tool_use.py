"""What the store measured of tools, out of calls that really ran."""

import asyncio

import pytest
from scripted_workbench import scripted_workbench

from orchestra_lib.store.tool_use import callers, latencies, tool_use
from orchestra_lib.workbench import Order


@pytest.fixture
def store(tmp_path):
    workbench = scripted_workbench(tmp_path, pace_s=0.0)

    async def play(task):
        async for _ in workbench.play(Order(task=task, orchestrator="scripted")):
            pass

    for task in ("parallel", "figures"):
        asyncio.run(play(task))
    yield workbench.store
    workbench.store.close()


def test_what_ran_what_went_well_and_what_was_refused_are_counted_apart(store):
    use = tool_use(store)
    assert (use["coder"].ran, use["coder"].ok) == (2, 2)
    assert (use["web_search"].ran, use["web_search"].ok) == (1, 0)
    assert (use["nothing_like_it"].ran, use["nothing_like_it"].refused) == (0, 1)


def test_seconds_are_of_good_calls_and_unknown_without_any(store):
    use = tool_use(store)
    assert 0 <= use["coder"].p50_s <= use["coder"].p95_s
    assert use["web_search"].p50_s is None


def test_the_mean_cost_says_how_many_calls_it_is_of(store):
    use = tool_use(store)
    assert use["coder"].mean_usd == pytest.approx(1204 * 0.04 / 1e6)
    assert use["coder"].priced == 2
    assert use["nothing_like_it"].mean_usd is None


def test_callers_and_a_histogram_add_up_to_the_calls(store):
    assert callers(store, "coder") == [("scripted", 2)]
    width, counts = latencies(store, "coder")
    assert width > 0
    assert sum(counts) == 2
    assert latencies(store, "web_search") is None
    assert callers(store, "it's never; called") == []


def test_the_view_survives_a_rebuild(store):
    before = tool_use(store)
    store.rebuild()
    assert tool_use(store) == before


def test_a_query_tells_how_to_stop_it(store):
    with pytest.raises(Exception, match="stopped"):
        store.query("SELECT count(*) FROM range(100000000000) a", started=lambda stop: stop_soon(stop))


def stop_soon(stop):
    import threading

    threading.Timer(0.3, stop).start()
