"""Values and records in users' words are read back as what was meant."""

import pytest
import synthesising
from hypothesis import given
from hypothesis import strategies as st

from orchestra_lib.environment.schema import Field, FieldType
from orchestra_lib.errors import BadInput
from orchestra_lib.synthesis.lexicon import Intents, Lexicon, phrase
from orchestra_lib.synthesis.understanding import Understanding
from orchestra_lib.synthesis.values import forms, read
from orchestra_lib.synthesis.wants import Aim

NOW = "2026-05-04T18:20:00"


@given(st.one_of(
    st.tuples(st.just(FieldType.MONEY), st.integers(1, 10**7).map(lambda cents: cents / 100)),
    st.tuples(st.just(FieldType.INTEGER), st.integers(0, 500)),
    st.tuples(st.just(FieldType.DATE), st.dates().filter(lambda day: day.year > 999).map(str)),
    st.tuples(st.just(FieldType.BOOLEAN), st.booleans()),
))  # fmt: skip
def test_every_form_of_a_value_is_read_back(given_value):
    kind, value = given_value
    field = Field(name="x", type=kind)
    for said in forms(value, field, NOW):
        assert read(said, field, NOW) == value


def test_days_without_a_year_are_of_this_one():
    field = Field(name="day", type=FieldType.DATETIME)
    assert read("6 May at 14:30", field, NOW) == "2026-05-06T14:30:00"
    assert read("tomorrow at 14:30", field, NOW) == "2026-05-05T14:30:00"
    assert read("31 February at 14:30", field, NOW) is None


def test_a_phrase_says_one_and_many():
    seats = phrase("book {seats} seat~ on {departure_id}")
    assert seats.fill(["1", "IC 7"]) == "book 1 seat on IC 7"
    assert seats.fill(["two", "IC 7"]) == "book two seats on IC 7"
    assert (phrase("the cheapest one <price").by, phrase("the cheapest one <price").extremum) == ("price", -1)


def understood(text):
    lexicon = synthesising.pipeline().place({}).composer.lexicon
    return Understanding(lexicon).requests(text)


def test_requests_are_read_whatever_frames_them():
    texts = [
        "Hello. Could you cancel my booking RB20017 because of illness? Tell me the refund, too.",
        "Cancel booking RB20017; the reason is illness. And let me know what I get back.",
    ]
    for text in texts:
        (one,) = understood(text)
        assert (one.operation, one.said["reason"], one.tell) == ("cancel_booking", "illness", ("refund",))


def test_a_slot_may_hold_the_words_that_end_it():
    trip = "my trip from Rosenau to Tarnmouth on 6 May"
    (one,) = understood(f"Please move {trip} to IC 314 on 7 May and charge my card for it.")
    assert one.said["booking_id"] == trip
    assert one.said["new_departure_id"] == "IC 314 on 7 May"


def test_conditions_and_questions_are_read():
    text = "If the refund is no less than $12.50, please call off booking RB20017; otherwise leave everything as it is."
    (one,) = understood(text)
    assert (one.condition.path, one.condition.at_least, one.condition.threshold) == ("refund", True, 12.5)
    (one,) = understood("How many bookings do I have whose fare is flex?")
    assert (one.aim, one.table, one.where) == (Aim.COUNT, "bookings", ("fare", "flex"))
    assert understood("The weather was fine. I have been a customer for years.") == []


def test_words_that_fit_no_schema_are_refused():
    domain = synthesising.pipeline().world.domain
    for intents, named in (
        (Intents(operations={"fly": ("fly",)}), "operations.fly"),
        (Intents(operations={"cancel_booking": ("cancel {order}",)}), "order"),
        (Intents(records={"bookings": ("the one to {departure_id.goal}",)}), "departure_id.goal"),
    ):
        with pytest.raises(BadInput, match=named):
            Lexicon(domain, intents, where="intents.json")
