"""What all tests share."""

import pytest
from browsing import chromium
from hypothesis import settings

settings.register_profile("any machine", deadline=None)  # a busy machine is no failure
settings.load_profile("any machine")


@pytest.fixture(scope="module")
def browser():
    """Of one module and no longer: its event loop would be in the way of every `asyncio.run` in later tests."""
    with chromium() as browser:
        yield browser


@pytest.fixture
def client(tmp_path):
    """The API alone, without pages, over a workbench that plays scripts; `client.workbench` is that."""
    from fastapi import FastAPI  # here, as most tests need no web server
    from fastapi.testclient import TestClient
    from scripted_workbench import scripted_workbench

    from app import api
    from app.runs import RunManager

    workbench = scripted_workbench(tmp_path, pace_s=0.01)
    app = FastAPI()
    api.install(app, workbench, RunManager(workbench))
    with TestClient(app, raise_server_exceptions=False) as client:
        client.workbench = workbench
        yield client
    workbench.store.close()
