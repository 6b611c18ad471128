"""What is fitted to simulated runs covers the profile they were drawn from; what is unknown stays unknown."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from playing import Echo, run
from simulating import expert, played, profile

from orchestra_lib.calibration import share
from orchestra_lib.errors import BadInput
from orchestra_lib.policy.scripted import Scripted
from orchestra_lib.profile import draw
from orchestra_lib.profilefit import by_domain, by_simulation, by_tags, fit, quantiles, to_profile
from orchestra_lib.simulated_tasks import simulated_task, simulated_tasks
from orchestra_lib.task import Task
from orchestra_lib.tool import ToolKind

SKILLS = {
    "math": {"easy": 0.95, "hard": 0.6}, "code": {"easy": 0.8, "hard": 0.3},
    "lookup": {"easy": 0.1, "hard": 0.5}, "reasoning": {"easy": 0.7, "hard": 0.7},
}  # fmt: skip
ASK = [[("sim_one", {"question": "?"})], "done"]


def simulated_runs(count=240, **fields):
    one = expert("one", skills=SKILLS, latency_s=4.0, usd=3.0, **fields)
    return one, [played(Scripted(ASK), [one], task.task, seed=2, run_id=task.id) for task in simulated_tasks(9, count)]


@pytest.fixture(scope="module")
def recorded():
    one, runs = simulated_runs(fault_rate=0.05)
    return one, fit(runs, by_simulation)


def test_the_intervals_cover_what_the_profile_states(recorded):
    one, found = recorded
    (seen,) = found.tools
    shares = [(SKILLS[kind][name], part) for kind, parts in seen.skills.items() for name, part in parts.items()]
    assert len(shares) == 8
    # Each covers in 95 of 100 draws; of these eight, which are always the same, at most one may miss.
    assert sum(part.low <= stated <= part.high for stated, part in shares) >= 7
    assert seen.latency_s.p50 == pytest.approx(one.profile.latency.median, rel=0.15)
    assert seen.answer_tokens.p50 == pytest.approx(one.profile.answer_tokens.median, rel=0.15)
    assert sum(part.of for _, part in shares) + seen.failed + seen.unknown == seen.calls == 240
    assert 2 <= seen.failed <= 28


def test_intervals_cover_as_often_as_they_claim():
    worlds, covered, middle = 300, 0, 0
    for seed in range(worlds):
        drawn = [draw(profile(), 0.8, seed=seed, task=str(number), number=1) for number in range(60)]
        part, seen = share(sum(one.right for one in drawn), 60), quantiles([one.latency_s for one in drawn])
        covered += part.low <= 0.8 <= part.high
        middle += seen.low <= 5.0 <= seen.high
    # 285 expected of each with a standard deviation of 3.8.
    assert min(covered, middle) >= 270


def test_a_fitted_profile_plays_like_the_one_it_was_fitted_to(recorded):
    one, found = recorded
    again = to_profile(found.tools[0], "again", source="tests")
    assert again.price == one.profile.price
    assert again.latency.sigma == pytest.approx(one.profile.latency.sigma, rel=0.15)
    assert again.chance("math", "easy") == pytest.approx(0.95, abs=0.15)
    assert (again.fault_rate, again.anchored) == (round(found.tools[0].failed / 240, 4), {"all figures": "tests"})


def test_runs_of_no_known_kind_are_counted_and_left_out():
    _, runs = simulated_runs(8)
    strange = replace(runs[0], setting=replace(runs[0].setting, task=Task(text="Hm?", reference="1")))
    found = fit([*runs, strange], by_simulation)
    assert (found.runs, found.unplaced, found.tools[0].calls) == (9, 1, 8)


def ungraded(text="What is it?", outcome=None, calls=1):
    one = expert("one")
    script = [*(ASK[:1] * calls), "done"]
    trajectory = played(Scripted(script), [one], replace(simulated_task(1, 0).task, id="t"), seed=1)
    task = Task(text=text)
    return replace(trajectory, setting=replace(trajectory.setting, task=task), outcome=outcome)


def anything(trajectory):
    return "any", "any"


@pytest.mark.parametrize(
    "outcome, calls, skills, unknown",
    [(True, 1, {"any": (1, 1)}, 0), (False, 1, {"any": (0, 1)}, 0), (None, 1, {}, 1), (True, 2, {}, 2)],
)
def test_without_a_reference_only_the_grade_of_an_only_call_tells(outcome, calls, skills, unknown):
    (seen,) = fit([ungraded(outcome=outcome, calls=calls)], anything).tools
    assert {kind: (part["any"].hits, part["any"].of) for kind, part in seen.skills.items()} == skills
    assert seen.unknown == unknown


def test_a_kind_that_was_never_graded_is_no_skill():
    (seen,) = fit([ungraded()], anything).tools
    assert to_profile(seen, "p", source="tests").skills == {}


def test_without_a_price_there_is_no_profile_and_the_cost_is_unknown():
    trajectory = ungraded(outcome=True)
    bare = replace(
        trajectory, setting=replace(trajectory.setting, prices=replace(trajectory.setting.prices, prices={}))
    )
    (seen,) = fit([bare], anything).tools
    assert (seen.unpriced, seen.cost_usd) == (1, None)
    with pytest.raises(BadInput, match="know no price of it"):
        to_profile(seen, "p", source="tests")


def test_tools_that_do_not_answer_are_left_out_unless_named():
    spoken = run(Scripted([[("echo", {"word": "hi"})], "hi"]), [Echo(kind=ToolKind.BASIC)])
    assert fit([spoken], anything).tools == ()
    assert [one.spec.name for one in fit([spoken], anything, tools=["echo"]).tools] == ["echo"]


def test_kinds_by_tag_and_by_domain():
    trajectory = ungraded()

    def tagged(*tags):
        return by_tags({trajectory.id: tags})(trajectory)

    assert tagged("math/hard") == ("math", "hard")
    assert tagged("my law") == ("my-law", "any")
    assert tagged("checked", "kind:law") == ("law", "any")
    assert (tagged(), tagged("a", "b"), by_tags({})(trajectory), by_domain(trajectory)) == (None,) * 4


@given(st.lists(st.floats(0.001, 1e6), min_size=1, max_size=60))
def test_quantiles_lie_in_order(values):
    seen = quantiles(values)
    assert min(values) <= seen.p10 <= seen.p50 <= seen.p90 <= max(values)
    assert (seen.low is None) == (len(values) < 6)
    if seen.low is not None:
        assert seen.low <= seen.p50 <= seen.high
    assert quantiles([]) is None
