"""The table of faults that others met names tests that exist, and every fault once."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parent
TABLE = TESTS.parent / "docs" / "field_bugs.md"
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in TABLE.read_text("utf-8").splitlines()
    if re.match(r"\| [A-K]\d+ \|", line)
]
NAMED = [(bug, name) for bug, *_, tests in ROWS for name in re.findall(r"`(test_\w+::test_\w+)`", tests)]


@cache
def names_in(module):
    tree = ast.parse((TESTS / f"{module}.py").read_text("utf-8"))
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return {node.name for node in ast.walk(tree) if isinstance(node, kinds)}


@pytest.mark.parametrize("bug, name", NAMED)
def test_a_named_test_exists(bug, name):
    module, _, test = name.partition("::")
    assert test in names_in(module)


def test_every_fault_stands_there_once():
    ids = [row[0] for row in ROWS]
    assert len(ids) == len(set(ids)) == 65


def test_every_fault_has_a_test_or_says_which_part_takes_it():
    assert [row[0] for row in ROWS if len(row) != 4 or not (row[3] or "*Later*" in row[2])] == []
