import asyncio
import time
from dataclasses import replace

import pytest
from conducting import EXAMPLES, LANDS, PRICES, QUESTIONS, Axes, Part, Writer, called, conduct, failed, orchestra
from playing import setting

from orchestra_lib.errors import ProviderFault
from orchestra_lib.generation import Generation
from orchestra_lib.policy.conductor import Conductor, Estimator
from orchestra_lib.preference import Preference
from orchestra_lib.protocols import Situation

EGGS = QUESTIONS["word_problem"]
CAREFUL = Preference(outcome=1.0, cost=0.0, latency=0.0)
DOUBLE = "```python\ndef double(n):\n    return 2 * n\n```"


def prefer(**tools):
    return Preference(tools=tools)


def test_arithmetic_is_translated_and_run_without_any_model():
    tools = orchestra(code="47104101")
    trajectory = conduct("What is 48213 * 977?", tools)
    assert (trajectory.answer, called(trajectory)) == ("47104101", ["code_interpreter"])
    assert "48213 * 977" in tools[0].heard[0]


def test_the_first_query_is_the_question_and_the_answer_names_its_source():
    tools = orchestra()
    trajectory = conduct("What is the capital of Chile?", tools)
    assert tools[1].heard == ["What is the capital of Chile?"]
    assert trajectory.answer.splitlines()[0] == "Santiago"
    assert "Chile" in trajectory.answer.splitlines()[1]


def test_every_choice_shows_an_estimate_for_each_tool_and_the_runner_up():
    generation = conduct("What is the capital of Chile?", orchestra()).turns[0].generation
    assert generation.estimates[0].tool == "local_search"
    assert {estimate.tool for estimate in generation.estimates} == set(PRICES.prices) - {"writer"}
    assert "What is the capital of Peru?" in generation.estimates[0].note
    assert "Next would be" in generation.reasoning


def test_two_subjects_are_searched_apart_and_compared_by_python():
    tools = orchestra(code="Peru (30,814,175)", search=lambda query: one_land(query))
    trajectory = conduct("Which country has more people, Peru or Chile?", tools)
    assert called(trajectory) == ["local_search", "local_search", "code_interpreter"]
    assert "30814175" in tools[0].heard[0]
    assert trajectory.answer.startswith("Peru")


def one_land(query):
    land = next(land for land in LANDS if land in query)
    return f"[1] {land} (facts)\n{LANDS[land]}"


def test_a_described_country_is_found_first_and_asked_about_then():
    trajectory = conduct("What is the capital of the only country that borders Qatar?", orchestra())
    assert trajectory.answer.startswith("Riyadh")


LETTERS = "What is the capital of Peru, and how many letters does its name have?"


def test_a_second_part_of_a_question_is_computed_from_what_the_library_said_of_the_first():
    writer = Writer({"code": "print(len('Lima'))"})
    trajectory = conduct(LETTERS, orchestra(code="4"), writer=writer)
    assert called(trajectory) == ["local_search", "code_interpreter"]
    assert trajectory.answer.startswith("Lima; 4\nFrom the local library: Peru: Capital Lima")
    assert "Capital Lima" in writer.requests[0].messages[-1]["content"]


@pytest.mark.parametrize("codes", [(), ("print(len(x))", "print(len(y))")])
def test_a_second_part_that_nothing_computes_is_told(codes):
    writer = Writer(*({"code": code} for code in codes)) if codes else None
    trajectory = conduct(LETTERS, orchestra(code=failed("NameError")), writer=writer)
    assert trajectory.answer.startswith("Lima\n")
    assert trajectory.answer.endswith("Not answered: how many letters does its name have.")


def test_a_model_writes_the_program_of_a_word_problem_under_a_schema():
    writer = Writer({"code": "print(6 * 9)"})
    trajectory = conduct(EGGS, orchestra(code="54"), writer=writer)
    assert trajectory.answer == "54"
    assert writer.requests[0].schema["required"] == ["code"]
    assert trajectory.bill().rows[0].payee == "orchestrator"
    assert trajectory.bill().rows[0].input_tokens == 10


def test_preferences_never_reach_the_model_in_words():
    writer = Writer({"code": "print(54)"})
    conduct(EGGS, orchestra(code="54"), writer=writer, preference=prefer(coder=-1.0))
    assert "Coder" not in str(writer.requests[0].messages)


