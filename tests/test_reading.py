import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from orchestra_lib.generation import Channel
from orchestra_lib.reading import MAX_CALLS, Reader, read

GOOD = '{"name":"a","arguments":{"x":1}}'
PIECES = [
    "<think>",
    "</think>",
    "<tool_call>",
    "</tool_call>",
    "<thi",
    "nk>",
    "</",
    "<",
    "tool_call>",
    "a",
    "b \n",
    " ",
    "{",
    "}",
    '"',
    "'",
    "\\",
    "[",
    "]",
    GOOD,
    '{"name":"b","arguments":"{}"}',
    "{'name':'c','arguments':{}}",
    "<|im_end|>",
    "<|im",
    "{}",
]
TEXTS = st.lists(st.sampled_from(PIECES), max_size=24).map("".join)


def box(data):
    return f"<tool_call>\n{data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)}\n</tool_call>"


def calls(text, **switches):
    return [(call.name, call.arguments, call.recovered) for call in read(text, **switches).calls]


def streamed(pieces, **switches):
    """What is shown by channel, and the reading."""
    reader = Reader(**switches)
    deltas = [delta for piece in pieces for delta in reader.feed(piece)] + reader.close()
    shown = ["".join(delta.text for delta in deltas if delta.channel is channel) for channel in Channel]
    return shown, reader.reading()


def cut(text, sizes):
    at = 0
    while at < len(text):
        size = next(sizes)
        yield text[at : at + size]
        at += size


@given(TEXTS, st.lists(st.integers(1, 9), min_size=1), st.booleans(), st.booleans())
def test_streamed_in_any_chunking_equals_not_streamed(text, sizes, boxes, thinking):
    """A10"""
    switches = {"boxes": boxes, "thinking": thinking}
    pieces = cut(text, iter(sizes * (len(text) + 1)))
    assert streamed(pieces, **switches) == streamed([text], **switches)
    assert streamed([text], **switches)[1] == read(text, **switches)


@given(TEXTS)
def test_what_is_shown_is_what_is_read(text):
    """A10; what came before a reasoning that the reply never opened is known as such only when it ends"""
    (reasoning, content), said = streamed([text])
    assert content.strip().endswith(said.content)
    if "</think>" not in text:
        assert (reasoning.strip(), content.strip()) == (said.reasoning, said.content)


@given(TEXTS)
@example("<thi</think>nk>")
def test_no_text_is_lost(text):
    """A13"""
    said = read(text)
    kept = f"{said.reasoning} {said.spoken}"  # halves of a marker on both sides of another are none
    for marker in ("<think>", "</think>", "<|im_end|>"):
        text, kept = text.replace(marker, " "), kept.replace(marker, " ")
    assert sorted("".join(kept.split())) == sorted("".join(text.split()))


@given(TEXTS)
def test_nothing_in_reasoning_is_a_call_however_it_is_marked(text):
    text = text.replace("<think>", "").replace("</think>", "")
    for reply in ("<think>" + text, "<think>" + text + "</think>", text + "</think>"):
        assert read(reply).calls == ()


@pytest.mark.parametrize(
    "reply, reasoning, content",
    [
        ("<think>" + box(GOOD) + "</think>fine", box(GOOD), "fine"),
        ("<think>" + box(GOOD), box(GOOD), ""),
        ("well " + box(GOOD) + "</think>fine", "well " + box(GOOD), "fine"),
        ("I could <tool_call>{ no</think>fine", "I could <tool_call>{ no", "fine"),
        ("</think>fine", "", "fine"),
        ("<think>so</think>Write </think> there.", "so", "Write </think> there."),
    ],
)
def test_reasoning_is_never_searched_for_calls(reply, reasoning, content):
    """A10: closed, cut, closed without an opening, closed twice"""
    said = read(reply)
    assert (said.calls, said.content, said.reasoning) == ((), content, reasoning)


def test_a_prompt_that_opens_reasoning_is_known_beforehand():
    shown, said = streamed(["so it", " is</thi", "nk>", "42"], thinking=True)
    assert shown == ["so it is", "42"]
    assert (said.reasoning, said.content) == ("so it is", "42")


def test_a_split_end_of_reasoning_never_shows():
    """A10: `<` + `/think>` + the start of JSON"""
    shown, said = streamed(["<think>hm", "<", '/think>{"a', '": 1}'])
    assert shown == ["hm", '{"a": 1}']
    assert said.content == '{"a": 1}'


def test_with_tools_off_a_box_is_plain_text():
    """A10: tool_choice none"""
    said = read("See " + box(GOOD), boxes=False)
    assert (said.calls, said.content) == ((), "See " + box(GOOD))


@pytest.mark.parametrize("between", ["", "\n", " and "])
def test_two_boxes_are_two_calls_in_order(between):
    """A7: also before the token that ends the turn"""
    text = box({"name": "a", "arguments": {"x": 1}}) + between + box({"name": "a", "arguments": {"x": 2}})
    assert [arguments for _, arguments, _ in calls(text + "<|im_end|>\n")] == [{"x": 1}, {"x": 2}]
    assert read(text + "<|im_end|>\n").content == between.strip()


