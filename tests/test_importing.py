"""Foreign trajectories: conversations and logs of inspect_ai, good, odd and broken."""

import importlib.util
import json
import re
import shutil
import subprocess
import sys
import zipfile
from datetime import UTC, datetime
from pathlib import Path

import pytest
from episodes import trajectory as episode
from hypothesis import given, settings
from hypothesis import strategies as st
from playing import Echo, run

from orchestra_lib.codec import event_from_line, event_to_line
from orchestra_lib.errors import BadInput
from orchestra_lib.event import fold
from orchestra_lib.export import ExportFormat, messages, write
from orchestra_lib.importing import Imported, ImportFormat, import_file
from orchestra_lib.importing.conversation import Source, trajectory_of
from orchestra_lib.importing.inspect_log import zipfile as archives
from orchestra_lib.importing.inspect_sample import trajectory_of_sample
from orchestra_lib.policy.scripted import Scripted
from orchestra_lib.report import report
from orchestra_lib.store.journal import Journal
from orchestra_lib.store.store import Store
from orchestra_lib.tool import CallStatus
from orchestra_lib.trajectory import StopReason
from orchestra_lib.transcript import transcript
from orchestra_lib.unfolding import unfold

HERE = Path(__file__).parent
LOG = HERE / "pinned" / "inspect_sums.eval"
NOW = datetime(2026, 11, 30, tzinfo=UTC)
ASKED = {"role": "user", "content": "What is 2 + 3?"}
SAID = {"role": "assistant", "content": "5"}


def call(name="add", arguments='{"x": 2}', **more):
    return {"type": "function", "function": {"name": name, "arguments": arguments}, **more}


def file_of(tmp_path, *rows, name="rows.jsonl"):
    file = tmp_path / name
    file.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))
    return file


def taken_in(tmp_path, *said, **row):
    """The one trajectory of a file with one conversation."""
    journal = Journal(tmp_path / "home")
    assert import_file(file_of(tmp_path, {"messages": list(said), **row}), journal, now=NOW).new == 1
    (run_id,) = journal.stamps()
    return journal.trajectory(run_id)


def samples(tmp_path, file=LOG):
    """The trajectories of a log by the ids of its samples."""
    journal = Journal(tmp_path / "home")
    import_file(file, journal)
    found = [journal.trajectory(run_id) for run_id in journal.stamps()]
    return {one.setting.task.id.removeprefix("sums/"): one for one in found}


# Conversations


def test_our_own_messages_come_back_as_they_were(tmp_path):
    ours = run(Scripted([[("echo", {"word": "Zürich"}), ("echo", {"word": "x"})], "words only", "done"]), [Echo()])
    before = tmp_path / "before.jsonl"
    write([ours], before, ExportFormat.MESSAGES)
    journal = Journal(tmp_path / "home")
    import_file(before, journal)
    (run_id,) = journal.stamps()
    again = messages(journal.trajectory(run_id))
    assert {**again, "id": ours.id} == json.loads(before.read_text())
    assert json.dumps(again["messages"]) == json.dumps(messages(ours)["messages"])


def test_turns_say_what_the_messages_say(tmp_path):
    found = taken_in(
        tmp_path,
        {"role": "system", "content": "Be brief."}, ASKED,
        {**SAID, "content": "Adding.", "reasoning_content": "hm", "tool_calls": [call(id="a"), call(id="b")]},
        {"role": "tool", "tool_call_id": "b", "content": "second"},
        {"role": "tool", "tool_call_id": "a", "content": "first"},
        {"role": "user", "content": "Are you sure?"},
        SAID, model="gpt-x", tools=[{"type": "function", "function": {"name": "add"}}],
    )  # fmt: skip
    first, last = found.turns
    assert (first.generation.reasoning, first.generation.content) == ("hm", "Adding.")
    assert [(one.call.id, one.call.arguments, one.observation.text) for one in first.calls] == [
        ("a", {"x": 2}, "first"), ("b", {"x": 2}, "second"),
    ]  # fmt: skip
    assert (found.status, found.answer, last.generation.answer) == ("answered", "5", "5")
    assert (found.setting.orchestrator, found.setting.task.text) == ("gpt-x", "What is 2 + 3?")
    assert transcript(found)[0].messages[-2:] == ({"role": "user", "content": "Are you sure?"}, SAID)