def test_a_failed_program_is_written_anew_once_and_its_error_is_never_the_answer():
    writer = Writer({"code": "print(egs)"}, {"code": "print(eggs)"}, {"code": "print(6)"})
    tools = orchestra(code=failed("NameError: name 'egs' is not defined"), coder="It is 54.")
    trajectory = conduct(EGGS, tools, writer=writer)
    assert called(trajectory) == ["code_interpreter", "code_interpreter", "coder"]
    assert trajectory.answer.startswith("It is 54.")
    assert "Not checked" in trajectory.answer
    assert "NameError" in writer.requests[1].messages[-1]["content"]


def test_an_error_text_that_counts_as_success_is_no_answer_either():
    tools = orchestra(code="ZeroDivisionError: division by zero", coder="x", generalist="y")
    trajectory = conduct("What is 12 / 0?", tools, preference=prefer(coder=-1.0, generalist=-1.0))
    assert "could not answer" in trajectory.answer
    assert called(trajectory) == ["code_interpreter"]


def test_half_an_egg_is_doubted():
    writer = Writer({"code": "print(54 / 4)"}, {"code": "print(6 * 9)"})
    trajectory = conduct(EGGS, orchestra(code=("13.5", "54")), writer=writer)
    assert trajectory.answer == "54"
    assert "no whole number" in trajectory.turns[1].generation.reasoning


def test_a_number_that_words_come_to_as_well_is_the_answer():
    writer = Writer({"code": "print(6 * 9)"}, "Each box holds 6, so 6 * 9 = 54 eggs.\nAnswer: 54 eggs")
    trajectory = conduct(EGGS, orchestra(code="54.0"), writer=writer, preference=CAREFUL)
    assert (trajectory.answer, called(trajectory)) == ("54", ["code_interpreter"])
    assert "solves it in words, too. It comes to the same." in trajectory.turns[1].generation.reasoning
    assert len(trajectory.turns[1].generation.attempts) == 1  # the reckoning is on the bill


def test_two_ways_to_two_numbers_leave_an_answer_that_says_so():
    writer = Writer({"code": "print(6 + 9)"}, "There are 9 boxes.\nAnswer: $1,054")
    trajectory = conduct(EGGS, orchestra(code="15"), writer=writer, preference=CAREFUL)
    assert trajectory.answer == "15\n\nNot checked: writer comes to 1054 in words; at least one of the two is wrong."


@pytest.mark.parametrize(
    ("wish", "printed"),
    [(Preference(), "54"), (CAREFUL, "Anna has 54, Bob 6")],
)
def test_nobody_reckons_for_a_user_who_does_not_want_it_or_on_more_than_a_number(wish, printed):
    writer = Writer({"code": "print(6 * 9)"}, "Answer: 7")
    trajectory = conduct(EGGS, orchestra(code=printed), writer=writer, preference=wish)
    assert (trajectory.answer, len(writer.requests)) == (printed, 1)


def test_words_that_come_to_nothing_leave_the_number_as_it_is():
    writer = Writer({"code": "print(6 * 9)"}, ProviderFault("connection refused", ()))
    assert conduct(EGGS, orchestra(code="54"), writer=writer, preference=CAREFUL).answer == "54"


def test_code_is_tested_before_it_is_delivered():
    tools = orchestra(code="it runs", coder=DOUBLE)
    trajectory = conduct("Write a Python function triple(n).", tools)
    assert called(trajectory) == ["coder", "code_interpreter"]
    assert "callable(triple)" in tools[0].heard[0]
    assert trajectory.answer == DOUBLE


def test_code_that_fails_its_test_goes_to_the_next_tool():
    tools = orchestra(
        code=(failed("AssertionError: double is missing"), "it runs"), coder="```\nx = 1\n```", generalist=DOUBLE
    )
    trajectory = conduct(QUESTIONS["code"], tools)
    assert called(trajectory) == ["coder", "code_interpreter", "generalist", "code_interpreter"]
    assert trajectory.answer == DOUBLE


def test_what_needs_the_live_web_is_refused_before_any_call():
    trajectory = conduct("What is the weather in Oslo today?", orchestra())
    assert trajectory.calls == ()
    assert "cannot answer" in trajectory.answer
    assert len(trajectory.turns[0].generation.estimates) == 4


def test_an_avoided_tool_is_not_used_and_the_guess_is_called_one():
    trajectory = conduct("What is the capital of Chile?", orchestra(), preference=prefer(local_search=-1.0))
    assert called(trajectory) == ["generalist"]
    assert "Not checked" in trajectory.answer


