"""Work on a Ray cluster of this machine: the same as in one process, also when workers are killed in the middle."""

import asyncio
import hashlib
import json
import os
import sys
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

import psutil
import pytest
from engine_workers import DOOM, Fragile, scripted

from orchestra_lib.codec import to_data
from orchestra_lib.engine.cluster import Where, cluster
from orchestra_lib.engine.crew import TRIES, Crew, code_of, settings_of
from orchestra_lib.engine.player import Player, RemoteCells, marked, rollout
from orchestra_lib.engine.sieve import Sieve, candidates, verified
from orchestra_lib.environment.assignment import write_assignments
from orchestra_lib.errors import BadInput, WorkerFault
from orchestra_lib.evaluation.plan import Conditions
from orchestra_lib.evaluation.running import Wanted, evaluate
from orchestra_lib.evaluation.suites import load_suite
from orchestra_lib.event import fold
from orchestra_lib.grading import Wish
from orchestra_lib.store.journal import INTERRUPTED
from orchestra_lib.store.store import Store
from orchestra_lib.store.summary import Filter
from orchestra_lib.store.worker_folders import WORKERS
from orchestra_lib.synthesis.pipeline import pipeline_of
from orchestra_lib.synthesis.verifying import verify
from orchestra_lib.workbench import Order, Workbench

pytestmark = [pytest.mark.timeout(300), pytest.mark.filterwarnings("ignore::ResourceWarning")]  # Ray's own pipes
SECRET = "sk-this-key-stands-nowhere-0815"


@pytest.fixture(scope="module")
def ray(tmp_path_factory):
    """One cluster for all tests of this file: to start it takes seconds. Its workers find this folder's modules."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join([str(Path(__file__).parent), str(Path(__file__).parents[1])]))
        patch.setenv("LAB_API_KEY", SECRET)
        patch.setenv(DOOM, str(tmp_path_factory.mktemp("doom")))
        with cluster(Where(workers=6)):
            import ray

            yield ray


@contextmanager
def of(kind, home, *arguments, workers=2, at_once=4):
    made = Crew(kind, arguments, home, workers=workers, at_once=at_once)
    made.muster(alike=False)
    yield made
    made.dismiss(remove=True)
    assert [*(home / WORKERS).glob("*/")] == [], "nothing of workers stays behind"


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """Where the players' runs are kept."""
    return tmp_path_factory.mktemp("players")


@pytest.fixture(scope="module")
def players(ray, home):
    with of(Player, home, scripted) as made:
        yield made


@pytest.fixture(scope="module")
def fragile(ray, tmp_path_factory):
    with of(Fragile, tmp_path_factory.mktemp("fragile"), at_once=6) as made:
        yield made


def evaluated(home, suite, crew=None, told=lambda step: None, out=None, **asked):
    async def go():
        workbench = Workbench(home)
        scripted(workbench)
        conditions = Conditions(suite=suite.name, tools=suite.tools or ("code_interpreter",))
        wanted = Wanted(suite=suite, conditions=conditions, **asked)
        players = None if crew is None else partial(RemoteCells, crew)
        try:
            return await evaluate(
                workbench, wanted, out or home / "out", begins=lambda outlook: True, told=told, players=players
            )
        finally:
            await workbench.close()

    return asyncio.run(go())


def questions(folder, count=6):
    folder.mkdir(exist_ok=True)
    file = folder / "tasks.jsonl"
    rows = [{"question": f"Say {n} once.", "answer": "42"} for n in range(count)]
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    return file


def bare(value):
    """A trajectory's data without what a clock or a lot put into it."""
    if isinstance(value, dict):
        return {
            key: bare(part)
            for key, part in value.items()
            if not key.endswith(("_s", "_at")) and key not in ("run_id", "at", "prices")
        }
    return [bare(part) for part in value] if isinstance(value, list) else value


def runs(home, made):
    """What an evaluation has played, by what its cells are called."""
    with Store.open(home) as store:
        found = store.each(Filter(tag=made.id))
        return {one.id.removeprefix(made.id): bare(to_data(one)) for one in found}


