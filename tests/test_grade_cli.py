"""`orchestra grade` and `orchestra note`: one run or many, by whom, resumed; a judge against people."""

import asyncio
import json
import sys

import pytest
from judging import Judge, verdict
from scripted_workbench import scripted_workbench

from orchestra_lib.cli import calibrate, main
from orchestra_lib.cli import grade as command
from orchestra_lib.event import fold
from orchestra_lib.workbench import Order


@pytest.fixture
def bench(tmp_path):
    made = scripted_workbench(tmp_path, pace_s=0.0)
    yield made
    made.store.close()


@pytest.fixture
def call(bench, tmp_path, monkeypatch, capsys):
    """Call `orchestra …` in this process over the scripted workbench: (exit code, stdout, stderr)."""
    monkeypatch.setenv("ORCHESTRA_HOME", str(tmp_path))

    def scripted(home):
        made = scripted_workbench(home)
        made.roster.judges = bench.roster.judges
        return made

    for module in (command, calibrate):
        monkeypatch.setattr(module, "Workbench", scripted)

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["orchestra", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        return (ended.value.code or 0, *capsys.readouterr())

    return run


def play(bench, task="What is 48213 * 977?", **order):
    async def events():
        return [event async for event in bench.play(Order(task=task, orchestrator="scripted", **order))]

    return fold(asyncio.run(events())).id


def test_one_run_by_a_check_a_person_and_a_judge(bench, call):
    run_id = play(bench)
    code, out, _ = call("grade", run_id, "--by", "numeric", "--reference", "47,104,101", "--json")
    (row,) = json.loads(out)
    assert (code, row["by"], row["outcome"]) == (0, "numeric", True)
    _, out, _ = call("grade", run_id, "--by", "person:Ada", "--outcome", "not-solved", "--reason", "rounded")
    assert "not solved: rounded" in out
    _, out, _ = call("grade", run_id, "--by", "model:fair", "--json")
    assert json.loads(out)[0]["judge"] == {"cost_usd": pytest.approx(110 * 0.18e-6), "nominal": True, "attempts": 1}
    assert [one.by for one in bench.store.get(run_id).grades] == ["numeric", "person:Ada", "model:fair"]


def test_many_runs_are_graded_once_and_resumed(bench, call):
    for _ in range(3):
        play(bench, reference="47104101")
    play(bench, "fault, please", reference="1")
    code, out, err = call("grade", "--all", "--by", "model:fair", "--jobs", "2", "--json")
    assert (code, len(bench.roster.judges["fair"].asked)) == (0, 3)
    assert "3/3" in err
    assert sorted(bool(row["skipped"]) for row in json.loads(out)) == [False, False, False, True]
    call("grade", "--status", "answered", "--by", "model:fair")
    assert len(bench.roster.judges["fair"].asked) == 3
    _, _, err = call("grade", "--status", "answered", "--by", "model:fair", "--again")
    assert len(bench.roster.judges["fair"].asked) == 6
    assert "3 solved, 0 not solved, 0 unknown, 0 failed, 0 left out · the judge took" in err
    assert err.rstrip().endswith("nominal")


def test_a_refusal_is_of_that_run_alone_and_says_why(bench, call):
    good, unsaid, faulty = play(bench, reference="47104101"), play(bench), play(bench, "fault, please", reference="1")
    code, out, err = call("grade", "nope", faulty, unsaid, good, "--again")
    assert (code, [one.outcome for one in bench.store.get(good).grades]) == (1, [True, True])
    assert "refused: there is no run 'nope'" in out
    assert f"refused: run {faulty} ended by fault" in out
    assert "has no reference" in out
    assert "1 solved, 0 not solved, 0 unknown, 0 failed, 0 left out, 3 refused" in err
    _, out, _ = call("grade", "nope", good, "--by", "person:Ada", "--outcome", "solved", "--json")
    assert [(row["outcome"], bool(row["refused"])) for row in json.loads(out)] == [(None, True), (True, False)]
    code, _, err = call("grade", "nope", unsaid)
    assert code == 2
    assert "there is no run 'nope'" in err
    assert "(and 1 other was refused, too)" in err


def test_a_judge_that_fails_is_told_and_the_next_pass_asks_again(bench, call):
    play(bench)
    bench.roster.judges["bad"] = Judge("prose")
    code, out, _ = call("grade", "--all", "--by", "model:bad")
    assert code == 1
    assert "ungraded: the judge gave no verdict" in out
    call("grade", "--all", "--by", "model:bad")
    assert len(bench.roster.judges["bad"].asked) == 4


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nope"], "there is no run 'nope'"),
        ([], "say --all"),
        (["RUN", "--all"], "not both"),
        (["RUN", "--by", "gut"], "there is no grader 'gut'"),
        (["RUN", "--by", "model:nobody"], "there is no model 'nobody'"),
        (["RUN"], "has no reference"),
        (["RUN", "--by", "person:Ada"], "add --outcome"),
        (["RUN", "--outcome", "solved"], "name them as person:NAME"),
        (["RUN", "--by", "person:Ada", "--outcome", "perhaps"], "is unknown"),
        (["RUN", "--reason", "so"], "needs an outcome"),
        (["--all", "--by", "person:Ada", "--outcome", "solved"], "give their ids"),
        (["RUN", "--by", "numeric", "--tolerance", "-1"], "tolerance = -1.0"),
        (["RUN", "--by", "exact", "--tolerance", "1"], "check exact has no tolerance"),
        (["RUN", "--tolerance", "1"], "only a check has tolerance"),
        (["RUN", "--by", "numeric", "--reference", "many"], "is no number"),
        (["RUN", "--jobs", "0"], "--jobs 0"),
        (["--calibrate", "runs"], "--by model:NAME"),
        (["--calibrate", "--by", "model:fair", "runs"], "graded by a person"),
        (["--calibrate", "--by", "model:fair"], "takes one source"),
        (["--calibrate", "--by", "model:fair", "nowhere.jsonl"], "nowhere.jsonl cannot be read"),
    ],
)
def test_bad_input_is_one_line_and_nothing_is_stored(bench, call, arguments, message):
    run_id = play(bench)
    code, _, err = call("grade", *(run_id if one == "RUN" else one for one in arguments))
    assert code == 2
    assert message in err
    assert bench.store.get(run_id).grades == ()


