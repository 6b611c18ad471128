"""The catalogue of endpoints, why one is off, and what a try-out says."""

import asyncio
import time

import pytest
from test_openai_compatible import chunk, http, serving, sse, usage

from orchestra_lib.chat import CallStyle
from orchestra_lib.errors import BadInput
from orchestra_lib.model.endpoint import Catalogue
from orchestra_lib.model.endpoints import Endpoints
from orchestra_lib.model.probe import PATIENT_S, Door, Probes, Sight, look_at
from orchestra_lib.model.trial import try_out
from orchestra_lib.players import policy_of, tools_of
from orchestra_lib.pricelist import load_tables

OWN = """
[providers.mine]
title = "Mine"
base_url = "http://127.0.0.1:9/v1"
source = "me"
local = true

[endpoints."mine/m"]
model = "m"
title = "M"
family = "f"
kind = "code"
context = 4096
max_output = 512
"""


@pytest.fixture
def write(tmp_path):
    def write(text):
        (tmp_path / "endpoints.toml").write_text(text)
        return tmp_path

    return write


def seen(*models, **rest):
    """Probes that have seen this at every door."""
    sight = Sight(problem=None, models=models, seen_s=float("inf"), **rest)
    return Probes(lambda door, within_s: sight)


def endpoints(home, environ=None, probes=None):
    made = Endpoints(Catalogue.load(home), environ or {}, probes or seen("m"))
    made.look()
    return made


def test_every_provider_that_was_promised_ships_with_a_model(tmp_path):
    catalogue = Catalogue.load(tmp_path)
    assert {
        "openai", "anthropic", "google", "openrouter", "together", "deepinfra", "nvidia", "vllm", "ollama", "llamacpp",
    } == {endpoint.provider for endpoint in catalogue.endpoints.values()}  # fmt: skip


@pytest.mark.parametrize(
    "table, provider",
    [("vendor", "openai"), ("vendor", "anthropic"), ("vendor", "google"), ("together", "together"),
     ("deepinfra", "deepinfra"), ("openrouter", "openrouter")],
)  # fmt: skip
def test_a_provider_s_models_are_priced_by_its_table(tmp_path, table, provider):
    prices = load_tables(tmp_path)[table]
    names = [one.priced_as for one in Catalogue.load(tmp_path).endpoints.values() if one.provider == provider]
    assert [name for name in names if prices.find(name) is None] == []


def test_a_user_s_file_overrides_one_field_and_adds_entries(write):
    catalogue = Catalogue.load(write(OWN + '[endpoints."openai/gpt-6-luna"]\ntool = true\n'))
    luna = catalogue.endpoints["openai/gpt-6-luna"]
    assert (luna.tool, luna.title) == (True, "GPT-6 Luna")
    assert luna.dialect.max_tokens_field == "max_completion_tokens"
    assert catalogue.endpoints["mine/m"].provider == "mine"


@pytest.mark.parametrize(
    "text, says",
    [
        ("providers = 3", "unknown table"),
        ("[stuff]\na = 1", "unknown table 'stuff'"),
        (OWN.replace('"mine/m"', '"yours/m"'), "the providers are"),
        (OWN.replace("4096", "12"), "a reply is part of the context"),
        (OWN.replace("http://127.0.0.1:9/v1", "localhost:9"), "no plain URL"),
        (OWN.replace('kind = "code"', 'kind = "poet"'), "kind"),
        (OWN + "typo = 1", "typo"),
        (OWN.replace("local = true", 'key_env = "my key"'), "names an environment variable"),
        ("[providers.x", "no TOML"),
    ],
)
def test_K3_a_catalogue_that_cannot_be_used_says_so_at_the_start(write, text, says):
    with pytest.raises(BadInput, match=r"endpoints\.toml") as caught:
        Catalogue.load(write(text))
    assert says in str(caught.value)


