"""Every notebook asks in its title, answers in its last cell, says what it needs, and is run whole by one test file."""

import importlib
import re
from pathlib import Path

import nbformat
import pandas as pd
import pytest
from nbclient.exceptions import DeadKernelError
from running_notebooks import read

from scripts.execute_notebooks import NOTEBOOKS, VARIES, _numbered, executed

NAMES = sorted(file.stem for file in NOTEBOOKS.glob("*.ipynb"))
_PATH = re.compile(r"/(?:home|root|work|tmp|Users)/|\.venv/")
_RUN_BY = "test_notebooks_*.py"


def test_the_course_has_eleven_parts_in_order_and_each_is_run_by_one_file():
    assert [name[:2] for name in NAMES] == [f"{number:02}" for number in range(1, 12)]
    told = "".join(file.read_text("utf-8") for file in Path(__file__).parent.glob(_RUN_BY))
    assert [told.count(f'"{name}"') for name in NAMES] == [1] * len(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_asks_and_answers(name):
    cells = read(name).cells
    assert re.fullmatch(r"# .+\?", cells[0].source.splitlines()[0])
    budget = [cell for cell in cells if "parameters" in cell.metadata.get("tags", ())]
    assert len(budget) == 1
    assert 'BUDGET = os.environ.get("BUDGET", "tiny")' in budget[0].source
    assert "At the end you" in cells[0].source
    assert '"full"' in budget[0].source
    assert cells[-1].cell_type == "code"
    assert cells[-1].outputs, "the last cell prints the answer"
    assert cells[-2].source.endswith("## The answer")
    assert all(len(cell.source.splitlines()) <= 30 for cell in cells if cell.cell_type == "code")


@pytest.mark.parametrize("name", NAMES)
def test_what_is_saved_needs_no_kernel_and_names_no_path_of_a_machine(name):
    assert not _PATH.search((NOTEBOOKS / f"{name}.ipynb").read_text("utf-8"))
    notebook = read(name)
    assert "widgets" not in notebook.metadata
    kinds = {kind for cell in notebook.cells for output in cell.get("outputs", ()) for kind in output.get("data", ())}
    assert "application/vnd.jupyter.widget-view+json" not in kinds
    drawn = [cell for cell in notebook.cells if cell.cell_type == "code" and "\nexplore(" in f"\n{cell.source}"]
    assert all("application/vnd.plotly.v1+json" in cell.outputs[0].data for cell in drawn)
    assert all(cell.outputs for cell in notebook.cells if VARIES in cell.metadata.get("tags", ()))


def test_links_between_notebooks_lead_to_notebooks():
    linked = {
        name
        for here in NAMES
        for cell in read(here).cells
        for name in re.findall(r"\(([0-9]\w+)\.ipynb\)", cell.source)
    }
    assert linked <= {*NAMES}


def test_a_table_with_links_shows_words_as_text(monkeypatch):
    monkeypatch.syspath_prepend(str(NOTEBOOKS))
    hostile = '"><script>steal()</script>'
    shown = (
        importlib.import_module("course").linked_table(pd.DataFrame({"run_id": [hostile], "answer": [hostile]})).data
    )
    assert shown.count("&lt;script&gt;") == 3
    assert "<script" not in shown
    assert '""' not in shown


def test_runs_are_numbered_as_they_are_shown():
    ids = {}
    assert (
        _numbered("see 01KBC4ZK2M-7H3QXV and 01KBC4ZK2N-000001", ids) == "see 0000000000-000001 and 0000000000-000002"
    )
    assert _numbered("again 01KBC4ZK2M-7H3QXV", ids) == "again 0000000000-000001"


def test_a_kernel_that_is_killed_ends_the_run_with_a_named_error(tmp_path):
    killing = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("import os\nos.kill(os.getpid(), 9)")])
    killing.metadata["kernelspec"] = {"display_name": "Python 3", "language": "python", "name": "python3"}
    nbformat.write(killing, tmp_path / "killing.ipynb")
    with pytest.raises(DeadKernelError):
        executed(tmp_path / "killing.ipynb")
