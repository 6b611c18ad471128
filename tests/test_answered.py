"""Questions about the workbench: told from others by their meaning, and answered from the document as it stands."""

import pytest
from conducting import Axes, called, conduct, orchestra

from orchestra_lib.errors import BadInput
from orchestra_lib.model.minilm import MiniLM
from orchestra_lib.policy.conductor.answered import Answered, Question, Questions, load_questions
from orchestra_lib.preference import Preference

FEE = Answered(Questions(question=(Question(heading="Which fee?", also=("Tell me what there is to pay",)),)), Axes())
PAGE = (
    "[1] Which fee? (docs/questions.md)\nNobody pays\na *fee*, 2 * 3.\n\n"
    "[2] Which fee? (docs/questions.md)\nSee Money (docs/money.md).\n\n[3] A fee (docs/other.md)\nIt is high."
)


def test_a_question_in_other_words_is_searched_by_its_heading_and_answered_by_what_stands_there():
    tools = orchestra(search=PAGE)
    trajectory = conduct("Tell me the fee", tools, answered=FEE)
    assert tools[1].heard == ["Which fee?"]
    assert trajectory.answer == (
        "Nobody pays a fee, 2 * 3. See Money (docs/money.md).\nFrom the local library: Which fee? (docs/questions.md)."
    )


def test_no_model_is_asked_of_the_workbench_even_where_it_is_preferred():
    tools = orchestra(search=PAGE)
    wish = Preference(tools={"coder": 1.0, "generalist": 1.0})
    trajectory = conduct("Tell me the fee", tools, answered=FEE, preference=wish)
    assert called(trajectory) == ["local_search"]
    estimates = {one.tool: one for one in trajectory.turns[0].generation.estimates}
    assert "the documents answer “Which fee?”" in estimates["local_search"].note
    assert "it has not read the documents" in estimates["coder"].note


def test_a_library_to_be_left_alone_is_left_alone():
    trajectory = conduct(
        "Tell me the fee", orchestra(search=PAGE), answered=FEE, preference=Preference(tools={"local_search": -1.0})
    )
    assert called(trajectory) == []
    assert "You asked to avoid Local search, which I kept to." in trajectory.answer


def test_documents_that_are_not_there_leave_the_question_to_the_others():
    trajectory = conduct("Tell me the fee", orchestra(search="No good match."), answered=FEE)
    assert "From the local library" not in trajectory.answer


@pytest.fixture(scope="module")
def answered():
    return Answered(load_questions(), MiniLM())


@pytest.mark.parametrize(
    ("task", "heading"),
    [
        ("how do i stop a run", "How do I stop a run?"),
        ("where are my old runs?", "Where are my runs kept?"),
        ("Does anything I type here leave this machine?", "Does anything leave this machine?"),
        ("do i need a gpu", "Is a GPU needed?"),
        ("how do i switch to dark mode", "Is there a dark mode?"),
        ("Can I replay an old run without paying again?", "How do I replay a run?"),
        ("does it speak MCP? how would I plug in our MCP server", "How do I add an MCP server?"),
        ("How long does training take on a laptop without GPU?", "How long does training take?"),
    ],
)
def test_what_visitors_ask_of_the_workbench_is_recognised(answered, task, heading):
    assert answered.heading(task) == heading


@pytest.mark.parametrize(
    "task",
    [
        "how do I delete a file in linux",
        "where does chrome keep downloads",
        "what is the price of gold today",
        "how do I train for a marathon in 12 weeks",
        "how do i change the port of nginx",
        "What is the capital of Mongolia?",
        "write an SQL query that returns the second highest salary",
    ],
)
def test_what_they_ask_of_other_things_is_not(answered, task):
    assert answered.heading(task) == ""


@pytest.mark.parametrize("text", ["[[question]]\nheadng = 'x'", "[[question", ""])
def test_a_file_of_questions_that_cannot_be_read_is_named(tmp_path, text):
    path = tmp_path / "questions.toml"
    if text:
        path.write_text(text, "utf-8")
    with pytest.raises(BadInput, match=r"questions\.toml"):
        load_questions(path)
