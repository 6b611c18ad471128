"""The routes and views of the Evaluation page, over reports that were really made."""

import json
from contextlib import contextmanager

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from test_evaluation import Others, questions
from test_study import studied, wanted

from app import api, evaluation_api
from app.runs import RunManager
from orchestra_lib.evaluation.keeping import keep_study
from orchestra_lib.evaluation.plan import Conditions, settled
from orchestra_lib.evaluation.study import plan_study
from orchestra_lib.evaluation.suite_list import load_suites
from orchestra_lib.evaluation.tables import Choice
from orchestra_lib.policy.scripted import Scripted
from orchestra_lib.workbench import Workbench


def kept(home, table, suites, **given):
    """The name of a report, made and kept as the command does it."""
    report = studied(home, table, suites, **given)
    names = {"names": given["names"]} if "names" in given else {}
    study = plan_study(table, wanted(suites, **names), Choice(), home=home)
    return keep_study(home, study, report).name


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    home = tmp_path_factory.mktemp("home")
    suites = load_suites(["simulated"], home, limits=["3"])
    return home, kept(home, "main", suites)


@contextmanager
def client(home):
    bench, app = Workbench(home), FastAPI()
    api.install(app, bench, RunManager(bench))
    app.include_router(evaluation_api.router(bench), prefix="/api")
    with TestClient(app, raise_server_exceptions=False) as made:
        yield made
    bench.store.close()


def test_reports_are_listed_and_each_figure_leads_to_its_runs(stored):
    home, name = stored
    with client(home) as web:
        rows = web.get("/api/evaluations").json()
        assert name in {row["name"] for row in rows}
        (row,) = [row for row in rows if row["name"] == name]
        assert (row["table"], row["suites"], row["runs"], row["complete"]) == ("main", ["simulated"], 6, True)
        report = web.get(f"/api/evaluations/{name}").json()
        cells = report["blocks"][0]["sheets"][0]["rows"][0]
        assert cells[0]["text"] == "oracle (simulated)"
        share = cells[1]["share"]
        assert (share["low"] <= share["mean"] <= share["high"], share["tasks"], cells[1]["drawn"]) == (True, 3, True)
        behind = web.get(cells[1]["href"].replace("/trajectories", "/api/trajectories")).json()
        assert len(behind["rows"]) == 3
        assert {one["orchestrator"] for one in behind["rows"]} == {"oracle"}


def test_two_by_two_each_name_leads_to_its_runs_and_a_note_on_both_stands_once(stored):
    home, name = stored
    with client(home) as web:
        block = web.get(f"/api/evaluations/{name}").json()["blocks"][1]
        ((names, *_),) = next(sheet["rows"] for sheet in block["sheets"] if sheet["title"] == "Two by two")
        behind = [web.get(one["href"].replace("/trajectories", "/api/trajectories")).json() for one in names["less"]]
    assert [{row["orchestrator"] for row in found["rows"]} for found in behind] == [
        {one["text"]} for one in names["less"]
    ]
    assert [note for note in block["notes"] if note.endswith("its figures are simulated")] == [
        f"{', '.join(one['text'] for one in names['less'])}: simulated experts were on offer; its figures are simulated"
    ]


def test_every_share_of_a_suite_comes_as_numbers_too(stored):
    home, name = stored
    with client(home) as web:
        block = web.get(f"/api/evaluations/{name}").json()["blocks"][1]
    lines, ends, pairs = (sheet["rows"] for sheet in block["sheets"])
    shares = [row[1]["share"] for row in (*lines, *pairs)] + [cell["share"] for row in ends for cell in row[1:]]
    assert {(one["tasks"], -1 <= one["mean"] <= 1) for one in shares} == {(3, True)}
    assert pairs[0][1]["after"].startswith("p ")
    assert not any("%" in cell["text"] and "share" not in cell for row in (*lines, *ends, *pairs) for cell in row[1:])


def test_a_mean_over_suites_leads_to_the_runs_of_each(tmp_path):
    files = []
    for name, count in (("few", 1), ("many", 2)):
        (tmp_path / name).mkdir()
        files.append(questions(tmp_path / name, count).rename(tmp_path / f"{name}.jsonl"))
    suites = load_suites([str(file) for file in files], tmp_path)
    name = kept(tmp_path, "main", suites, others=Others(one=Scripted(["42"], name="one")), names=("one",))
    with client(tmp_path) as web:
        (cells,) = web.get(f"/api/evaluations/{name}").json()["blocks"][0]["sheets"][0]["rows"]
        assert [cell["text"] for cell in cells if not {"href", "links"} & cell.keys()] == [
            cells[0]["text"],
            cells[-1]["text"],
        ]
        (*_, mean) = (cell for cell in cells if "links" in cell)
        behind = [web.get(link["href"].replace("/trajectories", "/api/trajectories")).json() for link in mean["links"]]
    assert [(link["text"], len(found["rows"])) for link, found in zip(mean["links"], behind, strict=True)] == [
        ("few", 1),
        ("many", 2),
    ]


def test_published_figures_are_apart_from_ones_own(stored):
    home, name = stored
    with client(home) as web:
        report = web.get(f"/api/evaluations/{name}").json()
    assert "arXiv 2511.21689" in report["published"]["source"]
    assert "Orchestrator-8B" in json.dumps(report["published"])
    assert "Orchestrator-8B" not in json.dumps(report["blocks"])


def test_the_file_to_share_is_a_download(stored):
    home, name = stored
    with client(home) as web:
        page = web.get(f"/api/evaluations/{name}/report.html")
    assert page.headers["content-disposition"].startswith("attachment")
    assert page.text.startswith("<!doctype html>")


@pytest.mark.parametrize("name", ["nothing", "..", "%2e%2e%2fsuites", "main-x/../.."])
def test_an_unknown_report_says_how_to_make_one(stored, name):
    with client(stored[0]) as web:
        for rest in ("", "/report.html"):
            assert web.get(f"/api/evaluations/{name}{rest}").status_code == 404


def test_a_report_of_another_version_says_so_and_hides_no_other(tmp_path):
    others = Others(one=Scripted(["42"], name="one"))
    suites = load_suites([str(questions(tmp_path, 2))], tmp_path)
    good = kept(tmp_path, None, suites, others=others, names=("one",))
    old = tmp_path / "evaluations" / "old"
    old.mkdir()
    (old / "report.json").write_text('{"suite": "gsm8k", "lines": [{"orchestrator": "a b"}]}', "utf-8")
    with client(tmp_path) as web:
        rows = {row["name"]: row for row in web.get("/api/evaluations").json()}
        assert "another version" in rows["old"]["problem"]
        assert "`orchestra eval gsm8k --orchestrator 'a b'`, with" in rows["old"]["problem"]
        assert rows[good]["orchestrators"] == ["one"]
        assert web.get("/api/evaluations/old").status_code == 400


def test_an_evaluation_without_a_report_yet_is_listed_with_its_runs_so_far(tmp_path):
    plan = settled(tmp_path / "evaluations" / "going", Conditions(suite="simulated"))
    (tmp_path / "evaluations" / "broken").mkdir()
    (tmp_path / "evaluations" / "broken" / "plan.json").write_text("[")
    with client(tmp_path) as web:
        (row,) = web.get("/api/evaluations").json()
        assert (row["name"], row["suites"], row["tag"], row["played"]) == ("going", ["simulated"], plan.id, 0)
