"""One codec: what goes in comes out, what is unknown, newer or absurd is refused in a clear line."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestra_lib.codec import dumps, event_from_line, event_to_line, from_data, to_data, to_text, well_formed
from orchestra_lib.errors import BadInput, Fault, NewerSchema
from orchestra_lib.event import CallFinished, Generated, RunFinished, Streamed, TurnStarted
from orchestra_lib.generation import Channel, Estimate, Generation
from orchestra_lib.preference import Preference
from orchestra_lib.pricing import Attempt, Usage
from orchestra_lib.tool import ArtefactRef, CallStatus, Observation, ToolCall
from orchestra_lib.trajectory import StopReason, Trajectory
from tests.episodes import events, setting, trajectory

text = st.text(max_size=40)  # any code point but surrogates
number = st.floats(allow_nan=False, allow_infinity=False)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**30), 10**30) | number | text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3),
    max_leaves=8,
)
attempts = st.builds(
    Attempt,
    priced_as=text,
    usage=st.none() | st.builds(Usage, input_tokens=st.none() | st.integers(), output_tokens=st.none() | st.integers()),
    wall_s=number,
    error=st.none() | text,
)
calls = st.builds(
    ToolCall,
    id=text,
    tool=text,
    arguments=st.none() | st.dictionaries(text, json_values, max_size=3),
    arguments_text=text,
    recovered=st.none() | text,
)
generations = st.builds(
    Generation,
    raw_text=text,
    reasoning=text,
    calls=st.lists(calls, max_size=2).map(tuple),
    answer=st.none() | text,
    token_ids=st.none() | st.lists(st.integers(0, 2**31), max_size=3).map(tuple),
    attempts=st.lists(attempts, max_size=2).map(tuple),
    estimates=st.lists(st.builds(Estimate, tool=text, chance=st.none() | number, note=text), max_size=2).map(tuple),
)
artefacts = st.builds(ArtefactRef, sha256=text, media_type=text, size_bytes=st.integers(0), name=text)
observations = st.builds(
    Observation,
    call_id=text,
    status=st.sampled_from(CallStatus),
    text=text,
    artefacts=st.lists(artefacts, max_size=2).map(tuple),
    full=st.none() | artefacts,
    started_s=number,
    finished_s=number,
)
faults = st.none() | st.builds(Fault, where=text, kind=text, message=text)
place = {"seq": st.integers(1, 10**9), "t_s": number}
any_event = st.one_of(
    st.builds(Generated, turn=st.integers(0), generation=generations, **place),
    st.builds(
        CallFinished,
        turn=st.integers(0),
        observation=observations,
        attempts=st.lists(attempts, max_size=2).map(tuple),
        fault=faults,
        **place,
    ),
    st.builds(RunFinished, stop=st.sampled_from(StopReason), answer=st.none() | text, fault=faults, **place),
    st.builds(Streamed, turn=st.integers(0), channel=st.sampled_from(Channel), text=text, **place),
)


@given(event=any_event)
def test_any_event_comes_back_from_its_line(event):
    line = event_to_line(event)
    assert "\n" not in line
    assert event_from_line(line, where="test") == event


def test_a_whole_run_comes_back_event_by_event_and_as_a_trajectory():
    run = list(events(turns=3))
    assert [event_from_line(event_to_line(event), where="test") for event in run] == run
    whole = trajectory(turns=3)
    assert from_data(json.loads(dumps(to_data(whole))), Trajectory, where="test") == whole


@given(line=st.text() | json_values.map(json.dumps))
def test_any_line_is_read_or_refused_as_bad_input(line):
    with pytest.raises(BadInput, match="journal 3"):
        event_from_line(line, where="journal 3")


def line(**changes):
    data = json.loads(event_to_line(TurnStarted(seq=1, t_s=0.0, turn=0)))
    return json.dumps(data | changes)


@pytest.mark.parametrize(
    "changes, named",
    [
        ({"colour": "red"}, "colour: Unexpected keyword argument"),
        ({"turn": "many"}, "turn: Input should be a valid integer"),
        ({"kind": "turn_exploded"}, "turn_exploded"),
        ({"schema": 0}, "schema 0"),
        ({"schema": None}, "schema None"),
        ({"schema": "1"}, "schema '1'"),
    ],
)
def test_what_is_wrong_in_a_line_is_named(changes, named):
    with pytest.raises(BadInput, match=named):
        event_from_line(line(**changes), where="run.jsonl line 3")


def test_a_newer_schema_says_to_update():
    with pytest.raises(NewerSchema, match=r"run\.jsonl line 3: schema 2, .* update it"):
        event_from_line(line(schema=2, colour="red"), where="run.jsonl line 3")


@pytest.mark.parametrize("turn", ["9" * 5000, "[" * 100_000, "NaN", "-Infinity"])
def test_absurd_json_is_bad_input_and_no_traceback(turn):
    with pytest.raises(BadInput, match="not JSON"):
        event_from_line(f'{{"schema":1,"kind":"turn_started","seq":1,"t_s":0,"turn":{turn}}}', where="test")


def test_an_unknown_key_deep_inside_a_value_is_refused():
    data = to_data(setting())
    data["preference"]["speed"] = 1.0
    with pytest.raises(BadInput, match=r"setting: preference\.speed"):
        from_data(data, type(setting()), where="setting")


def test_a_weight_out_of_range_is_refused_when_read_as_when_made():
    with pytest.raises(BadInput, match="cost = 7"):
        from_data({"cost": 7.0}, Preference, where="order")


def test_a_start_that_is_not_utc_is_refused():
    data = to_data(setting())
    for wrong in ("2026-11-29T12:00:00", "2026-11-29T12:00:00+01:00"):
        with pytest.raises(BadInput, match="is not UTC"):
            from_data(data | {"started_at": wrong}, type(setting()), where="setting")


def test_arguments_that_no_record_can_hold_stay_text():
    deep = {"a": 1}
    for _ in range(400):
        deep = {"a": deep}
    call = ToolCall(id="1", tool="t", arguments=deep, arguments_text="text")
    event = Generated(seq=1, t_s=0.0, turn=0, generation=Generation(raw_text="", calls=(call,)))
    assert event_from_line(event_to_line(event), where="test").generation.calls[0] == call
    assert call.arguments is None


def test_numbers_that_json_lacks_become_null():
    call = ToolCall(id="1", tool="t", arguments={"x": [math.nan, math.inf]}, arguments_text="")
    assert dumps(to_data(call)["arguments"]) == '{"x":[null,null]}'
    with pytest.raises(ValueError, match="not JSON compliant"):
        dumps({"x": math.nan})


@given(event=any_event)
def test_text_says_the_same_as_plain_data(event):
    assert json.loads(to_text(event)) == to_data(event)


@pytest.mark.parametrize("constant", [math.nan, math.inf, -math.inf])
def test_a_number_that_json_lacks_is_never_written_as_unknown(constant):
    with pytest.raises(ValueError, match="not JSON compliant"):
        to_text(TurnStarted(seq=1, t_s=constant, turn=0))
    assert json.loads(to_text(Generation(raw_text="NaN and Infinity")))["raw_text"] == "NaN and Infinity"


@pytest.mark.parametrize("arguments, text", [({"\ud83d": 1}, ""), ({"x": "\ud83d"}, ""), ({}, "\ud83d")])
def test_lone_surrogates_are_replaced_wherever_they_stand(arguments, text):
    call = ToolCall(id="1", tool="t", arguments=arguments, arguments_text=text)
    assert to_text(call) == dumps(to_data(call))


@given(value=st.text(st.characters(codec=None)))
def test_text_is_literal_and_only_lone_surrogates_are_replaced(value):
    written = dumps(value)
    written.encode()
    assert json.loads(written) == well_formed(value)
    expected = value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    assert well_formed(value) == expected
    assert well_formed(expected) == expected


def test_escapes_that_a_model_wrote_are_not_undone():
    assert dumps("ü 中 😀 \\u00fc") == '"ü 中 😀 \\\\u00fc"'
