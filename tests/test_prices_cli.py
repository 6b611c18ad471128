"""`orchestra prices`: what a person and a script read."""

import json
import sys
from dataclasses import replace

import pytest
from episodes import attempt, trajectory

from orchestra_lib.cli import main
from orchestra_lib.pricelist import SHIPPED, dump_table, load_table
from orchestra_lib.store.store import Store

DAY = "2026-11-30"


@pytest.fixture
def prices(tmp_path, monkeypatch, capsys):
    """Call `orchestra prices …` in this process: (exit code, stdout, stderr)."""
    monkeypatch.setenv("ORCHESTRA_HOME", str(tmp_path))
    monkeypatch.delenv("OPENAI_MODEL", raising=False)

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["orchestra", "prices", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        return (ended.value.code or 0, *capsys.readouterr())

    return call


def test_the_tables_are_listed_with_date_and_source(prices):
    code, out, _ = prices("show")
    assert code == 0
    assert {"vendor", "together", "deepinfra", "nominal", "toolorchestra"} <= {
        line.split()[0] for line in out.splitlines()[1:]
    }
    (vendor,) = [table for table in json.loads(prices("show", "--json")[1]) if table["name"] == "vendor"]
    assert (vendor["dated"], vendor["nominal"]) == ("2026-11-03", False)
    assert "genai-prices 0.2.3 (MIT)" in vendor["source"]


def test_every_row_is_shown_with_its_source(prices):
    _, out, _ = prices("show", "deepinfra")
    (line,) = [line for line in out.splitlines() if line.startswith("Qwen/Qwen3-32B ")]
    assert line.split()[1:3] == ["0.08", "0.28"]
    assert "LiteLLM 1.110.2" in line
    shown = json.loads(prices("show", "vendor", "--json")[1])
    assert shown["prices"]["gpt-5"]["output_usd_per_mtok"] == 10.0


def test_a_dated_price_is_shown_for_its_day(prices):
    rows = [json.loads(prices("show", "vendor", "--at", day, "--json")[1])["prices"] for day in (DAY, "2027-01-01")]
    assert [row["gemini-3.8-flash"]["output_usd_per_mtok"] for row in rows] == [3.75, 7.5]


def test_an_unknown_table_is_one_clear_line(prices):
    code, out, err = prices("show", "vendors")
    assert (code, out) == (2, "")
    assert "there is no price table 'vendors'; the tables are" in err


def test_a_dated_name_resolves_to_its_row_and_says_how(prices):
    code, out, _ = prices("resolve", "gpt-5-2025-08-07")
    assert code == 0
    assert "vendor (2026-11-03): $1.25 in, $10 out, $0.125 cached per million tokens — an alias of gpt-5" in out
    assert "unpriced in deepinfra, nominal, openrouter, simulated, together, turned: no row" in out
    (answer,) = json.loads(prices("resolve", "claude-opus-4-1-20250805", "--table", "vendor", "--json")[1])["tables"]
    assert (answer["row"], answer["by"]) == ("claude-opus-4-1", "rule")


def test_an_unknown_name_is_unpriced_with_near_names_and_exit_code_one(prices):
    code, out, _ = prices("resolve", "gpt-5-2025-08-08")
    assert code == 1
    assert "near, but not the same: gpt-5-2025-08-07" in out
    data = json.loads(prices("resolve", "gpt-5-2025-08-08", "--json")[1])
    assert (data["priced"], {table["price"] for table in data["tables"]}) == (False, {None})


def test_a_name_with_control_characters_cannot_drive_the_terminal(prices):
    _, out, _ = prices("resolve", "\x1b[31mgpt")
    assert "\x1b" not in out


def test_an_update_without_news_writes_nothing(prices, tmp_path):
    code, out, _ = prices("update")
    assert (code, out.count("nothing to change")) == (0, 4)
    assert not (tmp_path / "prices").exists()


def test_an_update_says_what_changed_and_keeps_what_it_replaced(prices, tmp_path):
    stale = dump_table(load_table(SHIPPED / "vendor.toml")).replace("2026-11-03", "2026-01-01", 1)
    old = stale.replace("output_usd_per_mtok = 10.0", "output_usd_per_mtok = 11.0")
    (tmp_path / "prices").mkdir()
    (tmp_path / "prices" / "vendor.toml").write_text(old, "utf-8")
    _, out, _ = prices("update")
    assert "  gpt-5: $1.25 in, $11 out, $0.125 cached per million tokens → $1.25 in, $10 out" in out
    assert (tmp_path / "prices" / "old" / "vendor-2026-01-01.toml").read_text("utf-8") == old
    assert "$11 out" in prices("resolve", "gpt-5", "--table", "vendor@2026-01-01")[1]


def test_a_check_without_findings_ends_well(prices):
    assert prices("check", "--today", DAY)[0] == 0
    assert json.loads(prices("check", "--today", DAY, "--json")[1]) == []


def test_a_check_tells_stale_tables_and_names_in_use_without_a_price(prices, monkeypatch):
    monkeypatch.setenv("OPENAI_MODEL", "gpt-99")
    code, out, _ = prices("check", "--today", "2027-06-01", "--json")
    found = {(finding["kind"], finding["name"]) for finding in json.loads(out)}
    assert code == 1
    assert {("stale", "vendor"), ("stale", "nominal"), ("unpriced", "gpt-99")} <= found
    assert ("stale", "toolorchestra") not in found


def test_a_users_row_that_differs_is_told(prices, tmp_path):
    (tmp_path / "prices").mkdir()
    (tmp_path / "prices" / "mine.toml").write_text(
        'name = "mine"\ndated = 2026-11-30\nsource = "s"\n[prices.gpt-5]\ncall_usd = 1.0\nsource = "s"\n'
    )
    code, out, _ = prices("check", "--today", DAY)
    assert code == 1
    assert "$1 a call here, $1.25 in, $10 out" in out


@pytest.fixture
def stored(tmp_path):
    with Store.open(tmp_path) as store:
        store.add(replace(trajectory(), judge_attempts=(attempt(),)))


def test_the_bill_of_a_run_has_a_row_per_attempt(prices, stored):
    code, out, _ = prices("bill", "run-1")
    assert code == 0
    rows = [line for line in out.splitlines() if line.startswith(("orchestrator ", "search "))]
    assert len(rows) == len(list(trajectory().ledger()))
    assert "under sample of 2026-11-01, nominal: nobody is billed" in out
    assert "judge, not part of the run: $0.0012" in out
    data = json.loads(prices("bill", "run-1", "--json")[1])
    assert data["cost_usd"] == pytest.approx(trajectory().bill().cost_usd)


def test_a_stored_run_is_priced_again_with_an_old_table(prices, stored, tmp_path):
    (tmp_path / "prices" / "old").mkdir(parents=True)
    (tmp_path / "prices" / "old" / "mine-2026-01-02.toml").write_text(
        'name = "mine"\ndated = 2026-01-02\nsource = "s"\n[prices.search]\ncall_usd = 7.0\nsource = "s"\n'
    )
    data = json.loads(prices("bill", "run-1", "--table", "mine@2026-01-02", "--json")[1])
    searches = [row for row in data["ledger"] if row["payee"] == "search"]
    assert {row["cost_usd"] for row in searches} == {7.0}
    assert (data["cost_usd"], data["known_usd"]) == (None, 7.0 * len(searches))
    assert {"unpriced"} <= {flag for row in data["ledger"] for flag in row["flags"]}
    assert "—, $" in prices("bill", "run-1", "--table", "mine@2026-01-02")[1]
