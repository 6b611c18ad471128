import csv
import json

import pyarrow.parquet as pq
import pytest
from playing import Echo, run

from orchestra_lib.export import COLUMNS, FILES, ExportFormat, messages, write
from orchestra_lib.policy.scripted import Scripted


def trajectory(word="hi"):
    return run(Scripted([[("echo", {"word": word})], "done"]), [Echo()])


def test_every_form_holds_every_trajectory(tmp_path):
    for form in (*FILES, ExportFormat.HF):
        out = tmp_path / f"runs.{form}"
        assert write([trajectory(), trajectory()], out, form) == 2
        assert [path.name for path in tmp_path.glob("*.part")] == []
        assert out.is_dir() == (form is ExportFormat.HF)
        assert out.stat().st_size > 0


def test_messages_answer_every_call_and_end_with_the_answer():
    conversation = messages(trajectory("Zürich"))
    roles = [message["role"] for message in conversation["messages"]]
    assert roles == ["system", "user", "assistant", "tool", "assistant"]
    assert json.loads(conversation["messages"][2]["tool_calls"][0]["function"]["arguments"]) == {"word": "Zürich"}
    assert conversation["messages"][-1]["content"] == "done"
    assert conversation["tools"][0]["function"]["name"] == "echo"


def test_columns_have_the_same_types_whatever_is_in_them(tmp_path):
    write([], tmp_path / "none.parquet", ExportFormat.PARQUET)
    write([trajectory()], tmp_path / "one.parquet", ExportFormat.PARQUET)
    schemas = [pq.read_schema(tmp_path / f"{name}.parquet") for name in ("none", "one")]
    assert schemas[0] == schemas[1]
    assert schemas[0].names == list(COLUMNS)


def test_a_cell_that_looks_like_a_formula_stays_text(tmp_path):
    file = tmp_path / "runs.csv"
    formula = run(Scripted(["=HYPERLINK(1)"]))
    write([formula], file, ExportFormat.CSV)
    (row,) = csv.DictReader(file.read_text().splitlines())
    assert row["answer"] == "'=HYPERLINK(1)"


def test_a_broken_export_leaves_the_old_file(tmp_path):
    file = tmp_path / "runs.jsonl"
    file.write_text("old")

    def breaks():
        yield trajectory()
        raise OSError("disk gone")

    with pytest.raises(OSError, match="disk gone"):
        write(breaks(), file, ExportFormat.JSONL)
    assert file.read_text() == "old"
