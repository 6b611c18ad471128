"""Expressions compared by math-verify, in a process that hostile ones cannot keep."""

import resource

import pytest

from orchestra_lib.errors import SandboxFault
from orchestra_lib.judge import symbolic as module
from orchestra_lib.judge.symbolic import symbolic
from orchestra_lib.judge.symbolic_worker import compare, latex


@pytest.mark.parametrize(
    ("answer", "reference", "same"),
    [
        (r"So it is $\frac{1}{2}$.", "0.5", True),
        ("x^2 + 2*x + 1", "$(x+1)^2$", True),
        ("sqrt(2)/2", r"\frac{\sqrt{2}}{2}", True),
        (r"\boxed{\{1, 2\}}", r"\{2, 1\}", True),
        ("x + 1", "x - 1", False),
    ],
)
def test_the_same_expression_in_another_form(answer, reference, same):
    assert compare(answer, reference)["same"] is same


def test_a_tower_of_powers_is_stopped_and_stays_ungraded():
    verdict = symbolic("9^{9^{9^{9}}}", r"\frac{x}{2}", cpu_s=4)
    assert verdict.outcome is None
    assert "took over 4 s" in verdict.reason or "too large" in verdict.reason
    assert resource.getrlimit(resource.RLIMIT_CPU)[0] != 4  # the limits are the other process's


def test_nothing_is_evaluated_as_python(tmp_path):
    said = compare(f"__import__('pathlib').Path('{tmp_path}/owned').touch()", "x")
    assert said["same"] is not True
    assert not list(tmp_path.iterdir())
    assert latex("x**2") == "$x^2$"


def test_a_comparison_that_does_not_end_is_killed(monkeypatch, tmp_path):
    sleeper = tmp_path / "sleeper.py"
    sleeper.write_text("import time\ntime.sleep(60)\n")
    monkeypatch.setattr(module, "_WORKER", sleeper)
    assert "was stopped" in symbolic("x", "x", wall_s=0.5).reason


def test_a_worker_that_breaks_is_a_fault_and_no_verdict(monkeypatch, tmp_path):
    broken = tmp_path / "broken.py"
    broken.write_text("raise SystemExit('no sympy here')\n")
    monkeypatch.setattr(module, "_WORKER", broken)
    with pytest.raises(SandboxFault, match="no sympy here"):
        symbolic("x", "x")
