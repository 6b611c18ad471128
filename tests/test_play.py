import asyncio
import time
from contextlib import suppress
from dataclasses import replace
from datetime import date

import pytest
from playing import Echo, MemoryArtefacts, events_of, run, setting

from orchestra_lib.calling import OBSERVATION_CHARS
from orchestra_lib.chat import CallStyle, messages
from orchestra_lib.errors import BadInput, ModelMistake, ProviderFault, SandboxFault, WeightsFault
from orchestra_lib.event import fold
from orchestra_lib.generation import Generation
from orchestra_lib.limits import Limits
from orchestra_lib.play import play
from orchestra_lib.policy.scripted import Scripted
from orchestra_lib.pricing import Attempt, Price, PriceTable, Usage
from orchestra_lib.protocols import Situation, ToolResult
from orchestra_lib.tool import File, ToolCall
from orchestra_lib.trajectory import StopReason

HI = [("echo", {"word": "hi"})]
PER_TOKEN = Price(input_usd_per_mtok=1.0, output_usd_per_mtok=1.0, source="tests")
TOKENS = PriceTable(name="tokens", dated=date(2026, 1, 1), source="tests", prices={"echo": PER_TOKEN})


async def forever(_word):
    await asyncio.sleep(60)


async def broken(_word):
    raise ValueError("no such thing")


def statuses(trajectory):
    return [str(call.observation.status) for call in trajectory.calls]


def test_an_episode_ends_with_the_answer_and_the_observation_behind_it():
    trajectory = run(Scripted([HI, "hi"]), [Echo()])
    assert (trajectory.status, trajectory.answer) == ("answered", "hi")
    assert trajectory.calls[0].observation.text == "hi"
    assert trajectory.bill().cost_usd == pytest.approx(0.01)


def test_event_numbers_count_without_gaps_and_the_record_begins_and_ends():
    events = asyncio.run(events_of(Scripted([HI, "hi"]), [Echo()]))
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    assert (events[0].kind, events[-1].kind) == ("run_started", "run_finished")


def test_every_tool_is_released_once_however_the_run_ends():
    for script in (["done"], [ProviderFault("down")], [HI, ValueError("bug")]):
        echo = Echo()
        with suppress(ValueError):
            run(Scripted(script), [echo])
        assert echo.released == ["run-1"]


@pytest.mark.parametrize("fault", [None, WeightsFault("gone")])
def test_what_a_policy_loads_before_its_first_move_is_no_part_of_the_run(fault):
    now = [0.0]

    class Loading(Scripted):
        async def prepare(self):
            now[0] += 7.0
            if fault is not None:
                raise fault

    async def events():
        policy = Loading([HI, "hi"] if fault is None else [fault])
        stream = play(setting([Echo()]), policy, [Echo()], artefacts=MemoryArtefacts(), clock=lambda: now[0])
        return [event async for event in stream]

    events = asyncio.run(events())
    assert {event.t_s for event in events} == {0.0}
    assert fold(events).status == ("answered" if fault is None else "fault")


@pytest.mark.parametrize(
    "call, says",
    [
        (("ecko", {"word": "hi"}), "Did you mean echo"),
        (("echo", {}), "word"),
        (("echo", {"word": 3}), "word"),
        (("echo", {"word": "x", "more": 1}), "more"),
    ],
)
def test_a_call_that_cannot_be_run_is_answered_in_words_for_the_model(call, says):
    echo = Echo()
    trajectory = run(Scripted([[call], "sorry"]), [echo])
    assert statuses(trajectory) == ["rejected"]
    assert says in trajectory.calls[0].observation.text
    assert echo.heard == []


def test_arguments_that_are_no_json_are_rejected_and_the_text_is_kept():
    cut = ToolCall(id="a", tool="echo", arguments=None, arguments_text='{"word": "h')
    trajectory = run(Scripted([Generation(raw_text="", calls=(cut,)), "done"]), [Echo()])
    assert statuses(trajectory) == ["rejected"]
    assert trajectory.calls[0].call.arguments_text == '{"word": "h'


def test_one_broken_call_does_not_touch_its_siblings_and_each_is_answered_once():
    """C5"""
    bad, good, hang = Echo("bad", broken), Echo("echo"), Echo("hang", forever, timeout_s=0.2)
    calls = [("bad", {"word": "a"}), ("echo", {"word": "b"}), ("hang", {"word": "c"})]
    trajectory = run(Scripted([calls, "done"]), [bad, good, hang])
    assert statuses(trajectory) == ["error", "ok", "timeout"]
    assert "ValueError: no such thing" in trajectory.calls[0].observation.text


