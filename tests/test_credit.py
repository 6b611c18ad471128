"""Credit: what a tool is worth is what is lost without it; what cheap tools solve needs no dear one."""

import json
from datetime import date
from pathlib import Path

import pytest
from simulating import expert
from typer.testing import CliRunner

from orchestra_lib.cli import app
from orchestra_lib.errors import BadInput
from orchestra_lib.evaluation.credit import ALL, cheap_of, sets_of
from orchestra_lib.profile import price_table
from orchestra_lib.store.store import Store

OPTIONS = ("--tools", "sim:small,sim:mid,sim:strongest", "--orchestrator", "strongest", "--orchestrator", "cheapest")
EXPERTS = {
    f"sim:{one.profile.name}": one for one in (expert("small", usd=0.1), expert("mid", usd=4), expert("big", usd=9))
}


def credited(home, *options):
    """The report of the command on a few simulated tasks, in a home of its own."""
    # Without a weight on latency, as the milliseconds of this machine are no part of what is claimed here.
    command = ["credit", "simulated", "--limit", "8", "--prefer", "latency=0", "--json", *options]
    done = CliRunner().invoke(app, command, env={"ORCHESTRA_HOME": str(home)}, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    home = tmp_path_factory.mktemp("credit")
    return home, credited(home, *OPTIONS)


def test_only_the_tool_that_is_called_has_credit(told):
    _, report = told
    credits = {(one["orchestrator"], one["tool"]): one for one in report["credits"]}
    for orchestrator, own in (("strongest", "sim:strongest"), ("cheapest", "sim:small")):
        for tool in report["tools"]:
            one = credits[orchestrator, tool]
            assert one["called"]["rate"] == (tool == own)
            if tool != own:
                assert one["differences"]["cost_cents"]["mean"] == 0.0
                assert one["differences"]["reward"]["mean"] == 0.0
                assert not one["lost"]
    assert credits["strongest", "sim:strongest"]["differences"]["cost_cents"]["low"] > 0
    assert credits["cheapest", "sim:small"]["differences"]["cost_cents"]["high"] < 0


def test_every_figure_leads_to_its_runs(told):
    home, report = told
    with Store(home) as store:
        for one in report["credits"]:
            lost, won = one["lost"], one["won"]
            assert one["differences"]["accuracy"]["mean"] == pytest.approx((len(lost) - len(won)) / report["tasks"])
            for with_tool, without in lost:
                assert (store.get(with_tool).outcome, store.get(without).outcome) == (True, False)
                assert one["tool"].replace(":", "_") not in {spec.name for spec in store.get(without).setting.tools}
        tags = store.tags_of([run for one in report["irreducible"] for run in one["runs"]])
        assert all(report["evaluations"][ALL] in of for of in tags.values())


def test_what_needed_more_is_what_no_set_of_cheap_tools_solved(told):
    home, report = told
    assert report["cheap"] == ["sim:small", "sim:mid"]
    strongest, cheapest = report["irreducible"]
    assert cheapest["share"]["hits"] == 0, "it calls the same cheap tool with all tools as with cheap ones"
    with Store(home) as store:
        for one in (strongest, cheapest):
            assert one["solved"] == one["share"]["of"] + one["unknown"]
            for run in one["runs"]:
                task = store.get(run).setting.task.text
                alone = store.select(
                    "SELECT outcome FROM trajectories WHERE task = $task AND orchestrator = $who AND len(tools) < 3 "
                    "AND NOT list_contains(tools, 'sim_strongest')",
                    {"task": task, "who": one["orchestrator"]},
                )
                assert len(alone) == 3
                assert not any(row["outcome"] for row in alone)


def test_it_goes_on_where_it_was_and_plays_nothing_twice(told):
    home, report = told
    before = len(list((home / "journals").iterdir()))
    assert credited(home, *OPTIONS) == report
    assert len(list((home / "journals").iterdir())) == before


def test_cheap_is_what_costs_half_of_the_dearest_and_has_a_price():
    specs = {name: one.spec for name, one in EXPERTS.items()}
    profiles = [one.profile for one in EXPERTS.values()]
    table = price_table(profiles, name="all", dated=date(2026, 1, 1))
    assert cheap_of(specs, table) == ("sim:small", "sim:mid")
    assert cheap_of(specs, price_table(profiles[1:], name="some", dated=date(2026, 1, 1))) == ("sim:mid",)
    assert cheap_of(specs, price_table([], name="none", dated=date(2026, 1, 1))) == ()


def test_the_sets_are_all_but_one_and_all_sets_of_cheap_ones():
    sets = sets_of(("a", "b", "c"), ("a", "b"))
    assert sets == {
        ALL: ("a", "b", "c"), "without a": ("b", "c"), "without b": ("a", "c"), "without c": ("a", "b"),
        "only a": ("a",), "only b": ("b",),
    }  # fmt: skip


@pytest.mark.parametrize(
    "tools, cheap, words",
    [
        (("a",), (), "name two or more with --tools"),
        (("a", "b"), ("c",), "--cheap c is none of the tools a, b"),
        (tuple("abcdefg"), tuple("abcdef"), "6 cheap tools make 63 sets; name 5 at most"),
    ],
)
def test_sets_that_cannot_be_are_refused(tools, cheap, words):
    with pytest.raises(BadInput, match=words):
        sets_of(tools, cheap)


def test_an_estimate_plays_nothing_and_what_is_unknown_is_not_zero(tmp_path: Path):
    command = ["credit", "simulated", "--limit", "2", "--orchestrator", "cheapest", "--dry-run"]
    done = CliRunner().invoke(app, command, env={"ORCHESTRA_HOME": str(tmp_path)}, catch_exceptions=False)
    assert (done.exit_code, done.stdout) == (0, "")
    assert "all together unknown: there is no earlier run" in done.stderr
    assert "$0" not in done.stderr
    assert not list((tmp_path / "journals").glob("*"))
