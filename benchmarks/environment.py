"""What a step and an evaluation in our environments cost beside the way of tau2-bench.

    python -m benchmarks.environment --json

Both sides run the same operations of the shipped domains on the same drawn tasks, in one process, by CPU time. The
other way (`plain_state.py`) is tau2's: each evaluation reads the database anew from JSON, once to replay the episode
and once for the golden calls, and compares SHA-256 of the whole. Ours lays an overlay over a shared base and compares
what was changed with the golden diff, which is worked out once.

Where tau2 is installed the same tasks are also exported to its form and scored by its own evaluator (`tau2_way.py`):
its models, and tools that change them in place, made of the declared operations without any of our engine. A person
would write such tools by hand, and they might be quicker; so two more figures stand beside. `tau2 with our operations`
lends tau2 our compiled operations, which is no rival but shows how much is its machinery alone. `its own retail tasks`
is tau2 as it ships: other tasks, of 4.8 golden calls where ours have 9. Without tau2 the figures of the reference
study, on another machine, are printed to stderr and marked as such.

Synthesised tasks are then verified by all filters but the scripted solver, each for the first time, in worlds that have
verified as many others, and once more in new worlds, filter by filter. Together that is the shipped set. What a task
takes goes by its writes, each of which is left out and changed in every way there is: the 5,000 tasks a second that are
asked were read off a trial whose tasks had 1.1 writes where ours have 2.9, so those of one write are told apart. Golden
episodes and one changed episode of each are judged by both sides: state, what was said, records touched.
"""

import json
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from random import Random
from statistics import mean
from typing import Any
from unittest.mock import patch

from benchmarks.claims import Claim, Rival, claim, note, parser, show
from benchmarks.plain_state import PlainState
from benchmarks.tau2_way import Lent, Tau2Retail, Tau2Way, stepped, tau2
from orchestra_lib.environment.assignment import Assignment, AssignmentKind, GoldenCall
from orchestra_lib.environment.domain import World, domain_names, load_world
from orchestra_lib.environment.operations import Operations, writes
from orchestra_lib.environment.said import is_said
from orchestra_lib.environment.success import Judge
from orchestra_lib.environment.trying import Caller
from orchestra_lib.errors import ModelMistake
from orchestra_lib.synthesis.pipeline import Accepted, Workplace, pipeline_of

READS, WRITES, OWN = 4, 2, 20
SYNTHESISED = [name for name in domain_names() if name != "mock"]
TASKS = 4063
VERIFIED = 5000
"""So many tasks a second the filters should verify."""
EVALUATIONS = 300
"""So many times faster an evaluation should be."""
STEPS = 15
"""So many times faster than tau2's a step should be."""
REFERENCE = (
    "tau2-bench as studied elsewhere (retail, airline, telecom): 4,500 to 16,600 steps/s, 1.3 to 21 evaluations/s"
)


def main() -> None:
    chosen = parser(__doc__).parse_args()
    worlds = [load_world(name) for name in (["mock"] if chosen.quick else domain_names())]
    tasks = [(world, calls) for world in worlds for calls in drawn(world, 3 if chosen.quick else 8)]
    note(f"{len(tasks)} tasks in {len(worlds)} domains, {sum(len(calls) for _, calls in tasks)} calls")
    claims = [*_speed(tasks, rounds=2 if chosen.quick else 10), *_agreement(tasks)]
    names = ["railway"] if chosen.quick else SYNTHESISED
    many = 2 if chosen.quick else TASKS // len(SYNTHESISED)
    all_of = {name: synthesised(name, many) for name in names}
    made = [one for some in all_of.values() for one in some[:10]]
    claims += _synthesised(made, _unseen(all_of))
    claims += _stages(_unseen(all_of))
    if (lib := tau2()) is None:
        note(f"not measured here, tau2 is not installed: {REFERENCE}")
    else:
        claims += _beside_tau2(lib, made)
    show(claims, as_json=chosen.json)


def synthesised(name: str, many: int) -> list[tuple[Workplace, Assignment]]:
    """The first tasks that the synthesis accepts in a domain, with their worlds."""
    pipeline, found = pipeline_of(name, seed=7), []
    for one in pipeline.candidates():
        if isinstance(one, Accepted):
            found.append((pipeline.place(one.assignment.parameters), one.assignment))
        if len(found) == many:
            return found
    raise AssertionError("candidates never end")


def _unseen(all_of: dict[str, list[tuple[Workplace, Assignment]]]) -> list[tuple[Workplace, Assignment]]:
    """The same tasks in worlds made anew, where nothing has verified them."""
    pipelines = {name: pipeline_of(name, seed=7) for name in all_of}
    return [(pipelines[name].place(task.parameters), task) for name, some in all_of.items() for _, task in some]


