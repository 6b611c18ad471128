"""The course in the app: saved notebooks as pages without scripts of theirs, and the way into JupyterLab."""

import json
import os
import re

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from app import notebooks
from app.pages.shell import PAGES
from app.security import Guard


@pytest.fixture(scope="module")
def client():
    app = FastAPI()
    app.include_router(notebooks.router())
    app.add_middleware(Guard, host="127.0.0.1")
    return TestClient(app, base_url="http://127.0.0.1:7860")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(notebooks, "FOLDER", tmp_path)
    return tmp_path


def write(folder, *cells):
    (folder / "01_a.ipynb").write_text(json.dumps({"cells": [{"cell_type": "markdown", "source": "# Why?"}, *cells]}))


def test_the_list_leads_to_every_notebook_and_each_page_shows_cells_and_figures(client):
    listed = client.get("/notebooks").text
    for name, title in notebooks.titles().items():
        assert title.endswith("?")
        assert f'href="/notebooks/{name}"' in listed
    page = client.get("/notebooks/03_what_is_a_good_reward")
    assert "<h1>What is a good reward?</h1>" in page.text
    assert page.text.count("data-figure=") > 1
    assert "make notebooks" in page.text


def test_every_page_of_the_app_names_a_notebook_that_is_there():
    assert {page.notebook for page in PAGES} <= {*notebooks.titles()}


def test_what_stands_in_a_notebook_runs_nothing(client, folder):
    bad = "<script>steal()</script><img src=x onerror=steal()><a href='javascript:steal()'>x</a><b onclick='s()'>b</b>"
    output = {"output_type": "display_data", "data": {"text/html": bad}}
    figure = {"output_type": "display_data", "data": {"application/vnd.plotly.v1+json": {"data": ["</div>" + bad]}}}
    write(
        folder,
        {"cell_type": "markdown", "source": bad},
        {"cell_type": "code", "source": "x = '</pre>" + bad + "'", "outputs": [output, figure]},
        {"cell_type": "code", "source": "", "outputs": [{"output_type": "stream", "text": bad}]},
    )
    answer = client.get("/notebooks/01_a")
    tags = re.findall(r"<[^>]*>", answer.text)
    assert not [
        tag for tag in tags if re.search(r"steal|onclick|onerror|javascript:|<img", tag.split("data-figure")[0])
    ]
    assert "sha256" not in answer.headers["content-security-policy"]  # no inline script is let through


@pytest.mark.parametrize("name", ["01_b", "..%2Fconstraints", "course", "01_a.ipynb.bak"])
def test_another_file_is_no_notebook(client, folder, name):
    write(folder)
    assert client.get(f"/notebooks/{name}").status_code == 404


def test_links_between_notebooks_stay_here_and_those_into_the_app_keep_its_port(client, folder):
    write(folder, {"cell_type": "markdown", "source": "[a](01_a.ipynb) [b](http://127.0.0.1:7860/bias) [c](../x.md)"})
    page = client.get("/notebooks/01_a.ipynb").text
    assert 'href="/notebooks/01_a"' in page
    assert 'href="/bias"' in page
    assert "../x.md" not in page


def test_a_jupyterlab_that_runs_here_is_led_to_without_its_token(client, folder, monkeypatch, tmp_path_factory):
    runtime = tmp_path_factory.mktemp("runtime")
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(runtime))
    told = {"pid": os.getpid(), "root_dir": str(folder), "url": "http://127.0.0.1:8888/", "token": "secret"}
    (runtime / "jpserver-1.json").write_text("{")
    (runtime / "jpserver-2.json").write_text(json.dumps(told | {"root_dir": "/elsewhere"}))
    write(folder)
    assert notebooks.lab_address(folder) is None
    (runtime / "jpserver-3.json").write_text(json.dumps(told))
    address = notebooks.lab_address(folder)
    monkeypatch.setattr(notebooks, "lab_address", lambda: address)
    page = client.get("/notebooks/01_a").text
    assert 'href="http://127.0.0.1:8888/lab/tree/01_a.ipynb"' in page
    assert "secret" not in page
