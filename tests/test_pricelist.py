import pytest

from orchestra_lib.errors import BadInput
from orchestra_lib.pricelist import load_table, load_tables

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
    assert {"nominal", "toolorchestra"} <= set(tables)
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
