"""Episodes and requests against a server that throttles, lies, drips, breaks off, or has too small a context.

Names begin with the field bug (B2, B6, C4, C6) whose right behaviour they claim.
"""

import asyncio
import json
import time
from dataclasses import replace

import pytest
from playing import Echo, events_of
from test_openai_compatible import ASK, FINE, QUICK, chunk, collect, http, model, play, serving, sse, usage

from orchestra_lib.chat import CallStyle
from orchestra_lib.errors import ContextOverflow, ProviderFault
from orchestra_lib.event import RunFinished, fold
from orchestra_lib.model.dialect import Dialect, Patience
from orchestra_lib.model.gate import Gate
from orchestra_lib.policy.chat_model import ChatPolicy
from orchestra_lib.protocols import PolicySpec
from orchestra_lib.toolorchestra.tokens import WordPieces
from orchestra_lib.trajectory import StopReason

NO_USAGE = {"choices": [], "usage": None}
ZERO = usage(0, 0)


def counts(completion):
    read = completion.attempts[-1].usage
    return (read.input_tokens, read.output_tokens, read.estimated)


@pytest.mark.parametrize(
    "stream",
    [
        sse(chunk(content="a") | {"usage": None}, ZERO, chunk("stop", content="b"), usage(9, 4)),
        sse(usage(9, 1), usage(9, 3), chunk("stop", content="ab"), usage(9, 4)),
        sse(usage(9, 4), chunk("stop", content="ab"), ZERO, NO_USAGE),
    ],
    ids=["null_and_zero_first", "cumulative", "zero_last"],
)
def test_B2_real_numbers_count_once_whatever_else_the_stream_holds(stream):
    assert counts(play(stream, counter=WordPieces())[1]) == (9, 4, False)


@pytest.mark.parametrize(
    "more", [{"prompt_tokens_details": None}, {"prompt_tokens_details": {"cached_tokens": None}}, {}]
)
def test_B3_details_that_are_null_mean_that_the_cache_is_unknown(more):
    read = play(sse(chunk("stop", content="x"), usage(1000, 50, **more)))[1].attempts[0].usage
    assert (read.input_tokens, read.output_tokens, read.cached_tokens) == (1000, 50, None)


@pytest.mark.parametrize("last", [NO_USAGE, ZERO], ids=["null", "zero"])
def test_B2_missing_usage_is_estimated_by_the_tokenizer_and_labelled_so(last):
    given, made, estimated = counts(
        play(sse(chunk("stop", content="one two three"), last), counter=WordPieces())[1]
    )  # fmt: skip
    assert (made, estimated) == (3, True)
    assert given > 5


def test_B2_tool_calls_are_part_of_what_is_estimated():
    call = {"index": 0, "id": "c", "function": {"name": "say", "arguments": '{"word": "ready"}'}}
    _, made, _ = counts(play(sse(chunk("tool_calls", tool_calls=[call])), counter=WordPieces())[1])
    assert made >= 5


def test_what_the_provider_says_it_charged_is_kept():
    openrouter, deepinfra = ({"cost": 0.0125}, {"estimated_cost": 2e-05})
    for more, cost in ((openrouter, 0.0125), (deepinfra, 2e-05), ({"cost": "free"}, None), ({"cost": -1}, None)):
        completion = play(sse(chunk("stop", content="x"), usage(5, 2, **more)))[1]
        assert completion.attempts[0].reported_cost_usd == cost


@pytest.mark.parametrize(
    "more, made",
    [
        ({"total_tokens": 67}, 62),
        ({"total_tokens": 67, "completion_tokens_details": {"reasoning_tokens": 60}}, 62),
        ({"completion_tokens_details": {"reasoning_tokens": 60}}, 62),
        ({"total_tokens": 7, "completion_tokens_details": {"reasoning_tokens": 1}}, 2),
    ],
    ids=["only_the_total_tells", "all_told", "no_total", "within_after_all"],
)
def test_B4_a_provider_that_counts_reasoning_apart_is_billed_for_it_once(more, made):
    completion = play(sse(chunk("stop", content="x"), usage(5, 2, **more)), dialect=Dialect(reasoning_apart=True))[1]
    assert counts(completion) == (5, made, False)


def test_B6_waits_stand_apart_from_the_work():
    _, completion, _ = play(http(429, b"{}", "retry-after: 1"), FINE, patience=replace(QUICK, longest_wait_s=2))
    failed, good = completion.attempts
    assert (failed.backoff_s, good.backoff_s >= 1) == (0.0, True)
    assert good.wall_s < 1


async def _slow(server, writer):
    await asyncio.sleep(0.3)
    writer.write(FINE)
    await writer.drain()


def test_B6_the_wait_for_a_place_is_queue_time_and_no_work():
    async def run():
        async with serving(_slow) as server:
            gate = Gate(at_once=1)
            asked = [collect(model(server, gate=gate)) for _ in range(3)]
            return [completion.attempts[0] for _, completion in await asyncio.gather(*asked)]

    first, _, last = asyncio.run(run())
    assert first.queue_s < 0.25
    assert last.queue_s >= 0.55
    assert last.wall_s < 0.55


