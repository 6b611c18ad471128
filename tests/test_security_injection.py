"""Hostile words in every text of a record reach terminal, notebooks and exports as text and as nothing else."""

import csv
import io
import json

import pandas as pd
import pyarrow.parquet as pq
import pytest
from episodes import trajectory
from hostile_words import FORMULAS, UNSAFE, WORDS, hostile, planted
from IPython.core.formatters import DisplayFormatter
from test_cli import orchestra as orchestra

from orchestra_lib.export import ExportFormat, write
from orchestra_lib.export.table import answer_bytes, csv_rows
from orchestra_lib.store.store import Store
from scripts.execute_notebooks import NOTEBOOKS


@pytest.fixture
def stored(tmp_path):
    """Two of them as a store gives them back: half characters are gone, as no file can hold them."""
    with Store(tmp_path / "store") as store:
        store.add_many([hostile("run-1"), hostile("run-2")])
        return [store.get("run-1"), store.get("run-2")]


def test_the_words_are_really_everywhere():
    run = hostile("run-1")
    assert run.setting.task.text.startswith("<script data-hurt>")
    assert (
        len({run.setting.orchestrator, run.setting.group, run.answer, run.faults[0].message, run.calls[0].call.id}) == 5
    )
    assert run.calls[0].call.tool in {tool.name for tool in run.setting.tools}
    assert all(words in run.turns[0].generation.raw_text for words in WORDS.values())


# Terminal

COMMANDS = (
    ["list"], ["list", "--json"], ["show", "run-1"], ["show", "run-1", "--json"], ["query", "FROM trajectories"],
    ["query", "FROM calls", "--json"], ["query", "SELECT 1 AS \"\x1b[31m\", '\x1b]0;x\x07' AS b"],
    ["reward", "run-1", "run-2"], ["bias"], ["bias", "--json"], ["compare", "run-1", "run-2"],
    ["groups", "list"], ["doctor"], ["show", "run-1", "--config"], ["prices", "bill", "run-1"],
    ["show", "\x1b[31m\u202e"], ["run", "x", "--orchestrator", "\x1b[31m"], ["run", "x", "--tools", "\x9b31m"],
    ["export", "/no/\x1b[31m/x.csv"], ["eval", "\x1b[31m"], ["train", "\x1b[31m.toml"], ["describe", "\x1b[31m"],
)  # fmt: skip


def test_no_command_lets_them_drive_the_terminal(orchestra, tmp_path):
    with Store(tmp_path) as store:
        store.add_many([hostile("run-1"), hostile("run-2")])
    shown = 0
    for command in COMMANDS:
        _, out, err = orchestra(*command)
        text = out + err
        shown += "data-hurt" in text
        assert not UNSAFE.search(text.replace("\n", "")), (command, UNSAFE.search(text))
    assert shown >= 8


# Notebooks


def test_a_notebook_shows_a_record_as_plain_text(stored):
    """No value of the library brings HTML of its own, and the signs of a terminal are escaped."""
    shown, _ = DisplayFormatter().format(stored[0])
    assert set(shown) == {"text/plain"}
    assert not UNSAFE.search(shown["text/plain"].replace("\n", ""))
    html = pd.read_csv(io.BytesIO(b"".join(csv_rows(stored))))._repr_html_()
    assert "<script data-hurt" not in html
    assert "data-hurt" in html


def test_no_notebook_lets_words_be_html():
    for file in NOTEBOOKS.glob("*.ipynb"):
        cells = json.loads(file.read_text("utf-8"))["cells"]
        source = "".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
        assert not [word for word in ("escape=False", "Javascript(", "_repr_html_") if word in source], file.name


# Exports


@pytest.mark.parametrize("form", ["jsonl", "messages", "sharegpt", "trl"])
def test_a_line_of_an_export_is_one_object_and_no_sign_leaves_it(stored, tmp_path, form):
    write(stored, tmp_path / "out", ExportFormat(form))
    lines = (tmp_path / "out").read_bytes().split(b"\n")[:-1]
    assert len(lines) == 2
    for line in lines:
        assert "data-hurt" in json.dumps(json.loads(line))
        assert not [byte for byte in line if byte < 0x20]


@pytest.mark.parametrize("words", FORMULAS)
def test_no_cell_of_a_table_is_a_formula(words):
    run = planted(trajectory("run-1", group="g", answer="a"), words)
    rows = list(csv.reader(io.StringIO(b"".join(csv_rows([run])).decode(), newline="")))
    head, cells = rows
    assert sum(cell.startswith(f"'{words}") for cell in cells) >= 5
    asked = answer_bytes([words, "b"], [[words, 1]], "csv").decode()
    for cell in (*cells, *head, *next(csv.reader(io.StringIO(asked, newline="")))):
        assert not cell.startswith(FORMULAS) or cell.replace(".", "").removeprefix("-").isdigit()
        assert cell[:1] not in {word[0] for word in FORMULAS}


def test_a_parquet_file_gives_back_what_was_put_in(stored, tmp_path):
    write(stored[:1], tmp_path / "out", ExportFormat.PARQUET)
    (row,) = pq.read_table(tmp_path / "out").to_pylist()
    assert row["task"] == stored[0].setting.task.text