@pytest.mark.parametrize(
    "of, orchestrators",
    [
        ("tasks", ("right", "wrong")),
        ("simulated", ("cheapest", "random")),
        ("domains:railway", ("conductor-no-model",)),
    ],
)
def test_trajectories_are_those_of_one_process(players, home, tmp_path, of, orchestrators):
    suite = load_suite(str(questions(tmp_path)) if of == "tasks" else of, tmp_path, limit=4)
    asked = {"orchestrators": orchestrators, "seeds": 2}
    local, remote = (
        evaluated(tmp_path, suite, **asked),
        evaluated(home, suite, players, out=tmp_path / "there", **asked),
    )
    assert (remote.complete, remote.played_again) == (True, 0)
    ours, theirs = runs(home, remote), runs(tmp_path, local)
    assert len(ours) == len(suite.items) * 2 * len(orchestrators)
    assert ours == theirs
    for one, other in zip(remote.lines, local.lines, strict=True):
        for what in ("solved", "stops"):
            assert getattr(one, what) == getattr(other, what)
        assert one.figures["calls"] == other.figures["calls"]


def test_a_worker_that_is_killed_loses_nothing_and_the_totals_are_the_same(players, home, tmp_path):
    suite, kept = load_suite(str(questions(tmp_path, 24)), tmp_path), {}

    def told(step):
        """What is told is on disk by then, however little there is of what comes after."""
        kept.update({file.name: file.read_bytes() for file in (home / "journals").glob("ev-*.jsonl")})

    asked = {"orchestrators": ("doomed",), "seeds": 1}
    made = evaluated(home, suite, players, told, tmp_path / "out", **asked)
    (line,) = made.lines
    assert (made.complete, line.solved, line.done, line.stops) == (True, 24, 24, {"answered": 24})
    assert len([name for name in kept if name.startswith(made.id)]) >= 24
    for name, content in kept.items():
        assert (home / "journals" / name).read_bytes() == content
    with Store.open(home) as store:
        found = store.each(Filter(tag=made.id))
        cut = [one for one in found if any(fault.kind == INTERRUPTED for fault in one.faults)]
        assert 1 <= len(cut) == made.played_again <= players.room, "only what went on when it died"
        assert store.count(Filter(tag=made.id)) == 24 + len(cut)


def test_a_group_is_played_and_kept(players, home):
    order = Order(task="6 * 7?", orchestrator="right", reference="42", group="g")

    async def go():
        cancel, found = asyncio.Event(), []
        for n in range(3):
            run = rollout(players, replace(order, seed=n), f"run-{n}", cancel)
            found.append(fold([event async for event in run]))
        return found

    assert [one.outcome for one in asyncio.run(go())] == [True, True, True]
    with Store.open(home) as store:
        assert store.members("g") == ("run-0", "run-1", "run-2")


def test_grades_are_those_of_one_process(players, home, tmp_path):
    wish = Wish(by="symbolic", reference=r"\frac{84}{2}")

    async def go():
        workbench = Workbench(tmp_path)
        scripted(workbench)
        try:
            for name in ("right", "wrong"):
                async for _ in workbench.play(Order(task="6 * 7?", orchestrator=name, tools=()), run_id=name):
                    pass
            there = [await workbench.grade(name, wish, mark=partial(marked, players)) for name in ("right", "wrong")]
            here = [await workbench.grade(name, wish) for name in ("right", "wrong")]
            with pytest.raises(BadInput, match="has no reference to compare with"):
                await workbench.grade("right", Wish(), mark=partial(marked, players))
        finally:
            await workbench.close()
        return there, here

    there, here = asyncio.run(go())
    assert [one.grade.outcome for one in there] == [True, False]
    assert [bare(to_data(one.grade)) for one in there] == [bare(to_data(one.grade)) for one in here]


def test_a_node_with_other_code_or_settings_is_told_apart(players, home, monkeypatch):
    place = players.places[0]
    ours = replace(place, code=code_of(), settings=settings_of(home))
    monkeypatch.setattr(players, "places", (ours, replace(ours, node="far", code="other")))
    with pytest.raises(BadInput, match="node far has another version of this project; install the same commit"):
        players.compare()
    monkeypatch.setattr(players, "places", (ours, replace(ours, settings="other")))
    with pytest.raises(BadInput, match="has other endpoints, prices or profiles in its home folder"):
        players.compare()


