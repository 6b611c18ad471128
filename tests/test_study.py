"""Studies: several suites and variants under one head, one budget, one report, with the published figures beside it."""

import asyncio
import json
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from test_evaluation import ROOT, Others, questions

from orchestra_lib.errors import BadInput
from orchestra_lib.evaluation.joint import joint
from orchestra_lib.evaluation.pages import html, markdown
from orchestra_lib.evaluation.plan import Conditions
from orchestra_lib.evaluation.running import Wanted
from orchestra_lib.evaluation.sheets import joint_sheet, published_sheets
from orchestra_lib.evaluation.study import conduct, plan_study
from orchestra_lib.evaluation.suite_list import load_suites
from orchestra_lib.evaluation.tables import TABLES, Choice, suites_of
from orchestra_lib.limits import Limits
from orchestra_lib.paper_tables import paper_table
from orchestra_lib.policy.scripted import Scripted
from orchestra_lib.workbench import Workbench

NOW = datetime(2026, 11, 30, tzinfo=UTC)


def wanted(suites, names=("oracle", "cheapest"), limits=None, **given):
    return [
        Wanted(
            suite=suite, orchestrators=names, seeds=given.get("seeds", 1), budget_usd=given.get("budget_usd"),
            conditions=Conditions(suite=suite.name, tools=suite.tools or (), limits=limits or Limits()),
        )
        for suite in suites
    ]  # fmt: skip


def studied(home, table, suites, *, choice=None, others=None, **given):
    """The report of a study, played in a workbench of its own."""
    study = plan_study(table, wanted(suites, **given), choice or Choice(), home=home)

    async def go():
        workbench = Workbench(home)
        workbench.roster.others.append(others or Others())
        try:
            played = await conduct(workbench, study, begins=lambda all_of: True, told=lambda part, step: None)
            return joint(workbench.store, study, played, now=NOW, command="orchestra eval | <b>")
        finally:
            await workbench.close()

    return asyncio.run(go())


def column(report, name):
    at = [one.name for one in report.columns].index(name)
    return {(row.orchestrator, row.variant): row.figures[at] for row in report.rows}


def test_one_table_over_several_suites_counts_each_alike(tmp_path):
    for name, count, answer in (("few", 2, "42"), ("many", 6, "41")):
        (tmp_path / name).mkdir()
        questions(tmp_path / name, count, answer).rename(tmp_path / f"{name}.jsonl")
    few, many = (str(tmp_path / f"{name}.jsonl") for name in ("few", "many"))
    suites = load_suites([few, many], tmp_path, limits=["9", f"{many}=5"])
    others = Others(one=Scripted(["42"], name="one"), two=Scripted(["41"], name="two"))
    report = studied(tmp_path, None, suites, others=others, names=("one", "two"))
    assert [one.name for one in report.columns] == ["few", "many", "cost", "latency"]
    assert [one.mean for one in column(report, "few").values()] == [1.0, 0.0]
    assert [one.mean for one in column(report, "many").values()] == [0.0, 1.0]
    assert (report.published, report.complete, [row.done for row in report.rows]) == (None, True, [7, 7])


def test_calls_are_counted_for_each_tool_that_was_on_offer(tmp_path):
    report = studied(tmp_path, "calls", load_suites(["simulated"], tmp_path, limits=["8"]))
    assert column(report, "sim:small")["cheapest", ""].mean == 1.0
    assert sum(column(report, one.name)["oracle", ""].mean for one in report.columns) == pytest.approx(1.0)
    assert column(report, "sim:strongest")["cheapest", ""].mean == 0.0, "on offer and never called is 0, not unknown"


def test_the_turn_budget_is_a_variant_and_what_is_played_is_shared(tmp_path):
    suites = load_suites(["simulated"], tmp_path, limits=["4"])
    report = studied(tmp_path, "turns", suites, choice=Choice(turns=(1, 50)))
    accuracy = column(report, "simulated")
    assert accuracy["oracle", "1 turns at most"].mean == 0.0, "a call and an answer are two turns"
    assert accuracy["oracle", "50 turns at most"].mean > 0.0
    again = studied(tmp_path, "main", suites)
    assert again.parts[0].report.id == report.parts[1].report.id, "50 turns are the usual limit"


def test_adherence_is_beside_the_base_under_the_same_preference(tmp_path):
    suites = load_suites(["simulated"], tmp_path, limits=["8"])
    choice = Choice(wishes=("quality=0,cost=1,latency=0",), base="strongest")
    report = studied(tmp_path, "adherence", suites, choice=choice, names=("strongest", "cheapest"))
    bounded = column(report, "simulated: bounded")
    variant = "prefers quality=0,cost=1,latency=0"
    solved = column(report, "simulated")
    assert bounded["strongest", variant].mean == pytest.approx(0.5 * solved["strongest", variant].mean)
    assert bounded["cheapest", variant].mean > 0.9 * solved["cheapest", variant].mean
    with pytest.raises(BadInput, match="--base nobody is none of the orchestrators"):
        plan_study("adherence", wanted(suites), Choice(base="nobody"), home=tmp_path)


def test_other_tools_and_other_prices_stand_beside_the_usual_ones(tmp_path):
    suites = load_suites(["simulated"], tmp_path, limits=["4"])
    report = studied(tmp_path, "unseen-tools", suites)
    assert [row.variant.split()[0] for row in report.rows] == ["tools"] * 4
    assert len({part.report.conditions.tools for part in report.parts}) == 2
    prices = studied(tmp_path, "unseen-prices", suites, choice=Choice(prices=("toolorchestra",)))
    assert {part.report.conditions.prices for part in prices.parts} == {"nominal", "toolorchestra"}
    with pytest.raises(BadInput, match="name tables with --unseen-prices"):
        plan_study("unseen-prices", wanted(suites), Choice(), home=tmp_path)
    own = [replace(suites[0], name="mine")]
    with pytest.raises(BadInput, match="name them with --unseen-tools"):
        plan_study("unseen-tools", wanted(own), Choice(), home=tmp_path)


