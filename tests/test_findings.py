import pytest
from conducting import LANDS
from hypothesis import given
from hypothesis import strategies as st

from orchestra_lib.policy.conductor.documents import parse
from orchestra_lib.policy.conductor.findings import Answer, Calculation, Queries, Search, resolve


def sheets(*lands):
    return parse("\n\n".join(f"[{place}] {land} (facts)\n{LANDS[land]}" for place, land in enumerate(lands, start=1)))


def found(question, *lands, query=None):
    return resolve(question, [Search(query=query or question, documents=sheets(*lands))])


@pytest.mark.parametrize(
    "question, answer",
    [
        ("What is the capital of Peru?", "Lima"),
        ("How many people live in Chile?", "17819054"),
        ("How large is Chile?", "756,102 km²"),
        ("Which country has the capital Santiago?", "Chile"),
        ("Riyadh is the capital of which country?", "Saudi Arabia"),
        ("What is the capital of the country whose capital is Santiago?", "Santiago"),
        ("What is the area of the country that borders only Saudi Arabia?", "11,586 km²"),
        ("What is the population of the only country that borders Qatar?", "30770375"),
    ],
)
def test_what_a_fact_sheet_says_is_the_answer(question, answer):
    finding = found(question, *LANDS)
    assert isinstance(finding, Answer)
    assert finding.text == answer
    assert "(facts)" in finding.source


@pytest.mark.parametrize(
    "question",
    [
        "What is the largest city of Peru?",
        "Who is the president of Peru?",
        "How many people live in Lima?",
        "Which country borders both Peru and Qatar?",
    ],
)
def test_what_no_sheet_says_is_no_answer(question):
    assert not isinstance(found(question, "Peru", "Chile"), Answer)


def test_a_capital_that_found_its_country_is_not_taken_for_it():
    searches = [Search(query=query, documents=sheets("Peru")) for query in ("How many people live in Lima?", "Lima")]
    assert resolve("How many people live in Lima?", searches) is None


def test_an_alias_is_the_best_match_of_a_search_for_it_alone():
    finding = found("What is the capital of KSA?", "Saudi Arabia")
    assert isinstance(finding, Answer)
    assert finding.text == "Riyadh"


@pytest.mark.parametrize(
    "question, code",
    [
        ("Which country has more people, Peru or Chile?", "max(values"),
        ("Which is smaller, Peru or Chile?", "min(values"),
        ("Is Peru larger than Chile?", "first > second"),
        ("What is the combined area of Peru and Chile?", "sum(values"),
        ("What is the average population of Peru and Chile? Round to one decimal.", ", 1)"),
        ("How many people per square kilometre live in Peru?", "people / area"),
        ("Rank Peru and Chile by population.", "sorted(values"),
    ],
)
def test_several_values_go_to_python(question, code):
    finding = found(question, "Peru", "Chile")
    assert isinstance(finding, Calculation)
    assert code in finding.code


def test_a_missing_subject_is_searched_for_by_name_and_only_once():
    question = "Which has the larger area, Peru or Chile?"
    finding = found(question, "Peru")
    assert finding == Queries(texts=("Chile area",), why="one search for each: Chile")
    again = [Search(query=question, documents=sheets("Peru")), Search(query="Chile area", documents=())]
    assert resolve(question, again) is None


@given(st.text(max_size=200), st.text(max_size=300))
def test_no_question_and_no_observation_breaks_it(question, text):
    resolve(question, [Search(query=question, documents=parse(f"[1] {text}\n{text}"))])