@pytest.mark.parametrize(
    "inside, found",
    [
        (GOOD + '\n{"name":"b","arguments":{}}', [("a", {"x": 1}, None), ("b", {}, "extra_object")]),
        (GOOD + "}", [("a", {"x": 1}, "stray_brackets")]),
        (GOOD + " ]}\n", [("a", {"x": 1}, "stray_brackets")]),
        (GOOD + "\nThat finds it.", [("a", None, None)]),
        (GOOD + '\n{"name":"b","argu', [("a", {"x": 1}, None), ("b", None, None)]),
        (f"[{GOOD}, {GOOD}]", [("a", {"x": 1}, "list")] * 2),
        ("[1, 2]", [("", None, None)]),
        ('search(query="x")', [("", None, None)]),
        ('{"tool":"a"}', [("", None, None)]),
    ],
)
def test_a_box_is_read_whole_or_refused(inside, found):
    """A6"""
    said = read(box(inside))
    assert calls(box(inside)) == found
    assert said.content == ""
    assert said.spoken == box(inside)


@pytest.mark.parametrize("end", ["", "\n", "</tool_c", "</tool_call", "<|im_end|>", "</"])
def test_a_complete_object_in_an_unclosed_box_is_recovered(end):
    """A13"""
    assert calls("<tool_call>" + GOOD + end) == [("a", {"x": 1}, "unclosed")]


def test_a_box_that_the_next_one_interrupts_is_recovered():
    assert calls("<tool_call>" + GOOD + "\n" + box(GOOD)) == [("a", {"x": 1}, "unclosed"), ("a", {"x": 1}, None)]


def test_a_cut_object_is_never_a_call_that_runs_and_keeps_its_text():
    (call,) = read('<tool_call>{"name":"a","arguments":{"x":').calls
    assert (call.name, call.arguments, call.text) == ("a", None, '{"name":"a","arguments":{"x":')


@pytest.mark.parametrize(
    "text", ["I would write <tool_call> here.", "Between <tool_call> and </tool_call>.", "<tool_call>"]
)
def test_prose_that_only_mentions_the_tag_stays_prose(text):
    """A13"""
    assert (read(text).calls, read(text).content) == ((), text)


@pytest.mark.parametrize("given_arguments", [',"arguments":{}', ',"arguments":""', ',"arguments":null', ""])
def test_a_call_without_parameters_reads_as_an_empty_object(given_arguments):
    """A8"""
    assert calls(box('{"name":"a"' + given_arguments + "}")) == [("a", {}, None)]


@pytest.mark.parametrize(
    "arguments, read_as, how",
    [
        ('{"q":"it\'s 5\\" wide"}', {"q": "it's 5\" wide"}, None),
        ('{"code":"x\n\ty"}', {"code": "x\n\ty"}, "control_characters"),
        ("{'all': True, 'k': None, 'q': 'say \"hi\"'}", {"all": True, "k": None, "q": 'say "hi"'}, "python_literal"),
        ('"{\\"q\\": \\"x\\"}"', {"q": "x"}, "text_arguments"),
        ('{"q":"a 5"x7" b"}', None, None),
        ('{"q":"a 5"x b"}', None, None),
        ('{"x":NaN}', None, None),
        ('{"x":1e999}', None, None),
        ('{"x":1,"x":2}', None, None),
        ("{'x': (1, 2)}", None, None),
        ("{'x': 1, 'x': 2}", None, None),
    ],
)
def test_the_level_of_recovery_is_recorded_and_nothing_is_guessed(arguments, read_as, how):
    """A14"""
    text = box('{"name":"a","arguments":' + arguments + "}")
    assert calls(text) == [("a", read_as, how)]
    assert calls(text + box(GOOD))[1:] == [("a", {"x": 1}, None)]


def test_tags_inside_strings_are_text():
    arguments = {"code": "print('</tool_call> { <think> </think>')", "quote": '\\"}'}
    assert calls(box({"name": "a", "arguments": arguments})) == [("a", arguments, None)]


def test_literal_text_stays_literal():
    """A12"""
    arguments = {"q": "Zürich 東京 🙂 \\u00fc"}
    assert calls(box({"name": "a", "arguments": arguments})) == [("a", arguments, None)]


def test_names_are_trimmed_and_not_mapped():
    """A11"""
    assert [name for name, _, _ in calls(box('{"name":" Search \\n","arguments":{}}'))] == ["Search"]


def test_boxes_without_end_stay_text_after_the_last_that_is_read():
    said = read(box(GOOD) * (MAX_CALLS + 2))
    assert len(said.calls) == MAX_CALLS
    assert said.content == (box(GOOD) * 2).strip()


@pytest.mark.parametrize(
    "hostile",
    [
        "<tool_call>" + "[" * 100_000,
        "<tool_call>" + '{"a":' * 20_000,
        "<tool_call>{" * 20_000,
        "<|im_end|>" * 20_000,
        "<tool_call>{'a':" + "-" * 40_000 + "1}</tool_call>",
        "<think>" * 20_000,
        '<tool_call>{"n":' + "9" * 20_000 + "}</tool_call>",
    ],
    ids=lambda text: text[:24],
)
def test_hostile_text_is_read_quickly_and_never_runs(hostile):
    assert all(call.arguments is None for call in read(hostile).calls)


@given(st.text(max_size=200))
def test_any_text_can_be_read(text):
    read(text)
    read("<tool_call>" + text)
    read("<tool_call>{" + text)
