"""Wishes in words: over the API, and in the composer of the Live page."""

import pytest
from judging import Judge
from playwright.sync_api import expect
from test_app_browser import base_url as base_url
from test_app_browser import context as context
from test_app_browser import open_page as open_page
from test_app_browser import roster as roster
from test_app_browser import workbench as workbench

from orchestra_lib.json_writing import dumps

EXAMPLE = "avoid paid APIs, I have GPUs, data is confidential, be nice"
TOOLS = {"local_search": 0.0, "web_search": -1.0, "code_interpreter": 0.0, "coder": 1.0, "generalist": 0.5}
PROPOSED = dumps({"outcome": 0.8, "cost": 0.6, "latency": 0.2, "tools": TOOLS, "reason": "<b>no APIs</b>"})


def test_a_sentence_is_read_by_rules_and_nothing_is_applied(client):
    said = client.post("/api/preference/read", json={"sentence": EXAMPLE}).json()
    assert said["tools"] == {"web_search": -1.0, "coder": 1.0, "generalist": 1.0}
    assert (said["goals"], said["no_tool"], said["not_understood"]) == ({}, [], ["be nice"])
    assert {one["words"] for one in said["understood"]} == set(EXAMPLE.split(", ")) - {"be nice"}


def test_a_model_proposes_weights_and_its_cost_is_told(client):
    client.workbench.roster.judges["wise"] = Judge(PROPOSED)
    said = client.post("/api/preference/propose", json={"sentence": EXAMPLE, "model": "wise"}).json()
    assert (said["goals"], said["tools"]) == ({"outcome": 0.8, "cost": 0.6, "latency": 0.2}, TOOLS)
    assert said["cost_usd"] > 0
    client.workbench.roster.judges["wise"] = Judge("I would rather not")
    said = client.post("/api/preference/propose", json={"sentence": EXAMPLE, "model": "wise"}).json()
    assert (said["goals"], said["tools"]) == (None, None)
    assert said["why"].startswith("the model proposed no weights, asked twice")


def test_which_models_can_be_asked(client):
    said = client.get("/api/preference/models").json()["models"]
    assert {"name": "fair", "off": None} in said
    assert {"name": "far/away", "off": "it needs a key"} in said


@pytest.mark.parametrize(
    "way, body, message",
    [
        ("read", {"sentence": " "}, "the sentence is empty"),
        ("read", {"sentence": "x" * 601}, "keep it under 600"),
        ("read", {}, "sentence"),
        ("propose", {"sentence": "be quick", "model": "nobody"}, "there is no model"),
        ("propose", {"sentence": "be quick"}, "there is no model"),
        ("propose", {"sentence": "", "model": "fair"}, "the sentence is empty"),
    ],
)
def test_what_cannot_be_read_is_refused_in_words(client, way, body, message):
    answer = client.post(f"/api/preference/{way}", json=body)
    assert answer.status_code == 400
    assert message in answer.json()["error"]


def weight(page, slider):
    return float(page.locator(f"#{slider}").input_value())


@pytest.mark.browser
@pytest.mark.timeout(180)
def test_words_move_the_sliders_and_undo_moves_them_back(open_page, roster):
    page = open_page()
    field = page.get_by_label("Your wishes in words")
    field.fill(f"{EXAMPLE}, quality matters")
    page.keyboard.press("Enter")
    expect(page.locator("#say-status")).to_have_text("The sliders say it now.")
    assert [weight(page, f"tool-{name}") for name in ("web_search", "coder", "local_search")] == [-1, 1, 0]
    assert (weight(page, "goal-outcome"), weight(page, "goal-cost")) == (0.5, 0.3)
    lost = page.locator(".lv-phrase.lost")
    expect(lost).to_have_count(1)
    expect(lost).to_contain_text("be nice")
    expect(page.locator("#sentence")).to_contain_text("Prefer Coder and Generalist. Avoid Web search.")
    page.get_by_role("button", name="Undo").press("Enter")
    assert [weight(page, f"tool-{name}") for name in ("web_search", "coder")] == [0, 0]
    assert weight(page, "goal-outcome") == 0.8
    expect(field).to_be_focused()

    field.fill("")
    page.keyboard.press("Enter")
    expect(page.locator("#say-status")).to_contain_text("Say what you prefer")

    roster.judges["fair"] = Judge("no", PROPOSED)
    field.fill(EXAMPLE)
    page.get_by_role("button", name="Ask model").click()
    accept = page.get_by_role("button", name="Move the sliders")
    expect(accept).to_be_focused()
    expect(page.locator("#say-status")).to_have_text("fair proposes: <b>no APIs</b>")
    assert weight(page, "tool-web_search") == 0, "a proposal is applied by nobody but the user"
    expect(page.locator("#say-found")).to_contain_text("Web search")
    page.keyboard.press("Enter")
    assert [weight(page, slider) for slider in ("tool-web_search", "goal-cost")] == [-1, 0.6]

    roster.judges["fair"] = Judge("prose")
    page.get_by_role("button", name="Ask model").click()
    expect(page.locator("#say-status")).to_contain_text("the model proposed no weights")
    assert weight(page, "tool-web_search") == -1
