"""Chat completions over HTTP, asked with the `openai` client: every request is a run that is kept."""

import asyncio

import httpx2
import openai
import pytest
from serving import KEY, WEATHER, eventually, serving

from orchestra_lib.trajectory import StopReason
from orchestra_lib.workbench import Order

HELLO = [{"role": "user", "content": "What is it?"}]


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    with serving(tmp_path_factory.mktemp("home")) as house:
        yield house


def test_an_answer_is_a_completion_and_its_run_is_kept(house):
    found = house.client().chat.completions.create(model="brief", messages=HELLO)
    assert (found.object, found.model, found.choices[0].finish_reason) == ("chat.completion", "brief", "stop")
    assert found.choices[0].message.content == "Forty-two."
    run = house.run_of(found)
    assert (run.setting.task.text, run.answer, run.stop) == ("What is it?", "Forty-two.", StopReason.ANSWERED)


def test_usage_is_all_that_the_run_used_and_none_where_nobody_counts(house):
    found = house.client().chat.completions.create(model="billed", messages=HELLO)
    assert (found.usage.prompt_tokens, found.usage.completion_tokens, found.usage.total_tokens) == (200, 20, 220)
    assert found.model_extra["orchestra"]["tools_used"] == {"local_search": 1}


def test_models_are_the_orchestrators_that_are_served(house):
    client = house.client()
    assert {"brief", "traveller"} <= {model.id for model in client.models.list()}
    assert client.models.retrieve("brief").owned_by == "orchestra"
    with pytest.raises(openai.NotFoundError, match="there is no model 'none'"):
        client.models.retrieve("none")
    with pytest.raises(openai.NotFoundError, match="there is no model 'none' here; there are brief"):
        client.chat.completions.create(model="none", messages=HELLO)


def test_an_async_client_streams_reasoning_first_and_the_answer_whole(house):
    async def stream():
        async with openai.AsyncOpenAI(base_url=f"{house.url}/v1", api_key=KEY, max_retries=0) as client:
            asked = {"model": "figures", "messages": HELLO, "stream": True, "stream_options": {"include_usage": True}}
            return [chunk async for chunk in await client.chat.completions.create(**asked | {"model": "billed"})]

    chunks = asyncio.run(stream())
    deltas = [chunk.choices[0].delta for chunk in chunks if chunk.choices]
    assert deltas[0].role == "assistant"
    assert "".join(delta.content or "" for delta in deltas) == "It is so."
    assert [c.choices[0].finish_reason for c in chunks if c.choices][-1] == "stop"
    assert (chunks[-1].choices, chunks[-1].usage.total_tokens) == ([], 220)
    assert len({chunk.id for chunk in chunks}) == 1