def test_parallel_calls_run_at_once():
    """B6"""

    async def nap(word):
        await asyncio.sleep(0.2)
        return word

    calls = [("echo", {"word": str(number)}) for number in range(6)]
    trajectory = run(Scripted([calls, "done"]), [Echo(work=nap)])
    spans = [(call.observation.started_s, call.observation.finished_s) for call in trajectory.calls]
    assert max(start for start, _ in spans) < min(end for _, end in spans)


def test_a_tool_bounds_how_many_of_its_calls_run_at_once_and_the_wait_counts_as_queue():
    running, most = set(), []

    async def work(word):
        running.add(word)
        most.append(len(running))
        await asyncio.sleep(0.05)
        running.discard(word)
        return word

    calls = [("narrow", {"word": str(number)}) for number in range(6)] + [("echo", {"word": "free"})]
    trajectory = run(Scripted([calls, "done"]), [Echo("narrow", work, parallel=2), Echo()])
    assert max(most) == 2
    assert max(attempt.queue_s for call in trajectory.calls for attempt in call.attempts) > 0.05
    assert trajectory.calls[-1].observation.finished_s < trajectory.calls[5].observation.finished_s


def test_a_fault_of_the_world_is_recorded_and_the_run_goes_on():
    async def down(_word):
        raise SandboxFault("no sandbox")

    trajectory = run(Scripted([HI, "without it"]), [Echo(work=down)])
    assert [(fault.where, fault.kind) for fault in trajectory.faults] == [("echo", "sandbox")]
    assert (statuses(trajectory), trajectory.status) == (["error"], "answered")


def test_a_dead_orchestrator_ends_the_run_as_a_fault_with_its_tries_on_the_bill():
    tried = Attempt(priced_as="m", wall_s=1.0, billed=False, error="refused")
    trajectory = run(Scripted([ProviderFault("nobody listens", attempts=(tried,))]))
    assert (trajectory.status, trajectory.faults[0].message) == ("fault", "nobody listens")
    assert [row.attempts for row in trajectory.bill().rows] == [1]
    assert trajectory.bill().cost_usd == 0.0


def test_a_bug_of_a_policy_completes_the_record_and_is_raised():
    events = []

    async def collect():
        async for event in play(setting(), Scripted([KeyError("oops")]), [], artefacts=MemoryArtefacts()):
            events.append(event)

    with pytest.raises(KeyError):
        asyncio.run(collect())
    assert (fold(events).status, fold(events).faults[0].kind) == ("fault", "bug")


def test_cancel_stops_what_runs_within_a_second_and_leaves_a_complete_record():
    async def cancelled():
        cancel = asyncio.Event()
        asyncio.get_running_loop().call_later(0.2, cancel.set)
        return await events_of(
            Scripted([[("slow", {"word": "x"}), *HI], "no"]), [Echo("slow", forever), Echo()], cancel=cancel
        )

    start = time.monotonic()
    trajectory = fold(asyncio.run(cancelled()))
    assert time.monotonic() - start < 1.2
    assert trajectory.stop is StopReason.CANCELLED
    assert statuses(trajectory) == ["cancelled", "ok"]
    assert trajectory.turns[-1].finished_s is not None


def test_cancel_reaches_a_policy_that_thinks_and_keeps_what_it_had_said():
    async def cancelled():
        cancel = asyncio.Event()
        asyncio.get_running_loop().call_later(0.1, cancel.set)
        return await events_of(Scripted(["late"], think_s=60), cancel=cancel)

    trajectory = fold(asyncio.run(cancelled()))
    assert trajectory.stop is StopReason.CANCELLED
    assert trajectory.turns[0].generation.reasoning == "Turn 1 of the script."


def test_what_a_cut_off_model_call_cost_is_unknown_and_not_zero():
    async def cancelled():
        cancel = asyncio.Event()
        asyncio.get_running_loop().call_later(0.2, cancel.set)
        return await events_of(Scripted([HI]), [Echo(work=forever)], cancel=cancel, prices=TOKENS)

    assert fold(asyncio.run(cancelled())).bill().cost_usd is None


