"""Questions from foreign files: the known data sets, named columns, and what is refused or left out."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestra_lib.errors import BadInput
from orchestra_lib.published.questions import GSM8K, QuestionForm, Unused, load_questions, parse_columns

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"


def written(folder, *rows, name="questions.jsonl"):
    file = folder / name
    file.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows), "utf-8")
    return file


def refused(file, form=None):
    with pytest.raises(BadInput) as caught:
        load_questions(file, form)
    return str(caught.value)


@pytest.mark.skipif(not (SHARED / "frames.jsonl").is_file(), reason="FRAMES lies beside the project in development")
def test_all_of_frames_is_read():
    found = load_questions(SHARED / "frames.jsonl")
    assert (len(found.rows), found.left_out) == (824, ())
    assert (found.rows[0].id, found.rows[0].answer, found.rows[0].source) == ("wiki____0", "Jane Ballou", "frames")


@pytest.mark.skipif(not (SHARED / "gsm8k_test.jsonl").is_file(), reason="GSM8K lies beside the project in development")
def test_gsm8k_gives_the_final_answers_alone():
    found = load_questions(SHARED / "gsm8k_test.jsonl")
    assert len(found.rows) == 1319
    assert {row.source for row in found.rows} == {"gsm8k"}
    assert found.rows[0].answer == "18"
    assert not any("#" in row.answer or "\n" in row.answer for row in found.rows)


def test_general_thought_is_read_from_parquet_and_its_repeats_are_named(tmp_path):
    file = tmp_path / "general.parquet"
    columns = {
        "question_id": [7, 7, 8, 9, 10],
        "question": ["Why?", "Why?", "When?", "Who?", "And then?"],
        "reference_answer": ["So.", "So.", None, "You.", "That."],
        "prev_messages": [None, None, None, [], [{"role": "user", "content": "Who?"}]],
        "model_answer": ["a", "b", "c", "d", "e"],
        "task": ["Logic", "Logic", None, None, None],
    }
    pq.write_table(pa.table(columns), file)
    found = load_questions(file)
    assert [(row.id, row.answer, row.subject) for row in found.rows] == [("7", "So.", "Logic"), ("9", "You.", None)]
    assert [(left.where, left.why) for left in found.left_out] == [
        (f"{file}, row 2", Unused.REPEATED),
        (f"{file}, row 3", Unused.EMPTY),
        (f"{file}, row 5", Unused.CONTINUED),
    ]
    assert found.left_out[0].detail == f"the question stood at {file}, row 1"


def test_columns_of_ones_own_are_named(tmp_path):
    file = written(tmp_path, {"q": "2 + 2?", "a": 4, "key": "k1"}, {"q": "3 + 3?", "a": "6"})
    form = QuestionForm(source="sums", question="q", answer="a", id="key")
    assert [(row.id, row.answer) for row in load_questions(file, form).rows] == [("k1", "4"), ("sums-2", "6")]
    assert load_questions(file, parse_columns("question=q, answer=a,id=key", "sums")) == load_questions(file, form)
    assert "the columns a, key, q" in refused(file)
    assert "no column 'question'" in refused(file, QuestionForm(source="sums", answer="a"))


@pytest.mark.parametrize("text", ["", "q", "question", "question=", "title=q"])
def test_columns_that_name_nothing_are_refused(text):
    with pytest.raises(BadInput, match="write question=NAME,answer=NAME"):
        parse_columns(text, "sums")


def test_a_repeated_question_with_another_answer_says_so(tmp_path):
    file = written(tmp_path, {"question": "Why?", "answer": "x"}, {"question": " Why? ", "answer": "y"})
    [left] = load_questions(file).left_out
    assert left.detail.endswith("line 1, with another answer")


@pytest.mark.parametrize(
    "row, words",
    [
        ("{broken", "line 2 is no JSON"),
        ("[1, 2]", "line 2 is no object but list"),
        ('{"question": NaN, "answer": "x"}', "NaN is no JSON number"),
        ({"question": ["Why?"], "answer": "x"}, "line 2: question should be a text and is list"),
        ({"question": "Who?", "answer": "x", "id": "1"}, "line 2: the id '1' is that of another question"),
        ({"question": "w" * 200_001, "answer": "x"}, "200,001 characters"),
    ],
)
def test_a_bad_row_is_named_and_nothing_is_read(tmp_path, row, words):
    file = written(tmp_path, {"question": "Why?", "answer": "So.", "id": "1"}, row)
    said = refused(file)
    assert words in said
    assert "Correct or remove these rows; nothing was read" in said


def test_many_bad_rows_are_counted(tmp_path):
    said = refused(written(tmp_path, *["{"] * 9))
    assert said.count("is no JSON") == 5
    assert "and 4 more" in said


def test_a_gsm8k_row_without_its_mark_is_refused(tmp_path):
    rows = [{"question": "One?", "answer": "so #### 1"}, {"question": "Two?", "answer": "2"}]
    assert "line 2: answer has no ####" in refused(written(tmp_path, *rows), GSM8K)


@pytest.mark.parametrize("name, content, words", [
    ("none.jsonl", None, "cannot be read"),
    ("empty.jsonl", b"\n\n", "has no rows"),
    ("latin.jsonl", b'{"question": "\xe9"}', "no UTF-8"),
    ("data.csv", b"question,answer", ".jsonl, .json and .parquet"),
    ("half.parquet", b"PAR1 cut", "is no Parquet file"),
    ("object.json", b'{"question": 1}', "a list of objects was expected"),
])  # fmt: skip
def test_a_file_that_cannot_be_read_says_why(tmp_path, name, content, words):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    assert words in refused(tmp_path / name)


def unique(text):
    return " ".join(text.split())


@given(texts=st.lists(st.text().filter(str.strip), min_size=1, max_size=6, unique_by=unique))
def test_any_text_comes_back_as_it_was(tmp_path_factory, texts):
    file = tmp_path_factory.mktemp("any") / "rows.json"
    file.write_text(json.dumps([{"question": text, "answer": text} for text in texts]), "utf-8")
    assert [row.question for row in load_questions(file).rows] == [text.strip() for text in texts]
