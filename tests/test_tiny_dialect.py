from dataclasses import replace

import pytest

from orchestra_lib.errors import BadInput
from orchestra_lib.profilelist import SHIPPED, load_profile
from orchestra_lib.protocols import Situation
from orchestra_lib.simulated_tasks import simulated_tasks
from orchestra_lib.tool import CallStatus, Observation
from orchestra_lib.toolkit.simulated import spec_of
from orchestra_lib.training.tiny import vocabulary as voc
from orchestra_lib.training.tiny.course import setting_of
from orchestra_lib.training.tiny.dialect import TinyDialect, name_ids, offered, task_ids
from orchestra_lib.training.tiny.market import Markets
from orchestra_lib.training.tiny.vocabulary import ID
from orchestra_lib.trajectory import Call, Turn

MARKET = Markets(seed=2).market(2)
SETTING = setting_of(MARKET)
DIALECT = TinyDialect()
FIRST = next(iter(MARKET.experts))


def situation(setting=SETTING, *turns):
    return Situation(setting=setting, turns=turns, spent_usd=0.0, elapsed_s=0.0)


def called(name=FIRST, *thought):
    return [ID["named"], *thought, ID[voc.CALL], *name_ids(name), ID[voc.END]]


def turn_of(ids, status=CallStatus.OK):
    move = DIALECT.read(ids, situation())
    calls = tuple(
        Call(
            call=one,
            observation=Observation(call_id=one.id, status=status, text="Answer: 42", started_s=0.0, finished_s=0.0),
        )
        for one in move.calls
    )
    return Turn(index=1, started_s=0.0, generation=move, calls=calls)


def test_a_prompt_says_prices_skills_and_last_the_preference():
    said = voc.words(tuple(DIALECT.prompt(situation())))
    assert len(DIALECT.prompt(situation())) < 70
    assert said.index("price ") < said.index("math: ") < said.index(voc.ASK) < said.index("wish: prefer")
    assert said.endswith(voc.ASSISTANT)
    assert voc.words(name_ids(MARKET.named)) in said[said.index("wish: prefer") :]


def test_the_tasks_of_every_sort_stay_apart_when_they_are_cut():
    kept = {}
    for task in simulated_tasks(1, 400):
        kept.setdefault(tuple(task_ids(task.text)), set()).add((task.kind, task.difficulty))
    assert all(len(sorts) == 1 for sorts in kept.values())
    assert max(map(len, kept)) == 10


def test_a_call_is_read_with_the_whole_task_and_an_answer_points_at_the_last_result():
    move = DIALECT.read(called(), situation())
    assert [(call.tool, call.arguments) for call in move.calls] == [(FIRST, {"question": MARKET.task.text})]
    answer = DIALECT.read([ID[voc.ANSWER], ID[voc.END]], situation(SETTING, turn_of(called())))
    assert (answer.answer, answer.calls) == ("42", ())


@pytest.mark.parametrize(
    "ids",
    [
        called()[:-1],
        called("xayar" if "xayar" not in MARKET.experts else "zedov"),
        called(FIRST, ID[voc.CALL]),
        [ID[voc.ANSWER], ID[voc.END]],
        [],
    ],
    ids=["no end", "not offered", "call in the thought", "nothing to answer with", "nothing"],
)
def test_what_is_malformed_is_no_call_and_no_answer(ids):
    move = DIALECT.read(ids, situation())
    assert (move.calls, move.answer, move.token_ids) == ((), None, tuple(ids))


def test_a_turn_goes_on_with_how_the_call_came_out():
    said = [
        voc.words(tuple(DIALECT.continuation(situation(SETTING, turn))))
        for turn in (turn_of(called()), turn_of(called(), CallStatus.ERROR), turn_of(called()[:-1]))
    ]
    assert said == [
        "<result> worked <assistant>", "<result> failed <assistant>", "<end> <result> malformed <assistant>",
    ]  # fmt: skip


def test_the_shipped_profiles_are_read_and_their_names_dealt_anew():
    specs = tuple(spec_of(load_profile(file)) for file in sorted(SHIPPED.glob("*.json")))
    ids = DIALECT.prompt(situation(replace(SETTING, tools=specs)))
    assert voc.words(tuple(ids)).count("price ") == len(specs)
    strongest = next(offered(spec.description) for spec in specs if spec.name == "sim_strongest")
    assert strongest.skills == (("expert", "expert"),) * 4


def test_a_tool_that_states_no_figures_is_refused_by_name():
    spec = replace(SETTING.tools[0], name="local_search", description="Searches.")
    with pytest.raises(BadInput, match=r"local_search.*simulated experts"):
        DIALECT.prompt(situation(replace(SETTING, tools=(spec,))))


def test_unknown_words_of_a_preference_are_kept_short():
    ids = DIALECT.prompt(situation(replace(SETTING, sentence="Do whatever my grandmother would have done in the war.")))
    assert ids[-8:] == [ID[voc.WISH], *[ID[voc.WORD]] * 6, ID[voc.ASSISTANT]]