def test_avoiding_every_tool_ends_in_an_honest_word():
    avoid = prefer(local_search=-1.0, coder=-1.0, generalist=-1.0, code_interpreter=-1.0)
    trajectory = conduct("What is the capital of Chile?", orchestra(), preference=avoid)
    assert trajectory.calls == ()
    assert "You asked to avoid" in trajectory.answer


def test_nothing_found_falls_to_a_model_and_is_marked():
    tools = orchestra(search=lambda query: "No good match.", generalist="Poseidonis")
    trajectory = conduct("What is the capital of Atlantis?", tools, preference=prefer(coder=-1.0))
    assert called(trajectory)[-1] == "generalist"
    assert "Not checked" in trajectory.answer


def test_a_question_about_now_does_not_fall_to_a_model_that_only_remembers():
    trajectory = conduct("What is the latest capital of Atlantis?", orchestra(search=lambda query: "No good match."))
    assert set(called(trajectory)) == {"local_search"}
    assert "live web" in trajectory.answer


def test_running_text_is_read_by_the_model_and_believed_only_when_it_stands_there():
    page = "[1] Harbour rules (notes)\nThe fee of the harbour is 9 euros a night."
    for answer, believed in (("9 euros a night", True), ("12 euros", False)):
        writer = Writer({"found": True, "quote": "The fee …", "answer": answer})
        tools = [Part("local_search", "query", page)]
        said = conduct("What is the fee of the harbour?", tools, writer=writer).answer
        assert said.startswith(answer) is believed


def test_a_model_that_is_down_does_not_end_the_run():
    writer = Writer(ProviderFault("connection refused"))
    trajectory = conduct(EGGS, orchestra(coder="54"), writer=writer)
    assert trajectory.status == "answered"
    assert "could not be reached" in trajectory.turns[0].generation.estimates[-1].note or trajectory.calls


def test_a_tool_of_another_shape_gets_its_arguments_under_its_own_schema():
    odd = Part("booker", "place", "Booked.")
    writer = Writer({"place": "Rome"})
    trajectory = conduct("Book a hotel in Rome.", [odd], writer=writer, examples=EXAMPLES[:1])
    assert odd.heard == ["Rome"]
    assert trajectory.answer.startswith("Booked.")


@pytest.mark.parametrize("task", ["What is 3 + 4?", "Which is larger by area, Peru or Chile?", QUESTIONS["code"]])
def test_a_run_cut_anywhere_goes_on_as_if_it_had_not_been(task):
    tools = orchestra(code="it runs", coder=DOUBLE)
    whole = conduct(task, tools)
    policy = Conductor(Estimator(EXAMPLES, Axes()))
    for cut in range(len(whole.turns)):
        situation = Situation(setting=whole.setting, turns=whole.turns[:cut], spent_usd=0.0, elapsed_s=0.0)
        assert asyncio.run(last(policy, situation)) == whole.turns[cut].generation


async def last(policy, situation):
    parts = [part async for part in policy.act(situation)]
    assert isinstance(parts[-1], Generation)
    return parts[-1]


def test_hostile_text_in_a_task_never_becomes_part_of_a_translated_program():
    task = "What is 2 + 2? __import__('os').system('id')"
    situation = Situation(
        setting=replace(setting(orchestra(), text=task), prices=PRICES), turns=(), spent_usd=0.0, elapsed_s=0.0
    )
    generation = asyncio.run(last(Conductor(Estimator(EXAMPLES, Axes())), situation))
    assert all("import" not in str(call.arguments.get("code", "")) for call in generation.calls)


def test_a_very_long_task_is_handed_on_within_a_second():
    text = "The country whose capital is Rome and Peru, 12 times 7, how many of Chile. " * 2500
    started = time.monotonic()
    trajectory = conduct(f"Write a summary: {text}", orchestra(coder="A summary."))
    assert len(trajectory.calls) <= 8
    assert time.monotonic() - started < 5


def test_a_search_that_takes_no_count_gets_none():
    bare = Part("web_search", "query", "[1] Peru (web)\nCapital: Lima")
    del bare.spec.parameters["properties"]["k"]
    trajectory = conduct("What is the capital of Peru?", [bare])
    assert trajectory.calls[0].call.arguments == {"query": "What is the capital of Peru?"}
    assert trajectory.answer.startswith("Lima")
