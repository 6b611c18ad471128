"""A domain proposed in stages: a shipped domain's own files pass as a proposal, and what is unfit is named."""

import asyncio

import pytest
from proposing import LIKE, MODEL, PRICES, Proposer, stages

from orchestra_lib.environment.domain import load_world
from orchestra_lib.environment.validation import validate
from orchestra_lib.errors import BadInput
from orchestra_lib.synthesis.proposing.asking import Asker, Purse
from orchestra_lib.synthesis.proposing.bounds import bounded_plan
from orchestra_lib.synthesis.proposing.domains import propose_domain, write_domain
from orchestra_lib.synthesis.proposing.journal import Journal


def propose(folder, *replies, repairs=0):
    with Journal(folder / "journal.jsonl", {"subject": "weather"}) as journal:
        asker = Asker(Proposer(*replies), journal, Purse(MODEL, PRICES, None), repairs=repairs)
        made = asyncio.run(propose_domain(asker, "a weather service"))
        return made, [one.reason for one in journal.tries]


def test_a_good_proposal_becomes_a_domain_that_is_fit(tmp_path):
    made, reasons = propose(tmp_path, *stages())
    assert reasons == [None] * 5
    assert validate(made.world) == ()
    folder = write_domain(made, tmp_path / "domains")
    assert sorted(file.name for file in folder.iterdir()) == [
        "domain.json", "generate.json", "intents.json", "records.json",
    ]  # fmt: skip
    assert folder.parent.joinpath("proposed_one").is_dir()
    with pytest.raises(BadInput, match="there already"):
        write_domain(made, tmp_path / "domains")
    again, _ = propose(tmp_path, "nothing more is asked")
    assert again.world.records == made.world.records


def changed(stage, change):
    replies = stages()
    change(replies[stage])
    return replies[: stage + 1]


@pytest.mark.parametrize(
    ("stage", "change", "words"),
    [
        (0, lambda data: data.update(name="../../etc"), "small letters"),
        (0, lambda data: data.update(name=LIKE), "new word"),
        (0, lambda data: data.update(archetype="../common"), "archetype is one of"),
        (0, lambda data: data.update(code="import os"), "no more and no less"),
        (0, lambda data: data["roles"].update(owner="a b"), "plain name"),
        (1, lambda data: data["tables"].clear(), "tables"),
        (1, lambda data: data["tables"][1]["fields"].append("x_id->nowhere"), "nowhere"),
        (2, lambda data: data["tables"][0].update(count=10**8), "draw 1 to 300"),
        (2, lambda data: data["tables"][0]["fields"].update(x={"exec": "os"}), "no one way to draw"),
        (2, lambda data: data.pop("seed"), "seed"),
        (3, lambda data: data["operations"][0].update(rules=[{"id": "r", "when": ["system", "rm"]}]), "system"),
        (3, lambda data: data.update(operations=[]), "writes"),
        (4, lambda data: data["operations"].clear(), "no phrase"),
        (4, lambda data: data["operations"].update(os_system=["do it"]), "no such operation"),
    ],
)  # fmt: skip
def test_what_is_unfit_is_rejected_in_its_stage(tmp_path, stage, change, words):
    made, reasons = propose(tmp_path, *changed(stage, change))
    assert made is None
    assert len(reasons) == stage + 1
    assert words in reasons[-1]
    assert load_world(LIKE)


@pytest.mark.parametrize(
    "form",
    [
        {"list": [0, 10**9], "each": 1},
        {"list": ["$row.n", 3], "each": 1},
        {"list": [1, 9], "each": {"list": [1, 9], "each": {"list": [1, 9], "each": 1}}},
        ["any", "a", [1], ["any", "b", [1], ["any", "c", [1], ["any", "d", [1], True]]]],
    ],
)
def test_a_plan_that_would_draw_without_end_is_refused(form):
    with pytest.raises(BadInput):
        bounded_plan({"tables": [{"count": 3, "fields": {"x": form}}]})
