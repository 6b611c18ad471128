"""The check that fits a reference, and answers that are made to take a grader down."""

import pytest

from orchestra_lib.check import Check, CheckKind
from orchestra_lib.errors import BadInput
from orchestra_lib.judge.checks import check_usable, chosen, compare, compare_by_itself

LONG = "a text of more words than anybody would ever repeat in the same order again"


@pytest.mark.parametrize(
    ("reference", "kind"),
    [
        ("47104101", "numeric"),
        ("$1,200", "numeric"),
        ("so 9 + 9\n#### 18", "numeric"),
        ("12 Angry Men", "exact"),
        ("Paris, France", "exact"),
        ("Kenya; Uganda", "list"),
        ('["a", "b"]', "list"),
        (r"\frac{x}{2}", "symbolic"),
        ("x^2 + 1", "symbolic"),
    ],
)
def test_a_reference_chooses_its_check(reference, kind):
    check, why = chosen(reference)
    assert check.kind == kind
    assert why.startswith("the reference is")


def test_a_long_reference_is_left_to_a_model_or_a_person():
    assert chosen(LONG) is None
    kind, verdict = compare_by_itself("anything", LONG)
    assert (kind, verdict.outcome) == (None, None)
    assert "a model or a person" in verdict.reason


def test_the_choice_is_told():
    kind, verdict = compare_by_itself("Paris", "paris")
    assert (kind, verdict.outcome) == (CheckKind.EXACT, True)
    assert verdict.reason.endswith("(exact, as the reference is a short text)")


@pytest.mark.parametrize("kind", [CheckKind.MODEL, CheckKind.STATE])
def test_two_texts_are_not_compared_by_what_needs_more(kind):
    check_usable(Check(kind=kind), "1")
    with pytest.raises(BadInput, match="does not compare two texts"):
        compare(Check(kind=kind), "1", "1")


@pytest.mark.parametrize(
    "answer",
    [
        "answer is" + " " * 50_000,
        "\n" * 50_000,
        "\\boxed{" * 7_000,
        "9" * 50_000,
        "1," * 25_000,
        " and " * 10_000,
        "**" * 25_000,
        "(" * 50_000,
        "\ud800 \x00 \u202e",
        "x" * 1_000_000,
    ],
    ids=range(10),
)
@pytest.mark.timeout(30)
def test_an_answer_made_to_take_long_is_no_more_than_wrong(answer):
    for reference in ("5 km", "Kenya; Uganda", "Paris", "B"):
        assert compare_by_itself(answer, reference)[1].outcome is not True
