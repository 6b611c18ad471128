"""Assignments as lines of JSON."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from worlds import cancellation

from orchestra_lib.environment.assignment import from_line, read_assignments, to_line, write_assignments
from orchestra_lib.errors import BadInput


def test_a_line_is_read_back_as_it_was():
    one = cancellation(difficulty={"writes": 1}, parameters={"free_hours": 48}, followups=("And …",), seed=7)
    assert from_line(to_line(one), where="here") == one


@given(st.text(max_size=40))
def test_any_words_survive(text):
    one = cancellation(instruction=text.encode("utf-8", "replace").decode(), persona="日本 🎻")
    assert from_line(to_line(one), where="here") == one


def test_a_file_is_written_whole_and_its_faults_are_named_by_line(tmp_path):
    file = tmp_path / "mock.jsonl"
    assert write_assignments([cancellation(), cancellation(id="mock-2")], file) == 2
    assert [one.id for one in read_assignments(file)] == ["mock-1", "mock-2"]
    assert [path.name for path in tmp_path.iterdir()] == ["mock.jsonl"]
    with file.open("a", encoding="utf-8") as out:
        out.write('{"id": 3}\n')
    with pytest.raises(BadInput, match=r"mock\.jsonl:3: "):
        list(read_assignments(file))


def test_half_a_file_is_never_left(tmp_path):
    def broken():
        yield cancellation()
        raise RuntimeError

    with pytest.raises(RuntimeError):
        write_assignments(broken(), tmp_path / "mock.jsonl")
    assert list(tmp_path.iterdir()) == []


def test_the_words_of_the_user_hold_all_that_can_be_said():
    assert "omar_haddad_2380@example.org" in cancellation().words