OVERFLOWS = {
    "openai": (400, {"error": {"message": "Too many.", "code": "context_length_exceeded"}}),
    "vllm": (400, {"object": "error", "message": "This model's maximum context length is 4096 tokens."}),
    "llamacpp": (400, {"error": {"type": "exceed_context_size_error", "message": "the request exceeds it"}}),
    "anthropic": (400, {"error": {"message": "prompt is too long: 210000 tokens > 200000 maximum"}}),
    "google": (400, [{"error": {"message": "The input token count (9) exceeds the maximum number of tokens"}}]),
    "together": (422, {"error": {"message": "`inputs` tokens + `max_new_tokens` must be <= 8193."}}),
    "server_error": (500, {"error": {"message": "context window exceeded"}}),
    "too_large": (413, {}),
}


@pytest.mark.parametrize("status, body", OVERFLOWS.values(), ids=OVERFLOWS)
def test_C4_a_conversation_that_is_too_long_is_a_fault_of_its_own_and_never_sent_again(status, body):
    async def run():
        async with serving(http(status, json.dumps(body).encode())) as server:
            with pytest.raises(ContextOverflow) as caught:
                await collect(model(server))
            return caught.value, len(server.asked)

    error, asked = asyncio.run(run())
    assert (error.kind, asked, len(error.attempts)) == ("context_overflow", 1, 1)
    assert not error.attempts[0].billed


def test_C4_it_may_also_be_said_within_the_stream():
    async def run():
        async with serving(sse({"error": {"message": "the request exceeds the available context size"}})) as server:
            with pytest.raises(ContextOverflow):
                await collect(model(server))
            return len(server.asked)

    assert asyncio.run(run()) == 1


@pytest.mark.parametrize("status", [400, 429])
def test_C4_other_refusals_stay_what_they_are(status):
    async def run():
        async with serving(http(status, b'{"error": {"message": "Rate limit: too many tokens per minute"}}')) as server:
            with pytest.raises(ProviderFault) as caught:
                await collect(model(server))
            return caught.value.kind

    assert asyncio.run(run()) == "provider"


def test_C4_what_cannot_fit_is_not_even_sent():
    long = replace(ASK, messages=({"role": "user", "content": "word " * 5000},), max_tokens=100)

    async def run():
        async with serving(FINE) as server:
            with pytest.raises(ContextOverflow, match="nothing was sent") as caught:
                await collect(model(server, counter=WordPieces(), context=2048), long)
            with pytest.raises(ContextOverflow):
                await collect(model(server, counter=WordPieces(), max_input=4000), long)
            await collect(model(server, counter=WordPieces(), context=6000, max_input=6000), long)
            return caught.value.attempts, len(server.asked)

    assert asyncio.run(run()) == ((), 1)


def episode(server, **options):
    spec = PolicySpec(name="scripted", priced_as="priced", max_input_tokens=1000, max_output_tokens=100)
    return events_of(ChatPolicy(spec, model(server, **options), style=CallStyle.NATIVE), [Echo()])


CALL = {"index": 0, "id": "c", "function": {"name": "echo", "arguments": '{"word": "hi"}'}}


def test_C4_the_overflow_ends_only_its_own_run_and_the_others_go_on():
    async def run():
        async with (
            serving(sse(chunk("tool_calls", tool_calls=[CALL])), http(*_bytes(OVERFLOWS["vllm"]))) as small,
            serving(sse(chunk("tool_calls", tool_calls=[CALL])), FINE) as large,
        ):
            runs = await asyncio.gather(episode(small), episode(large))
            return runs, len(small.asked)

    runs, asked = asyncio.run(run())
    cut, whole = map(fold, runs)
    assert (cut.stop, runs[0][-1].fault.kind, asked) == (StopReason.FAULT, "context_overflow", 2)
    assert [call.observation.text for call in cut.calls] == ["hi"]
    assert (whole.stop, whole.answer) == (StopReason.ANSWERED, "Hello")


def _bytes(refusal):
    status, body = refusal
    return status, json.dumps(body).encode()


async def _never(server, writer):
    await asyncio.sleep(8)


async def _drip(server, writer):
    writer.write(b"HTTP/1.1 200 X\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n")
    for _ in range(200):
        writer.write(f"data: {json.dumps(chunk(content='x'))}\n\n".encode())
        await writer.drain()
        await asyncio.sleep(0.02)


