import asyncio

from conducting import Writer

from orchestra_lib.errors import ProviderFault
from orchestra_lib.policy.conductor.arguments_writer import ArgumentsWriter
from orchestra_lib.pricing import Attempt
from orchestra_lib.tool import ToolSpec


def program(model, *failures, seed=None):
    return asyncio.run(ArgumentsWriter(model).program("How many eggs?", failures, seed=seed))


def test_a_program_comes_under_a_schema_that_bounds_it_and_on_the_bill():
    model = Writer({"code": "print(6)"})
    written = program(model)
    assert (written.value, len(written.attempts)) == ({"code": "print(6)"}, 1)
    assert model.requests[0].schema["properties"]["code"]["maxLength"] < 1000
    assert model.requests[0].temperature == 0.0


def test_what_stays_the_same_comes_first_so_that_the_server_can_keep_it():
    model = Writer({"code": "print(6)"})
    program(model)
    program(model, ("print(x)", "NameError: x"), seed=1)
    first, second = (request.messages for request in model.requests)
    assert first[:-1] == second[:-1]
    assert "NameError: x" in second[-1]["content"]
    assert "print(x)" not in second[-1]["content"]


def test_a_reply_that_is_cut_or_fits_no_schema_is_no_value_and_still_paid():
    for reply in ('{"code": "pri', "[]", '{"program": "x"}', "null"):
        written = program(Writer(reply))
        assert (written.value, len(written.attempts)) == (None, 1)
        assert "schema" in written.why_not


def test_a_model_that_is_down_is_told_and_its_tries_are_paid():
    attempt = Attempt(priced_as="writer", wall_s=0.1, billed=False, error="refused")
    written = program(Writer(ProviderFault("connection refused", (attempt,))))
    assert written.value is None
    assert "connection refused" in written.why_not
    assert written.attempts == (attempt,)


def test_arguments_of_any_tool_are_asked_for_under_its_own_schema():
    parameters = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    spec = ToolSpec(name="weather", title="Weather", description="Tells it.", parameters=parameters)
    model = Writer({"city": "Rome"})
    assert asyncio.run(ArgumentsWriter(model).arguments(spec, "Weather in Rome?")).value == {"city": "Rome"}
    assert model.requests[0].schema == parameters


def test_what_words_come_to_is_the_last_number_that_is_called_the_answer():
    for said, number in (("6 * 9 = 54\nAnswer: $1,054.50 each", 1054.5), ("Answer: 3\nNo.\nAnswer: -4", -4.0)):
        written = asyncio.run(ArgumentsWriter(Writer(said)).reckoning("How many eggs?"))
        assert (written.value, written.raw_text) == ({"answer": number}, said)
    assert asyncio.run(ArgumentsWriter(Writer("54")).reckoning("How many eggs?")).why_not == "writer came to no number"
