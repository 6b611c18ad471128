"""How success is checked: what a check may hold, and what a task needs for it."""

import pytest

from orchestra_lib.check import Check, CheckKind
from orchestra_lib.codec import from_data, to_data
from orchestra_lib.errors import BadInput
from orchestra_lib.task import Task


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"kind": "numeric", "tolerance": -0.1}, "tolerance = -0.1"),
        ({"kind": "numeric", "margin": float("nan")}, "margin = nan"),
        ({"kind": "exact", "tolerance": 0.1}, "check exact has no tolerance"),
        ({"kind": "numeric", "ordered": True}, "it belongs to list"),
        ({"kind": "list", "ordered": True, "need": "any"}, "no order"),
        ({"kind": "exact", "choices": ("one",)}, "2 to 26"),
        ({"kind": "exact", "choices": ("one", " ")}, "none of them empty"),
        ({"kind": "symbolic", "model": "gpt-5"}, "it belongs to model"),
    ],
)
def test_what_is_no_parameter_of_a_check_is_refused(fields, message):
    with pytest.raises(BadInput, match=message):
        Check(**{**fields, "kind": CheckKind(fields["kind"])})


def test_a_check_needs_what_it_compares_with():
    with pytest.raises(BadInput, match="check exact compares with a reference"):
        Task(text="Say hi.", check=Check(kind=CheckKind.EXACT))
    with pytest.raises(BadInput, match="the reference is empty"):
        Task(text="Say hi.", reference="  ")
    assert Task(text="Say hi.", check=Check(kind=CheckKind.MODEL)).reference is None


def test_a_task_survives_a_record():
    task = Task(text="t", reference="5 km", check=Check(kind=CheckKind.NUMERIC, unit="km", tolerance=0.01))
    assert from_data(to_data(task), Task, where="task") == task
    assert from_data({"text": "t", "id": None, "reference": None}, Task, where="old record").check is None
