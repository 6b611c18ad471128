"""What the documents show exists and runs, and what exists stands in a document; the README stays short.

The commands of the README and the tutorial are run one after the other in a fresh home, but for those that `WAITS`
names; their counts are made smaller. All others are read as the terminal reads them.
"""

import os
import re
import shlex
import sys
import tomllib
from pathlib import Path

import pytest
from typer.main import get_command

from orchestra_lib.cli import app, main
from scripts.reference import REFERENCE, command_reference, library_reference

ROOT = Path(__file__).resolve().parent.parent
COMMAND = get_command(app)
README, TUTORIAL = ROOT / "README.md", ROOT / "docs" / "tutorial.md"
WRITTEN = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")),
    *sorted((ROOT / "docs").glob("*.md")),
    *(ROOT / folder / "README.md" for folder in ("benchmarks", "launch", "notebooks")),
]
TEXT = "\n".join(file.read_text("utf-8") for file in WRITTEN)
WAITS = {
    r"openai:MODEL": "needs an endpoint",
    r"^orchestra (app|serve|mcp)\b": "serves until it is stopped",
    r"^orchestra train\b|trained:": "loads torch; tests of training run it",
    r"^orchestra (models|doctor)\b": "looks for servers on this machine",
    r"^orchestra models fetch": "fetches weights",
    r"…|\bDIR\b|\bFILE\b": "has a gap to fill",
}
SMALLER = {r"--limit \d+": "--limit 2", r"--swap \d+": "--swap 2", r"--group \d+": "--group 4"}
NO_ANSWER = r"tool\.local_search=-1"
"""Without weights nobody is left to ask, so that the run ends without an answer: exit code 1."""


def blocks(text):
    return re.findall(r"```(?:bash|sh|console)\n(.*?)```", text, re.DOTALL)


def in_blocks(text):
    """The lines of code blocks that call `orchestra`, without settings of the environment before it."""
    lines = [line.strip() for block in blocks(text) for line in block.replace("\\\n", " ").splitlines()]
    found = [re.sub(r"^([A-Z_]+=\S+ +)+(?=\S)", "", line).removeprefix(".venv/bin/") for line in lines]
    return [line for line in found if line.startswith("orchestra ")]


def commands(text):
    """Those, and what stands in single backticks within the text."""
    return [*in_blocks(text), *re.findall(r"`(orchestra [^`\n]+)`", re.sub(r"```.*?```", "", text, flags=re.DOTALL))]


def names(command, before=()):
    """Every command and sub-command, as one writes it."""
    for name, child in getattr(command, "commands", {}).items():
        yield from names(child, (*before, name))
    if not hasattr(command, "commands"):
        yield " ".join(before)


def parsed(line):
    """The command that a line names, and what it read: nothing runs. Raises what the terminal would complain of."""
    command, words = COMMAND, shlex.split(line, comments=True)[1:]
    while hasattr(command, "commands"):
        command = command.commands[words.pop(0)]
    return command, command.make_context(command.name, words).params


def anchors(text):
    """The anchors of a document's headings, as GitHub makes them."""
    plain = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    heads = re.findall(r"^#+ +(.+)$", plain, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).strip().replace(" ", "-") for head in heads}


@pytest.mark.parametrize("file", WRITTEN, ids=lambda file: str(file.relative_to(ROOT)))
def test_every_command_that_is_shown_can_be_given(file):
    for line in commands(file.read_text("utf-8")):
        try:
            command, _ = parsed(line)
        except Exception as error:
            pytest.fail(f"{line}\n{error}")
        assert command.callback is not None, line


@pytest.mark.parametrize("line", ["orchestra fly", "orchestra run x --wings 2", "orchestra fork ID --turn two"])
def test_one_that_does_not_exist_is_noticed(line):
    with pytest.raises(Exception, match=r"fly|No such option: --wings|valid integer"):
        parsed(line)


def test_every_command_and_its_parts_are_shown():
    assert [name for name in names(COMMAND) if not re.search(rf"orchestra {name}\b", TEXT)] == []


def test_every_page_is_named():
    pages = re.findall(r'Page\("(/[^"]*)", "([^"]+)"', (ROOT / "app" / "pages" / "shell.py").read_text("utf-8"))
    assert len(pages) >= 10
    words = [(path, title.replace("&amp;", "&")) for path, title in pages]
    assert [title for path, title in words if f"| `{path}` | {title} |" not in TUTORIAL.read_text("utf-8")] == []


def test_every_notebook_is_named():
    assert [file.stem for file in (ROOT / "notebooks").glob("*.ipynb") if file.stem not in TEXT] == []


