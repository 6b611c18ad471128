import asyncio

from playing import setting

from orchestra_lib import event as ev
from orchestra_lib.episode_log import EpisodeLog
from orchestra_lib.generation import Generation


async def told(within_s, *, ends):
    """What is told together of a turn that says something, and then ends while its step is waited for."""
    log = EpisodeLog(setting([]), lambda: 0.0)
    for kind, said in ((ev.TurnStarted, {}), (ev.Generated, {"generation": Generation(raw_text="hm", content="hm")})):
        log.emit(kind, turn=1, **said)
    first = await anext(log.follow())
    if ends:
        asyncio.get_running_loop().call_soon(lambda: log.emit(ev.TurnFinished, turn=1))
    await log.step(first, within_s)
    return [one.kind for one in (first, *log.at_hand())]


def test_a_turn_is_told_whole_once_it_has_ended_and_its_beginning_where_that_takes_long():
    assert asyncio.run(told(3600.0, ends=True)) == ["turn_started", "generated", "turn_finished"]
    assert asyncio.run(told(0.0, ends=False)) == ["turn_started", "generated"]


def test_a_log_that_is_closed_is_not_waited_for():
    async def closed():
        log = EpisodeLog(setting([]), lambda: 0.0)
        log.emit(ev.TurnStarted, turn=1)
        asyncio.get_running_loop().call_soon(log.close)
        await log.step(log.at_hand()[0], 3600.0)

    asyncio.run(asyncio.wait_for(closed(), 60))