def test_what_the_file_does_not_say_is_unknown_and_never_0(tmp_path):
    flat = report(taken_in(tmp_path, ASKED, {"role": "assistant", "content": None, "tool_calls": [call()]}))
    unknown = ("cost_usd", "latency_s", "input_tokens", "output_tokens", "outcome", "answer")
    assert {name: flat[name] for name in unknown} == dict.fromkeys(unknown)
    (one,) = flat["calls"]
    assert (one["cost_usd"], one["latency_s"], one["status"]) == (None, None, "cancelled")
    assert flat["origin"].startswith("rows.jsonl row 1")
    assert "without times" in flat["origin"]
    assert flat["started_at"] == NOW.isoformat()


def test_missing_ids_and_older_forms_are_understood(tmp_path):
    made = {"role": "assistant", "tool_calls": [call(), call(arguments={"x": 3}), call(arguments="{'x': 4}")]}
    older = {"role": "assistant", "content": None, "function_call": {"name": "add", "arguments": ""}}
    results = [{"role": "tool", "content": str(place)} for place in range(3)]
    found = taken_in(tmp_path, ASKED, made, *results, older, {"role": "function", "name": "add", "content": "3"}, SAID)
    assert [one.observation.text for one in found.calls] == ["0", "1", "2", "3"]
    assert [one.call.arguments for one in found.calls] == [{"x": 2}, {"x": 3}, {"x": 4}, {}]
    assert len({one.call.id for one in found.calls}) == 4


def test_the_order_of_rows_and_the_form_of_arguments_change_nothing(tmp_path):
    """G7"""
    rows = [
        {"messages": [ASKED, {"role": "assistant", "tool_calls": [call(arguments=given)]}]}
        for given in ({"x": 2}, '{"x": 2}', '{"y": [1, "2"]}')
    ]
    found = []
    for place, order in enumerate((rows, rows[::-1])):
        journal = Journal(tmp_path / str(place))
        import_file(file_of(tmp_path, *order), journal, now=NOW)
        found.append({run_id: journal.trajectory(run_id).calls[0].call.arguments for run_id in journal.stamps()})
    assert found[0] == found[1]
    assert sorted(map(str, found[0].values())) == ["{'x': 2}", "{'x': 2}", "{'y': [1, '2']}"]


def test_parts_that_are_no_text_are_named(tmp_path):
    parts = [{"type": "text", "text": "What is this?"}, {"type": "image_url", "image_url": {"url": "data:…"}}]
    found = taken_in(tmp_path, {"role": "user", "content": parts}, SAID)
    assert found.setting.task.text == "What is this?\n[image_url]"


@pytest.mark.parametrize(
    "row, words",
    [
        ("{", "not JSON"),
        ("[]", "should be an object"),
        ({"text": "hello"}, "no messages .but text"),
        ({"messages": []}, "empty"),
        ({"messages": "hi"}, "should be a list"),
        ({"messages": [SAID]}, "no task"),
        ({"messages": [{"role": "robot"}]}, "role 'robot'"),
        ({"messages": [ASKED, {"role": "tool", "tool_call_id": "z", "content": ""}]}, "message 2 answers the call 'z'"),
        ({"messages": [ASKED, {"role": "assistant", "tool_calls": [{"id": "a"}]}]}, "function is null"),
        ({"messages": [ASKED, {"role": "assistant", "content": 5}]}, "content is 5"),
        ({"messages": [ASKED, SAID], "tools": [{"name": "judge"}]}, "cannot be named 'judge'"),
        ({"messages": [ASKED, SAID], "tools": "{"}, "no JSON"),
        ('{"messages": [{"role": "user", "content": "a", "x": 1e999}]}', "JSON cannot say"),
        ('{"messages": [{"role": "user", "content": "a", "x": ' + "[" * 200 + "]" * 200 + "}]}", "100 deep"),
    ],
)
def test_a_bad_row_is_named_and_nothing_is_kept_unless_it_is_skipped(tmp_path, row, words):
    journal, good = Journal(tmp_path / "home"), {"messages": [ASKED, SAID]}
    file = file_of(tmp_path, good, row)
    with pytest.raises(BadInput, match=words) as refused:
        import_file(file, journal)
    assert f"{file}, row 2: " in str(refused.value)
    assert "--skip-bad" in str(refused.value)
    assert journal.stamps() == {}
    imported = import_file(file, journal, skip_bad=True)
    assert (imported.new, imported.known, imported.bad) == (1, 0, 1)
    assert imported.problems[0].startswith("row 2: ")


