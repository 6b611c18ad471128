"""What was recorded is replayed exactly, by the whole request, and nothing else is made up."""

import asyncio
import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from playing import PRICES, Echo, run

from orchestra_lib.chat import CallStyle
from orchestra_lib.codec import fingerprint
from orchestra_lib.errors import ProviderFault, StoreFault
from orchestra_lib.generation import Channel, ChatRequest, Completion, Delta, RawCall
from orchestra_lib.model.recorded import Recorded, Recorder
from orchestra_lib.policy.chat_model import ChatPolicy
from orchestra_lib.pricing import Attempt, Price, Usage
from orchestra_lib.protocols import PolicySpec
from orchestra_lib.store.recordings import Recordings

ASK = ChatRequest(messages=({"role": "user", "content": "Zürich?\n" * 40},), temperature=1.0)
USED = Attempt(priced_as="big", usage=Usage(input_tokens=7, output_tokens=3), wall_s=1.25)


class Model:
    """A `ChatModel` that says one thing after another."""

    name = "big"

    def __init__(self, *completions):
        self.left = list(completions)

    async def stream(self, request):
        completion = self.left.pop(0)
        if isinstance(completion, Exception):
            raise completion
        yield Delta(channel=Channel.CONTENT, text=completion.content[:1])
        yield Delta(channel=Channel.CONTENT, text=completion.content[1:])
        yield completion


def said(text, **fields):
    return Completion(content=text, attempts=(USED,), **fields)


def parts(model, request=ASK):
    async def collect():
        return [part async for part in model.stream(request)]

    return asyncio.run(collect())


def test_a_replay_gives_the_recorded_reply_usage_and_token_ids(tmp_path):
    whole = said("4🙂2", reasoning="so", token_ids=(1, 2), calls=(RawCall(id="x", name="a", arguments_text="{"),))
    recorder = Recorder(Model(whole), Recordings(tmp_path))
    assert parts(recorder)[-1] == whole
    *deltas, replayed = parts(Recorded("big", Recordings(tmp_path)))
    assert [(delta.channel, delta.text) for delta in deltas] == [(Channel.REASONING, "so"), (Channel.CONTENT, "4🙂2")]
    assert replayed == replace(whole, attempts=(replace(USED, priced_as="recorded:big"),))


def test_who_replays_may_say_how_it_is_priced(tmp_path):
    parts(Recorder(Model(said("a")), Recordings(tmp_path)))
    model = Recorded("big", Recordings(tmp_path), priced_as="big")
    assert (model.name, parts(model)[-1]) == ("big", said("a"))


@pytest.mark.parametrize(
    "other",
    [replace(ASK, temperature=0.9), replace(ASK, seed=1), replace(ASK, max_tokens=5), replace(ASK, messages=())],
)
def test_any_other_request_is_missing_and_named(tmp_path, other):
    parts(Recorder(Model(said("a")), Recordings(tmp_path)))
    with pytest.raises(ProviderFault, match=r"nothing is recorded of big for request [0-9a-f]{16} \(\d messages"):
        parts(Recorded("big", Recordings(tmp_path)), other)
    with pytest.raises(ProviderFault, match="nothing is recorded of bigger"):
        parts(Recorded("bigger", Recordings(tmp_path)))


def test_the_same_request_asked_again_gets_its_answers_in_order(tmp_path):
    recorder = Recorder(Model(said("a"), said("b")), Recordings(tmp_path))
    parts(recorder), parts(recorder)
    replay = Recorded("big", Recordings(tmp_path))
    assert [parts(replay)[-1].content for _ in range(3)] == ["a", "b", "a"]
    parts(Recorder(Model(said("c")), Recordings(tmp_path)))
    assert parts(Recorded("big", Recordings(tmp_path)))[-1].content == "c"