def test_tasks_are_drawn_and_verified_as_in_one_process(ray, tmp_path):
    pipeline, file = pipeline_of("railway", seed=3), tmp_path / "railway.jsonl"
    with of(Sieve, tmp_path) as made:
        drawn = candidates(made, "railway", 3)
        ours = [next(drawn) for _ in range(40)]
        drawn.close()
        write_assignments([one.assignment for one in ours if hasattr(one, "assignment")], file)
        broken = file.read_text("utf-8").splitlines()[0].replace('"domain":"railway"', '"domain":"nowhere"')
        file.write_text(f"{file.read_text('utf-8')}{broken}\n", "utf-8")
        found = list(verified(made, [file]))
    assert ours == [pipeline.candidate(number) for number in range(40)]
    assert found == list(verify([file]))
    assert found[-1].failure.reason == "its domain cannot be loaded"


def test_only_so_many_calls_are_under_way(fragile):
    async def all_of():
        return await asyncio.gather(*(fragile.call("at_once", n) for n in range(60)))

    found = asyncio.run(all_of())
    assert [number for number, _ in found] == [*range(60)]
    assert max(most for _, most in found) == fragile.room == 3
    assert [number for number, _ in fragile.in_order("at_once", range(60))] == [*range(60)]


def test_an_error_comes_back_as_it_was_raised(fragile):
    with pytest.raises(BadInput, match=r"^limit = 0; use 1$"):
        asyncio.run(fragile.call("refuse", BadInput("limit = 0; use 1")))
    with pytest.raises(BadInput, match=r"^limit = 0; use 1$"):
        list(fragile.in_order("refuse", [BadInput("limit = 0; use 1")]))


def test_what_kills_its_workers_is_tried_so_often_and_no_more(fragile, tmp_path):
    with pytest.raises(WorkerFault, match=rf"a worker died over it, {TRIES} times"):
        asyncio.run(fragile.call("die", str(tmp_path), TRIES))
    assert len([*tmp_path.glob("begun-*")]) == TRIES
    assert asyncio.run(fragile.call("at_once", 7))[0] == 7, "the next one is served by a new worker"


def test_keys_are_in_the_environment_of_workers_and_in_no_file(fragile, ray):
    digest = asyncio.run(fragile.call("digest", "LAB_API_KEY"))
    assert digest == hashlib.sha256(SECRET.encode()).hexdigest()
    session = Path(ray._private.worker._global_node.get_session_dir_path())
    files = [file for file in (*session.rglob("*"), *fragile.home.rglob("*")) if file.is_file()]
    assert len(files) > 10
    assert [file for file in files if SECRET.encode() in file.read_bytes()] == []
    assert session.parents[1].stat().st_mode & 0o077 == 0, "others cannot look into it"


def test_a_cluster_of_our_own_listens_on_loopback_alone(ray):
    listening = []
    for one in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            places = one.net_connections(kind="inet")
            listening += [place.laddr for place in places if place.status == psutil.CONN_LISTEN]
    assert len(listening) >= 4
    assert {place.ip.removeprefix("::ffff:") for place in listening} <= {"127.0.0.1", "::1"}
    assert 8265 not in [place.port for place in listening], "no dashboard"


@pytest.mark.parametrize(
    "address, words",
    [
        ("127.0.0.1:1", "nobody answers at --ray-address 127.0.0.1:1"),
        ("ray://127.0.0.1:10001", "Ray's client protocol is not spoken here"),
        ("nowhere", "write HOST:PORT"),
    ],
)
def test_a_cluster_that_is_not_there_is_said_at_once(address, words):
    with pytest.raises(BadInput, match=words), cluster(Where(address=address)):
        pass


def test_without_ray_the_remedy_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with (
        pytest.raises(BadInput, match=r"install it with `python -m pip install -r requirements-ray.txt"),
        cluster(Where()),
    ):
        pass
    with pytest.raises(BadInput, match="--workers 0; use 1 or more"):
        Where(workers=0)


def test_a_stopped_run_is_kept(players):  # the last one: these players stop whatever they are asked from now on
    order = Order(task="Wait", orchestrator="slow", reference="42")

    async def go():
        await players.stop()
        return fold([event async for event in rollout(players, order, "stopped", asyncio.Event())])

    assert asyncio.run(go()).stop == "cancelled"
