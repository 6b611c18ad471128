"""Endpoints that a user adds: checked before the file changes, and never with a key in it."""

from dataclasses import replace

import pytest

from orchestra_lib.errors import BadInput
from orchestra_lib.model.endpoint import Catalogue
from orchestra_lib.model.own_endpoints import NewEndpoint, add_endpoint
from orchestra_lib.roster import Roster

LAB = NewEndpoint(name="lab/qwen", model="qwen3-8b", base_url="https://lab.example/v1", key_env="LAB_API_KEY")


def test_an_endpoint_with_its_door_is_written_and_read_again(tmp_path):
    add_endpoint(tmp_path, LAB)
    catalogue = Catalogue.load(tmp_path)
    assert catalogue.endpoints["lab/qwen"].model == "qwen3-8b"
    assert catalogue.providers["lab"].key_env == "LAB_API_KEY"
    assert [file.name for file in tmp_path.iterdir()] == ["endpoints.toml"]


def test_a_second_model_uses_the_door_and_comments_stay(tmp_path):
    (tmp_path / "endpoints.toml").write_text("# mine\n")
    add_endpoint(tmp_path, LAB)
    add_endpoint(tmp_path, replace(LAB, name="lab/other", model="other", base_url=None, key_env=None))
    add_endpoint(tmp_path, NewEndpoint(name="openai/mine", model="gpt-x"))
    assert "# mine" in (tmp_path / "endpoints.toml").read_text()
    assert {"lab/qwen", "lab/other", "openai/mine"} <= set(Catalogue.load(tmp_path).endpoints)


@pytest.mark.parametrize("field", ["key_env", "base_url", "model", "title", "name"])
@pytest.mark.parametrize("key", ["sk-proj-abcdefghijklmnopqrstuv", "hf_abcdefghijklmnopqrstuv"])
def test_what_looks_like_a_key_is_refused_with_the_remedy_and_never_written(tmp_path, field, key):
    bad = {"name": f"lab/{key}", "base_url": f"https://x.example/{key}"}.get(field, key)
    with pytest.raises(BadInput, match="environment variable") as refusal:
        add_endpoint(tmp_path, replace(LAB, **{field: bad}))
    assert key not in str(refusal.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "change, words",
    [
        ({"name": "lab"}, "PROVIDER/NAME"),
        ({"name": "lab/a b"}, "PROVIDER/NAME"),
        ({"base_url": None}, "base_url is missing"),
        ({"base_url": "ftp://x"}, "no plain URL"),
        ({"base_url": "http://lab.example/v1"}, "unencrypted"),
        ({"key_env": "OPENAI_API_KEY"}, "is the key of openai"),
        ({"key_env": "TAVILY_API_KEY"}, "is the key of web_search"),
        ({"key_env": "AWS_SECRET"}, "ends with _API_KEY"),
        ({"key_env": "hunter2"}, "in capitals"),
        ({"key_env": None}, "key_env is missing"),
        ({"context": 100}, "a reply is part of the context"),
        ({"name": "openai/x", "key_env": None}, "leave the address empty"),
        ({"model": "*"}, "a tool needs a model"),
    ],
)
def test_a_bad_field_is_named_with_the_remedy_and_nothing_is_written(tmp_path, change, words):
    with pytest.raises(BadInput, match=words):
        add_endpoint(tmp_path, replace(LAB, **change))
    assert list(tmp_path.iterdir()) == []


def test_an_endpoint_is_added_once(tmp_path):
    add_endpoint(tmp_path, LAB)
    with pytest.raises(BadInput, match="already"):
        add_endpoint(tmp_path, LAB)


def test_a_broken_file_is_left_as_it_is(tmp_path):
    (tmp_path / "endpoints.toml").write_text("[providers")
    with pytest.raises(BadInput, match="no TOML"):
        add_endpoint(tmp_path, LAB)
    assert (tmp_path / "endpoints.toml").read_text() == "[providers"


def test_a_roster_offers_it_without_a_new_start(tmp_path):
    roster = Roster(tmp_path, {"LAB_API_KEY": "x"})
    add_endpoint(tmp_path, LAB)
    roster.reload_endpoints()
    assert "lab-qwen" in {spec.name for spec, _ in roster.tools()}
    assert "lab/qwen" in {offer.name for offer in roster.orchestrators()}