def test_a_tool_that_ignores_its_cancel_is_left_behind_and_answered_once():
    async def deaf(word):
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            await asyncio.sleep(1.5)
        return word

    async def play_on():
        events = await events_of(Scripted([HI, "no"]), [Echo(work=deaf)], limits=Limits(time_s=0.2))
        await asyncio.sleep(1.0)
        return events

    events = asyncio.run(play_on())
    assert fold(events).stop is StopReason.TIME_LIMIT
    assert sum(event.kind == "call_finished" for event in events) == 1


def test_a_tool_that_ignores_its_own_timeout_does_not_hold_up_the_run():
    async def deaf(word):
        while True:
            with suppress(asyncio.CancelledError):
                await asyncio.sleep(3)
                return word

    trajectory = run(Scripted([HI, "on"]), [Echo(work=deaf, timeout_s=0.1)])
    assert (statuses(trajectory), trajectory.answer) == (["timeout"], "on")
    assert trajectory.finished_s < 2


def test_the_turn_limit_counts_turns():
    trajectory = run(
        Scripted([[("echo", {"word": str(turn)})] for turn in range(9)]), [Echo()], limits=Limits(max_turns=3)
    )
    assert (trajectory.stop, len(trajectory.turns)) == (StopReason.MAX_TURNS, 3)


def search(query="x", page=1):
    return [("echo", {"word": query, "n": page})]


PAGES = {"type": "object", "properties": {"word": {"type": "string"}, "n": {"type": "integer"}}, "required": ["word"]}
REFUSED = ["rejected"] * 3


@pytest.mark.parametrize(
    "script, ran",
    [
        pytest.param([search()] * 9, ["ok"] * 2 + REFUSED, id="C3 the same call"),
        pytest.param([search(), [("echo", {"n": 1, "word": "x"})]] * 9, ["ok"] * 2 + REFUSED, id="C3 keys reordered"),
        pytest.param([search(), search("x ", 1.0)] * 9, ["ok"] * 2 + REFUSED, id="C3 the same in other letters"),
        pytest.param([search("a"), search("b")] * 9, ["ok"] * 4 + REFUSED, id="C3 two calls in turn"),
        pytest.param([search("a"), search("b"), search("c")] * 9, ["ok"] * 6 + REFUSED, id="C3 three calls in turn"),
        pytest.param([search() * 9] * 9, ["ok"] * 2 + ["rejected"] * 25, id="C3 many at once, turn after turn"),
        pytest.param([[("ecko", {"word": "x"})]] * 9, ["rejected"] * 2 + REFUSED, id="C3 A11 a tool that is not there"),
        pytest.param([[("echo", {"n": 1})]] * 9, ["rejected"] * 2 + REFUSED, id="C3 A8 an argument that is missing"),
    ],
)
def test_a_call_that_is_repeated_is_not_run_and_ends_the_run_as_a_loop(script, ran):
    trajectory = run(Scripted(script), [Echo(parameters=PAGES)])
    assert (trajectory.stop, statuses(trajectory)) == (StopReason.LOOP, ran)
    assert "Change the arguments, use another tool, or answer" in trajectory.calls[-1].observation.text


def test_paging_is_no_loop():
    """C3: other arguments are another call, however often the tool is used."""
    trajectory = run(Scripted([*(search(page=page) for page in range(20)), "done"]), [Echo(parameters=PAGES)])
    assert (trajectory.answer, statuses(trajectory)) == ("done", ["ok"] * 20)


def test_a_refused_repeat_leaves_the_way_open():
    """C3: one or two refusals are a hint and not the end, also when they come at once."""
    for script in ([search()] * 4, [search() * 9, search()]):
        trajectory = run(Scripted([*script, search("other"), "done"]), [Echo(parameters=PAGES)])
        assert (trajectory.answer, statuses(trajectory)[-3:]) == ("done", ["rejected", "rejected", "ok"])


def test_a_cost_limit_reserves_the_worst_case_so_calls_at_once_never_overspend():
    calls = [("echo", {"word": str(number)}) for number in range(8)]
    trajectory = run(Scripted([calls, "done"]), [Echo()], limits=Limits(cost_usd=0.035))
    assert statuses(trajectory).count("ok") == 3
    assert trajectory.bill().cost_usd <= 0.035


def test_a_cost_limit_with_an_unknown_price_refuses_to_start():
    unpriced = PriceTable(name="empty", dated=date(2026, 1, 1), source="tests")
    with pytest.raises(BadInput, match="echo"):
        run(Scripted(["x"]), [Echo()], limits=Limits(cost_usd=1.0), prices=unpriced)