def test_one_budget_holds_over_all_parts(tmp_path):
    suites = load_suites(["simulated"], tmp_path, limits=["20"])
    choice, given = Choice(turns=(40, 50)), {"names": ("strongest",), "limits": Limits(cost_usd=0.04)}
    report = studied(tmp_path, "turns", suites, choice=choice, budget_usd=0.05, **given)
    assert 0 < report.spent_usd <= 0.05
    assert not report.complete
    assert report.parts[1].report.lines[0].not_played > 0
    whole = studied(tmp_path, "turns", suites, choice=choice, budget_usd=30.0, **given)
    assert (whole.complete, [part.report.played_again for part in whole.parts]) == (True, [0, 0])


def test_nothing_is_played_before_every_part_is_checked(tmp_path):
    suites = load_suites(["simulated"], tmp_path, limits=["2"])
    with pytest.raises(BadInput, match="nowhere"):
        studied(tmp_path, "unseen-prices", suites, choice=Choice(prices=("nowhere",)))
    with Workbench(tmp_path).store as store:
        assert store.count() == 0


@pytest.mark.parametrize("name", [*TABLES])
def test_published_figures_have_a_source_and_a_value_for_every_column(name):
    table = paper_table(name)
    assert "2511.21689" in table.source
    assert all(len(row.values) == len(table.columns) for row in table.rows)
    assert len({(row.group, row.orchestrator) for row in table.rows}) == len(table.rows)
    assert any(row.orchestrator == "Orchestrator-8B" for row in table.rows)


def test_published_tables_agree_where_they_say_the_same():
    """Table 16 repeats the scores of Table 1."""
    scores = {(row.group, row.orchestrator): row.values[2] for row in paper_table("main").rows}
    assert all(scores[row.group, row.orchestrator] == row.values[0] for row in paper_table("tau2").rows)
    assert all(cell.startswith("≈") for sheet in published_sheets(paper_table("turns")) for cell in sheet.rows[0][1:])


def test_published_figures_enter_nothing_of_ones_own(tmp_path):
    report = studied(tmp_path, "main", load_suites(["simulated"], tmp_path, limits=["2"]))
    own = joint_sheet(report)
    assert {row[0] for row in own.rows} == {"oracle (simulated)", "cheapest (simulated)"}
    assert "76.3" not in str(own)
    page, text = html(report), markdown(report)
    before, after = page.split('<section class="published">')
    assert "Orchestrator-8B" not in before
    assert "76.3" in after
    assert "Orchestrator-8B" in text.partition("As published, not measured here")[2]


def test_a_shared_page_runs_nothing_and_shows_names_as_they_are(tmp_path):
    hostile = "<img src=x onerror=alert(1)>|`"
    suites = load_suites([str(questions(tmp_path, 2))], tmp_path)
    others = Others(**{hostile: Scripted(["42"], name=hostile)})
    report = studied(tmp_path, None, suites, others=others, names=(hostile,))
    page, text = html(report), markdown(report)
    assert "<img" not in page
    assert "&lt;img" in page
    assert "<b>" not in page
    assert "default-src 'none'" in page
    assert "http" not in page.replace("http-equiv", "")
    assert r"\<img src=x onerror=alert(1)\>\|\`" in text


@pytest.mark.parametrize(
    "table, names, why",
    [
        ("mains", (), "there is no table 'mains'"),
        (None, (), "name a suite"),
        (None, ("gsm8k", "gsm8k"), "given twice"),
    ],
)
def test_what_no_study_can_be_made_of(table, names, why):
    with pytest.raises(BadInput, match=why):
        suites_of(table, names)


@pytest.mark.parametrize(
    "names, given, why",
    [
        (["simulated", "frames"], {"paths": ["x.jsonl"]}, "write SUITE=FILE"),
        (["simulated", "domains"], {"columns": "question=q"}, "--columns belongs to none"),
        (["frames"], {"paths": ["frames=a", "frames=b"]}, "given twice"),
        (["frames"], {"limits": ["3", "4"]}, "given as 3 and 4"),
        (["frames"], {"limits": ["few"]}, "no whole number"),
        (["frames", "simulated"], {"limits": ["gsm8k=3"]}, "write SUITE=N"),
    ],
)
def test_paths_and_columns_go_to_their_suites(tmp_path, names, given, why):
    with pytest.raises(BadInput, match=why):
        load_suites(names, tmp_path, **given)


@pytest.mark.timeout(240)
def test_the_command_writes_a_report_to_share(tmp_path):
    command = [
        sys.executable, "-m", "orchestra_lib", "eval", "simulated", "domains:railway", "--table", "calls", "--limit",
        "2", "--seeds", "1", "--orchestrator", "cheapest", "--orchestrator", "random", "--out", "out", "--json",
    ]  # fmt: skip
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, check=True,
        env={"ORCHESTRA_HOME": str(tmp_path / "home"), "PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"},
    )  # fmt: skip
    said = json.loads(done.stdout)
    assert [part["report"]["suite"] for part in said["parts"]] == ["simulated", "domains:railway"]
    assert "functions of the domain" in {one["name"] for one in said["columns"]}
    assert said == json.loads((tmp_path / "out" / "report.json").read_text("utf-8"))
    assert (tmp_path / "out" / "report.html").read_text("utf-8").startswith("<!doctype html>")
    assert "all together unknown" in done.stderr
