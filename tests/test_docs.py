"""Every command that the README and the documents show can be given as it stands; the README stays short."""

import re
import shlex
from pathlib import Path

import pytest
from typer.main import get_command

from orchestra_lib.cli import app

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
ALTERED = re.compile(r"\b[A-Z_]+=\S+ +(?=orchestra\b)")  # settings of the environment before a command


def commands(text):
    """The `orchestra …` lines of code blocks, and those in single backticks within the text."""
    blocks = re.findall(r"```bash\n(.*?)```", text, re.DOTALL)
    lines = [ALTERED.sub("", line.strip()) for block in blocks for line in block.splitlines()]
    inline = re.findall(r"`(orchestra [^`]+)`", re.sub(r"```.*?```", "", text, flags=re.DOTALL))
    return [line for line in [*lines, *inline] if line.startswith("orchestra ")]


SHOWN = [
    pytest.param(line, id=f"{document.stem}: {line[:70]}")
    for document in DOCUMENTS
    for line in commands(document.read_text("utf-8"))
]


def parsed(line):
    """The command that a line names, and what it read: nothing runs. Raises what the terminal would complain of."""
    command, words = get_command(app), shlex.split(line, comments=True)[1:]
    while hasattr(command, "commands"):
        command = command.commands[words.pop(0)]
    return command, command.make_context(command.name, words).params


@pytest.mark.parametrize("line", SHOWN)
def test_a_command_that_is_shown_can_be_given(line):
    command, _ = parsed(line)
    assert command.callback is not None


@pytest.mark.parametrize("line", ["orchestra fly", "orchestra run x --wings 2", "orchestra fork ID --turn two"])
def test_one_that_does_not_exist_is_noticed(line):
    with pytest.raises(Exception, match=r"fly|No such option: --wings|valid integer"):
        parsed(line)


def test_every_command_is_shown_somewhere():
    """All but those that only machines call."""
    shown = {shlex.split(line, comments=True)[1] for one in DOCUMENTS for line in commands(one.read_text("utf-8"))}
    assert set(get_command(app).commands) <= shown


def test_the_readme_stays_short():
    words = len((ROOT / "README.md").read_text("utf-8").split())
    assert 500 <= words <= 1000
