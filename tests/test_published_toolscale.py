"""ToolScale's rows: the table's nulls dropped, dates as the domain writes them, foreign tables refused."""

import json
import sys
from datetime import date, datetime

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from published_rows import as_table, row

from orchestra_lib.errors import BadInput
from orchestra_lib.published.dates import FORMS, date_forms
from orchestra_lib.published.toolscale import load_toolscale, load_training_rows

FORECAST = ("get_forecast", {"location_id": "65", "start_date": "2025-09-03", "end_date": "2025-09-05"})
PAY = ("pay_invoice", {"invoice": {"id": "I-7", "parts": [{"sku": "a", "count": 2}]}, "amount": 12.5})
CALLS = [
    FORECAST,
    PAY,
    ("calculate", {"expression": "1 + 1"}),
    ("list_locations", {}),
]


def databases(folder, **tables):
    for name, data in tables.items():
        (folder / name).mkdir(parents=True)
        (folder / name / "db.json").write_text(json.dumps(data), "utf-8")
    return folder


def golden(tasks):
    return [(call.tool, call.arguments) for task in tasks for call in task.golden]


def test_the_table_is_as_the_published_one_is(tmp_path):
    table = as_table([row("1", CALLS)])
    arguments = table.schema.field("evaluation_criteria").type.field("actions").type.value_type.field("arguments").type
    assert {"location_id", "invoice", "expression"} <= {field.name for field in arguments}
    assert arguments.field("start_date").type == pa.timestamp("s")
    padded = table.to_pylist()[0]["evaluation_criteria"]["actions"][2]["arguments"]
    assert padded["location_id"] is None


def test_calls_come_back_from_the_union_as_they_were(tmp_path):
    file = tmp_path / "train.parquet"
    pq.write_table(as_table([row("1", CALLS), row("2", CALLS[::-1])]), file)
    tasks = load_toolscale(file)
    assert golden(tasks[:1]) == CALLS
    assert golden(tasks[1:]) == CALLS[::-1]
    assert (tasks[0].domain, tasks[0].scenario.known, tasks[0].communicate) == ("weather", "Ana, Boston", ("30 %",))


@pytest.mark.parametrize(
    "stored, shown",
    [("25-08-01", "25-09-03"), ("2025-08-01T06:00:00Z", "2025-09-03T00:00:00Z"), ("none", "2025-09-03")],
)
def test_dates_are_written_as_the_domain_writes_them(tmp_path, stored, shown):
    file = tmp_path / "train.parquet"
    pq.write_table(as_table([row("1", [FORECAST])]), file)
    folder = databases(tmp_path / "domains", weather={"forecasts": {"1": {"start_date": stored}}})
    [task] = load_toolscale(file, folder)
    assert task.golden[0].arguments["start_date"] == shown


def test_rows_written_as_json_lines_lose_padding_and_timestamps_too(tmp_path):
    file = tmp_path / "train.jsonl"
    arguments = {"location_id": "65", "start_date": "2025-09-03T00:00:00", "expression": None}
    file.write_text(json.dumps(row("1", [("get_forecast", arguments)])) + "\n", "utf-8")
    assert golden(load_toolscale(file)) == [("get_forecast", {"location_id": "65", "start_date": "2025-09-03"})]


def test_rows_that_were_never_in_a_table_keep_their_times(tmp_path):
    file = tmp_path / "train.jsonl"
    arguments = {"start_date": "2025-09-03T00:00:00"}
    file.write_text(json.dumps(row("1", [("get_forecast", arguments)])) + "\n", "utf-8")
    assert golden(load_toolscale(file)) == [("get_forecast", arguments)]


def test_a_day_that_no_calendar_has_is_text(tmp_path):
    file = tmp_path / "train.jsonl"
    arguments = {"start_date": "2025-02-30T00:00:00", "expression": None}
    file.write_text(json.dumps(row("1", [("get_forecast", arguments)])) + "\n", "utf-8")
    assert golden(load_toolscale(file)) == [("get_forecast", {"start_date": "2025-02-30T00:00:00"})]


def test_an_argument_that_is_nested_too_deeply_is_named(tmp_path):
    file, deep = tmp_path / "train.jsonl", sys.getrecursionlimit() - 400
    text = json.dumps(row("1", [("calculate", {"expression": "here"})]))
    file.write_text(text.replace('"here"', '{"a": ' * deep + "1" + "}" * deep), "utf-8")
    with pytest.raises(BadInput, match=r"line 1: an argument of a golden call is nested too deeply"):
        load_toolscale(file)


def test_a_missing_number_written_as_nan_is_padding_too(tmp_path):
    one, other = row("1", [("pay", {"amount": 1.5})]), row("2", [("pay", {"amount": float("nan")})])
    file = tmp_path / "train.parquet"
    pq.write_table(pa.Table.from_pylist([one, other]), file)
    assert golden(load_toolscale(file)) == [("pay", {"amount": 1.5}), ("pay", {})]


def test_arguments_kept_as_json_text_are_read(tmp_path):
    one = row("1", [])
    one["evaluation_criteria"]["actions"] = [{"action_id": "a", "name": "calculate", "arguments": '{"x": 1}'}]
    file = tmp_path / "train.parquet"
    pq.write_table(pa.Table.from_pylist([one]), file)
    assert golden(load_toolscale(file)) == [("calculate", {"x": 1})]