def test_a_wrong_key_and_a_foreign_host_do_not_get_in(house):
    with pytest.raises(openai.AuthenticationError, match="wrong or missing key"):
        house.client(api_key="wrong-key-here").models.list()
    assert httpx2.get(f"{house.url}/v1/models", trust_env=False).status_code == 401
    rebound = house.post({"messages": HELLO}, host="evil.example:80")
    assert (rebound.status_code, rebound.json()["error"]["code"]) == (403, "wrong_host")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"messages": []}, "at least one message"),
        ({"messages": [{"role": "wizard", "content": "x"}]}, "messages[0].role = 'wizard'"),
        (
            {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:"}}]}]},
            "messages[0].content[0] is of type 'image_url'; only text is taken",
        ),
        ({"messages": [{"role": "user", "content": "  "}]}, "no user message, or it is empty"),
        ({"messages": [*HELLO, {"role": "assistant", "content": "x"}]}, "the last one is the assistant's"),
        ({"messages": [*HELLO, {"role": "tool", "tool_call_id": "x", "content": "y"}]}, "answers no call"),
        ({"tools": [WEATHER] * 500}, "500 are more than the 128"),
        ({"tools": [WEATHER, WEATHER]}, "two of the name 'weather'"),
        ({"tools": [{"type": "function", "function": {"name": "a b"}}]}, "use up to 64 letters"),
        ({"tool_choice": "required"}, "tool_choice asks for a call and there are no tools"),
        ({"tool_choice": {"type": "function", "function": {"name": "look"}}, "tools": [WEATHER]}, "none of the tools"),
        ({"tool_choice": {"type": "allowed_tools"}, "tools": [WEATHER]}, "send auto, none, required or one function"),
        ({"max_tokens": 5, "max_completion_tokens": 6}, "contradict each other"),
        ({"max_tokens": 0}, "max_tokens = 0; it is a whole number from 1"),
        ({"n": 2}, "one run is one answer"),
        ({"stream_options": {"include_usage": True}}, "without stream"),
        ({"response_format": {"type": "grammar"}}, "the types are text, json_object and json_schema"),
        ({"response_format": {"type": "json_schema"}}, "response_format.json_schema.schema is missing"),
        ({"response_format": {"type": "json_schema", "json_schema": {"schema": {"type": "list"}}}}, "of type 'list'"),
        ({"stop": ["", "x"]}, "none of them empty"),
        ({"modalities": ["text", "audio"]}, "only text is served"),
        ({"audio": {"voice": "alloy"}}, "audio is not supported: only text is served"),
        ({"orchestra": {"cost_usd": -1}}, "a limit is above 0"),
        ({"orchestra": {"preference": {"cost": 7}}}, "preference cost = 7.0 is out of range"),
        ({"orchestra": {"max_turns": 51}}, "above the server's limit of 50"),
    ],
)
def test_what_cannot_be_served_is_a_400_that_names_it(house, change, words):
    before = len(house.runs())
    answer = house.post({"model": "brief", "messages": HELLO, **change})
    assert answer.status_code == 400
    assert words in answer.json()["error"]["message"]
    assert answer.json()["error"]["type"] == "invalid_request_error"
    assert len(house.runs()) == before


def test_a_body_that_is_no_json_and_an_unknown_address_are_told_so(house):
    headers = {"authorization": f"Bearer {KEY}"}
    address = f"{house.url}/v1/chat/completions"
    bad = httpx2.post(address, content=b"{", headers=headers, trust_env=False)
    assert (bad.status_code, "no JSON" in bad.json()["error"]["message"]) == (400, True)
    assert httpx2.post(f"{house.url}/v1/embeddings", headers=headers, trust_env=False).status_code == 404


def test_a_fault_of_the_world_is_a_502_and_a_bug_a_500_and_both_are_kept(house):
    with pytest.raises(openai.InternalServerError, match="failed at orchestrator: the endpoint refused") as failed:
        house.client().chat.completions.create(model="broken", messages=HELLO)
    assert failed.value.status_code == 502
    with pytest.raises(openai.APIError, match="the endpoint refused"):
        list(house.client().chat.completions.create(model="broken", messages=HELLO, stream=True))
    with pytest.raises(openai.InternalServerError, match="a bug of the server's own"):
        house.client().chat.completions.create(model="buggy", messages=HELLO)
    assert {run.stop for run in house.runs() if run.setting.orchestrator in ("broken", "buggy")} == {StopReason.FAULT}


def test_a_run_that_a_limit_ends_finishes_by_length(house):
    body = {"model": "endless", "messages": HELLO, "orchestra": {"max_turns": 3}}
    found = house.post(body).json()
    assert (found["choices"][0]["finish_reason"], found["orchestra"]["status"]) == ("length", "max_turns")
    cut = house.client().chat.completions.create(model="billed", messages=HELLO, max_tokens=2)
    assert (cut.choices[0].message.content, cut.choices[0].finish_reason) == ("It is", "length")


