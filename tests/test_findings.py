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
        ("What are the capitals of Peru and Chile?", "Peru: Lima; Chile: Santiago"),
        ("Name the capital and the population of Peru.", "Capital: Lima; Population: 30814175"),
        ("What is the capital of Peru, and how many people live there?", "Capital: Lima; Population: 30814175"),
        ("What is the capital of Peru in South America?", "Lima"),
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
        "How many people live in the capital of Peru?",
        "What is the capital of the larger of Peru and Chile?",
        "Which has more people and a larger area, Peru or Chile?",
        "By how many percent did the population of Peru grow?",
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


@pytest.mark.parametrize(
    "question, printed",
    [
        ("Which is larger by population, Qatar or Chile?", "Chile (17,819,054)"),
        ("Which of Peru, Chile and Saudi Arabia has the smallest population?", "Chile (17,819,054)"),
        ("How many times bigger is the population of Peru than that of Chile?", "1.73"),
        ("Which has more people, Peru or Chile, and by how many percent?", "Peru, by 72.9 %"),
        ("Which has fewer people, Peru or Chile, and by how many percent?", "Chile, by 42.2 %"),
        ("Is Peru bigger than Chile, and by how much?", "Peru, by 529,114"),
        ("What is the population of Peru divided by its area?", "24.0"),
        ("What is the population density of Peru and of Chile?", "Peru: 24.0; Chile: 23.6"),
        ("Rank Peru, Qatar and Chile by population density.", "Qatar, Peru, Chile"),
    ],
)
def test_what_python_prints_is_what_was_asked(question, printed, capsys):
    finding = found(question, *LANDS)
    assert isinstance(finding, Calculation)
    exec(finding.code, {})  # our own program
    assert capsys.readouterr().out.strip() == printed


GATE = parse("[1] gate (concepts)\nMeaning: R is 0\n\n[2] Peru (facts)\n" + LANDS["Peru"])


@pytest.mark.parametrize("question", ["What is the gate?", "What are gates?", "Explain the gate in this workbench."])
def test_what_a_term_means_is_the_answer(question):
    finding = resolve(question, [Search(query=question, documents=GATE)])
    assert finding == Answer(text="R is 0", source="gate (concepts)")


def test_a_word_of_the_library_is_no_subject_of_a_question_about_something_else():
    question = "Which gate is near the capital of Peru?"
    finding = resolve(question, [Search(query=question, documents=GATE)])
    assert isinstance(finding, Answer)
    assert finding.text == "Lima"


def test_a_second_part_that_no_sheet_answers_is_told():
    finding = found("What is the capital of Peru, and how many letters does its name have?", "Peru")
    assert isinstance(finding, Answer)
    assert (finding.text, finding.rest) == ("Lima", "how many letters does its name have")


def test_a_missing_subject_is_searched_for_by_name_and_only_once():
    question = "Which has the larger area, Peru or Chile?"
    finding = found(question, "Peru")
    assert finding == Queries(texts=("Chile area",), why="one search for each: Chile")
    again = [Search(query=question, documents=sheets("Peru")), Search(query="Chile area", documents=())]
    assert resolve(question, again) is None


@given(st.text(max_size=200), st.text(max_size=300))
def test_no_question_and_no_observation_breaks_it(question, text):
    resolve(question, [Search(query=question, documents=parse(f"[1] {text}\n{text}"))])
