"""The notebooks that take a step and ask whether it was learned run whole, offline, and say what was saved."""

import pytest
from running_notebooks import check_runs_anew


@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", ["04_rollouts_to_advantages", "06_does_it_obey_preferences"])
def test_a_notebook_runs_anew_and_says_what_was_saved(name, monkeypatch):
    check_runs_anew(name, monkeypatch)