def test_the_token_limit_ends_the_run_between_turns():
    async def spend(word):
        usage = Usage(input_tokens=600, output_tokens=600)
        return ToolResult(text=word, attempts=(Attempt(priced_as="echo", usage=usage, wall_s=0.1),))

    trajectory = run(Scripted([HI, "never"]), [Echo(work=spend)], limits=Limits(tokens=1000))
    assert trajectory.stop is StopReason.TOKEN_LIMIT


def test_a_flood_is_cut_for_the_model_and_kept_whole_beside():
    """C4: the cap holds before the result enters any prompt."""

    async def flood(_word):
        return "x" * 700_000 + "end"

    artefacts = MemoryArtefacts()
    trajectory = run(Scripted([HI, "done"]), [Echo(work=flood)], artefacts=artefacts)
    seen = trajectory.calls[0].observation
    assert len(seen.text) < 20_000
    assert seen.text.endswith("end")
    assert artefacts.get(seen.full.sha256).endswith(b"end")


def test_eight_floods_at_once_are_each_cut_and_the_next_request_stays_small():
    """C4: eight results of 60,000 characters."""

    async def flood(word):
        return word * 60_000

    calls = [("echo", {"word": str(number)}) for number in range(8)]
    trajectory = run(Scripted([calls, "done"]), [Echo(work=flood)])
    said = messages(now(trajectory), CallStyle.NATIVE)
    assert trajectory.answer == "done"
    assert sum(len(message["content"]) for message in said) < 8 * (OBSERVATION_CHARS + 200) + 2_000
    assert all("44,000 characters left out" in call.observation.text for call in trajectory.calls)


def now(trajectory):
    return Situation(setting=trajectory.setting, turns=trajectory.turns, spent_usd=0.0, elapsed_s=0.0)


@pytest.mark.parametrize("at_once", [1, 8])
def test_each_of_several_calls_is_answered_in_order_whatever_became_of_it(at_once):
    """C5: one is fine, one raises, one is over a limit, one is not there, and one never ends."""
    fates = {"good": None, "bad": broken, "hang": forever}
    tools = [Echo(name, work, timeout_s=0.2) for name, work in fates.items()]
    dear = Echo("dear")
    table = replace(TOKENS, prices={name: Price(call_usd=cost, source="t") for name, cost in COSTS.items()})
    calls = [(name, {"word": "x"}) for name in ("hang", "bad", "dear", "nobody", "good")]
    limits = Limits(parallel_calls=at_once, cost_usd=1.0)
    trajectory = run(Scripted([calls, "done"]), [*tools, dear], limits=limits, prices=table)
    assert statuses(trajectory) == ["timeout", "error", "rejected", "rejected", "ok"]
    asked, *answers = messages(now(trajectory), CallStyle.NATIVE)[2:8]
    assert [call["id"] for call in asked["tool_calls"]] == [answer["tool_call_id"] for answer in answers]
    assert {answer["role"] for answer in answers} == {"tool"}


COSTS = {"good": 0.01, "bad": 0.01, "hang": 0.01, "dear": 5.0}


def test_the_wait_for_a_place_counts_toward_the_time_limit():
    """B6: a run that waits is a run that goes on."""

    async def nap(word):
        await asyncio.sleep(0.15)
        return word

    calls = [("echo", {"word": str(number)}) for number in range(4)]
    limits = Limits(parallel_calls=1, time_s=0.4)
    trajectory = run(Scripted([calls, "never"]), [Echo(work=nap)], limits=limits)
    assert trajectory.stop is StopReason.TIME_LIMIT
    assert (statuses(trajectory)[0], statuses(trajectory)[-1]) == ("ok", "cancelled")


def test_files_of_a_tool_become_references():
    async def draw(_word):
        return ToolResult(text="drawn", files=(File(name="f.png", media_type="image/png", data=b"png"),))

    trajectory = run(Scripted([HI, "done"]), [Echo(work=draw)])
    assert trajectory.calls[0].observation.artefacts[0].media_type == "image/png"


def test_a_mistake_the_tool_reports_is_an_error_the_model_reads():
    async def picky(_word):
        raise ModelMistake("say it louder")

    trajectory = run(Scripted([HI, "done"]), [Echo(work=picky)])
    assert (statuses(trajectory), trajectory.calls[0].observation.text) == (["error"], "say it louder")


def test_a_turn_without_call_or_answer_is_spent_and_the_loop_goes_on():
    trajectory = run(Scripted([Generation(raw_text="hm"), "done"]))
    assert (len(trajectory.turns), trajectory.answer) == (2, "done")
