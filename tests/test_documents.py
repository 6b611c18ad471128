from hypothesis import given
from hypothesis import strategies as st

from orchestra_lib.policy.conductor.documents import merge, number, parse, plain

SHOWN = """[1] Peru (countryinfo, undated figures)
Peru (Perú) is a country or territory in South America, Americas.
Capital: Lima
Area: 1,285,216 km²

[2] Harbour: Fees (notes.md)
The fee is 9 euros."""


def test_title_source_fields_and_text_are_read():
    peru, harbour = parse(SHOWN)
    assert (peru.title, peru.source) == ("Peru", "countryinfo, undated figures")
    assert peru.fields == {"Capital": "Lima", "Area": "1,285,216 km²", "Where": "South America, Americas"}
    assert (harbour.title, harbour.text) == ("Harbour: Fees", "The fee is 9 euros.")


def test_a_word_of_the_tool_is_no_document():
    assert parse("No good match. The closest titles are: Peru.") == ()


def test_a_document_found_twice_counts_once():
    assert len(merge([parse(SHOWN), parse(SHOWN)])) == 2


def test_numbers_keep_their_kind():
    assert (number("1,285,216 km²"), number("2.02 km²"), number("none")) == (1285216, 2.02, None)


def test_accents_and_case_do_not_matter_in_names():
    assert plain("Perú") == plain("PERU")


@given(st.text(max_size=400))
def test_any_observation_can_be_read(text):
    parse(text)
    number(text)
