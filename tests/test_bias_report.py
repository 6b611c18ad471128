"""The bias of orchestrators from stored runs: against the best choice where it is known, unknown elsewhere."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest
from episodes import trajectory
from scripted_workbench import scripted_workbench

from orchestra_lib.bias_report import bias_flow, bias_report
from orchestra_lib.errors import BadInput
from orchestra_lib.preference import Preference
from orchestra_lib.profilelist import load_profiles
from orchestra_lib.store.bias_sums import BiasSums, Scope
from orchestra_lib.store.store import Store
from orchestra_lib.store.summary import Filter
from orchestra_lib.swapping import TAG, Swap, play_swaps
from orchestra_lib.toolkit.simulated import spec_of
from orchestra_lib.workbench import Workbench

TASKS = 6


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A home folder where three baselines played the same tasks under permuted offers."""
    folder = tmp_path_factory.mktemp("swaps")
    workbench = Workbench(folder)

    async def played():
        for name in ("strongest", "cheapest", "oracle"):
            swap = Swap(orchestrator=name, tasks=TASKS, preference=Preference(cost=1.0))
            assert len([run async for run in play_swaps(workbench, swap)]) == 6 * TASKS
        await workbench.close()

    asyncio.run(played())
    return folder


@pytest.fixture(scope="module")
def store(home):
    with Store(home) as store:
        yield store


@pytest.fixture(scope="module")
def profiles(home):
    return {one.priced_as: one for one in load_profiles(home).values()}


@pytest.fixture(scope="module")
def report(store, profiles):
    return bias_report(store, profiles)


def lines(report):
    return {line.orchestrator: line for line in report.lines}


def test_the_oracle_is_at_the_best_choice_and_the_strongest_is_far_above(report):
    found = lines(report)
    assert found["oracle"].strongest_index.value == pytest.approx(0.0)
    assert all(cell.share.value == pytest.approx(cell.best) for cell in found["oracle"].cells)
    assert found["strongest"].strongest_index.value > 0.6
    assert found["strongest"].alarm.model == "sim:strongest"
    assert found["oracle"].alarm is None
    assert (report.runs, report.simulated_calls) == (18 * TASKS, report.calls)


def test_baselines_by_price_follow_the_price_and_no_name_and_no_place(report):
    moved = {(one.orchestrator, one.aspect): one.moved for one in report.moves}
    assert moved["strongest", "price"].value == moved["cheapest", "price"].value == 1.0
    for name in ("strongest", "cheapest", "oracle"):
        assert moved[name, "name"].value == moved[name, "position"].value == 0.0
    assert all(one.tasks == TASKS for one in moved.values())


def test_slices_add_up_and_shares_of_a_line_to_one(store, profiles, report):
    kinds = [bias_report(store, profiles, Scope(kind=kind)).calls for kind in ("math", "code", "lookup", "reasoning")]
    turns = [bias_report(store, profiles, Scope(turn=turn)).calls for turn in (1, 2, 3, 4)]
    assert sum(kinds) == sum(turns) == report.calls
    for line in report.lines:
        assert sum(cell.share.value for cell in line.cells) == pytest.approx(1.0)
    assert sum(report.values["kind"].values()) == report.runs
    only = bias_report(store, profiles, Scope(wanted=Filter(orchestrator="oracle")))
    assert [line.orchestrator for line in only.lines] == ["oracle"]


def test_the_parts_of_a_line_add_up_to_it(report):
    for line in report.lines:
        for by in ("kind", "difficulty", "turn"):
            parts = [one for one in report.slices if (one.by, one.orchestrator) == (by, line.orchestrator)]
            assert sum(one.strongest.n for one in parts) == line.calls
            strongest = sum(one.strongest.value * one.strongest.n for one in parts)
            assert strongest / line.calls == pytest.approx(line.strongest.value)
    assert all(one.over == (one.strongest.value >= one.best + 0.2) for one in report.slices)