@pytest.mark.parametrize(
    "line",
    [
        'api_key = "anything"',
        'key_env = "sk-proj-abcdefghijklmnop1234"',
        'source = "Bearer abcdefghijklmnop"',
        'base_url_env = "AIzaSyA1234567890abcdefghij"',
        'title = "nvapi-0123456789abcdefghij"',
        'source = "0123456789abcdef0123456789abcdef"',
        'source = "http://me:secret-word@host/v1"',
    ],
)
def test_a_file_with_something_like_a_key_is_refused_and_the_key_is_not_repeated(write, line):
    name, _, value = line.partition(" = ")
    text = OWN.replace(f"{name} =", f"old_{name} =") if f"\n{name} =" in OWN else OWN
    with pytest.raises(BadInput, match="looks like a key") as caught:
        Catalogue.load(write(text.replace("[endpoints", line + "\n[endpoints")))
    assert "environment variable" in str(caught.value)
    assert value.strip('"') not in str(caught.value)


def test_an_endpoint_without_a_key_is_off_and_names_the_variable(tmp_path):
    assert endpoints(tmp_path).off("openai/gpt-6-luna") == "OpenAI needs a key: set OPENAI_API_KEY and start again"
    assert endpoints(tmp_path, {"OPENAI_API_KEY": "k"}).off("openai/gpt-6-luna") is None


@pytest.mark.parametrize(
    "sight, says",
    [
        (Sight(problem="does not answer"), "Ollama at http://127.0.0.1:11434/v1 does not answer; start it with"),
        (Sight(problem="refuses the key (HTTP 401)", refused=True), "refuses the key (HTTP 401); set a valid one"),
        (Sight(problem=None, models=("a", "b")), "does not serve qwen3:8b, but a, b; start it with `ollama serve`"),
        (Sight(problem=None, models=()), "serves no model"),
    ],
)
def test_K3_an_off_endpoint_names_its_address_the_cause_and_the_remedy(tmp_path, sight, says):
    off = endpoints(tmp_path, probes=Probes(lambda door, within_s: sight)).off("ollama/qwen3-8b")
    assert off is not None
    assert says in off


def test_K3_another_address_comes_from_the_variable_and_no_default_is_tried_then(tmp_path):
    looked = []
    probes = Probes(lambda door, within_s: looked.append(door.base_url) or Sight(problem="does not answer"))
    off = endpoints(tmp_path, {"OLLAMA_BASE_URL": "http://10.0.0.7:1/v1"}, probes).off("ollama/qwen3-8b")
    assert "http://10.0.0.7:1/v1" in off
    assert "http://127.0.0.1:11434/v1" not in looked


def test_whoever_only_asks_never_waits_for_a_server(tmp_path):
    slow = Endpoints(Catalogue.load(tmp_path), {}, Probes(lambda door, within_s: time.sleep(1) or Sight(problem=None)))
    started = time.monotonic()
    assert slow.off("ollama/qwen3-8b") == "looking for Ollama at http://127.0.0.1:11434/v1"
    assert time.monotonic() - started < 0.5


def test_who_asks_for_one_address_has_patience_and_looks_at_no_other(tmp_path):
    looked = []
    probes = Probes(
        lambda door, within_s: looked.append((door.base_url, within_s)) or Sight(problem=None, models=("m",))
    )
    asked = Endpoints(Catalogue.load(tmp_path), {"OPENAI_API_KEY": "k"}, probes)
    asked.look_at("vllm/served")
    assert looked == [("http://127.0.0.1:8000/v1", PATIENT_S)]
    assert (asked.off("vllm/served"), asked.served("vllm/served")) == (None, "m")


def test_what_was_seen_is_kept_and_looked_at_again_when_old():
    looks = []
    probes = Probes(lambda door, within_s: looks.append(door) or Sight(problem=None), fresh_s=0.5)
    door = Door(base_url="http://x")
    probes.wait([door])
    for _ in range(3):
        assert probes.sight(door) is not None
    assert len(looks) == 1
    time.sleep(0.6)
    assert probes.sight(door) is not None
    probes.wait([door])
    assert len(looks) == 2


def test_many_doors_are_looked_at_side_by_side():
    probes = Probes(lambda door, within_s: time.sleep(0.2) or Sight(problem=None), within_s=1)
    doors = [Door(base_url=f"http://x{number}") for number in range(8)]
    started = time.monotonic()
    probes.wait(doors)
    assert time.monotonic() - started < 1
    assert None not in [probes.sight(door) for door in doors]


