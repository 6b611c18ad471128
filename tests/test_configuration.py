import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from playing import Echo, setting

from orchestra_lib.configuration import order_of, resolve, to_toml
from orchestra_lib.errors import BadInput
from orchestra_lib.limits import Limits
from orchestra_lib.preference import Preference
from orchestra_lib.workbench import Order

FILE = """
orchestrator = "free-loop"
prices = "toolorchestra"
[preference]
cost = 0.9
[limits]
max_turns = 7
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "run.toml"
    path.write_text(FILE)
    return path


def test_flags_win_over_settings_and_settings_over_the_file(file):
    order = resolve(file, ["limits.max_turns=8", "prices=mine"], {"task": "x", "prices": "nominal"})
    assert (order.orchestrator, order.limits.max_turns, order.prices) == ("free-loop", 8, "nominal")
    assert order.preference == Preference(cost=0.9)


@pytest.mark.parametrize(
    "sets, says",
    [
        (["limits.max_turn=8"], "limits.max_turn"),
        (["limits.max_turns=many"], "limits.max_turns"),
        (["limits"], "NAME=VALUE"),
        (["prices.name=x"], "'prices' is a value"),
        (["preference.cost=7"], "out of range"),
    ],
)
def test_a_setting_that_cannot_be_used_is_named(file, sets, says):
    with pytest.raises(BadInput, match=says):
        resolve(file, sets, {"task": "x"})


def test_a_file_that_is_missing_or_no_toml_is_named(tmp_path):
    with pytest.raises(BadInput, match=r"nowhere\.toml"):
        resolve(tmp_path / "nowhere.toml", [], {"task": "x"})
    (tmp_path / "broken.toml").write_text("a = ")
    with pytest.raises(BadInput, match="no TOML"):
        resolve(tmp_path / "broken.toml", [], {"task": "x"})


def test_what_a_run_was_started_with_can_be_saved_and_read_again(tmp_path):
    order = Order(
        task='say "hi"\nplease',
        preference=Preference(cost=0.5, tools={"echo": -1.0}),
        tools=("echo",),
        limits=Limits(cost_usd=0.25),
        seed=3,
    )
    path = tmp_path / "again.toml"
    path.write_text(to_toml(order))
    assert resolve(path, [], {}) == order


def test_the_order_of_a_run_names_its_tools_and_table():
    order = order_of(setting([Echo()]))
    assert (order.tools, order.prices, order.task) == (("echo",), "test", "Say hi.")


weights = st.floats(0, 1)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)


@settings(max_examples=60)
@given(
    wish=st.builds(
        Preference, outcome=weights, cost=weights, latency=weights, sentence=st.none() | texts,
        tools=st.dictionaries(texts.filter(bool), st.floats(-1, 1), max_size=3),
    )
)  # fmt: skip
def test_any_preference_comes_back_from_toml_with_its_sentence(wish):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.toml"
        path.write_text(to_toml(Order(task="x", preference=wish)), "utf-8", newline="\n")
        assert resolve(path, [], {}).preference == wish
