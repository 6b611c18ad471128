from dataclasses import replace
from datetime import date

import pytest
from amounts import tables
from hypothesis import HealthCheck, given, settings

from orchestra_lib.errors import BadInput, StoreFault
from orchestra_lib.pricelist import (
    _beside,
    dump_table,
    find_table,
    load_old_tables,
    load_table,
    load_tables,
    save_table,
)
from orchestra_lib.pricing import Price, PriceTable

MINE = """
name = "mine"
dated = 2026-11-01
source = "my contract"
[prices.gpt-5]
input_usd_per_mtok = 1.0
output_usd_per_mtok = 8.0
source = "my contract"
"""


def test_every_shipped_row_names_its_source(tmp_path):
    tables = load_tables(tmp_path)
    assert {"nominal", "toolorchestra", "vendor", "together", "openrouter", "deepinfra"} <= set(tables)
    assert all(price.source for table in tables.values() for price in table.prices.values())


def test_the_nominal_table_says_that_nobody_is_billed(tmp_path):
    assert load_tables(tmp_path)["nominal"].nominal is True


def test_a_users_table_stands_beside_the_shipped_ones(tmp_path):
    (tmp_path / "prices").mkdir()
    (tmp_path / "prices" / "mine.toml").write_text(MINE)
    assert load_tables(tmp_path)["mine"].find("gpt-5").output_usd_per_mtok == 8.0


@pytest.mark.parametrize(
    "change, says",
    [
        (("8.0", "-8.0"), "0 or more"),
        (("input_usd", "inptu_usd"), "inptu_usd"),
        (("[prices", "[prices."), "mine.toml"),
        (("output_usd_per_mtok = 8.0", ""), "needs both"),
    ],
)
def test_a_broken_table_is_named_with_the_field(tmp_path, change, says):
    file = tmp_path / "mine.toml"
    file.write_text(MINE.replace(*change))
    with pytest.raises(BadInput, match=says):
        load_table(file)


def test_an_alias_is_exact_and_an_unknown_name_is_unpriced(tmp_path):
    table = load_tables(tmp_path)["toolorchestra"]
    assert table.find("Qwen/Qwen3-32B") == table.find("Qwen3-32B") is not None
    assert table.find("qwen3-32b-turbo") is None


FIRST_FORM = """
name = "vendor"
dated = 2026-01-02
source = "the form that tables had first"
nominal = false
[prices."gpt-5"]
input_usd_per_mtok = 1.25
output_usd_per_mtok = 10.0
cached_usd_per_mtok = 0.125
source = "then"
[prices.web_search]
call_usd = 0.01
source = "then"
[aliases]
"gpt-5-2025-08-07" = "gpt-5"
"""


def test_a_table_of_the_first_form_stays_readable_and_is_named_by_its_date(tmp_path):
    (tmp_path / "prices" / "old").mkdir(parents=True)
    (tmp_path / "prices" / "old" / "vendor-2026-01-02.toml").write_text(FIRST_FORM)
    old = find_table(tmp_path, "vendor@2026-01-02")
    assert old.find("gpt-5-2025-08-07").cached_usd_per_mtok == 0.125
    assert find_table(tmp_path, "vendor").dated > old.dated


def test_a_current_table_answers_to_its_date_too(tmp_path):
    current = find_table(tmp_path, "vendor")
    assert find_table(tmp_path, f"vendor@{current.dated}") == current
    with pytest.raises(BadInput, match="no price table 'vendor@1999-01-01'; the tables are"):
        find_table(tmp_path, "vendor@1999-01-01")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(table=tables)
def test_a_table_comes_back_from_its_file(tmp_path, table):
    file = tmp_path / "t.toml"
    file.write_text(dump_table(table), "utf-8")
    assert load_table(file) == table


def test_names_and_remarks_of_any_kind_come_back_from_their_file(tmp_path):
    price = Price(call_usd=0.0, assumed='"quoted" \\ \n\t é 漢', source="a\x7fb", since=date(2026, 1, 1))
    table = PriceTable(
        name="t", dated=date(2026, 1, 1), source="s", prices={'a.b/c:d"e': price}, changes={'a.b/c:d"e': (price, price)}
    )
    save_table(table, tmp_path)
    assert load_table(tmp_path / "t.toml") == table


