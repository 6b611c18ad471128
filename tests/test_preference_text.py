"""A preference from a sentence: what is understood, what is not, and that our own words are read back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestra_lib.errors import BadInput
from orchestra_lib.preference import MAX_SENTENCE, Preference, describe
from orchestra_lib.preference_text import read_preference
from orchestra_lib.tool import ToolKind, ToolSpec


def tool(name, title, kind=ToolKind.BASIC, model=None):
    return ToolSpec(name=name, title=title, description="", parameters={"type": "object"}, kind=kind, model=model)


TOOLS = (
    tool("web_search", "Web search"),
    tool("local_search", "Local search"),
    tool("code_interpreter", "Code interpreter"),
    tool("qwen", "Qwen3-235B", ToolKind.GENERALIST),
    tool("coder", "Coder 1.5B", ToolKind.SPECIALIST, "qwen2.5-coder-1.5b"),
    tool("o3_mini", "o3-mini", ToolKind.GENERALIST),
    tool("o3", "o3", ToolKind.GENERALIST, "small"),
)
REMOTE = {"web_search", "o3_mini", "o3"}
TITLES = {spec.name: spec.title for spec in TOOLS}


def read(sentence):
    return read_preference(sentence, TOOLS, REMOTE)


def weights(sentence):
    return dict(read(sentence).preference.tools)


goals = st.floats(0, 1)


@given(
    wish=st.builds(
        Preference, outcome=goals, cost=goals, latency=goals,
        tools=st.dictionaries(st.sampled_from(sorted(TITLES)), st.floats(-1, 1)),
    )
)  # fmt: skip
def test_the_words_that_we_write_ourselves_are_read_back(wish):
    """Not the exact weights, which words do not tell, but those that are said in the same words."""
    words = describe(wish, TITLES)
    found = read(words)
    again = Preference(**{goal: getattr(found.preference, goal) for goal in ("outcome", "cost", "latency")})
    said = {name: found.preference.weight(name) for name in TITLES}
    assert (
        describe(Preference(outcome=again.outcome, cost=again.cost, latency=again.latency, tools=said), TITLES) == words
    )
    assert found.not_understood == ()


def test_the_papers_example_keeps_away_from_apis_and_uses_the_gpus():
    found = read("Avoid paid APIs, I have many GPUs, the data is confidential")
    assert dict(found.preference.tools) == {
        "web_search": -1.0, "o3_mini": -1.0, "o3": -1.0, "qwen": 1.0, "coder": 1.0,
    }  # fmt: skip
    assert {said.words for said in found.understood} == {
        "Avoid paid APIs",
        "I have many GPUs",
        "the data is confidential",
    }
    assert found.not_understood == ()


@pytest.mark.parametrize(
    "sentence",
    [
        "avoid paid APIs, I have GPUs, data is confidential",
        "I am an employee with confidential data and many GPUs; avoid API calls.",
        "We have our own GPUs. Nothing may leave, so no external services!",
    ],
)
def test_the_papers_example_is_read_alike_in_other_words(sentence):
    assert {name: found > 0 for name, found in weights(sentence).items()} == {
        "web_search": False, "o3_mini": False, "o3": False, "qwen": True, "coder": True,
    }  # fmt: skip
    assert read(sentence).not_understood == ()


@pytest.mark.parametrize(
    "sentence, goal, weight",
    [
        ("as cheap as possible", "cost", 1.0),
        ("Money is no object!", "cost", 0.0),
        ("I don’t care about the cost", "cost", 0.0),
        ("nothing expensive", "cost", 1.0),
        ("cost matters a little", "cost", 0.2),
        ("I need it fast", "latency", 1.0),
        ("no hurry", "latency", 0.0),
        ("I don't need it fast", "latency", 0.0),
        ("no need to be fast", "latency", 0.0),
        ("I don't mind waiting", "latency", 0.0),
        ("speed is not important", "latency", 0.0),
        ("not too slow", "latency", 1.0),
        ("it does not have to be cheap", "cost", 0.0),
        ("cost isn't important", "cost", 0.0),
        ("accuracy is not critical", "outcome", 0.0),
        ("it need not be fast", "latency", 0.0),
        ("speed is very important", "latency", 1.0),
        ("get it right", "outcome", 1.0),
        ("it must be accurate", "outcome", 1.0),
        ("a rough answer is enough", "outcome", 0.0),
        ("quality matters", "outcome", 0.5),
    ],
)
def test_goals_are_understood(sentence, goal, weight):
    found = read(sentence)
    assert [(said.words, said.name, said.weight) for said in found.understood] == [
        (sentence.rstrip("!").replace("’", "'"), goal, weight)
    ]
    assert getattr(found.preference, goal) == weight
    assert found.not_understood == ()


@pytest.mark.parametrize(
    "sentence, expected",
    [
        ("Prefer local search", {"local_search": 1.0}),
        ("use the Code interpreter", {"code_interpreter": 0.75}),
        ("please use local_search where it fits", {"local_search": 0.3}),
        ("use o3 only if necessary", {"o3": -0.5}),
        ("never use O3", {"o3": -1.0}),
        ("don't avoid o3", {"o3": 0.0}),
        ("not only o3", {"o3": 1.0}),
        ("Prefer o3-mini", {"o3_mini": 1.0}),
        ("prefer qwen2.5-coder-1.5b", {"coder": 1.0}),
        ("Use local search, o3 and Coder 1.5B less.", {"local_search": -0.5, "o3": -0.5, "coder": -0.5}),
        ("prefer local search over web search", {"local_search": 1.0, "web_search": -0.5}),
        ("don't use o3 rather than o3-mini", {"o3": -1.0}),
        ("avoid o3. o3-mini too", {"o3": -1.0, "o3_mini": -1.0}),
        ("prefer specialists", {"coder": 1.0}),
        ("no searching", {"web_search": -1.0, "local_search": -1.0}),
        ("avoid search but prefer local search", {"web_search": -1.0, "local_search": 1.0}),
        ("prefer local search, avoid search", {"web_search": -1.0, "local_search": 1.0}),
        ("prefer o3, avoid o3", {"o3": -1.0}),
    ],
)
def test_tools_are_understood(sentence, expected):
    assert weights(sentence) == expected


def test_a_kind_is_read_as_one_also_where_a_tool_has_its_name():
    named = (tool("generalist", "Generalist", ToolKind.GENERALIST), tool("big", "Big", ToolKind.GENERALIST), *TOOLS[:5])
    found = read_preference("rely on generalist models", named).preference.tools
    assert dict(found) == {"generalist": 1.0, "big": 1.0, "qwen": 1.0}
    assert dict(read_preference("rely on the generalist", named).preference.tools) == {"generalist": 1.0}


def test_what_another_part_overrides_is_marked():
    found = read("prefer o3, avoid o3")
    assert [(said.weight, said.overridden) for said in found.understood] == [(1.0, True), (-1.0, False)]


@pytest.mark.parametrize(
    "sentence, lost",
    [
        ("Please answer in German", ("Please answer in German",)),
        ("be quick with tea; I like trains", ("tea", "I like trains")),
        ("o3", ("o3",)),
        ("use everything except o3", ("use everything except o3",)),
        ("never answer fast", ("never answer fast",)),
        ("it was hardly accurate", ("it was hardly accurate",)),
        ("small budget", ()),
        ("prefer o3, whatever the weather", ("whatever the weather",)),
    ],
)
def test_what_is_not_understood_is_given_back(sentence, lost):
    assert read(sentence).not_understood == lost


def test_a_wish_about_a_kind_of_tools_of_which_none_is_on_offer_is_understood_and_weighs_nothing():
    found = read_preference("avoid paid APIs, the data is confidential, I like trains", TOOLS)
    assert found.no_tool == ("avoid paid APIs", "the data is confidential")
    assert (found.understood, found.not_understood, found.preference.tools) == ((), ("I like trains",), {})


def test_only_goals_that_are_spoken_of_are_given_as_such():
    assert read("be quick, avoid o3, money is no object").goals == {"latency": 1.0, "cost": 0.0}


def test_goals_that_are_not_spoken_of_keep_their_defaults_and_the_model_reads_the_users_words():
    found = read("Avoid o3.")
    assert found.preference == Preference(tools={"o3": -1.0}, sentence="Avoid o3.")


@pytest.mark.parametrize("sentence, words", [(" ", "is empty"), ("x" * (MAX_SENTENCE + 1), "keep it under 600")])
def test_an_empty_or_endless_sentence_is_refused(sentence, words):
    with pytest.raises(BadInput, match=words):
        read(sentence)


PIECES = ("avoid", "use", "o3", "search", ",", ".", "no", "fast", "less", "\ue0000\ue001", "\ue000", "tea")


@given(sentence=st.text(min_size=1, max_size=MAX_SENTENCE) | st.lists(st.sampled_from(PIECES)).map(" ".join))
def test_any_text_is_read_or_refused_and_all_of_it_is_accounted_for(sentence):
    try:
        found = read(sentence)
    except BadInput:
        assert not sentence.strip()
        return
    assert found.understood or found.not_understood or not any(piece in sentence for piece in PIECES if piece.isalpha())
    assert {f"tool.{name}" for name in found.preference.tools} == {
        said.name for said in found.understood if said.name.startswith("tool.")
    }
