"""Runs a notebook of the course anew, without keys, and compares what a reader sees with what was saved."""

import json

import nbformat

from scripts.execute_notebooks import NOTEBOOKS, VARIES, executed

KEYS = ("OPENAI_API_KEY", "OPENAI_BASE_URL", "HF_TOKEN", "BUDGET", "ORCHESTRA_APP")


def read(name):
    return nbformat.read(NOTEBOOKS / f"{name}.ipynb", as_version=4)


def texts(notebook):
    """What a reader sees of each code cell: printed text, text of results, and figures as data."""
    shown = []
    for cell in notebook.cells:
        if VARIES in cell.metadata.get("tags", ()):
            continue
        for output in cell.get("outputs", ()):
            if output.output_type == "stream":
                # A stream comes in pieces of any size.
                before = shown.pop()[1] if shown and shown[-1][0] == output.name else ""
                shown.append((output.name, before + output.text))
            else:
                shown += sorted((kind, json.dumps(data, sort_keys=True)) for kind, data in output.data.items())
    return shown


def check_runs_anew(name, monkeypatch):
    for key in KEYS:
        monkeypatch.delenv(key, raising=False)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    notebook = executed(NOTEBOOKS / f"{name}.ipynb")
    assert not [
        output
        for cell in notebook.cells
        for output in cell.get("outputs", ())
        if output.output_type == "stream" and output.name == "stderr"
    ]
    assert texts(notebook) == texts(read(name)), f"run python -m scripts.execute_notebooks {name}.ipynb"
