"""The notebooks that ask for bias run whole, offline, and say what was saved."""

import pytest
from running_notebooks import check_runs_anew


@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", ["07_is_it_biased"])
def test_a_notebook_runs_anew_and_says_what_was_saved(name, monkeypatch):
    check_runs_anew(name, monkeypatch)
