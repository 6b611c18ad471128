"""Families of models: read from names, overruled by the user's file, unknown where nobody states one."""

import pytest

from orchestra_lib.errors import BadInput
from orchestra_lib.families import FILE, YOURS, load_families, shipped_families

OWN = """
[models]
"acme/tuned" = "qwen"
"gpt-imitation" = ""
[families.acme]
form = "acme-[0-9]+b"
maker = "Acme"
source = "our own"
"""


def test_families_are_read_from_names():
    names = {
        "openai:gpt-5-mini": "gpt", "o3": "gpt", "local/qwen2.5-coder-1.5b": "qwen", "claude-opus-4.1": "claude",
        "meta/Llama-3.3-70B": "llama", "Llama-3_1-Nemotron": "llama", "sim:strongest": None, "conductor": None,
        "microsoft/phi-4": "phi", "delphi": None,
    }  # fmt: skip
    assert {name: shipped_families().of(name) for name in names} == names


def test_every_family_that_ships_names_its_maker_and_where_that_stands(tmp_path):
    known = load_families(tmp_path)
    assert all(one.maker and one.source.startswith("https://") for one in known.families.values())
    assert known.source("qwen3-32b") == "https://huggingface.co/Qwen"
    assert known.source("conductor") is None


def test_the_users_file_overrules_and_may_say_that_nobody_knows(tmp_path):
    (tmp_path / FILE).write_text(OWN, "utf-8")
    known = load_families(tmp_path)
    assert [known.of(name) for name in ("acme/tuned", "gpt-imitation", "ACME-8b", "o3")] == [
        "qwen",
        None,
        "acme",
        "gpt",
    ]
    assert [known.source(name) for name in ("acme/tuned", "ACME-8b")] == [YOURS, "our own"]


@pytest.mark.parametrize("text", ["[families.x]\nform = '('\nmaker = 'm'\nsource = 's'", "models = 3", "not toml ["])
def test_a_file_that_cannot_be_read_is_named(tmp_path, text):
    (tmp_path / FILE).write_text(text, "utf-8")
    with pytest.raises(BadInput, match=FILE.replace(".", r"\.")):
        load_families(tmp_path)
