"""A12: one place writes JSON, and writes every character as itself."""

import ast
import json
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestra_lib.json_writing import dumps, spoken

ROOT = Path(__file__).resolve().parent.parent
WRITERS = {"json_writing.py"}
EXCUSED = {"guest.py", "user_index.py", "symbolic_worker.py"}
"""The guest and the worker run alone, where nothing of ours can be imported. The paths of a user's folders may be no
UTF-8, and only ASCII escapes bring them back."""

data = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(blacklist_categories=["Cs"])),
    lambda parts: st.lists(parts, max_size=4) | st.dictionaries(st.text(max_size=5), parts, max_size=4),
    max_leaves=12,
)


@pytest.mark.parametrize("write", [dumps, spoken])
def test_every_character_stands_as_itself_and_an_escape_that_was_written_stays_one(write):
    """A12: umlauts, CJK, an emoji, and a backslash that a model wrote."""
    text = write({"q": "Zürich 東京 🎻 \\u00fc"})
    assert "Zürich 東京 🎻 " in text
    assert text.count("\\") == 2
    assert json.loads(text) == {"q": "Zürich 東京 🎻 \\u00fc"}


def test_models_read_the_spaces_that_they_were_trained_on():
    assert spoken({"a": [1, 2], "b": {}}) == '{"a": [1, 2], "b": {}}'
    assert dumps({"a": [1, 2]}) == '{"a":[1,2]}'


@given(data)
def test_whatever_a_model_is_told_is_json(value):
    """G4: also where a number is none that JSON has, or a text holds half a character."""
    text = spoken({"v": value, "half": "\ud83d"})
    said = json.loads(text, parse_constant=lambda name: pytest.fail(name))
    assert said["half"] == "\ufffd"
    if isinstance(value, float):
        assert said["v"] == (value if math.isfinite(value) else None)


def test_no_module_writes_json_by_itself():
    """A12: a second writer would escape what the first does not."""
    found = []
    for folder in ("orchestra_lib", "app"):
        for file in sorted((ROOT / folder).rglob("*.py")):
            for node in ast.walk(ast.parse(file.read_text("utf-8"))):
                named = isinstance(node, ast.Attribute) and node.attr in ("dump", "dumps")
                if named and isinstance(node.value, ast.Name) and node.value.id == "json":
                    found.append(file.name)
    assert set(found) == WRITERS | EXCUSED
