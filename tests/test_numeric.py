"""The number that an answer claims, and whether it is the expected one."""

import json
from pathlib import Path

import pytest

from orchestra_lib.check import Check, CheckKind
from orchestra_lib.errors import BadInput
from orchestra_lib.judge.numeric import claimed, numeric

GSM8K = Path(__file__).resolve().parents[2] / "shared" / "data" / "gsm8k_test.jsonl"
PLAIN = Check(kind=CheckKind.NUMERIC)


def outcome(answer, reference, check=PLAIN):
    return numeric(check, answer, reference).outcome


@pytest.mark.parametrize(
    ("answer", "claim"),
    [
        (r"So 3 and 4 make \boxed{7}, not 12.", "7"),
        ("work 3\n#### 18", "18"),
        ("The answer is 5. It took 30 seconds.", "5"),
        ("Answer: **42** out of 50", "42"),
        ("It costs **$18** a day, for 7 days.", "$18"),
        ("**Step 3:** add 4 and 5, which is 9", "9"),
        ("First 3, then 4, in total 7", "7"),
    ],
)
def test_the_marked_number_is_the_claim_else_the_last(answer, claim):
    assert claimed(answer).text == claim


@pytest.mark.parametrize(
    ("answer", "reference", "solved"),
    [
        ("47,104,101", "47104101", True),
        ("47104102", "47104101", False),
        ("24.19 years", "24.2", True),
        ("24.3 years", "24.2", False),
        ("3.14159", "3.14", True),
        ("3000 m", "3 km", True),
        ("3 hours", "3 km", False),
        ("There are 5 in total", "5 kg", True),
        ("98.6 °F", "37.0 °C", True),
        ("25", "25%", True),
        ("0.25", "25 %", True),
        ("25%", "0.25", True),
        ("26%", "0.25", False),
        ("€300", "$300", False),
        ("300", "$300", True),
        ("twelve", "12", True),
        ("I cannot tell.", "12", False),
        ("0.30000000000000004", "3/10", True),
    ],
)
def test_the_same_quantity_in_whatever_spelling(answer, reference, solved):
    assert outcome(answer, reference) is solved


def test_a_tolerance_is_a_share_and_a_margin_a_distance():
    near = Check(kind=CheckKind.NUMERIC, tolerance=0.01)
    assert outcome("101", "100", near)
    assert not outcome("101.1", "100", near)
    within = Check(kind=CheckKind.NUMERIC, margin=2)
    assert outcome("98", "100", within)
    assert not outcome("97.9", "100", within)
    assert not outcome("101", "100")


def test_a_unit_of_the_check_holds_for_a_bare_reference():
    speed = Check(kind=CheckKind.NUMERIC, unit="km/h", tolerance=0.01)
    assert outcome("10 m/s", "36", speed)
    assert outcome("36", "36", speed)
    with pytest.raises(BadInput, match="no unit of measure"):
        numeric(Check(kind=CheckKind.NUMERIC, unit="9**9**9"), "1", "1")


def test_a_reference_without_a_number_is_refused():
    with pytest.raises(BadInput, match="is no number"):
        numeric(PLAIN, "5", "many")


@pytest.mark.skipif(not GSM8K.exists(), reason="no copy of GSM8K here")
def test_answers_of_gsm8k_are_read_by_their_mark_and_mostly_without():
    rows = [json.loads(line)["answer"].split("####") for line in GSM8K.read_text("utf-8").splitlines()]
    assert all(outcome(f"{work}#### {result}", result.strip()) for work, result in rows)
    last = sum(outcome(work, result.strip()) is True for work, result in rows)
    assert last / len(rows) > 0.97
