import numpy as np
import pytest
from conducting import EXAMPLES, QUESTIONS, Axes, orchestra
from hypothesis import given
from hypothesis import strategies as st

from orchestra_lib.errors import BadInput
from orchestra_lib.policy.conductor.estimator import Estimator, WordEmbedder
from orchestra_lib.policy.conductor.examples import EXAMPLES as PATH
from orchestra_lib.policy.conductor.examples import load_examples
from orchestra_lib.tool import ToolKind, ToolSpec

SPECS = [tool.spec for tool in orchestra()]
STRANGER = ToolSpec(name="oracle", title="Oracle", description="", parameters={}, kind=ToolKind.GENERALIST)


def test_a_question_beside_an_example_takes_its_kind_and_nearly_its_chance():
    near = Estimator(EXAMPLES, Axes()).near("What is the capital of Peru?", SPECS)
    assert near.kind == "lookup"
    assert near.chances["local_search"].chance == pytest.approx(0.9, abs=0.02)


def test_where_nothing_is_near_the_mean_of_all_examples_speaks():
    class Nowhere:
        calls = 0

        def embed(self, texts):
            self.calls += 1
            return np.eye(2, dtype=np.float32)[[0] * len(texts) if self.calls == 1 else [1] * len(texts)]

    chance = Estimator(EXAMPLES, Nowhere()).near("?", SPECS).chances["local_search"].chance
    assert chance == pytest.approx(np.mean([example.solves["local_search"] for example in EXAMPLES]), abs=0.05)


def test_a_note_names_the_examples_that_the_chance_rests_on():
    note = Estimator(EXAMPLES, Axes()).near(QUESTIONS["code"], SPECS).chances["coder"].note
    assert QUESTIONS["code"] in note


def test_a_tool_that_no_example_knows_gets_a_guess_that_says_so():
    chance = Estimator(EXAMPLES, Axes()).near("What is 1 + 1?", [STRANGER]).chances["oracle"]
    assert (chance.chance, "guess" in chance.note) == (0.5, True)


@given(st.text(max_size=200))
def test_any_text_gets_chances_between_0_and_1(text):
    near = Estimator(EXAMPLES).near(text, SPECS)
    assert all(0.0 <= chance.chance <= 1.0 for chance in near.chances.values())
    assert sum(near.kinds.values()) == pytest.approx(1.0)


@given(st.lists(st.text(max_size=50), min_size=1, max_size=5))
def test_hashed_words_are_unit_vectors_or_nothing(texts):
    lengths = np.linalg.norm(WordEmbedder().embed(texts), axis=1)
    assert all(length == pytest.approx(1.0, abs=1e-5) or length == 0.0 for length in lengths)


def test_the_shipped_examples_know_all_four_tools_and_are_no_doubles():
    examples = load_examples()
    assert all(set(example.solves) == {spec.name for spec in SPECS} for example in examples)
    assert all(0.0 <= share <= 1.0 for example in examples for share in example.solves.values())
    assert len({example.text.casefold() for example in examples}) == len(examples) >= 100


def test_a_broken_line_of_examples_is_named(tmp_path):
    path = tmp_path / "examples.jsonl"
    path.write_text(PATH.read_text(encoding="utf-8").splitlines()[0] + '\n{"text": "x"}\n', encoding="utf-8")
    with pytest.raises(BadInput, match=r"examples\.jsonl:2"):
        load_examples(path)