def test_the_key_of_a_door_is_never_shown():
    assert "sesame" not in repr(Door(base_url="http://x", key="sesame"))


@pytest.mark.parametrize(
    "reply, seen",
    [
        (http(200, b'{"data": [{"id": "a"}, {"id": 3}, "x"]}'), Sight(problem=None, models=("a",))),
        (http(200, b"<html>hello</html>", kind="text/html"), Sight(problem=None)),
        (http(404, b"{}"), Sight(problem=None)),
        (http(401, b"{}"), Sight(problem="refuses the key (HTTP 401)", refused=True)),
        (http(503, b"{}"), Sight(problem="answers HTTP 503")),
        (b"garbage\r\n\r\n", Sight(problem="does not answer")),
    ],
)
def test_a_look_reads_what_a_server_says_of_itself(reply, seen):
    async def run():
        async with serving(reply) as server:
            return await asyncio.to_thread(look_at, Door(base_url=server.url), 1.0)

    assert asyncio.run(run()) == seen


def test_a_server_that_never_answers_is_given_up_on_soon():
    async def silent(server, writer):
        await asyncio.sleep(3)

    async def run():
        async with serving(silent) as server:
            return await asyncio.to_thread(look_at, Door(base_url=server.url), 0.2)

    assert asyncio.run(run()) == Sight(problem="did not answer within 0.2 s")


def test_whatever_a_server_serves_is_asked_for_by_its_name(write):
    own = endpoints(write(OWN.replace('model = "m"', 'model = "*"')), probes=seen("served-name"))
    policy = policy_of(own, "mine/m")
    assert (policy.spec.priced_as, policy.spec.max_input_tokens) == ("served-name", 3584)


def test_an_endpoint_marked_as_a_tool_is_one_and_carries_why_it_is_off(write):
    own = endpoints(write(OWN + "tool = true\ntypical_latency_s = 2.5\n"), probes=seen("other"))
    ((name, (tool, off)),) = tools_of(own).items()
    assert (name, tool.spec.priced_as, tool.spec.typical_latency_s) == ("mine-m", "m", 2.5)
    assert tool.spec.max_input_tokens == 3584
    assert "does not serve m" in off()


def test_C6_waits_and_tries_are_set_in_the_catalogue(write):
    async def run():
        async with serving(http(503, b"{}")) as server:
            text = OWN.replace("http://127.0.0.1:9/v1", server.url)
            patient = text.replace("local = true", "local = true\npatience = { max_retries = 1, first_wait_s = 0.01 }")
            own = endpoints(write(patient))
            trial = await try_out("mine/m", own.model("mine/m"), CallStyle.HERMES)
            return trial.tries, len(server.asked)

    assert asyncio.run(run()) == (2, 2)


CALL = {"index": 0, "id": "c", "function": {"name": "say", "arguments": '{"word": "ready"}'}}


@pytest.mark.parametrize(
    "reply, native, told",
    [
        (sse(chunk("tool_calls", tool_calls=[CALL]), usage(5, 2)), True, True),
        (sse(chunk("stop", content="say ready")), False, False),
    ],
)
def test_a_try_out_says_whether_calls_are_native_and_usage_is_reported(write, reply, native, told):
    async def run():
        async with serving(reply) as server:
            own = endpoints(write(OWN.replace("http://127.0.0.1:9/v1", server.url)))
            trial = await try_out("mine/m", own.model("mine/m"), CallStyle.NATIVE)
            return trial, server.asked[0]

    trial, asked = asyncio.run(run())
    assert (trial.native_call, trial.usage, trial.error) == (native, told, None)
    assert (asked["model"], asked["tool_choice"], len(asked["tools"])) == ("m", "required", 1)


def test_a_try_out_of_what_is_not_there_says_why(write):
    own = endpoints(write(OWN))
    trial = asyncio.run(try_out("mine/m", own.model("mine/m"), CallStyle.HERMES))
    assert "http://127.0.0.1:9/v1 cannot be reached" in trial.error
    assert trial.tries == 3