def test_a_judge_is_calibrated_against_a_file_and_against_people(bench, call, tmp_path):
    bench.roster.judges["long"] = Judge(
        lambda request: verdict("correct" if "helps to go through" in str(request.messages) else "incorrect")
    )
    file = tmp_path / "labelled.jsonl"
    rows = [{"task": "2 + 2?", "reference": "4", "answer": f"{n}", "human": n == 4} for n in range(10)]
    file.write_text("\n".join(map(json.dumps, rows)) + "\n", "utf-8")
    code, out, _ = call("grade", "--calibrate", "--by", "model:long", file, "--json")
    found = json.loads(out)
    assert (code, found["ratings"], found["agreement"]["share"]["hits"], found["requests"]) == (0, 10, 9, 30)
    assert (found["swap"]["share"]["hits"], found["padding"]["to_solved"]) == (0, 10)
    run_id = play(bench)
    call("grade", run_id, "--by", "person:Ada", "--outcome", "solved")
    _, out, _ = call("grade", "--calibrate", "--by", "model:fair", "runs")
    assert "100% (21% to 100%) of 1" in out
    assert "kappa —" in out


def test_a_broken_label_names_its_line(call, tmp_path):
    file = tmp_path / "labelled.jsonl"
    file.write_text('{"task": "t", "answer": "a", "human": true}\n{"task": "t", "answer": "a", "human": "yes?"}\n')
    code, _, err = call("grade", "--calibrate", "--by", "model:fair", file)
    assert (code, "line 2: human" in err) == (2, True)


def test_a_note_is_kept_and_taken_away(bench, call):
    run_id = play(bench)
    assert call("note", run_id, "look again")[2] == "noted\n"
    assert bench.store.note_of(run_id) is not None
    assert "no note now" in call("note", run_id, "")[2]
    assert call("note", "nope", "x")[0] == 2
