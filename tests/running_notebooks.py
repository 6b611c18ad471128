"""Runs a notebook of the course anew, without keys, and compares what a reader sees with what was saved."""

import base64
import json

import nbformat
import numpy as np

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
                shown += sorted((kind, json.dumps(steady(data), sort_keys=True)) for kind, data in output.data.items())
    return shown


def steady(data):
    """The numbers of a figure to six digits: the last ones are the processor's."""
    if isinstance(data, float):
        return float(f"{data:.6g}")
    if isinstance(data, list):
        return [steady(one) for one in data]
    if isinstance(data, dict) and {"bdata", "dtype"} <= data.keys():  # plotly's form of an array
        return steady(np.frombuffer(base64.b64decode(data["bdata"]), data["dtype"]).tolist())
    return {name: steady(one) for name, one in data.items()} if isinstance(data, dict) else data


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