def test_every_target_of_make_is_named():
    targets = re.findall(r"^([a-z-]+):.*## ", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    assert [target for target in targets if f"make {target}" not in TEXT] == []


def test_every_target_that_is_named_exists():
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    shown = re.findall(r"^make ([a-z-]+)|`make ([a-z-]+)", TEXT, re.MULTILINE)
    assert {one or other for one, other in shown} <= set(targets)


def test_every_benchmark_is_named_and_every_one_that_is_named_exists():
    scripts = {file.stem for file in (ROOT / "benchmarks").glob("[a-z]*.py") if "__main__" in file.read_text("utf-8")}
    shown = set(re.findall(r"python -m benchmarks\.(\w+)", TEXT))
    assert scripts - {"scripted_server", "served_scripts", "contestants"} <= shown  # started by others
    assert shown <= {file.stem for file in (ROOT / "benchmarks").glob("*.py")}


def test_every_variable_of_the_environment_is_named():
    sources = [file.read_text("utf-8") for folder in ("orchestra_lib", "app") for file in (ROOT / folder).rglob("*.py")]
    used = set(re.findall(r'"(ORCHESTRA_[A-Z_]+)"', "\n".join(sources)))
    assert used
    assert [name for name in sorted(used) if name not in TEXT] == []


@pytest.mark.parametrize("file", WRITTEN, ids=lambda file: str(file.relative_to(ROOT)))
def test_links_lead_somewhere(file):
    text = re.sub(r"```.*?```", "", file.read_text("utf-8"), flags=re.DOTALL)
    for link in re.findall(r"\]\(([^)\s]+)\)|src(?:set)?=\"([^\"]+)\"", text):
        where, _, anchor = next(filter(None, link)).partition("#")
        if where.startswith("http"):
            continue
        target = (file.parent / where).resolve() if where else file
        assert target.exists(), f"{file.name} links to {where}"
        if anchor and target.suffix == ".md":
            assert anchor in anchors(target.read_text("utf-8")), f"{file.name} links to {where}#{anchor}"


def test_every_document_stands_in_the_index():
    index = (ROOT / "docs" / "README.md").read_text("utf-8")
    names = {file.name for file in (ROOT / "docs").glob("*.md")} - {"README.md"}
    assert [name for name in sorted(names) if name not in index] == []


def test_the_questions_have_other_wordings_and_none_twice():
    """By `data/conductor/questions.toml` the conductor finds the heading that a visitor means."""
    data = tomllib.loads((ROOT / "data" / "conductor" / "questions.toml").read_text("utf-8"))
    known = data["question"]
    headings = re.findall(r"^### (.+)$", (ROOT / "docs" / "questions.md").read_text("utf-8"), re.MULTILINE)
    assert [one["heading"] for one in known] == headings
    wordings = [text.casefold() for one in known for text in (one["heading"], *one["also"])]
    wordings += [text.casefold() for text in data["elsewhere"]]
    assert len(set(wordings)) == len(wordings)


@pytest.mark.parametrize("name, make", [("commands.md", command_reference), ("library.md", library_reference)])
def test_the_reference_is_what_would_be_made(name, make):
    """`make docs` makes it anew."""
    assert (REFERENCE / name).read_text("utf-8") == make(), "run `make docs`"


def shortened(line):
    for counts, fewer in SMALLER.items():
        line = re.sub(counts, fewer, line)
    return line


@pytest.mark.timeout(600)  # thirty commands, and the machine may be busy
def test_the_commands_of_the_readme_and_the_tutorial_run(tmp_path, monkeypatch, capsys):
    """ID is the run before; what one command leaves is what the next ones find."""
    monkeypatch.chdir(tmp_path)
    for name in {name for name in os.environ if name.startswith("ORCHESTRA_") or name.endswith("_API_KEY")}:
        monkeypatch.delenv(name)
    monkeypatch.setenv("ORCHESTRA_HOME", str(tmp_path))
    last, ran = "ID", 0
    for file in (TUTORIAL, README):
        for line in in_blocks(file.read_text("utf-8")):
            if any(re.search(pattern, line) for pattern in WAITS):
                continue
            words = [last if word == "ID" else word for word in shlex.split(shortened(line), comments=True)]
            monkeypatch.setattr(sys, "argv", words)
            with pytest.raises(SystemExit) as ended:
                main()
            out, err = capsys.readouterr()
            assert (ended.value.code or 0) in ((0, 1) if re.search(NO_ANSWER, line) else (0,)), f"{line}\n{out}\n{err}"
            last, ran = next(iter(re.findall(r"01[0-9A-Z]{8}-[0-9A-Z]{6}", err + out)[-1:]), last), ran + 1
    assert ran >= 15


def test_the_readme_stays_short():
    words = len(README.read_text("utf-8").split())
    assert 500 <= words <= 1000