@pytest.mark.parametrize(
    "script, patience, tries",
    [
        (_never, replace(QUICK, idle_s=0.3), 3),
        (_drip, Patience(idle_s=5, attempt_s=0.3, total_s=5), 1),
        (_drip, Patience(idle_s=5, total_s=0.3), 1),
        (_never, replace(QUICK, idle_s=5, attempt_s=0.5), 3),
        (http(400, b"{}"), QUICK, 1),
    ],
    ids=["silence", "drip_one_try", "drip_whole_call", "one_try", "not_retried"],
)
def test_C6_every_wait_has_an_end_and_every_try_is_on_the_record(script, patience, tries):
    async def run():
        async with serving(script) as server:
            started = time.monotonic()
            with pytest.raises(ProviderFault) as caught:
                await collect(model(server, patience=patience))
            return time.monotonic() - started, len(caught.value.attempts), len(server.asked)

    took, recorded, asked = asyncio.run(run())
    assert (recorded, asked) == (tries, tries)
    assert took < 4


def test_C6_a_slow_request_is_closed_at_the_server_before_the_next_one_begins():
    alive = []

    class Watch:
        most = 0

        async def __call__(self, server, writer):
            alive.append(writer)
            Watch.most = max(Watch.most, sum(not one.is_closing() for one in alive))
            try:
                for _ in range(50):
                    writer.write(b" ")
                    await writer.drain()
                    await asyncio.sleep(0.02)
            finally:
                alive.remove(writer)

    async def run():
        async with serving(Watch()) as server:
            with pytest.raises(ProviderFault):
                await collect(model(server, patience=Patience(attempt_s=0.15, first_wait_s=0.2, total_s=3)))
            await asyncio.sleep(0.1)
            return len(server.asked), len(alive), Watch.most

    assert asyncio.run(run()) == (3, 0, 1)


def test_a_throttled_provider_gets_nothing_new_until_the_time_it_named():
    async def run():
        async with serving(http(429, b"{}", "retry-after: 1"), FINE) as server:
            gate, loop = Gate(), asyncio.get_running_loop()
            patient = replace(QUICK, longest_wait_s=2)
            first = asyncio.create_task(collect(model(server, gate=gate, patience=patient)))
            while not server.asked:
                await asyncio.sleep(0.005)
            await asyncio.sleep(0.05)
            started = loop.time()
            _, other = await collect(model(server, gate=gate))
            await first
            return loop.time() - started, other.attempts[0].queue_s

    took, queued = asyncio.run(run())
    assert took >= 0.5
    assert queued >= 0.5


def test_models_of_one_provider_share_its_places():
    now, most = [0], [0]

    async def counted(server, writer):
        now[0] += 1
        most[0] = max(most[0], now[0])
        await asyncio.sleep(0.03)
        now[0] -= 1
        writer.write(FINE)

    async def run():
        async with serving(counted) as server:
            gate = Gate(at_once=2)
            await asyncio.gather(*(collect(model(server, gate=gate)) for _ in range(8)))

    asyncio.run(run())
    assert most == [2]


def test_requests_a_minute_are_limited_and_come_evenly():
    async def run():
        gate, loop = Gate(per_minute=1200), asyncio.get_running_loop()
        started = loop.time()
        for _ in range(5):
            async with gate.place():
                pass
        return loop.time() - started

    assert 0.18 <= asyncio.run(run()) < 3


def test_whoever_is_cancelled_in_the_queue_gives_its_place_up():
    async def run():
        gate = Gate(at_once=1)
        async with gate.place():
            waiting = asyncio.create_task(gate.place().__aenter__())
            await asyncio.sleep(0.01)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
        async with asyncio.timeout(1), gate.place() as waited_s:
            return waited_s

    assert asyncio.run(run()) < 0.5


def test_one_gate_serves_one_event_loop_after_another():
    gate = Gate(at_once=1, per_minute=60)

    async def once():
        async with gate.place() as waited_s:
            return waited_s

    assert [asyncio.run(once()) < 0.5 for _ in range(3)] == [True] * 3


LIES = {
    "stop_with_calls": sse(chunk("stop", tool_calls=[CALL])),
    "calls_without_calls": sse(chunk("tool_calls", content="Hello")),
    "html": http(200, b"<!doctype html><p>hi</p>", kind="text/html"),
    "html_within": sse("<html>hello</html>", done=False),
    "two_replies_mixed": sse(chunk(content="a"), {"choices": [{"index": 1, "delta": {"content": "b"}}]}),
    "json_at_once": http(200, b'{"choices": [{"message": {"content": "x"}}]}'),
}


@pytest.mark.parametrize("name", LIES)
def test_a_lying_server_ends_a_run_in_words_and_never_in_a_crash(name):
    """C5: also when a call is announced by the wrong finish reason, each id is answered once."""

    async def run():
        async with serving(LIES[name], FINE) as server:
            return await episode(server)

    events = asyncio.run(run())
    trajectory = fold(events)
    assert isinstance(events[-1], RunFinished)
    assert trajectory.stop in (StopReason.ANSWERED, StopReason.FAULT)
    assert all(call.observation is not None for call in trajectory.calls)
    if (fault := events[-1].fault) is not None:
        assert fault.kind == "provider"
        assert "<" not in fault.message
