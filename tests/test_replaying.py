"""Replay: the real loop over recorded answers makes the same record, byte for byte, and a changed record is found."""

import asyncio
from dataclasses import replace

import pytest
from ensembling import Chat, Interpreter, Library, box, published
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from playing import Echo, MemoryArtefacts, events_of, setting

from orchestra_lib.codec import event_from_line, event_to_line, to_text
from orchestra_lib.ensemble import build
from orchestra_lib.errors import BadInput, Fault, ModelMistake, ProviderFault, SandboxFault
from orchestra_lib.event import CallFinished, Generated, closing, fold
from orchestra_lib.generation import Channel, Delta, Generation
from orchestra_lib.limits import Limits
from orchestra_lib.play import play
from orchestra_lib.policy.scripted import Scripted
from orchestra_lib.pricing import Attempt
from orchestra_lib.protocols import PolicySpec, ToolResult
from orchestra_lib.replay.replaying import replay
from orchestra_lib.store.artefacts import Artefacts
from orchestra_lib.tool import File, ToolCall

HI = [("echo", {"word": "hi"})]
MINDFUL = Attempt(priced_as="mind", wall_s=0.25)


async def forever(_word):
    await asyncio.sleep(60)


async def raising(word):
    raise {"mistake": ModelMistake("no"), "sandbox": SandboxFault("broke"), "bug": ValueError("bug")}[word]


async def long(_word):
    figure = File(name="f.png", media_type="image/png", data=b"png")
    return ToolResult(text="long " * 9_000, files=(figure,))


async def by_length(word):
    await asyncio.sleep(0.002 * len(word))
    return word.upper()


def said(word, tool="echo"):
    return (tool, {"word": word})


def played(policy, tools=(), **options):
    """The events that a journal keeps of an episode, and its artefacts."""
    artefacts = MemoryArtefacts()
    happened = asyncio.run(events_of(policy, tools, artefacts=artefacts, **options))
    kept = [event for event in happened if event.kind not in ("streamed", "call_started")]
    return [event_from_line(event_to_line(event), where="test") for event in kept], artefacts


def same(kept, artefacts, spec=None):
    found = replay(kept, artefacts, spec)
    assert found.difference is None
    assert to_text(found.trajectory) == to_text(fold(kept))
    return found.trajectory


class Thinking:
    """Thinks aloud, then does what it is told: waits for ever, or fails."""

    def __init__(self, end=None):
        self.spec, self.end = PolicySpec(name="thinking", priced_as="mind"), end

    async def act(self, situation):
        yield Delta(channel=Channel.REASONING, text="hm")
        yield Delta(channel=Channel.CONTENT, text="so")
        if self.end is not None:
            raise self.end
        await asyncio.sleep(60)
        yield Generation(raw_text="")


@pytest.mark.parametrize(
    "script, tools",
    [
        ([HI, "hi"], [Echo()]),
        ([HI, HI, HI, "hi"], [Echo()]),  # the third is refused as a repeat
        ([HI] * 9, [Echo()]),  # a loop
        ([[("ehco", {"word": "hi"})], [("echo", {"wrd": 1})], "hi"], [Echo()]),
        ([[said("mistake")], [said("sandbox")], [said("bug")], "hi"], [Echo(work=raising)]),
        ([[said("x")], "hi"], [Echo(work=long)]),
        ([[said("x" * n) for n in (9, 1, 5, 3)], "hi"], [Echo(work=by_length)]),
        ([[said("x" * n) for n in (9, 1, 5, 3)], "hi"], [Echo(work=by_length, parallel=1)]),
        ([[said("a"), said("a"), said("a", "loud"), said("a")], Generation(raw_text=""), "hi"], [Echo(), Echo("loud")]),
        ([HI, ProviderFault("down", (MINDFUL,))], [Echo()]),
        ([HI, SandboxFault("gone")], [Echo()]),
        ([HI] * 3, [Echo()]),  # the script is too short: a bug
    ],
    ids=range(12),
)
def test_the_record_comes_out_the_same(script, tools):
    artefacts = MemoryArtefacts()
    happened = []

    async def go():
        stream = play(setting(tools), Scripted(script), tools, artefacts=artefacts)
        try:
            async for event in stream:
                happened.append(event)
        except IndexError:
            pass

    asyncio.run(go())
    kept = [event for event in happened if event.kind not in ("streamed", "call_started")]
    same(kept, artefacts)


@pytest.mark.parametrize(
    "limits, status",
    [
        (Limits(call_timeout_s=0.05, max_turns=2), "max_turns"),
        (Limits(time_s=0.1), "time_limit"),
        (Limits(time_s=0.1, parallel_calls=1), "time_limit"),
    ],
)
def test_limits_end_it_the_same_way_without_waiting(limits, status):
    slow = Echo("slow", work=forever)
    script = [[said("a"), said("b", "slow"), said("c", "slow")]] * 4
    kept, artefacts = played(Scripted(script), [Echo(), slow], limits=limits)
    assert same(kept, artefacts).status == status