def test_a_file_is_imported_once(tmp_path):
    journal, file = Journal(tmp_path / "home"), file_of(tmp_path, {"messages": [ASKED, SAID]})
    assert import_file(file, journal) == Imported(new=1)
    assert import_file(file.rename(tmp_path / "other.jsonl"), journal) == Imported(known=1)
    assert [path.suffix for path in journal.folder.iterdir()] == [".jsonl"]


def test_a_file_that_is_none_is_named(tmp_path):
    with pytest.raises(BadInput, match="cannot be read: No such file"):
        import_file(tmp_path / "none", Journal(tmp_path))
    with pytest.raises(BadInput, match="holds nothing"):
        import_file(file_of(tmp_path), Journal(tmp_path))


def test_imports_stay_when_the_store_is_made_anew(tmp_path):
    import_file(file_of(tmp_path, {"messages": [ASKED, SAID]}), Journal(tmp_path / "home"), now=NOW)
    with Store.open(tmp_path / "home") as store:
        before = list(store.each())
        store.rebuild()
        assert list(store.each()) == before
        (row,) = store.query("SELECT origin, cost_usd, latency_s FROM trajectories").rows
    assert row[0].startswith("rows.jsonl row 1")
    assert row[1:] == (None, None)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda parts: st.lists(parts, max_size=3) | st.dictionaries(st.text(max_size=8), parts, max_size=3),
    max_leaves=8,
)
finite_values = json_values.filter(lambda value: not re.search("nan|inf", repr(value)))
odd_messages = st.lists(
    st.fixed_dictionaries(
        {"role": st.sampled_from(["user", "assistant", "tool", "system", "function"])},
        optional={
            "content": json_values,
            "tool_calls": json_values | st.lists(st.fixed_dictionaries({"id": json_values, "function": json_values})),
            "tool_call_id": json_values,
            "function_call": st.fixed_dictionaries({"name": st.text(max_size=5), "arguments": json_values}),
        },
    ),
    max_size=6,
)


@given(odd_messages, json_values)
@settings(max_examples=80, deadline=None)
def test_any_row_is_taken_or_refused_in_words(tmp_path_factory, said, tools):
    folder = tmp_path_factory.mktemp("odd")
    file = file_of(folder, json.dumps({"messages": said, "tools": tools}))
    journal = Journal(folder)
    imported = import_file(file, journal, skip_bad=True)
    assert imported.new + imported.bad == 1
    for run_id in journal.stamps():
        found = journal.trajectory(run_id)
        assert all(one.observation for one in found.calls)
        assert found.stop in (StopReason.ANSWERED, StopReason.CANCELLED)


# Logs of inspect_ai

with archives.ZipFile(LOG) as log:
    PARTS = {name: json.loads(log.read(name)) for name in log.namelist()}
SAMPLE, EVALUATION = PARTS["samples/expert_epoch_1.json"], PARTS["header.json"]["eval"]