def _synthesised(tasks: Sequence[tuple[Workplace, Assignment]], unseen) -> list[Claim]:
    def verified(place: Workplace, task: Assignment) -> None:
        assert place.filters.executable(task) is None

    def all_verified() -> None:
        for place, task in tasks:
            verified(place, task)

    for place, task in unseen[::2]:  # every second one gets the worlds going
        verified(place, task)
    taken = [(_writes(place, task), _once_us(partial(verified, place, task))) for place, task in unseen[1::2]]
    rate = "tasks verified by the executable filters"
    same, all_of = _same_verdicts(tasks)
    return [
        claim(rate, 1e6 / mean(us for _, us in taken), "tasks/s", at_least=VERIFIED),
        *(
            claim(f"{rate}, {what}", 1e6 / mean(us), "tasks/s", at_least=least)
            for what, least, us in (
                ("those of one write", VERIFIED, [us for many, us in taken if many == 1]),
                ("those of two", None, [us for many, us in taken if many == 2]),
                ("those of more", None, [us for many, us in taken if many > 2]),
            )
            if us
        ),
        claim("writes of such a task", mean(many for many, _ in taken), "writes"),
        claim("operations run to verify a task", _runs(all_verified) / len(tasks), "operations"),
        claim("a golden call without JSON", _golden_us(tasks), "CPU us"),
        claim(f"verdicts on {len(tasks)} golden and as many changed episodes", 100 * same / all_of, "%", at_least=100),
    ]


def _writes(place: Workplace, task: Assignment) -> int:
    kinds = set(writes(place.world.domain))
    return sum(call.operation in kinds for call in task.golden)


def _stages(unseen: Sequence[tuple[Workplace, Assignment]]) -> list[Claim]:
    """What each filter takes of a verification, measured one by one."""
    spent: defaultdict[str, float] = defaultdict(float)

    def timed(what: str, work: Callable[[], Any]) -> Any:
        started = time.process_time()
        found = work()
        spent[what] += time.process_time() - started
        return found

    for place, task in unseen[::2]:
        assert place.filters.executable(task) is None
    for place, task in unseen[1::2]:
        filters = place.filters
        ran = timed("the golden calls run and watched", partial(filters.rehearsed, task))
        timed("and once more, records in another order", partial(filters.golden, task, ran.judge))
        timed("where each argument comes from", partial(filters.provenance, task, ran.judge))
        timed("four cheap ways that must fail", partial(filters.free, task, ran))
        timed("every write left out and changed", partial(filters.discriminative, ran))
    many = len(unseen[1::2])
    return [claim(f"of a verification: {what}", 1e6 * took / many, "CPU us") for what, took in spent.items()]


def _runs(work: Callable[[], None]) -> int:
    """How many operations some work runs."""
    count, run = 0, Operations.run

    def counted(self: Operations, *asked: Any) -> Any:
        nonlocal count
        count += 1
        return run(self, *asked)

    with patch.object(Operations, "run", counted):
        work()
    return count


def _golden_us(tasks: Sequence[tuple[Workplace, Assignment]]) -> float:
    """CPU microseconds of a golden call, each task's in an episode of its own."""

    def play() -> None:
        for place, task in tasks:
            _state(place.world, task.golden)

    return _us(play, 10) / sum(len(task.golden) for _, task in tasks)


def _beside_tau2(lib, tasks: Sequence[tuple[Workplace, Assignment]]) -> list[Claim]:
    """Steps, evaluations and verdicts on the state by tau2's own environment and evaluator."""
    random, cases = Random(13), []
    for place, task in tasks:
        cases += [(place.world, task, calls) for calls in (task.golden, _spoiled(task.golden, random))]
    judged = [(world, Judge(world, task), calls) for world, task, calls in cases]
    steps = sum(len(calls) for *_, calls in cases)

    def ours() -> list[bool]:
        return [judge.same(_state(world, calls)) for world, judge, calls in judged]

    def our_steps() -> None:
        for world, _, calls in cases:
            state = world.state()
            for call in calls:
                with suppress(ModelMistake):
                    state.base.text(world.operations.run(state, call.operation, call.arguments))

    verdicts, step, evaluation = ours(), _us(our_steps, 5) / steps, _us(ours, 5) / len(cases)
    theirs = _exported(lib, Tau2Way, "tau2", cases)
    lent = _exported(lib, Lent, "tau2 with our operations", cases)
    own_step, own_evaluation = _retail(lib)
    claims = []
    for what, value, wanted, rivals in (
        ("a step with its result as JSON, same tasks", step, 1 / STEPS, (theirs[0], lent[0], own_step)),
        (
            "an episode replayed and judged, same tasks",
            evaluation,
            1 / EVALUATIONS,
            (theirs[1], lent[1], own_evaluation),
        ),
    ):
        claims += [
            claim(what, value, "CPU us", rival=rivals[0], ratio_at_most=wanted),
            claim("the same beside our own engine in its tools", value, "CPU us", rival=rivals[1]),
            claim("the same beside tau2 as it ships", value, "CPU us", rival=rivals[2], ratio_at_most=wanted),
        ]
    for name, one in (("its own tools", theirs[2]), ("our operations", lent[2])):
        same = sum(left == right for left, right in zip(one, verdicts, strict=True))
        what = f"verdicts on the state as tau2's evaluator has them with {name}, of {len(cases)}"
        claims.append(claim(what, 100 * same / len(cases), "%", at_least=100))
    return claims


