"""`orchestra describe`: versions written, edited, restored and put in use from a terminal; bad input in one line."""

import json
import sys

import pytest

from orchestra_lib.cli import main
from orchestra_lib.store.store import Store


@pytest.fixture
def orchestra(tmp_path, monkeypatch, capsys):
    """Call the command line in this process: (exit code, stdout, stderr)."""
    monkeypatch.setenv("ORCHESTRA_HOME", str(tmp_path))
    for name in ("EDITOR", "VISUAL"):
        monkeypatch.delenv(name, raising=False)

    def call(*arguments, command="describe"):
        monkeypatch.setattr(sys, "argv", ["orchestra", command, *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        return (ended.value.code or 0, *capsys.readouterr())

    return call


def test_versions_are_written_restored_used_and_listed(orchestra):
    assert "begin with: orchestra describe" in orchestra()[2]
    code, out, err = orchestra("sim:small", "--set", "First \x1b[31m words.", "--use", "latest")
    assert (code, out.strip()) == (0, "First [31m words.")
    assert "offered by version 1" in err
    orchestra("sim:small", "--set", "Second.")
    assert json.loads(orchestra("sim_small", "--restore", "1", "--json")[1])["of"] == 1
    history = json.loads(orchestra("sim_small", "--history", "--json")[1])
    assert [one["text"] for one in history] == ["First [31m words.", "Second.", "First [31m words."]
    assert "by the description that ships" in orchestra("sim_small", "--use", "shipped")[2]
    (listed,) = json.loads(orchestra("--json")[1])
    assert (listed["tool"], listed["version"], listed["in_use"]) == ("sim_small", 3, None)


def test_an_editor_begins_with_the_newest_text(orchestra, monkeypatch):
    monkeypatch.setenv("EDITOR", "sed -i s/First/Edited/")
    orchestra("sim_small", "--set", "First.")
    code, out, _ = orchestra("sim_small", "--edit")
    assert (code, out.strip()) == (0, "Edited.")


def test_what_it_does_to_choices_is_played_and_told(orchestra, tmp_path):
    orchestra("sim_small", "--set", "Simulated expert in everything.")
    code, out, _ = orchestra(
        "--swap", "descriptions", "--orchestrator", "cheapest", "--tool", "sim_small", "--tasks", "simulated",
        "--tools", "sim:small,sim:mid", "--limit", "2", command="bias",
    )  # fmt: skip
    assert code == 0
    assert "version 1" in out
    with Store(tmp_path) as store:
        assert store.count() == 6


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--set", "words"), "whose description"),
        (("code_interpreter", "--set", "words"), "no model that answers"),
        (("sim_small", "--set", "  "), "empty"),
        (("sim_small", "--set", "x" * 701), "701 characters"),
        (("sim_small", "--edit"), "set EDITOR"),
        (("sim_small", "--restore", "2"), "no description of one's own"),
        (("sim_small", "--use", "new"), "number of a version"),
        (("sim_small", "--set", "a", "--history"), "exclude each other"),
        (("sim_small", "--by", "nobody"), "no model 'nobody'"),
    ],
)
def test_bad_input_is_one_line_with_the_remedy(orchestra, arguments, said):
    code, out, err = orchestra(*arguments)
    assert (code, out) == (2, "")
    assert said in err
    assert len(err.strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--swap", "words", "--orchestrator", "random"), "a number of tasks, or descriptions"),
        (("--swap", "descriptions", "--orchestrator", "random"), "name it with --tool"),
        (("--swap", "descriptions", "--orchestrator", "random", "--tool", "coder"), "no version 1"),
    ],
)
def test_a_bad_swap_of_descriptions_is_one_line(orchestra, arguments, said):
    code, out, err = orchestra(*arguments, command="bias")
    assert (code, out) == (2, "")
    assert said in err
