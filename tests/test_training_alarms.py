"""Alarms: what goes wrong while the loss looks well."""

from datetime import UTC, datetime

from orchestra_lib.training.alarms import alarms
from orchestra_lib.training.settings import AlarmSettings
from orchestra_lib.training.steps import Step

SETTINGS = AlarmSettings(window=3, share=0.8, malformed=0.1)


def steps(count, **told):
    fields = {"kept": 4, "malformed_rate": 0.0, "tool_shares": {"a": 0.5, "b": 0.5}, "strongest_share": 0.5, **told}
    at = datetime(2026, 1, 1, tzinfo=UTC)
    return [Step(step=n, at=at, samples=8, groups=1, flat_groups=0, **fields) for n in range(1, count + 1)]


def test_a_quiet_run_rings_nothing():
    assert alarms(steps(5), SETTINGS) == ()
    assert alarms([], SETTINGS) == ()


def test_one_tool_that_takes_all_calls_is_a_collapse():
    (text,) = alarms(steps(3, tool_shares={"a": 0.95, "b": 0.05}), SETTINGS)
    assert text == "collapse: a takes 95% of the calls of the last 3 steps"
    assert alarms(steps(2, tool_shares={"a": 0.95, "b": 0.05}), SETTINGS) == ()  # the window is not full
    assert alarms(steps(3, tool_shares={"a": 1.0}), SETTINGS) == ()  # there was no other
    (text,) = alarms(steps(3, strongest_share=0.9, tool_shares={}), SETTINGS)
    assert "a strongest tool takes 90%" in text


def test_moves_that_lose_their_form_are_a_drift():
    (text,) = alarms(steps(3, malformed_rate=0.2), SETTINGS)
    assert text.startswith("format drift: 20% of the turns")
    assert alarms([*steps(9, malformed_rate=0.2), *steps(3)], SETTINGS) == ()


def test_a_step_that_teaches_nothing_says_so():
    assert "nothing is learnt" in alarms(steps(1, kept=0), SETTINGS)[0]
