"""Domains and tasks in tau2's form: the real ones where they lie beside the project, and small ones written here."""

import json
from pathlib import Path

import pytest
from published_rows import row

from orchestra_lib.errors import BadInput
from orchestra_lib.published.statistics import CallKind, domain_statistics, known_kinds, task_statistics
from orchestra_lib.published.task import DEFAULT_BASIS, read_task
from orchestra_lib.published.tau2 import load_tau2_domain, load_tau2_tasks

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
real = pytest.mark.skipif(not (SHARED / "tau2").is_dir(), reason="tau2's data lie beside the project in development")
READ, WRITE, GENERIC = CallKind.READ, CallKind.WRITE, CallKind.GENERIC
KINDS = {"find": READ, "pay": WRITE, "calculate": GENERIC}


def domain(folder, tasks=(), policy="Be kind. You must not lie.", database=None):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "policy.md").write_text(policy, "utf-8")
    (folder / "db.json").write_text(json.dumps(database or {"users": {"u1": {"name": "Ana", "tags": ["a", "b"]}}}))
    (folder / "tasks.json").write_text(json.dumps(list(tasks)), "utf-8")
    return folder


@real
def test_retail_measures_what_the_study_measured():
    retail = load_tau2_domain(SHARED / "tau2" / "retail")
    measured = domain_statistics(retail)
    assert retail.records == {"products": 50, "users": 500, "orders": 1000}
    assert (measured.leaves, measured.policy_words) == (47_697, 1158)
    counts = task_statistics(retail.tasks, known_kinds("retail"))
    assert (counts.tasks, counts.golden_median, counts.golden_max) == (114, 5, 13)
    assert counts.golden_mean == pytest.approx(4.85, abs=0.01)
    assert counts.write_share == pytest.approx(0.32, abs=0.005)
    assert counts.looked_up == pytest.approx(0.75, abs=0.05)
    assert len(counts.without_write_ids) == counts.without_write == 9


@real
@pytest.mark.parametrize("name", ["mock", "retail", "telecom"])
def test_the_kind_of_every_golden_call_is_known(name):
    counts = task_statistics(load_tau2_domain(SHARED / "tau2" / name).tasks, known_kinds(name))
    assert counts.unknown_kind == 0
    assert counts.write_share is not None


def test_nothing_is_known_of_other_domains():
    assert known_kinds("bank") == {}


@real
def test_the_mock_domain_keeps_what_its_tasks_say():
    mock = load_tau2_domain(SHARED / "tau2" / "mock")
    tasks = {task.id: task for task in mock.tasks}
    assert tasks["create_task_1"].golden[0].arguments == {"user_id": "user_1", "title": "Important Meeting"}
    assert tasks["create_task_1"].basis == DEFAULT_BASIS
    assert tasks["create_task_1"].opening.startswith("You are a team member")
    assert tasks["impossible_task_1"].golden[0].compared == ()
    assert tasks["create_task_1_nl_eval"].claims == ("The task is created successfully", "The user is complimented")
    assert tasks["create_task_1_with_env_assertions"].state_checks[0]["func_name"] == "assert_task_status"
    assert tasks["update_task_with_initialization_data"].initial_state["initialization_data"]["agent_data"]["tasks"]


@real
def test_a_toml_database_is_keyed_by_its_records_and_the_users_calls_are_known():
    telecom = load_tau2_domain(SHARED / "tau2" / "telecom")
    assert telecom.tables["plans"]["P1001"]["name"] == "Basic Plan"
    assert "device" in telecom.user_tables
    assert {call.requestor for task in telecom.tasks for call in task.golden} == {"user", "assistant"}
    assert all(task.domain == "telecom" for task in telecom.tasks)


@pytest.mark.skipif(not (SHARED / "toolscale_domains").is_dir(), reason="ToolScale's domains lie beside the project")
def test_the_ten_published_domains_are_read():
    found = [load_tau2_domain(folder) for folder in sorted((SHARED / "toolscale_domains").iterdir())]
    assert len(found) == 10
    bank = found[0]
    assert (bank.name, bank.tasks, set(bank.records.values())) == ("bank", (), {297})


def test_tasks_are_counted(tmp_path):
    calls = [("find", {"name": "Ana"}), ("pay", {"amount": 30, "note": "2010"})]
    tasks = [row("1", calls), row("2", [("calculate", {"expression": "1"})]), row("3", [])]
    tasks[2]["evaluation_criteria"]["communicate_info"] = []
    counts = task_statistics(load_tau2_domain(domain(tmp_path / "d", tasks)).tasks, KINDS)
    assert (counts.tasks, counts.golden_mean, counts.golden_median, counts.golden_max) == (3, 1, 1, 2)
    assert counts.write_share == pytest.approx(1 / 3)
    assert counts.without_write_ids == ("2", "3")
    assert (counts.communicate, counts.free, counts.distinct_tools) == (2, 1, 3)
    assert counts.looked_up == 0.75  # only the name is in what the user is told


def test_tools_are_counted_where_they_are_known(tmp_path):
    found = load_tau2_domain(domain(tmp_path / "d"))
    assert (domain_statistics(found).tools, domain_statistics(found).kinds) == (None, None)
    assert domain_statistics(found, KINDS).kinds == {READ: 1, WRITE: 1, GENERIC: 1}
    marked = domain_statistics(found, {**KINDS, "think": None})
    assert (marked.tools, marked.kinds) == (4, None)


def test_what_is_unknown_is_none(tmp_path):
    tasks = load_tau2_domain(domain(tmp_path / "d", [row("1", [("find", {}), ("dance", {})])])).tasks
    counts = task_statistics(tasks, KINDS)
    assert (counts.unknown_kind, counts.write_share, counts.without_write, counts.looked_up) == (1, None, None, None)
    assert task_statistics(()).golden_mean is None


@pytest.mark.parametrize("spoil, words", [
    (lambda folder: (folder / "db.json").unlink(), "has no db.json and no db.toml"),
    (lambda folder: (folder / "policy.md").write_text(" "), "is empty"),
    (lambda folder: (folder / "db.json").write_text("[]"), "a database is an object of tables"),
    (lambda folder: (folder / "db.json").write_text('{"users": 3}'), "users: a table is an object of records"),
    (lambda folder: (folder / "tasks.json").write_text("{}"), "a list of objects was expected"),
    (lambda folder: (folder / "tasks.json").write_text('[{"id": "1"}]'), "row 1: user_scenario is missing"),
    (lambda folder: (folder / "tasks.json").write_text("[3]"), "row 1 is no object"),
])  # fmt: skip
def test_a_broken_domain_is_named_by_file_and_place(tmp_path, spoil, words):
    folder = domain(tmp_path / "d")
    spoil(folder)
    with pytest.raises(BadInput) as caught:
        load_tau2_domain(folder)
    assert words in str(caught.value)
    assert str(folder) in str(caught.value)


def test_repeated_ids_and_strange_requestors_are_refused(tmp_path):
    with pytest.raises(BadInput, match="the id '1' stood at"):
        load_tau2_tasks(domain(tmp_path / "d", [row("1", []), row("1", [])]) / "tasks.json")
    strange = row("1", [("find", {})])
    strange["evaluation_criteria"]["actions"][0]["requestor"] = "nobody"
    with pytest.raises(BadInput, match="requestor is 'nobody'; it is assistant or user"):
        read_task(strange, "here")
