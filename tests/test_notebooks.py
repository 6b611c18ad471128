"""Every notebook: its title asks, its last cell answers, it runs offline, and what it shows is what was saved."""

import json
import re
from pathlib import Path

import nbformat
import pytest

from scripts.execute_notebooks import NOTEBOOKS, executed

FILES = sorted(NOTEBOOKS.glob("*.ipynb"))
_PATH = re.compile(r"/(?:home|root|work|tmp|Users)/|\.venv/")


def read(file):
    return nbformat.read(file, as_version=4)


def texts(notebook):
    """What a reader sees of each code cell: printed text, text of results, and figures as data."""
    shown = []
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            if output.output_type == "stream":
                # A stream comes in pieces of any size.
                before = shown.pop()[1] if shown and shown[-1][0] == output.name else ""
                shown.append((output.name, before + output.text))
            else:
                shown += sorted((kind, json.dumps(data, sort_keys=True)) for kind, data in output.data.items())
    return shown


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_notebook_asks_and_answers(file):
    cells = read(file).cells
    assert re.fullmatch(r"# .+\?", cells[0].source.splitlines()[0])
    budget = [cell for cell in cells if "parameters" in cell.metadata.get("tags", ())]
    assert len(budget) == 1
    assert budget[0].source.startswith('BUDGET = "tiny"')
    assert cells[-1].cell_type == "code"
    assert cells[-1].outputs, "the last cell prints the answer"
    assert cells[-2].source.endswith("## The answer")
    assert all(len(cell.source.splitlines()) <= 30 for cell in cells if cell.cell_type == "code")


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_notebook_names_no_path_of_a_machine(file):
    assert not _PATH.search(Path(file).read_text("utf-8"))


@pytest.mark.timeout(900)
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_notebook_runs_anew_and_shows_what_was_saved(file, monkeypatch):
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "HF_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    fresh = texts(executed(file))
    assert [kind for kind, _ in fresh if kind == "stderr"] == []
    assert fresh == texts(read(file)), f"run python -m scripts.execute_notebooks {file.name}"
