import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestra_lib.generation import Channel
from orchestra_lib.reading import ThinkSplitter, read

PIECES = st.lists(
    st.sampled_from(["<think>", "</think>", "<thi", "nk>", "</", "<", "a", "b \n", "think>", "{}"]), max_size=20
)


def box(data):
    return f"<tool_call>\n{json.dumps(data)}\n</tool_call>"


def split(pieces):
    splitter = ThinkSplitter()
    deltas = [delta for piece in pieces for delta in splitter.feed(piece)] + splitter.close()
    return ["".join(delta.text for delta in deltas if delta.channel is channel) for channel in Channel]


@given(PIECES, st.integers(1, 7))
def test_streamed_in_any_chunking_equals_not_streamed(pieces, size):
    text = "".join(pieces)
    assert split([text[at : at + size] for at in range(0, len(text), size)]) == split([text])


@given(PIECES)
def test_the_splitter_loses_nothing_but_tags_that_alternate(pieces):
    text = "".join(pieces)
    lost = len(text) - sum(map(len, split([text])))
    assert lost % len("<think></think>") in (0, len("<think>"))


def test_reasoning_is_never_searched_for_calls():
    said = read(f"<think>{box({'name': 'rm', 'arguments': {}})}</think>fine")
    assert (said.calls, said.content) == ((), "fine")


def test_two_boxes_are_two_calls_in_order():
    said = read(box({"name": "a", "arguments": {"x": 1}}) + box({"name": "a", "arguments": {"x": 2}}))
    assert [call.arguments for call in said.calls] == [{"x": 1}, {"x": 2}]


def test_a_box_end_inside_a_string_does_not_cut_the_call():
    arguments = {"code": "print('</tool_call> {')"}
    assert read(box({"name": "a", "arguments": arguments})).calls[0].arguments == arguments


def test_two_objects_in_one_box_are_two_calls_and_flagged():
    said = read('<tool_call>{"name":"a","arguments":{}}\n{"name":"b","arguments":{}}</tool_call>')
    assert [(call.name, call.recovered) for call in said.calls] == [("a", None), ("b", "extra")]


@pytest.mark.parametrize("end", ["", "</tool_c"])
def test_a_complete_object_in_an_unclosed_box_is_recovered_and_flagged(end):
    (call,) = read('<tool_call>{"name":"a","arguments":{"x":1}}' + end).calls
    assert (call.arguments, call.recovered) == ({"x": 1}, "unclosed")


def test_a_cut_object_is_a_call_without_arguments_and_keeps_its_text():
    (call,) = read('<tool_call>{"name":"a","arguments":{"x":').calls
    assert (call.name, call.arguments, call.text) == ("a", None, '{"name":"a","arguments":{"x":')


def test_prose_that_mentions_the_tag_stays_prose():
    said = read("I would write <tool_call> here.")
    assert (said.calls, said.content) == ((), "I would write <tool_call> here.")


@pytest.mark.parametrize("arguments", ["{}", '""', "null"])
def test_a_call_without_parameters_reads_as_an_empty_object(arguments):
    (call,) = read(f'<tool_call>{{"name":"a","arguments":{arguments}}}</tool_call>').calls
    assert call.arguments == {}


def test_raw_newlines_in_code_are_forgiven_and_flagged():
    (call,) = read('<tool_call>{"name":"a","arguments":{"code":"x\ny"}}</tool_call>').calls
    assert (call.arguments, call.recovered) == ({"code": "x\ny"}, "relaxed")


@given(st.text(max_size=200))
def test_any_text_can_be_read(text):
    read(text)
    read("<tool_call>" + text)
