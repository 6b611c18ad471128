"""The threat model names tests that exist, and counts what there is."""

import re
from pathlib import Path

import pytest
from hostile_words import WORDS
from test_field_bugs import names_in
from test_sandbox_escapes import ATTACKS
from test_security_injection import COMMANDS
from test_security_pages import PAGES
from test_security_secrets import WAYS

TEXT = (Path(__file__).resolve().parent.parent / "docs" / "security.md").read_text("utf-8")
NAMED = sorted(set(re.findall(r"`(test_\w+::test_\w+)`", TEXT)))
NUMBERS = {7: "seven", 15: "fifteen", 23: "Twenty-three", 24: "Twenty-four", 95: "Ninety-five"}


@pytest.mark.parametrize("name", NAMED)
def test_a_named_test_exists(name):
    module, _, test = name.partition("::")
    assert test in names_in(module)


def test_every_attack_in_the_tables_has_a_test():
    rows = [line for line in TEXT.partition("## Attacks tried")[2].splitlines() if line.startswith("| ")]
    assert len(rows) > 25
    assert [row for row in rows if "::" not in row and not row.startswith("| attack |")] == []


def test_its_counts_are_those_of_the_tests():
    looks = sum(attack.looks for attack in ATTACKS.values())
    assert f"{NUMBERS[len(ATTACKS)]} attacks" in TEXT
    assert f"{NUMBERS[looks]} that only look" in TEXT
    assert f"{NUMBERS[len(WORDS)]} kinds of words" in TEXT
    assert f"{NUMBERS[len(PAGES)]} pages" in TEXT
    assert f"{len(COMMANDS)} commands" in TEXT
    assert f"{NUMBERS[len(WAYS)]} kinds of answer" in TEXT