def test_a_sample_is_a_run_with_its_times_and_its_ledger(tmp_path):
    found = samples(tmp_path)
    assert sorted(found) == ["broken", "expert", "failing", "right", "wrong"]
    right = found["right"]
    assert (right.status, right.answer, right.setting.task.reference) == ("answered", "5", "5")
    assert right.setting.orchestrator == "mockllm/model"
    assert right.setting.origin == "inspect_sums.eval sample right epoch 1 (inspect_ai)"
    assert [spec.name for spec in right.setting.tools] == ["add", "ask"]
    assert "more than a hundred" in right.setting.tools[0].parameters["properties"]["y"]["description"]
    first, second = right.turns
    assert 0 < first.started_s <= first.generated_s <= first.calls[0].observation.started_s < second.started_s
    assert second.finished_s <= right.finished_s < 60
    assert first.calls[0].call.arguments == {"x": 2, "y": 3}
    assert first.calls[0].observation.text == "5"


def test_usage_is_that_of_the_log_and_a_cost_is_only_reported(tmp_path):
    """inspect_ai counts what a cache gave beside the input, we within it: 40 + 5."""
    found = samples(tmp_path)
    bill = found["expert"].bill()
    assert [(row.priced_as, row.input_tokens, row.output_tokens, row.cached_tokens) for row in bill.rows] == [
        ("model", 90, 16, 10), ("ask", 0, 0, 0), ("expert", 12, 3, 5),
    ]  # fmt: skip
    assert [(row.priced_as, row.input_tokens, row.output_tokens) for row in bill.judge] == [("judge", 16, 1)]
    assert bill.cost_usd is None
    assert bill.rows[0].reported_usd == pytest.approx(0.002)


def test_scores_are_grades_and_scorers_that_differ_say_nothing(tmp_path):
    found = samples(tmp_path)
    assert {name: one.outcome for name, one in found.items()} == {
        "right": True, "wrong": None, "failing": True, "expert": True, "broken": None,
    }  # fmt: skip
    (grade,) = found["wrong"].grades
    assert (grade.by, grade.conditions) == ("inspect", {"match": False, "judged": True})
    assert 'match = "I" (51)' in grade.reason
    assert found["broken"].grades == ()


def test_errors_of_tools_and_of_samples_are_kept(tmp_path):
    found = samples(tmp_path)
    (failed,) = found["failing"].calls
    assert (failed.observation.status, failed.observation.text) == (CallStatus.ERROR, "no numbers below zero")
    assert found["broken"].stop is StopReason.FAULT
    assert "the solver broke" in found["broken"].faults[0].message


def test_a_log_is_imported_once_and_told_by_its_content(tmp_path):
    journal, file = Journal(tmp_path / "home"), tmp_path / "renamed.jsonl"
    shutil.copy(LOG, file)
    assert import_file(file, journal) == Imported(new=5)
    assert import_file(LOG, journal, form=ImportFormat.INSPECT) == Imported(known=5)


def test_a_log_in_one_file_of_json_says_the_same(tmp_path):
    parts = PARTS
    whole = {**parts["header.json"], "samples": [part for name, part in parts.items() if name.startswith("samples/")]}
    file = tmp_path / "log.json"
    file.write_text(json.dumps(whole, indent=2))
    one, other = samples(tmp_path / "a"), samples(tmp_path / "b", file)
    assert {name: run.id for name, run in one.items()} == {name: run.id for name, run in other.items()}
    assert [unfold(one[name])[1:] for name in sorted(one)] == [unfold(other[name])[1:] for name in sorted(one)]


def zipped(tmp_path, parts):
    file = tmp_path / "log.eval"
    with zipfile.ZipFile(file, "w") as log:
        for name, part in parts.items():
            log.writestr(name, part if isinstance(part, str) else json.dumps(part))
    return file


def test_an_evaluation_that_did_not_end_gives_the_samples_that_did(tmp_path):
    parts = {name: part for name, part in PARTS.items() if name != "header.json"}
    assert import_file(zipped(tmp_path, parts), Journal(tmp_path / "home")).new == 5


