"""What the server sends is what OpenAI's own client reads: the same message whole and streamed, whatever it holds."""

import httpx2
import openai
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestra_lib.server import shapes
from orchestra_lib.server.shapes import Head, Message

HEAD = Head(id="chatcmpl-1", created=1_800_000_000, model="conductor")
TEXTS = st.text(max_size=40) | st.sampled_from(["\n\ndata: [DONE]\n\n", "a\rb\u2028c", ": remark", "\ud800", '"}]'])
CALLS = st.lists(st.tuples(TEXTS, TEXTS), max_size=3)
USED = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}
RUN = {"run_id": "r"}


def read(body, kind, **asked):
    """What the client makes of a response with this body."""
    transport = httpx2.MockTransport(lambda _: httpx2.Response(200, content=body, headers={"content-type": kind}))
    with openai.OpenAI(api_key="k", base_url="http://x/v1", http_client=httpx2.Client(transport=transport)) as client:
        found = client.chat.completions.create(model="m", messages=[{"role": "user", "content": "x"}], **asked)
        return list(found) if asked else found


def well_formed(text):
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


@given(TEXTS, CALLS, TEXTS, st.booleans())
def test_a_message_reads_the_same_whole_and_streamed(content, named, remark, with_usage):
    calls = [
        {"id": f"call_{n}", "type": "function", "function": {"name": name, "arguments": text}}
        for n, (name, text) in enumerate(named)
    ]
    said = Message(content=content or None, calls=calls, finish="tool_calls" if calls else "stop")
    whole = read(shapes.json_response(shapes.completion(HEAD, said, USED, RUN)).body, "application/json")
    pieces = [
        shapes.chunk(HEAD, {"role": "assistant", "content": ""}),
        shapes.chunk(HEAD, {"reasoning_content": remark}),
    ]
    pieces += shapes.closing_chunks(HEAD, said, USED, RUN, with_usage=with_usage)
    body = b"".join([shapes.remark("still working"), *map(shapes.event, pieces), shapes.event("[DONE]")])
    chunks = read(body, "text/event-stream", stream=True)
    deltas = [chunk.choices[0].delta for chunk in chunks if chunk.choices]
    message = whole.choices[0].message
    assert "".join(delta.content or "" for delta in deltas) == (message.content or "") == well_formed(content)
    streamed = [call for delta in deltas for call in delta.tool_calls or ()]
    assert [(c.id, c.function.name, c.function.arguments) for c in streamed] == [
        (c.id, c.function.name, c.function.arguments) for c in message.tool_calls or ()
    ]
    assert deltas[1].reasoning_content == well_formed(remark)
    ends = [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices and chunk.choices[0].finish_reason]
    assert ends == [whole.choices[0].finish_reason]
    assert [chunk.usage.total_tokens for chunk in chunks if chunk.usage] == ([5] if with_usage else [])


def test_unknown_usage_is_null_and_an_error_in_a_stream_is_raised():
    said = Message(content="x", calls=(), finish="stop")
    whole = read(shapes.json_response(shapes.completion(HEAD, said, None, RUN)).body, "application/json")
    assert whole.usage is None
    broken = shapes.event(shapes.error("the endpoint is down", code="provider", kind="server_error"))
    with pytest.raises(openai.APIError, match="the endpoint is down"):
        read(broken, "text/event-stream", stream=True)
