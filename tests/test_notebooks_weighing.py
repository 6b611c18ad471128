"""The notebooks that weigh, plan and serve, without torch run whole, offline, and say what was saved."""

import pytest
from running_notebooks import check_runs_anew


@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    "name", ["03_what_is_a_good_reward", "08_what_each_reward_part_buys", "09_serve_it", "10_h100_nodes"]
)
def test_a_notebook_runs_anew_and_says_what_was_saved(name, monkeypatch):
    check_runs_anew(name, monkeypatch)