def test_wishes_of_a_request_reach_its_run_and_what_changes_nothing_is_named(house):
    wish = {"preference": {"cost": 1.0, "tools": {"coder": -0.5}}, "time_s": 9.0}
    sent = {"seed": 7, "temperature": 0.0, "temprature": 1, "logprobs": True, "store": False, "a\r\nb": 1}
    answer = house.post({"model": "brief", "messages": HELLO, "orchestra": wish, **sent})
    setting = house.stored(answer.headers["x-orchestra-run"]).setting
    assert (setting.preference.cost, setting.preference.tools["coder"], setting.seed) == (1.0, -0.5, 7)
    assert (setting.limits.time_s, answer.headers["x-orchestra-unused"]) == (9.0, "logprobs,temperature,temprature")
    assert answer.json()["orchestra"]["unused"] == ["a\r\nb", "logprobs", "temperature", "temprature"]


@pytest.mark.parametrize(("stop", "kept"), [("is", "It "), (["so", "t i"], "I"), ("never", "It is so.")])
def test_an_answer_ends_before_the_first_stop(house, stop, kept):
    found = house.client().chat.completions.create(model="billed", messages=HELLO, stop=stop)
    assert (found.choices[0].message.content, found.choices[0].finish_reason) == (kept, "stop")
    assert house.run_of(found).answer == "It is so."


def test_an_unknown_address_says_what_is_served(house):
    with pytest.raises(openai.NotFoundError, match=r"the Responses API .* is not served; have your client use chat"):
        house.client().responses.create(model="brief", input="Hi")


def test_system_text_and_earlier_turns_without_tools_become_words_of_the_task(house):
    talk = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "Name a river."}]},
        {"role": "assistant", "content": "The Nile."},
        {"role": "user", "content": "Another one."},
    ]
    found = house.client().chat.completions.create(model="brief", messages=talk)
    task = house.run_of(found).setting.task.text
    assert task.startswith("Another one.\n\n<instructions>\nBe brief.")
    assert "User: Name a river.\nAssistant: The Nile.\nUser: Another one." in task


def test_whoever_hangs_up_stops_the_run_and_it_is_kept(house):
    def stops():
        return [run.stop for run in house.runs() if run.setting.orchestrator == "waiting"]

    with pytest.raises(openai.APITimeoutError):
        house.client(timeout=0.5).chat.completions.create(model="waiting", messages=HELLO)
    with house.client().chat.completions.create(model="waiting", messages=HELLO, stream=True) as stream:
        next(iter(stream))
    eventually(lambda: stops() == [StopReason.CANCELLED] * 2)


def test_too_many_at_once_are_told_to_come_again(tmp_path):
    async def crowd(house):
        async with httpx2.AsyncClient(headers={"authorization": f"Bearer {KEY}"}, trust_env=False) as client:
            address, body = f"{house.url}/v1/chat/completions", {"model": "waiting", "messages": HELLO}
            first = asyncio.create_task(client.post(address, json=body))
            await asyncio.sleep(0.3)
            second = await client.post(address, json=body)
            first.cancel()
            return second

    with serving(tmp_path, at_once=1) as house:
        refused = asyncio.run(crowd(house))
        assert (refused.status_code, refused.headers["retry-after"]) == (429, "1")
        eventually(lambda: house.post({"model": "brief", "messages": HELLO}).status_code == 200)


def test_a_limit_in_usd_beside_an_unknown_price_is_refused_and_leaves_no_run(tmp_path):
    with serving(tmp_path, order=Order(tools=("coder",), prices="toolorchestra")) as house:
        asked = {"model": "brief", "messages": HELLO, "orchestra": {"cost_usd": 1.0}}
        answer = house.post(asked)
        assert (answer.status_code, "price" in answer.json()["error"]["message"]) == (400, True)
        with pytest.raises(openai.APIError, match="price"):
            list(house.client().chat.completions.create(model="brief", messages=HELLO, stream=True, extra_body=asked))
        assert house.runs() == []


def test_limits_of_the_server_bound_what_a_request_may_ask(tmp_path):
    with serving(tmp_path, order=Order(limits=Order().limits)) as house:
        assert house.post({"model": "brief", "messages": HELLO, "max_tokens": 10}).status_code == 200
        told = house.post({"model": "brief", "messages": HELLO, "max_tokens": 10, "orchestra": {"tokens": 5}})
        assert "max_tokens = 10 is above the run's limit of 5 tokens" in told.json()["error"]["message"]