def test_a_run_at_its_last_turn():
    kept, artefacts = played(Scripted([HI] * 3), [Echo()], limits=Limits(max_turns=2))
    assert same(kept, artefacts).status == "max_turns"


def test_a_limit_in_usd_refuses_the_same_calls():
    kept, artefacts = played(Scripted([[said(word) for word in "abc"], "hi"]), [Echo()], limits=Limits(cost_usd=0.025))
    run = same(kept, artefacts)
    assert [str(call.observation.status) for call in run.calls] == ["ok", "ok", "rejected"]


@pytest.mark.parametrize("policy", [Thinking(), Thinking(ProviderFault("down", (MINDFUL,)))])
def test_a_turn_that_broke_off_keeps_what_was_said(policy):
    kept, artefacts = played(policy, limits=Limits(time_s=0.05))
    assert same(kept, artefacts).turns[-1].generation.content == "so"


@pytest.mark.parametrize("policy", [Thinking(), Scripted([[said("a"), said("b", "slow")], "hi"])])
def test_a_run_that_somebody_stopped(policy):
    async def go():
        cancel = asyncio.Event()
        asyncio.get_running_loop().call_later(0.05, cancel.set)
        return await events_of(policy, [Echo(), Echo("slow", work=forever)], cancel=cancel)

    kept = [event for event in asyncio.run(go()) if event.kind not in ("streamed", "call_started")]
    assert same(kept, MemoryArtefacts()).status == "cancelled"


@given(cut=st.integers(1, 11))
@settings(max_examples=11, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_a_run_whose_process_ended_anywhere(cut):
    kept, artefacts = played(Scripted([[said("a"), said("b")], HI, "hi"]), [Echo()])
    begun = kept[: min(cut, len(kept) - 1)]
    fault = Fault(where="run", kind="interrupted", message="cut off")
    ended = closing(fold(begun), seq=len(begun) + 1, t_s=begun[-1].t_s, fault=fault)
    assert same([*begun, *ended], artefacts).status == "fault"


def changed(kept, kind, change):
    place = next(at for at, event in enumerate(kept) if isinstance(event, kind))
    return [*kept[:place], change(kept[place]), *kept[place + 1 :]]


def test_a_record_that_was_tampered_with_is_told_by_the_first_difference():
    kept, artefacts = played(Scripted([[("echo", {"word": 1})], "hi"]), [Echo()])
    other = changed(kept, CallFinished, lambda one: replace(one, observation=replace(one.observation, text="fine")))
    found = replay(other, artefacts).difference
    assert (found.path, found.recorded) == ("turns[0].calls[0].observation.text", "fine")
    assert "must be of type string" in found.replayed


def test_calls_that_the_record_does_not_have_are_a_difference():
    kept, artefacts = played(Scripted([HI, "hi"]), [Echo()])
    call = ToolCall.of("call_1_1", "loud", {"word": "hi"})
    other = changed(kept, Generated, lambda one: replace(one, generation=replace(one.generation, calls=(call,))))
    assert replay(other, artefacts).difference.path.startswith("turns[0].calls[0].observation")


def test_a_run_that_goes_on_is_refused():
    kept, artefacts = played(Scripted(["hi"]))
    with pytest.raises(BadInput, match="still goes on"):
        replay(kept[:-1], artefacts)


def test_a_file_that_is_no_longer_kept_is_named(tmp_path):
    kept, _ = played(Scripted([[said("x")], "hi"]), [Echo(work=long)])
    with pytest.raises(BadInput, match="there is no artefact"):
        replay(kept, Artefacts(tmp_path))


def test_an_episode_of_experts_comes_out_the_same():
    policy, tools = build(
        Chat(*[box("search", model="search-3")] * 3, box("answer", model="answer-4")),
        published(qwen3_32b=[*[f"<query>river number {n}</query>" for n in range(3)], "It is \\boxed{Tuul}."]),
        search=Library(["a"], ["b"], ["c"]),
        interpreter=Interpreter("42"),
    )
    artefacts, kept = MemoryArtefacts(), []

    async def go():
        stream = play(replace(setting(tools), protocol="toolorchestra"), policy, tools, artefacts=artefacts)
        kept.extend([event async for event in stream if event.kind not in ("streamed", "call_started")])

    asyncio.run(go())
    run = same(kept, artefacts)
    assert (run.answer, [str(call.observation.status) for call in run.calls]) == ("Tuul", ["ok"] * 4)
