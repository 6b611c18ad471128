"""Rollouts through the loop: experts of every kind side by side, time that overlaps, ids that stay as sampled."""

import asyncio
import time
from dataclasses import replace

import pytest
from toy_scale import EXPERTS, ID, ToyCourse, ToyDialect
from toy_training import played

from orchestra_lib.errors import BadInput
from orchestra_lib.event import fold
from orchestra_lib.generation import Completion
from orchestra_lib.model.recorded import Recorded, Recorder
from orchestra_lib.play import play
from orchestra_lib.protocols import PolicySpec, Situation, ToolResult
from orchestra_lib.toolkit.model_tool import expert_tool
from orchestra_lib.toolkit.simulated import SimulatedExpert
from orchestra_lib.training.model_policy import ModelPolicy
from orchestra_lib.training.rollouts import Background, Discarded
from orchestra_lib.training.sampler import Sampled, Stream


class Live:
    """An endpoint that answers after a while."""

    def __init__(self):
        self.spec = replace(SimulatedExpert(EXPERTS["cheap"], name="cheap").spec, simulated=False)

    async def call(self, arguments, *, run_id):
        await asyncio.sleep(0)
        return ToolResult(text="Answer: 0")

    async def release(self, run_id):
        pass


class Memory:
    """Recordings in memory."""

    def __init__(self):
        self.kept = {}

    def find(self, asked):
        return self.kept.get(repr(asked), ())

    def keep(self, asked, answers):
        self.kept[repr(asked)] = answers


class Answering:
    """A model that says one thing."""

    name = "dear"

    async def stream(self, request):
        yield Completion(content="Answer: 0", calls=(), finish_reason="stop", attempts=())


def recorded():
    """A model's answers, paid for once."""
    memory, names = Memory(), {"name": "dear", "title": "Dear", "description": "Recorded."}
    question = {"question": ToyCourse(lambda n: [Live()]).exercise(0).setting.task.text}
    asyncio.run(expert_tool(Recorder(Answering(), memory), **names).call(question, run_id="once"))
    return expert_tool(Recorded("dear", memory), **names)


class Said:
    """A sampler that says these words in turn, and remembers what it was asked with."""

    def __init__(self, *turns):
        self.turns, self.asked = turns, []

    async def generate(self, ids, stream):
        self.asked.append(list(ids))
        words = self.turns[(len(self.asked) - 1) % len(self.turns)].split()
        return Sampled([ID[word] for word in words], [-0.5] * len(words))

    def forget(self, stream):
        pass


def test_recorded_live_and_simulated_experts_stand_side_by_side():
    answers = recorded()
    course = ToyCourse(lambda number: [answers, Live()])
    rollouts = played(course, exercises=1, clock="wall")
    asked = {call.call.tool: call.observation.text for one in rollouts for call in one.trajectory.calls}
    assert asked == {"dear": "Answer: 0", "cheap": "Answer: 0"}
    done = [one.trajectory for one in rollouts if one.trajectory.calls and one.trajectory.answer]
    assert {one.outcome for one in done} == {True}
    mixed = ToyCourse(lambda number: [SimulatedExpert(EXPERTS["dear"], name="dear"), Live()])
    assert {call.call.tool for one in played(mixed, exercises=1, clock="wall") for call in one.trajectory.calls} == {
        "dear",
        "cheap",
    }


def test_live_experts_need_a_clock_that_goes():
    with pytest.raises(
        BadInput, match=r'cheap of exercise toy-0: a live tool takes real time.*rollouts\.clock = "wall"'
    ):
        played(ToyCourse(lambda number: [Live()]), exercises=1)


class Meeting(Live):
    """Answers once ten calls of ten rollouts are there."""

    def __init__(self):
        super().__init__()
        self.there, self.all_there = 0, asyncio.Event()

    async def call(self, arguments, *, run_id):
        self.there += 1
        if self.there == 10:
            self.all_there.set()
        await self.all_there.wait()
        return ToolResult(text="Answer: 0")


def test_tools_of_many_rollouts_wait_at_the_same_time():
    meeting = Meeting()
    rollouts = played(ToyCourse(lambda number: [meeting]), rollouts=48, clock="wall")
    assert meeting.there >= 10
    assert all(
        call.observation.text == "Answer: 0"
        for one in rollouts
        for call in one.trajectory.calls[:1]
        if call.call.tool == "cheap"
    )


def test_the_same_seed_plays_the_same_and_another_does_not():
    def texts(**options):
        return [one.trajectory.turns[0].generation.raw_text for one in played(**options)]

    assert texts() == texts(at_once=1)
    assert texts() != texts(seed=1)
    latencies = [one.trajectory.latency_s for one in played()]
    assert latencies == [one.trajectory.latency_s for one in played()]


def test_a_rollout_is_built_of_ids_and_says_whose_each_is():
    sampler = Said("cheap <end>", "hm hm", "answer <end>")
    policy = ModelPolicy(sampler, ToyDialect(), Stream(0), PolicySpec(name="toy"))
    trajectory, exercise = run(policy)
    assert [turn.generation.token_ids for turn in trajectory.turns] == [(7, 1), (11, 11), (8, 1)]
    assert policy.prompt == ToyDialect().prompt(situation_of(exercise))
    # A turn that was cut has its end told; the policy did not say it.
    said = [("cheap", "<end>"), ("worked", "ask"), ("hm", "hm"), ("<end>", "failed", "ask"), ("answer", "<end>")]
    assert policy.completion == [ID[word] for part in said for word in part]
    assert policy.mask == [1, 1, 0, 0, 1, 1, 0, 0, 0, 1, 1]
    assert policy.logprobs == [-0.5 * own for own in policy.mask]
    assert policy.spans == {1: (0, 2), 2: (4, 6), 3: (9, 11)}
    assert sampler.asked[2] == policy.prompt + policy.completion[:9]


def test_a_run_that_branched_off_goes_on_with_the_ids_of_the_other():
    first = ModelPolicy(Said("cheap <end>", "answer <end>"), ToyDialect(), Stream(0), PolicySpec(name="toy"))
    trajectory, exercise = run(first)
    branch = Said("answer <end>")
    policy = ModelPolicy(branch, ToyDialect(), Stream(0), PolicySpec(name="toy"))
    situation = replace(situation_of(exercise), turns=trajectory.turns[:1])

    async def move():
        return [part async for part in policy.act(situation)]

    asyncio.run(move())
    assert branch.asked == [first.prompt + first.completion[:4]]
    assert policy.completion == first.completion


def test_a_bug_in_a_dialect_is_raised():
    class Broken(ToyDialect):
        def read(self, ids, situation):
            raise ZeroDivisionError("a bug")

    with pytest.raises(ZeroDivisionError, match="a bug"):
        played(dialect=Broken())


def test_what_is_interrupted_is_cancelled():
    background, cancelled = Background(), []

    async def waits():
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            cancelled.append(True)
            raise

    background._loop.call_soon_threadsafe(lambda: background._loop.create_task(waits()))
    time.sleep(0.05)
    background.close()
    assert cancelled == [True]


def situation_of(exercise):
    return Situation(setting=exercise.setting, turns=(), spent_usd=0.0, elapsed_s=0.0)


def run(policy):
    exercise = ToyCourse().exercise(1)
    setting = replace(exercise.setting, seed=0)

    async def events():
        return [event async for event in play(setting, policy, exercise.tools(0), artefacts=Discarded())]

    return fold(asyncio.run(events())), exercise