def test_what_a_table_replaces_is_kept_and_the_same_table_is_not_written_twice(tmp_path):
    price = Price(call_usd=1.0, source="test")
    first = PriceTable(name="t", dated=date(2026, 1, 1), source="s", prices={"a": price})
    folder = tmp_path / "prices"
    assert save_table(first, folder) == folder / "t.toml"
    assert save_table(first, folder) is None
    for usd in (2.0, 3.0):
        save_table(replace(first, prices={"a": replace(price, call_usd=usd)}), folder)
    assert sorted(file.name for file in folder.glob("old/*")) == ["t-2026-01-01-2.toml", "t-2026-01-01.toml"]
    assert load_tables(tmp_path)["t"].find("a").call_usd == 3.0
    assert "t@2026-01-01" in load_old_tables(tmp_path)


@pytest.mark.parametrize(
    "extra, says",
    [
        ('[aliases]\nx = "nowhere"', "the alias 'x' leads to 'nowhere'"),
        ('[aliases]\ngpt-5 = "gpt-5"', "is a row and an alias"),
        ('[[rules]]\nrow = "nowhere"\npattern = "^x"', "a rule leads to 'nowhere'"),
        ('[[rules]]\nrow = "gpt-5"\npattern = "("', "the rule '\\('"),
    ],
)
def test_names_that_lead_nowhere_are_told_when_the_table_is_read(tmp_path, extra, says):
    file = tmp_path / "mine.toml"
    file.write_text(MINE + extra)
    with pytest.raises(BadInput, match=says):
        load_table(file)


def test_an_edited_table_counts_at_once(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text(MINE)
    before = load_table(file)
    file.write_text(MINE.replace("output_usd_per_mtok = 8.0", "output_usd_per_mtok = 12.0"))
    assert (before.find("gpt-5").output_usd_per_mtok, load_table(file).find("gpt-5").output_usd_per_mtok) == (8.0, 12.0)


def test_a_table_that_cannot_be_read_or_written_is_one_clear_line(tmp_path):
    (tmp_path / "t.toml").mkdir()
    with pytest.raises(BadInput, match="cannot be read: Is a directory"):
        load_table(tmp_path / "t.toml")
    (tmp_path / "prices").write_text("in the way")
    with pytest.raises(StoreFault, match="could not be written"):
        save_table(PriceTable(name="t", dated=date(2026, 1, 1), source="s"), tmp_path / "prices")


def test_a_full_disk_leaves_the_table_that_stood_there(tmp_path):
    price = Price(call_usd=1.0, source="test")
    first = PriceTable(name="t", dated=date(2026, 1, 1), source="s", prices={"a": price})
    save_table(first, tmp_path)
    (tmp_path / ".t.new").mkdir()  # stands for a disk that takes no new file
    with pytest.raises(StoreFault, match="could not be written"):
        save_table(replace(first, source="another"), tmp_path)
    assert load_table(tmp_path / "t.toml") == first


def test_tables_of_several_providers_price_one_run(tmp_path):
    vendor, together, both = (find_table(tmp_path, name) for name in ("vendor", "together", "vendor+together"))
    assert both.find("gpt-5-2025-08-07") == vendor.find("gpt-5-2025-08-07") is not None
    assert both.find("Qwen/Qwen3.5-9B") == together.find("Qwen/Qwen3.5-9B") is not None
    assert (both.name, both.dated, both.nominal) == ("vendor+together", min(vendor.dated, together.dated), False)
    with pytest.raises(BadInput, match="no price table 'togeter'"):
        find_table(tmp_path, "vendor+togeter")


@given(first=tables, second=tables)
def test_of_two_tables_the_first_decides_what_both_know(first, second):
    both = _beside(first, second)
    for name in ("a", "b", "c", "d"):
        assert both.find(name) == (first.find(name) or second.find(name))
