"""Price tables of the user's own: copies of what ships, changed row by row."""

from datetime import date

import pytest

from orchestra_lib.errors import BadInput
from orchestra_lib.pricelist import copy_table, find_table, own_tables, set_rows
from orchestra_lib.pricing import Price

DAY = date(2026, 11, 30)


def test_a_copy_prices_like_what_it_was_copied_from_and_says_so(tmp_path):
    mine = copy_table(tmp_path, "nominal", "mine", DAY)
    assert mine.prices == find_table(tmp_path, "nominal").prices
    assert find_table(tmp_path, "mine").source.startswith("copied from nominal of")
    assert own_tables(tmp_path) == {"mine"}


def test_a_row_is_changed_added_and_taken_out(tmp_path):
    copy_table(tmp_path, "nominal", "mine", DAY)
    row = Price(input_usd_per_mtok=1.0, output_usd_per_mtok=2.0, source="my contract")
    set_rows(tmp_path, "mine", {"my-model": row, "local_search": None}, DAY)
    table = find_table(tmp_path, "mine")
    assert table.find("my-model") == row
    assert table.find("local_search") is None


def test_what_a_change_replaced_is_kept(tmp_path):
    copy_table(tmp_path, "nominal", "mine", DAY)
    set_rows(tmp_path, "mine", {"local_search": Price(call_usd=1.0, source="x")}, DAY)
    assert [file.name for file in (tmp_path / "prices" / "old").iterdir()] == ["mine-2026-11-30.toml"]


def test_a_table_with_dated_prices_is_copied_and_a_changed_row_loses_its_history(tmp_path):
    copy = copy_table(tmp_path, "vendor", "mine", DAY)
    name = next(iter(copy.changes))
    row = Price(input_usd_per_mtok=1.0, output_usd_per_mtok=2.0, source="x")
    assert set_rows(tmp_path, "mine", {name: row}, DAY).at(DAY).find(name) == row


@pytest.mark.parametrize("name", ["", "Mine", "../x", "a/b", "x" * 41, "nominal", "a+b", "a@b"])
def test_a_bad_or_taken_name_is_refused(tmp_path, name):
    with pytest.raises(BadInput):
        copy_table(tmp_path, "nominal", name, DAY)


def test_what_ships_is_only_read(tmp_path):
    with pytest.raises(BadInput, match="copy it"):
        set_rows(tmp_path, "nominal", {}, DAY)
