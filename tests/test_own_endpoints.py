"""Endpoints that a user adds: checked before the file changes, and never with a key in it."""

from dataclasses import replace

import pytest

from orchestra_lib.errors import BadInput
from orchestra_lib.model.endpoint import Catalogue
from orchestra_lib.model.own_endpoints import NewEndpoint, add_endpoint, edit_endpoint, own_endpoints, remove_endpoint
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


def test_one_of_ones_own_is_edited_and_what_else_stands_in_the_file_stays(tmp_path):
    (tmp_path / "endpoints.toml").write_text("# mine\n")
    add_endpoint(tmp_path, LAB)
    file = tmp_path / "endpoints.toml"
    file.write_text(file.read_text().replace("[providers.lab]", "[providers.lab]\nper_minute = 9 # ours"))
    edit_endpoint(tmp_path, replace(LAB, model="qwen3-14b", base_url="http://127.0.0.1:9/v1", key_env=None))
    catalogue = Catalogue.load(tmp_path)
    assert catalogue.endpoints["lab/qwen"].model == "qwen3-14b"
    door = catalogue.providers["lab"]
    assert (door.base_url, door.key_env, door.local, door.per_minute) == ("http://127.0.0.1:9/v1", None, True, 9)
    assert "# mine" in file.read_text()
    assert "# ours" in file.read_text()


@pytest.mark.parametrize(
    "change, words",
    [
        ({"base_url": None}, "base_url is missing"),
        ({"base_url": "http://lab.example/v1"}, "unencrypted"),
        ({"key_env": "OPENAI_API_KEY"}, "is the key of openai"),
        ({"key_env": None}, "key_env is missing"),
        ({"context": 100}, "a reply is part of the context"),
        ({"model": "sk-proj-abcdefghijklmnopqrstuv"}, "environment variable"),
        ({"name": "lab/gone"}, "no endpoint"),
        ({"name": "openai/gpt-6-luna"}, "ships with the workbench"),
    ],
)
def test_an_edit_that_does_not_hold_changes_nothing(tmp_path, change, words):
    add_endpoint(tmp_path, LAB)
    before = (tmp_path / "endpoints.toml").read_text()
    with pytest.raises(BadInput, match=words):
        edit_endpoint(tmp_path, replace(LAB, **change))
    assert (tmp_path / "endpoints.toml").read_text() == before


def test_a_door_that_a_person_wrote_is_not_the_pages_to_change(tmp_path):
    """Or a key could be had sent to an address that it was not made for."""
    add_endpoint(tmp_path, LAB)
    file = tmp_path / "endpoints.toml"
    file.write_text(file.read_text().replace("added in Tools & prices", "our wiki"))
    assert not own_endpoints(tmp_path)["lab/qwen"].door
    with pytest.raises(BadInput, match="not added on this page"):
        edit_endpoint(tmp_path, replace(LAB, base_url="https://elsewhere.example/v1"))
    edit_endpoint(tmp_path, replace(LAB, title="Ours"))
    assert Catalogue.load(tmp_path).endpoints["lab/qwen"].title == "Ours"
    remove_endpoint(tmp_path, "lab/qwen")
    assert "lab" in Catalogue.load(tmp_path).providers


def test_the_last_one_of_an_address_takes_it_along(tmp_path):
    add_endpoint(tmp_path, LAB)
    add_endpoint(tmp_path, replace(LAB, name="lab/other", base_url=None, key_env=None))
    remove_endpoint(tmp_path, "lab/qwen")
    assert "lab" in Catalogue.load(tmp_path).providers
    remove_endpoint(tmp_path, "lab/other")
    assert "lab" not in Catalogue.load(tmp_path).providers
    for name in ("lab/other", "openai/gpt-6-luna"):
        with pytest.raises(BadInput):
            remove_endpoint(tmp_path, name)
    add_endpoint(tmp_path, LAB)


def test_whoever_holds_an_endpoint_keeps_it_when_it_is_edited_or_removed(tmp_path):
    roster = Roster(tmp_path, {"LAB_API_KEY": "x"})
    add_endpoint(tmp_path, LAB)
    roster.reload_endpoints()
    held = roster.tool("lab-qwen")
    edit_endpoint(tmp_path, replace(LAB, model="other"))
    roster.reload_endpoints()
    assert (held.spec.model, roster.tool("lab-qwen").spec.model) == ("qwen3-8b", "other")
    remove_endpoint(tmp_path, "lab/qwen")
    roster.reload_endpoints()
    assert "lab-qwen" not in {spec.name for spec, _ in roster.tools()}
    assert held.spec.model == "qwen3-8b"
