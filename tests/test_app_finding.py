"""Search within a run: by field, whatever the case, in order, bounded."""

from episodes import events

from app.finding import MAX_HITS, find
from orchestra_lib.event import fold


def hits(text, **changes):
    return [(hit.turn, hit.call, hit.where) for hit in find(fold(events(**changes)), text)]


def test_each_place_is_named_by_turn_call_and_field():
    assert hits("four") == [(0, 0, "observation")]
    assert hits("SEARCH") == [(0, 0, "arguments")]
    assert hits("done", answer="Done.") == [(1, None, "answer")]


def test_the_case_of_foreign_letters_does_not_matter():
    assert hits("Ü 0") == [(0, 0, "arguments")]


def test_nothing_is_found_for_nothing():
    assert hits("  ") == hits("absent") == []


def test_an_excerpt_has_the_words_around_in_one_line():
    found = find(fold(events(observation="a\n" * 200 + "needle\n" + "b\n" * 200)), "needle")
    assert "a a needle b b" in found[0].excerpt
    assert len(found[0].excerpt) < 100


def test_the_places_are_bounded():
    assert len(hits("four", turns=MAX_HITS + 20)) == MAX_HITS