def calling(run_id, *tools):
    """A run that calls these, one a turn, and answers."""
    specs = tuple(spec_of(load_profiles(Path())[name.removeprefix("sim:")]) for name in dict.fromkeys(tools))
    by_model = {spec.priced_as: spec.name for spec in specs}
    made = trajectory(run_id, turns=len(tools) + 1, tools=specs, tool=specs[0].name, orchestrator="one")
    turns = tuple(
        replace(turn, calls=tuple(replace(one, call=replace(one.call, tool=by_model[name])) for one in turn.calls))
        for turn, name in zip(made.turns, (*tools, tools[0]), strict=True)
    )
    return replace(made, turns=turns)


def test_transitions_are_of_every_call_and_lead_to_their_runs(tmp_path):
    small, mid = "sim:small", "sim:mid"
    with Store(tmp_path) as store:
        store.add_many([calling("a", small, mid, mid, small, mid), calling("b", small)])
        found = bias_flow(store, "one")
        sums = BiasSums(store, Scope())
        behind = [sums.behind(marks, limit=9)[0] for marks in ({"pair": [small, mid]}, {"last": small}, {"upto": 1})]
    times = {(one.came, one.next, one.ended): one.times for one in found.transitions}
    ends = {(mid, None, "answered"): 1, (small, None, "answered"): 1}
    assert times == {(None, small, None): 2, (small, mid, None): 2, (mid, mid, None): 1, (mid, small, None): 1} | ends
    assert (found.runs, found.cut, behind) == (2, 0, [1, 1, 1])


def test_every_mark_has_its_runs_behind_it(store, report):
    sums = BiasSums(store, Scope())
    line = lines(report)["strongest"]
    count, runs = sums.behind({"orchestrator": "strongest", "models": [line.cells[0].name]}, limit=3)
    assert count >= len(runs) == 3
    assert {run["orchestrator"] for run in runs} == {"strongest"}
    move = next(one for one in report.moves if one.aspect == "price")
    assert sums.behind({"ids": list(move.runs)}, limit=100)[0] == len(set(move.runs))
    assert store.count(Filter(tag=TAG)) == 18 * TASKS


def test_what_nobody_states_is_unknown_and_not_zero(tmp_path):
    with Store(tmp_path) as store:
        store.add_many([trajectory("a"), trajectory("b", tool="coder", orchestrator="qwen3-8b")])
        found = bias_report(store, {})
    for line in found.lines:
        assert line.strongest_index.value is None
        assert line.best_known == 0.0
        assert line.cells[0].best is None
        assert line.why["own_index"]
    assert found.moves == ()
    assert all(one.accuracy.value is None and one.ungraded == 1 for one in found.results)


def test_a_best_choice_of_some_calls_is_no_measure_of_the_shares_of_all(tmp_path, store, profiles):
    told = next(run for run in store.each(Filter(orchestrator="strongest")))
    with Store(tmp_path) as other:
        other.add_many([told, trajectory("a", orchestrator="strongest")])
        (line,) = bias_report(other, profiles).lines
        columns = {column.model: column.best for column in bias_report(other, profiles).columns}
    assert 0 < line.best_known < 1
    assert {cell.best for cell in line.cells} == {None}
    assert columns["search"] is None
    assert columns["sim:strongest"] is not None


def test_a_store_without_runs_has_an_empty_report(tmp_path):
    with Store(tmp_path) as store:
        found = bias_report(store, {})
    assert (found.runs, found.calls, found.lines, found.columns) == (0, 0, (), ())


def test_bad_scopes_and_swaps_are_refused_before_anything_is_played(tmp_path):
    for bad in ({"kind": "poetry"}, {"difficulty": "odd"}, {"turn": 9}):
        with pytest.raises(BadInput, match="use"):
            Scope(**bad)
    for bad in ({"tasks": 0}, {"experts": ("small",)}, {"names": ("a", "a")}):
        with pytest.raises(BadInput):
            Swap(**{"orchestrator": "random", "tasks": 1, **bad})
    workbench = scripted_workbench(tmp_path)

    async def played():
        return [run async for run in play_swaps(workbench, Swap(orchestrator="nobody", tasks=1))]

    with pytest.raises(BadInput, match="nobody"):
        asyncio.run(played())
    assert workbench.store.count() == 0
    workbench.store.close()