def test_a_log_without_times_has_none(tmp_path):
    untimed = {**PARTS["samples/right_epoch_1.json"], "started_at": None}
    right = samples(tmp_path, zipped(tmp_path, PARTS | {"samples/right_epoch_1.json": untimed}))["right"]
    assert (right.finished_s, right.setting.timed) == (None, False)
    assert right.bill().of("orchestrator").input_tokens == 90


@pytest.mark.parametrize(
    "change, words",
    [
        ({"header.json": {"version": 3, "eval": {}}}, "log schema 3.*update"),
        ({"header.json": {"version": 1, "eval": {}}}, "no inspect_ai log of schema 2"),
        ({"header.json": "{"}, "not JSON"),
        ({"samples/right_epoch_1.json": "{"}, "samples/right_epoch_1.json: not JSON"),
        ({"samples/right_epoch_1.json": {"messages": 5}}, "messages is 5"),
        (
            {"samples/right_epoch_1.json": {"messages": [ASKED], "events": [{"event": "model", "output": [1]}]}},
            "output",
        ),
        ({"samples/right_epoch_1.json": {"messages": [ASKED], "scores": {"a": 1}}}, "scores.a is 1"),
    ],
)
def test_a_bad_log_is_refused_whole(tmp_path, change, words):
    journal = Journal(tmp_path / "home")
    with pytest.raises(BadInput, match=words):
        import_file(zipped(tmp_path, PARTS | change), journal)
    assert journal.stamps() == {}


def test_an_archive_that_is_none_or_half_is_refused(tmp_path):
    with pytest.raises(BadInput, match="no log of inspect_ai"):
        import_file(zipped(tmp_path, {"hello.txt": "x"}), Journal(tmp_path))
    half, later = tmp_path / "half.eval", tmp_path / "later.eval"
    half.write_bytes(LOG.read_bytes()[:9000])
    whole = bytearray(LOG.read_bytes())
    whole[whole.index(b"PK\1\2") + 6] = 209  # the version of zip that its first member needs
    later.write_bytes(whole)
    for file in (half, later):
        with pytest.raises(BadInput, match="no whole zip archive"):
            import_file(file, Journal(tmp_path))


def test_a_log_that_inspect_ai_writes_here_is_read(tmp_path):
    if importlib.util.find_spec("inspect_ai") is None:
        pytest.skip("inspect_ai is not installed; the pinned log of one of its runs is read above")
    subprocess.run([sys.executable, HERE / "inspecting.py", tmp_path / "logs"], check=True, cwd=tmp_path, timeout=100)
    (log,) = (tmp_path / "logs").glob("*.eval")
    here, pinned = samples(tmp_path / "a", log), samples(tmp_path / "b")
    assert {name: (one.answer, one.outcome) for name, one in here.items()} == {
        name: (one.answer, one.outcome) for name, one in pinned.items()
    }


def test_every_journal_of_an_import_folds_back(tmp_path):
    source = Source(run_id="import-1", origin="x", started_at=NOW, messages=[ASKED, SAID])
    made = trajectory_of(source)
    journal = Journal(tmp_path)
    assert journal.put(unfold(made))
    assert not journal.put(unfold(made))
    assert journal.trajectory("import-1") == made
    assert episode().setting.timed


def _places(value, here=()):
    """The path of every value within plain data."""
    yield here
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in parts:
        yield from _places(part, (*here, key))


@given(st.data())
@settings(max_examples=150, deadline=None)
def test_a_sample_with_anything_in_any_place_is_taken_or_refused_in_words(data):
    sample = json.loads(json.dumps(SAMPLE))
    path = data.draw(st.sampled_from([place for place in _places(SAMPLE) if place]))
    holder = sample
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = data.draw(finite_values)
    try:
        made = trajectory_of_sample(sample, EVALUATION, "log", NOW)
    except BadInput:
        return
    again = fold([event_from_line(event_to_line(event), where="line") for event in unfold(made)])
    assert again.stop is made.stop
    assert again.bill().input_tokens == made.bill().input_tokens
