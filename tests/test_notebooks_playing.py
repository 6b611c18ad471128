"""The notebooks that play and are read back run whole, offline, and say what was saved."""

import pytest
from running_notebooks import check_runs_anew


@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", ["01_what_is_an_orchestrator", "02_toolscale_sampling", "11_your_trajectories_in_sql"])
def test_a_notebook_runs_anew_and_says_what_was_saved(name, monkeypatch):
    check_runs_anew(name, monkeypatch)
