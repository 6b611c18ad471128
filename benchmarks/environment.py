"""What a step and an evaluation in our environments cost beside the way of tau2-bench.

    python -m benchmarks.environment --json

Both sides run the same operations of the shipped domains on the same drawn tasks, in one process, by CPU time. The
other way (`plain_state.py`) is tau2's: each evaluation reads the database anew from JSON, once to replay the episode
and once for the golden calls, and compares SHA-256 of the whole. Ours lays an overlay over a shared base and compares
what was changed with the golden diff, which is worked out once. tau2 itself is not run: its figures of the reference
study, on another machine, are printed to stderr and marked as such.
"""

import json
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from random import Random

from benchmarks.claims import Claim, Rival, claim, note, parser, show
from benchmarks.plain_state import PlainState
from orchestra_lib.environment.assignment import Assignment, AssignmentKind, GoldenCall
from orchestra_lib.environment.domain import World, domain_names, load_world
from orchestra_lib.environment.operations import writes
from orchestra_lib.environment.success import Judge
from orchestra_lib.environment.trying import Caller
from orchestra_lib.errors import ModelMistake

READS, WRITES = 4, 2
EVALUATIONS = 300
"""So many times faster an evaluation should be."""
REFERENCE = (
    "tau2-bench as studied elsewhere (retail, airline, telecom): 4,500 to 16,600 steps/s, 1.3 to 21 evaluations/s"
)


def main() -> None:
    chosen = parser(__doc__).parse_args()
    worlds = [load_world(name) for name in (["mock"] if chosen.quick else domain_names())]
    tasks = [(world, calls) for world in worlds for calls in drawn(world, 3 if chosen.quick else 8)]
    note(f"{len(tasks)} tasks in {len(worlds)} domains, {sum(len(calls) for _, calls in tasks)} calls")
    note(f"not measured here: {REFERENCE}")
    show([*_speed(tasks, rounds=2 if chosen.quick else 10), *_agreement(tasks)], as_json=chosen.json)


def drawn(world: World, many: int) -> list[tuple[GoldenCall, ...]]:
    """Calls that go well one after the other: reads, then writes."""
    caller, state, found = Caller(world, seed=5), world.state(), []
    kinds = set(writes(world.domain))
    reading = [one for one in world.domain.operations if one.name not in kinds and one.builtin is None]
    writing = [one for one in world.domain.operations if one.name in kinds]
    random = Random(5)
    for _ in range(many):
        state, calls = world.state(), []
        for options, wanted in ((reading, READS), (writing, READS + WRITES)):
            for _ in range(400):
                if len(calls) == wanted:
                    break
                call = caller.call(random.choice(options))
                with suppress(ModelMistake):
                    world.operations.run(state, call.operation, call.arguments)
                    calls.append(call)
        found.append(tuple(calls))
    return found


def _speed(tasks: Sequence[tuple[World, tuple[GoldenCall, ...]]], rounds: int) -> list[Claim]:
    texts = {world.domain.name: json.dumps(world.records) for world, _ in tasks}
    judges = [(world, calls, Judge(world, _assignment(calls))) for world, calls in tasks]
    steps = sum(len(calls) for _, calls in tasks)

    def step() -> None:
        for world, calls in tasks:
            state = world.state()
            for call in calls:
                state.base.text(world.operations.run(state, call.operation, call.arguments))

    states = [(judge, _state(world, calls)) for world, calls, judge in judges]

    def judged() -> None:
        for judge, state in states:
            assert judge.succeeds(state, ())

    def whole() -> None:
        for world, calls, judge in judges:
            assert judge.succeeds(_state(world, calls), ())

    def plainly() -> None:
        for world, calls in tasks:
            assert _plain(world, calls, texts) == _plain(world, calls, texts)

    ours_us, whole_us = _us(judged, rounds) / len(tasks), _us(whole, rounds) / len(tasks)
    theirs = Rival(name="the whole database read and hashed", value=_us(plainly, 1) / len(tasks))
    return [
        claim("steps, each with its result as JSON", 1e6 * steps / _us(step, rounds), "steps/s"),
        claim("an evaluation of an episode", ours_us, "CPU us", rival=theirs, ratio_at_most=1 / EVALUATIONS),
        claim("an episode's calls and its evaluation", whole_us, "CPU us", rival=theirs),
    ]


def _agreement(tasks: Sequence[tuple[World, tuple[GoldenCall, ...]]]) -> list[Claim]:
    """Golden episodes, and such with one call left out or done twice: do both say the same of the state?"""
    same, all_of, random = 0, 0, Random(9)
    for world, calls in tasks:
        texts = {world.domain.name: json.dumps(world.records)}
        judge, golden = Judge(world, _assignment(calls)), _plain(world, calls, texts)
        place = random.randrange(len(calls))
        for episode in (calls, calls[:place] + calls[place + 1 :], (*calls, calls[-1])):
            all_of += 1
            same += judge(_state(world, episode), ()).state_ok == (_plain(world, episode, texts) == golden)
    return [claim(f"verdicts on the state that agree, of {all_of}", 100 * same / all_of, "%", at_least=100)]


def _assignment(calls: tuple[GoldenCall, ...]) -> Assignment:
    return Assignment(id="drawn", domain="", instruction="", kind=AssignmentKind.WRITE, golden=calls)


def _state(world: World, calls: Sequence[GoldenCall]):
    state = world.state()
    for call in calls:
        with suppress(ModelMistake):
            world.operations.run(state, call.operation, call.arguments)
    return state


def _plain(world: World, calls: Sequence[GoldenCall], texts: dict[str, str]) -> str:
    state = PlainState(world.domain, texts[world.domain.name])
    for call in calls:
        with suppress(ModelMistake):
            world.operations.run(state, call.operation, call.arguments)
    return state.hash()


def _us(work: Callable[[], None], rounds: int) -> float:
    """CPU microseconds of one round."""
    work()
    started = time.process_time()
    for _ in range(rounds):
        work()
    return (time.process_time() - started) * 1e6 / rounds


if __name__ == "__main__":
    main()
