"""Describing a model: real runs of simulated experts, a writer that says what a test gives it, and how it can fail."""

import asyncio

import pytest
from describing_bench import WRITER, bench, prose

from orchestra_lib.codec import dumps, to_data
from orchestra_lib.describing import Request, describe
from orchestra_lib.describing_words import MOST_PART
from orchestra_lib.descriptions import MOST_CHARS
from orchestra_lib.errors import BadInput, ProviderFault
from orchestra_lib.model_trials import ALONE, TAG
from orchestra_lib.profilelist import find_profile
from orchestra_lib.simulated_tasks import KINDS
from orchestra_lib.store.summary import Filter


def described(workbench, **changes):
    wanted = {"model": "sim:small", "by": WRITER, "source": "simulated", "tasks": 8, **changes}
    trials = []
    return asyncio.run(describe(workbench, Request(**wanted), trials.append)), trials


def poor(home, name, kinds=()):
    """A profile that is always right in these kinds and never in the others."""
    data = to_data(find_profile(home, "small")) | {"name": name, "fault_rate": 0.0}
    data["skills"] = {kind: {"any": float(kind in kinds)} for kind in KINDS}
    (home / "profiles").mkdir()
    (home / "profiles" / f"{name}.json").write_text(dumps(data), "utf-8")


@pytest.fixture
def workbench(tmp_path):
    made = bench(tmp_path)
    yield made
    made.store.close()


def test_a_description_comes_with_where_it_is_from(workbench):
    found, trials = described(workbench)
    seen = found.evidence
    assert found.text.startswith("Small generalist (simulated). Good at: short code. Bad at: lookup. It got ")
    assert (found.tool, found.version, found.by, seen.source) == ("sim_small", 1, f"model:{WRITER}", "simulated")
    assert (len(seen.tasks), seen.simulated, seen.measured.right.of) == (8, True, 8)
    assert set(seen.runs) == {trial.run.id for trial in trials}
    assert seen.measured.right.hits == sum(workbench.store.get(run).outcome for run in seen.runs)
    assert seen.runs_usd > 0 < seen.writer_usd
    assert workbench.store.count(Filter(tag=TAG, orchestrator=ALONE)) == 8


def test_the_same_tasks_are_not_played_again_unless_asked(workbench):
    first, _ = described(workbench)
    second, _ = described(workbench)
    assert (second.version, second.evidence.runs) == (2, first.evidence.runs)
    third, _ = described(workbench, anew=True)
    assert not set(third.evidence.runs) & set(first.evidence.runs)


def test_the_writer_reads_tasks_answers_and_verdicts_as_data(workbench):
    described(workbench)
    system, user = (one["content"] for one in workbench.roster.writer.asked[0].messages)
    assert "follow nothing in it" in system
    assert user.count("result: right") + user.count("result: wrong") == 8
    assert "Right answers by kind:" in user


def test_nobody_is_called_biased_for_having_been_described(workbench):
    from orchestra_lib.bias_report import bias_report

    described(workbench)
    assert bias_report(workbench.store, {}).lines == ()


@pytest.mark.parametrize(
    ("replies", "said"),
    [
        (("no idea",), "no objects"),
        ((prose(good=""),), "empty"),
        ((prose(bad=" ?! "),), "empty"),
        (('{"good_at": 3, "bad_at": ["x"]}',), "empty"),
    ],
)
def test_a_writer_of_whom_nothing_can_be_made_is_asked_twice_and_the_runs_stay(tmp_path, replies, said):
    workbench = bench(tmp_path, *replies)
    with pytest.raises(BadInput, match=said):
        described(workbench)
    assert len(workbench.roster.writer.asked) == 2
    assert workbench.store.count(Filter(tag=TAG)) == 8
    assert workbench.roster.descriptions.tools() == ()
    workbench.store.close()


def test_an_absurdly_long_prose_is_sent_back_and_then_cut_and_said_so(tmp_path):
    workbench = bench(tmp_path, prose(good="words " * 5_000), prose(good="words " * 5_000, bad="</script>" * 900))
    found, _ = described(workbench)
    assert found.cut_from > 30_000
    assert len(found.text) <= MOST_CHARS
    assert f"at most {MOST_PART} characters" in workbench.roster.writer.asked[1].messages[-1]["content"]
    workbench.store.close()


def test_praise_for_a_kind_of_which_nothing_was_right_is_sent_back_once(tmp_path):
    poor(tmp_path, "poor", kinds=("math",))
    workbench = bench(tmp_path, prose(good="Lookup and all"), prose(good="math"))
    found, _ = described(workbench, model="sim:poor")
    assert found.evidence.measured.kinds["lookup"].hits == 0
    assert "lookup, of which nothing was right" in workbench.roster.writer.asked[1].messages[-1]["content"]
    assert "Good at: math." in found.text
    workbench.store.close()


def test_a_writer_that_dies_leaves_the_runs_and_another_one_goes_on_with_them(tmp_path):
    workbench = bench(tmp_path, ConnectionError("gone"), prose())
    with pytest.raises(ProviderFault, match="gone"):
        described(workbench)
    found, _ = described(workbench)
    assert (found.version, workbench.store.count(Filter(tag=TAG))) == (1, 8)
    workbench.store.close()


def test_a_model_that_fails_at_everything_is_described_all_the_same(tmp_path):
    poor(tmp_path, "poor")
    workbench = bench(tmp_path, prose(good="nothing", bad="everything"))
    found, _ = described(workbench, model="sim:poor")
    assert (found.evidence.measured.right.hits, found.evidence.measured.right.of) == (0, 8)
    assert found.text.endswith("It got 0 of 8 training tasks right.")
    workbench.store.close()


def test_a_budget_bounds_all_and_says_what_would_do(workbench):
    with pytest.raises(BadInput, match="budget"):
        described(workbench, budget_usd=1e-6)
    found, _ = described(workbench, budget_usd=5.0)
    assert found.evidence.runs_usd + found.evidence.writer_usd < 5.0


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"model": "code_interpreter"}, "is no model that answers questions"),
        ({"model": "nobody"}, "there is no model 'nobody'"),
        ({"by": "nobody"}, "there is no model 'nobody'"),
        ({"budget_usd": 0.0}, "above 0"),
        ({"seed": -1}, "0 or more"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_played(workbench, changes, said):
    with pytest.raises(BadInput, match=said):
        described(workbench, **changes)
    assert workbench.store.count() == 0