def test_what_fails_is_not_recorded(tmp_path):
    with pytest.raises(ProviderFault):
        parts(Recorder(Model(ProviderFault("down")), Recordings(tmp_path)))
    assert list(tmp_path.iterdir()) == []


def test_the_same_recording_is_the_same_bytes(tmp_path):
    def files(folder):
        return {path.name: path.read_bytes() for path in folder.rglob("*.json")}

    for name in ("one", "two"):
        parts(Recorder(Model(said("Zürich")), Recordings(tmp_path / name)))
    assert files(tmp_path / "one") == files(tmp_path / "two")
    (text,) = files(tmp_path / "one").values()
    assert "Zürich".encode() in text


def test_an_episode_is_replayed_without_its_model(tmp_path):
    call = RawCall(id="", name="echo", arguments_text='{"word":"hi"}')
    model = Model(said("", calls=(call,)), said("done"))

    def episode(chat_model):
        spec = PolicySpec(name="x", priced_as=chat_model.name)
        return run(ChatPolicy(spec, chat_model, style=CallStyle.NATIVE), [Echo()])

    kept = Recordings(tmp_path)
    first = episode(Recorder(model, kept))
    again = episode(Recorded("big", kept))
    assert (
        (again.answer, again.calls[0].observation.text)
        == (first.answer, first.calls[0].observation.text)
        == ("done", "hi")
    )
    assert again.bill().input_tokens == first.bill().input_tokens == 14
    assert again.bill().cost_usd is None


def test_a_replay_is_priced_by_a_row_of_its_own(tmp_path):
    parts(Recorder(Model(said("x")), Recordings(tmp_path)))
    row = {"recorded:big": Price(input_usd_per_mtok=0, output_usd_per_mtok=0, source="replay")}
    model = Recorded("big", Recordings(tmp_path))
    (attempt,) = parts(model)[-1].attempts
    assert replace(PRICES, prices=row).find(attempt.priced_as).free


def test_an_option_that_a_request_leaves_alone_is_not_part_of_its_hash(tmp_path):
    parts(Recorder(Model(said("a")), Recordings(tmp_path)))
    (text,) = (path.read_text("utf-8") for path in tmp_path.rglob("*.json"))
    assert list(json.loads(text)["asked"]["request"]) == ["messages", "temperature"]


@pytest.mark.parametrize(
    "damage", [b"", b"{", b"[]", b'{"schema":1,"answers":[]}', b'{"schema":99,"answers":[{}]}', b"\xff"]
)
def test_a_damaged_recording_is_a_fault_of_the_store(tmp_path, damage):
    parts(Recorder(Model(said("a")), Recordings(tmp_path)))
    (path,) = tmp_path.rglob("*.json")
    path.write_bytes(damage)
    with pytest.raises(StoreFault, match="recording"):
        parts(Recorded("big", Recordings(tmp_path)))


def test_a_recording_that_is_no_completion_is_a_fault_and_no_bug(tmp_path):
    Recordings(tmp_path).keep({"model": "big", "request": {}}, [{"content": 3}])
    (path,) = tmp_path.rglob("*.json")
    parts(Recorder(Model(said("a")), Recordings(tmp_path)))
    (good,) = [found for found in tmp_path.rglob("*.json") if found != path]
    good.write_bytes(path.read_bytes())
    with pytest.raises(ProviderFault, match="record it again"):
        parts(Recorded("big", Recordings(tmp_path)))


def test_a_folder_that_cannot_be_written_is_a_fault(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreFault, match="cannot keep the recording"):
        parts(Recorder(Model(said("a")), Recordings(tmp_path / "file")))


@given(st.dictionaries(st.text(max_size=5), st.integers() | st.text(max_size=5) | st.none(), max_size=5))
def test_a_fingerprint_ignores_the_order_of_keys_and_nothing_else(data):
    assert fingerprint(dict(reversed(data.items()))) == fingerprint(data)
    assert fingerprint({**data, "more": 1}) != fingerprint({**data, "more": 2})