@pytest.mark.parametrize(
    "columns, words",
    [
        ({"question": ["Why?"], "answer": ["So."]}, "has no column id"),
        (
            {"id": ["1"], "user_scenario": [{"instructions": {"domain": "x"}}]},
            "no column evaluation_criteria.actions.name",
        ),
        (
            {
                "id": ["1"],
                "user_scenario": [{"instructions": {"domain": "x"}}],
                "evaluation_criteria": [{"actions": [{"name": "a", "arguments": 3}]}],
            },
            "evaluation_criteria.actions.arguments is int64 and should be a struct",
        ),
    ],
)
def test_a_table_of_another_schema_is_refused_by_its_column(tmp_path, columns, words):
    file = tmp_path / "other.parquet"
    pq.write_table(pa.table(columns), file)
    with pytest.raises(BadInput) as caught:
        load_toolscale(file)
    assert words in str(caught.value)
    assert str(file) in str(caught.value)
    assert "nvidia/ToolScale" in str(caught.value)


def test_bad_rows_and_repeated_ids_are_named(tmp_path):
    file = tmp_path / "rows.jsonl"
    broken = row("2", [("calculate", {})])
    broken["evaluation_criteria"]["actions"][0]["name"] = None
    file.write_text("\n".join(json.dumps(one) for one in (row("1", []), broken)), "utf-8")
    with pytest.raises(BadInput, match=r"line 2: evaluation_criteria: actions.0: name is missing"):
        load_toolscale(file)
    file.write_text("\n".join(json.dumps(row("1", [])) for _ in range(2)), "utf-8")
    with pytest.raises(BadInput, match=r"line 2: the id '1' of weather stood at .* line 1"):
        load_toolscale(file)
    with pytest.raises(BadInput, match="is no folder"):
        load_toolscale(file, tmp_path / "nowhere")


def test_the_training_file_gives_questions_and_calls_with_their_own_tools(tmp_path):
    asked = {"index": "stem____4", "category": "qa", "problem": "2 + 2?", "answer": "4", "pref_vec": {"accuracy": 3}}
    tools = [{"type": "function", "function": {"name": "answer"}}]
    asked |= {"tools": tools, "model_mapping": {"answer-1": "gpt-5"}, "tool_pricing": {"gpt-5": {"input": 1.25}}}
    called = {"index": "weather____9", "category": "func_call", "problem": "", "example": row("9", [FORECAST])}
    file = tmp_path / "data.jsonl"
    file.write_text("\n".join(map(json.dumps, (asked, called))), "utf-8")
    question, task = load_training_rows(file)
    assert (question.question.answer, question.question.source, question.task) == ("4", "stem", None)
    assert (question.models, question.weights, question.tools) == ({"answer-1": "gpt-5"}, {"accuracy": 3}, tuple(tools))
    assert golden([task.task]) == [FORECAST]
    file.write_text(json.dumps({**asked, "category": "chat"}), "utf-8")
    with pytest.raises(BadInput, match="line 1: category is 'chat'; it is qa or func_call"):
        load_training_rows(file)
    file.write_text(json.dumps({**asked, "pref_vec": {"accuracy": "much"}}), "utf-8")
    with pytest.raises(BadInput, match=r"pref_vec.accuracy should be a number"):
        load_training_rows(file)


_VALUES = {
    "name": st.text(),
    "count": st.integers(-(2**40), 2**40),
    "amount": st.floats(allow_nan=False, allow_infinity=False),
    "urgent": st.booleans(),
    "tags": st.lists(st.text(), min_size=1),
    "place": st.fixed_dictionaries({}, optional={"city": st.text(), "floor": st.integers(0, 99)}),
    "start_date": st.dates(date(1900, 1, 1)).map(str),
}
_ALL = {"name": "", "count": 1, "amount": 0.5, "urgent": True, "tags": [""], "place": {"city": "", "floor": 1}}
_CALLS = st.lists(st.tuples(st.sampled_from(["a", "b"]), st.fixed_dictionaries({}, optional=_VALUES)), min_size=1)


@settings(max_examples=25)
@given(calls=_CALLS)
def test_any_calls_survive_the_union_of_their_arguments(tmp_path_factory, calls):
    file = tmp_path_factory.mktemp("union") / "train.parquet"
    calls = [("all", {**_ALL, "start_date": "2026-05-04"}), *calls]
    pq.write_table(as_table([row("1", calls)]), file)
    assert golden(load_toolscale(file)) == calls


@given(form=st.sampled_from(FORMS), moment=st.datetimes(datetime(2000, 1, 1), datetime(2060, 1, 1)))
def test_a_database_of_one_form_gets_that_form_back(form, moment):
    moment = datetime.strptime(moment.strftime(form), form)
    stored = {"games": {"1": {"date": datetime(2025, 3, 14, 15, 9, 0).strftime(form)}}}
    forms = date_forms(stored)
    assert forms.by_field["date"] == (form,)
    written = forms.write("date", moment)
    assert written == moment.strftime(form)
    assert (
        datetime.strptime(forms.write("other", moment), date_forms({"x": forms.write("other", moment)}).general[0])
        == moment
    )
