"""The API describes itself: every route in words, offline, and as OpenAPI."""

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from scripted_workbench import scripted_workbench

from app import api, docs, sql_api, tools_api, toolscale_api, training_api
from app.runs import RunManager
from app.synth_job import SynthJob
from orchestra_lib.training.launching import Launcher


@pytest.fixture
def client(tmp_path):
    workbench = scripted_workbench(tmp_path)
    app = FastAPI(openapi_url=None)
    runs = RunManager(workbench)
    api.install(app, workbench, runs)
    for router in (
        tools_api.router(workbench),
        sql_api.router(workbench),
        toolscale_api.router(workbench, runs, SynthJob(tmp_path / "tasks")),
        training_api.router(workbench, Launcher(tmp_path)),
    ):
        app.include_router(router, prefix="/api")
    docs.install(app)
    with TestClient(app) as client:
        yield client
    workbench.store.close()


def test_every_route_says_what_it_does(client):
    paths = client.get("/api/openapi.json").json()["paths"]
    silent = [f"{method} {path}" for path, one in paths.items() for method, op in one.items() if not op["description"]]
    assert silent == []
    assert {"/api/toolscale", "/api/toolscale/domains/{name}", "/api/runs/{run_id}/domain"} <= paths.keys()


def test_bodies_and_records_have_their_form(client):
    paths = client.get("/api/openapi.json").json()["paths"]
    body = paths["/api/runs"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    assert body["properties"].keys() >= {"task", "assignment"}
    answer = paths["/api/runs/{run_id}/trajectory"]["get"]["responses"]["200"]
    assert "turns" in answer["content"]["application/json"]["schema"]["properties"]


def test_the_page_lists_the_routes_and_asks_for_nothing_from_elsewhere(client):
    page = client.get("/api/docs").text
    assert "/api/runs/{run_id}/trajectory" in page
    assert "Start a run" in page
    assert "http://" not in page.replace("http://127.0.0.1:7860", "")
    assert "https://" not in page
