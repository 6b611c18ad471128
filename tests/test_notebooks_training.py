"""The notebooks that train run whole, offline, and say what was saved."""

import pytest
from running_notebooks import check_runs_anew


@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", ["05_train_one_in_minutes"])
def test_a_notebook_runs_anew_and_says_what_was_saved(name, monkeypatch):
    check_runs_anew(name, monkeypatch)
