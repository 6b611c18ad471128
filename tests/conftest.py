"""What all tests share."""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # a worker a core: more threads would only wait for each other

import pytest
from browsing import chromium
from hypothesis import settings

settings.register_profile("any machine", deadline=None)  # a busy machine is no failure
settings.load_profile("any machine")

LONGEST = (
    "notebooks_training", "app_tools_browser", "benchmarks", "app_records_browser", "engine", "app_toolscale_browser",
    "app_training_browser", "training_running", "app_browser", "evaluation", "train_cli", "app_live", "weights",
    "embedded_model", "training_stop", "notebooks_playing", "notebooks_obeying", "notebooks_weighing",
    "notebooks_bias", "app_bias_browser", "app_evaluation_browser", "study", "learning", "partitions",
    "plain_agreement", "app_reward_browser", "app_long_browser",
)  # fmt: skip
"""The files that take longest, by their names after `test_`."""


@pytest.hookimpl(optionalhook=True)  # xdist's, where it is there
def pytest_xdist_auto_num_workers():
    """One more than cores, since tests that wait for a page or a process leave a core free."""
    if (told := os.environ.get("PYTEST_XDIST_AUTO_NUM_WORKERS")) is not None:
        return int(told)
    return min(8, len(os.sched_getaffinity(0)) + 1) if hasattr(os, "sched_getaffinity") else None


def pytest_collection_modifyitems(items):
    """The longest files first, or one of them would be left to a single worker at the end."""
    place = {f"test_{name}": number for number, name in enumerate(LONGEST)}
    items.sort(key=lambda item: place.get(item.path.stem, len(place)))


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
