"""Grades and notes over the API, and by a person in a trajectory's detail."""

import pytest
from judging import Judge
from playwright.sync_api import expect
from test_app_api import finished
from test_app_browser import base_url as base_url
from test_app_browser import context as context
from test_app_browser import open_page as open_page
from test_app_browser import roster as roster
from test_app_browser import workbench as workbench

SUM = {"task": "What is 48213 * 977?", "orchestrator": "scripted", "reference": "47104101"}
HOSTILE = "<img src=x onerror=\"document.title='owned'\">"


def grade(client, run_id, **wish):
    return client.post(f"/api/runs/{run_id}/grade", json=wish)


def test_a_run_is_graded_by_itself_then_by_others(client):
    run_id = finished(client, **SUM)
    stream = client.get(f"/api/runs/{run_id}/events").text
    assert '"kind":"graded"' in stream
    said = grade(client, run_id, by="person:Ada", outcome="not_solved", reason="rounded").json()
    assert (said["grade"]["by"], said["grade"]["outcome"], said["fault"]) == ("person:Ada", False, None)
    judged = grade(client, run_id, by="model:fair").json()
    assert (judged["grade"]["outcome"], judged["derived"]["judge"]["cost"]["kind"]) == (True, "known")
    assert said["derived"] == {}
    stream = client.get(f"/api/runs/{run_id}/events").text
    assert stream.count('"kind":"graded"') == 3
    assert '"derived":{"judge":{"cost":{"kind":"known"' in stream
    (row,) = client.get("/api/trajectories").json()["rows"]
    assert row["outcome"] is True
    assert client.get(f"/api/runs/{run_id}/trajectory").json()["outcome"] is True


def test_a_judge_that_fails_is_an_answer_with_a_fault(client):
    run_id = finished(client, **SUM)
    client.workbench.roster.judges["bad"] = Judge("prose")
    said = grade(client, run_id, by="model:bad").json()
    assert said["grade"] is None
    assert "no verdict" in said["fault"]["message"]
    assert client.get(f"/api/runs/{run_id}/trajectory").json()["outcome"] is True


@pytest.mark.parametrize(
    ("wish", "message"),
    [
        ({"by": "person:Ada"}, "outcome"),
        ({"by": "auto", "outcome": "solved"}, "person:NAME"),
        ({"by": "person:Ada", "outcome": "maybe"}, "unknown"),
        ({"by": "model:nobody"}, "no model"),
        ({"by": "gut"}, "no grader"),
        ({"check": {"kind": "numeric", "tolerance": -1}}, "tolerance"),
        ({"verdict": "solved"}, "verdict"),
    ],
)
def test_bad_wishes_are_refused_in_words(client, wish, message):
    run_id = finished(client, **SUM)
    answer = client.post(f"/api/runs/{run_id}/grade", json=wish)
    assert answer.status_code == 400
    assert message in answer.json()["error"]
    assert grade(client, "nope", by="person:Ada", outcome="solved").status_code == 404


def test_a_run_that_goes_on_is_not_graded(client):
    run_id = client.post("/api/runs", json={"task": "slow", "orchestrator": "scripted"}).json()["id"]
    answer = grade(client, run_id, by="person:Ada", outcome="solved")
    assert (answer.status_code, "still goes on" in answer.json()["error"]) == (400, True)
    client.post(f"/api/runs/{run_id}/stop")


def test_a_note_is_one_text(client):
    run_id = finished(client, **SUM)
    assert client.get(f"/api/runs/{run_id}/note").json() == {"text": None, "at": None}
    assert client.put(f"/api/runs/{run_id}/note", json={"text": HOSTILE}).json()["text"] == HOSTILE
    assert client.put(f"/api/runs/{run_id}/note", json={"text": "x" * 20_001}).status_code == 400
    assert client.get(f"/api/runs/{run_id}/note").json()["text"] == HOSTILE
    assert client.put("/api/runs/nope/note", json={"text": "x"}).status_code == 404


@pytest.mark.browser
@pytest.mark.timeout(120)
def test_a_person_grades_and_notes_in_the_page(open_page, workbench, base_url):
    page = open_page("/trajectories")
    run = page.request.post(f"{base_url}/api/runs", data=SUM).json()["id"]
    while page.request.get(f"{base_url}/api/runs/{run}").json()["running"]:
        page.wait_for_timeout(50)
    page.goto(f"{base_url}/trajectories?run={run}")
    card = page.get_by_role("region", name="Grade")
    verdicts = card.get_by_role("group", name="Your verdict")
    verdicts.get_by_text("Not solved").click()
    expect(card.locator(":scope > [role=status]")).to_contain_text("Write your name first")
    card.get_by_label("Your name").fill("Ada")
    card.get_by_label("Why").fill(HOSTILE)
    verdicts.get_by_text("Not solved").click()
    expect(card.locator(".gr-list>li")).to_have_count(2)
    expect(card.locator(".gr-list>li").first).to_contain_text(HOSTILE)
    expect(page.locator("#facts")).to_contain_text("not solved")
    expect(page.locator(".tr-row .wb-chip").first).to_contain_text("not solved")
    card.get_by_label("Note", exact=True).fill("look again")
    card.get_by_text("Save note").click()
    expect(card.locator(".gr-note [role=status]")).to_contain_text("saved")
    page.reload()
    expect(card.locator(".gr-list>li")).to_have_count(2)
    expect(card.get_by_label("Note", exact=True)).to_have_value("look again")
    expect(card.get_by_label("Your name")).to_have_value("Ada")
    assert page.title() != "owned"
    assert workbench.store.get(run).outcome is False


@pytest.mark.browser
@pytest.mark.timeout(180)
def test_a_run_with_an_expected_answer_is_graded_then_judged_by_key_by_a_model_and_among_others(
    open_page, workbench, base_url
):
    page = open_page("/")
    page.fill("#task", SUM["task"])
    page.select_option("#orchestrator", "scripted")
    page.click("#more summary")
    page.fill("#reference", "47104101")
    page.click("#run")
    expect(page.locator(".lv-end")).to_contain_text("solved")
    expect(page.locator("#rail")).to_contain_text("solved")
    run = page.url.partition("run=")[2]
    assert workbench.store.get(run).setting.task.reference == "47104101"

    page = open_page(f"/trajectories?run={run}")
    card = page.get_by_role("region", name="Grade")
    card.get_by_label("Your name").fill("Ada")
    card.get_by_label("Your name").blur()
    page.keyboard.press("2")
    expect(card.locator(".gr-list>li")).to_have_count(2)
    expect(card.locator(".gr-list>li").first).to_contain_text("person:Ada")
    card.get_by_role("button", name="Ask a judge").click()
    card.get_by_label("The model that judges").select_option("fair")
    card.get_by_role("button", name="Judge", exact=True).click()
    expect(card.locator(".gr-list")).to_contain_text("model:fair")
    expect(card.locator(".gr-list")).to_contain_text("Judge, kept apart: <$0.0001")

    page.get_by_role("checkbox", name="Select What is").first.check()
    page.get_by_role("button", name="Grade…").click()
    dialog = page.locator("#ask")
    dialog.get_by_role("button", name="By a judge").click()
    expect(dialog.get_by_role("status")).to_contain_text("--by model:NAME")
    dialog.get_by_role("button", name="Cannot say").click()
    expect(page.locator("#notice")).to_contain_text("1 run graded")