def _exported(lib, way: type[Tau2Way], name: str, cases) -> tuple[Rival, Rival, list[bool]]:
    """What a step and an evaluation cost tau2 with the tools of a way, and its verdicts."""
    ways = {id(world): way(lib, world) for world, *_ in cases}
    mine = [(ways[id(world)], task, calls) for world, task, calls in cases]
    asked = [(one.environment(), one.asked(calls)) for one, _, calls in mine]
    exported = [(one, one.task(task.golden), one.played(calls)) for one, task, calls in mine]
    verdicts: list[bool] = []

    def evaluate() -> None:
        verdicts[:] = [one.succeeds(task, messages) for one, task, messages in exported]

    def step() -> None:
        for environment, calls in asked:
            stepped(lib, environment, calls)

    many = sum(len(calls) for _, calls in asked)
    step_us, evaluation_us = _once_us(step) / many, _once_us(evaluate) / len(cases)
    return Rival(name=name, value=step_us), Rival(name=name, value=evaluation_us), verdicts


def _retail(lib) -> tuple[Rival, Rival]:
    """What a step and an evaluation cost tau2 in its own retail domain, with its own tools and tasks."""
    retail = Tau2Retail(lib, OWN)
    environments = [lib.get_environment() for _ in retail.asked]

    def steps() -> None:
        for environment, calls in zip(environments, retail.asked, strict=True):
            stepped(lib, environment, calls)

    step = _once_us(steps) / sum(map(len, retail.asked))  # once: the calls change the databases
    evaluation = _once_us(retail.evaluate) / len(retail.asked)
    return Rival(name="its own retail tasks", value=step), Rival(name="its own retail tasks", value=evaluation)


def _same_verdicts(tasks: Sequence[tuple[Workplace, Assignment]]) -> tuple[int, int]:
    """How often both sides say the same of golden episodes, and of ones with a call left out or an argument changed."""
    same, all_of, random = 0, 0, Random(11)
    for place, task in tasks:
        world, text = place.world, json.dumps(place.world.records)
        judge, golden = Judge(world, task), _plainly(world, task.golden, text)
        told = [" ".join(f"{one.unit or ''}{one.value} {one.unit or ''}" for one in task.required)]
        for calls, messages in ((task.golden, told), (_spoiled(task.golden, random), told)):
            all_of += 1
            plain = _plainly(world, calls, text)
            theirs = plain.hash() == golden.hash() and _touched(golden, text) <= plain.read | plain.seen | plain.written
            said = all(is_said(one, messages) for one in task.required)
            same += judge.succeeds(_state(world, calls), messages) == (theirs and said)
    return same, all_of


def _spoiled(calls: Sequence[GoldenCall], random: Random) -> tuple[GoldenCall, ...]:
    place = random.randrange(len(calls))
    call = calls[place]
    name = random.choice(list(call.arguments))
    other = {**call.arguments, name: random.choice([1, 2, "other", "card_0000", "2026-01-01"])}
    new = () if random.random() < 0.5 else (GoldenCall(operation=call.operation, arguments=other),)
    return (*calls[:place], *new, *calls[place + 1 :])


def _touched(state: PlainState, text: str) -> set[tuple[str, str]]:
    records = json.loads(text)
    return {(table, key) for table, key in state.read | state.written if key in records[table]}


def _plainly(world: World, calls: Sequence[GoldenCall], text: str) -> PlainState:
    state: Any = PlainState(world.domain, text)  # it has the methods of a state, and shares no code with one
    for call in calls:
        with suppress(ModelMistake):
            world.operations.run(state, call.operation, call.arguments)
            state.written.update(state.changed())
    return state


def drawn(world: World, many: int) -> list[tuple[GoldenCall, ...]]:
    """Calls that go well one after the other: reads, then writes."""
    caller, state, found = Caller(world, seed=5), world.state(), []
    kinds = set(writes(world.domain))
    reading = [one for one in world.domain.operations if one.name not in kinds and one.builtin is None]
    writing = [one for one in world.domain.operations if one.name in kinds]
    random = Random(5)
    for _ in range(many):
        state = world.state()
        calls: list[GoldenCall] = []
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
    state: Any = PlainState(world.domain, texts[world.domain.name])
    for call in calls:
        with suppress(ModelMistake):
            world.operations.run(state, call.operation, call.arguments)
    return state.hash()


def _once_us(work: Callable[[], None]) -> float:
    """CPU microseconds of the first time."""
    started = time.process_time()
    work()
    return (time.process_time() - started) * 1e6


def _us(work: Callable[[], object], rounds: int) -> float:
    """CPU microseconds of one round."""
    work()
    started = time.process_time()
    for _ in range(rounds):
        work()
    return (time.process_time() - started) * 1e6 / rounds


if __name__ == "__main__":
    main()
