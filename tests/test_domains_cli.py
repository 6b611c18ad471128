"""`orchestra domains`: what a person and a script read."""

import json
import shutil
import sys

import pytest

from orchestra_lib.cli import main
from orchestra_lib.environment.domain import DOMAINS


@pytest.fixture
def domains(monkeypatch, capsys):
    """Call `orchestra domains …` in this process: (exit code, stdout, stderr)."""

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["orchestra", "domains", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        return (ended.value.code or 0, *capsys.readouterr())

    return call


@pytest.fixture
def folder(tmp_path):
    """A folder with the mock domain alone, to be broken."""
    shutil.copytree(DOMAINS / "mock", tmp_path / "mock")
    shutil.copytree(DOMAINS / "archetypes", tmp_path / "archetypes")
    return tmp_path


def edit(file, change):
    data = json.loads(file.read_text("utf-8"))
    change(data)
    file.write_text(json.dumps(data), "utf-8")


def test_they_are_listed_with_what_they_hold(domains):
    code, out, _ = domains("list")
    assert code == 0
    head, *lines = out.splitlines()
    assert "tools r/w/g" in head
    assert len(lines) == 11
    (railway,) = [line for line in lines if line.startswith("railway")]
    assert "21: 10/9/2" in railway
    assert {one["name"] for one in json.loads(domains("list", "--json")[1])} >= {"railway", "weather"}


def test_one_is_shown_with_its_tables_operations_and_policy_parameters(domains):
    code, out, _ = domains("show", "railway")
    assert code == 0
    assert "clock 2026-05-04T18:20:00 UTC" in out
    assert "book_seats" in out
    assert "saver_rate" in out
    data = json.loads(domains("show", "railway", "--json")[1])
    assert data["census"]["writes"] == 9
    assert data["domain"]["owner"] == "passengers"


def test_its_policy_and_its_records_are_shown(domains):
    policy = domains("show", "railway", "--policy")[1]
    assert policy.startswith("# Railway policy\n")
    assert "A saver fare costs 70 % of the full price" in policy
    rows = domains("show", "mock", "--records", "bikes")[1].splitlines()
    assert rows[0].split()[0] == "bike_id"
    assert "B101" in json.loads(domains("show", "mock", "--records", "bikes", "--json")[1])


def test_what_is_not_there_is_bad_input(domains):
    code, _, said = domains("show", "airline")
    assert (code, "no domain 'airline'" in said, "railway" in said) == (2, True, True)
    code, _, said = domains("show", "mock", "--records", "boats")
    assert (code, "no table 'boats'; it has members, bikes, hires" in said) == (2, True)


def test_a_sound_domain_passes(domains, folder):
    code, out, said = domains("validate", "--folder", folder)
    assert (code, out) == (0, "")
    assert "1 domains, nothing wrong" in said


def test_a_dangling_key_is_named_with_file_path_and_remedy(domains, folder):
    def break_it(records):
        next(iter(records["hires"].values()))["bike_id"] = "B999"

    edit(folder / "mock" / "records.json", break_it)
    code, out, _ = domains("validate", "mock", "--folder", folder)
    assert code == 1
    assert "mock: records.json: hires." in out
    assert "'B999' is no key of bikes; name a record of bikes" in out
    code, out, _ = domains("validate", "--folder", folder, "--json")
    assert (code, json.loads(out)["mock"][0]["what"]) == (1, "'B999' is no key of bikes")


def test_records_are_drawn_byte_for_byte(domains, tmp_path):
    code, out, _ = domains("generate", "railway")
    assert code == 0
    assert out == (DOMAINS / "railway" / "records.json").read_text("utf-8")
    code, out, said = domains("generate", "railway", "--seed", "77", "--out", tmp_path / "r.json")
    assert (code, out) == (0, "")
    assert "730 records of railway" in said
    assert json.loads((tmp_path / "r.json").read_text("utf-8"))["bookings"]


def test_without_a_plan_or_a_place_nothing_is_written(domains, folder):
    code, _, said = domains("generate", "mock", "--folder", folder)
    assert (code, "generate.json: no such file" in said) == (2, True)
    code, _, said = domains("generate", "railway", "--out", folder / "no" / "r.json")
    assert (code, "cannot be written" in said) == (2, True)


def test_a_published_domain_is_counted_from_a_copy_of_ones_own(domains, tmp_path):
    here = tmp_path / "shop"
    here.mkdir()
    (here / "db.json").write_text('{"users": {"u1": {"name": "Ana"}, "u2": {"name": "Bo"}}}')
    (here / "policy.md").write_text("You must be kind.")
    (here / "tasks.json").write_text("[]")
    code, said, _ = domains("measure", here, "--json")
    found = json.loads(said)
    assert (code, found["domain"]["records"], found["domain"]["modal_words"]) == (0, 2, 1)
    assert (found["tasks"]["tasks"], found["tasks"]["write_share"]) == (0, None)
    assert "write share     —" in domains("measure", here)[1]
    assert domains("measure", tmp_path)[0] == 2
