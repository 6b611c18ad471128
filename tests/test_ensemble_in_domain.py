"""Protocol `toolorchestra` in a domain, cast by the real roster; a scripted model stands in the coder's place."""

import asyncio

import pytest
from ensembling import Chat, box
from worlds import cancellation

from orchestra_lib.casting import Order
from orchestra_lib.errors import BadInput
from orchestra_lib.event import fold
from orchestra_lib.language_models import CODER
from orchestra_lib.roster import Roster
from orchestra_lib.toolorchestra import PROTOCOL
from orchestra_lib.workbench import Workbench


class Coder(Chat):
    """A script where an embedded model stands: there is no process to stop."""

    def stop(self):
        pass


EMAIL = "omar_haddad_2380@example.org"
ASK = "<message>What is your e-mail address?</message>"
WORK = (
    box("find_member_by_email", email=EMAIL),
    box("get_member", member_id="omar_haddad_2380"),
    box("get_hire", hire_id="H1003"),
    box("cancel_hire", hire_id="H1003", reason="illness"),
    "<message>Cancelled, $50.00 go back. Is there anything else?</message>",
)


@pytest.fixture
def made(tmp_path, monkeypatch):
    """A workbench without weights whose coder says a script; with `expert` the weights count as here."""

    def make(*script, expert=False):
        roster = Roster(tmp_path, environ={})
        model = Coder(*script, name=CODER)
        monkeypatch.setitem(roster.models.embedded, CODER, model)
        if expert:
            monkeypatch.setattr(roster.models, "missing", lambda name: None)
        return Workbench(tmp_path, roster=roster), model

    return make


def play(workbench, orchestrator="free-loop"):
    order = Order(assignment=cancellation(), orchestrator=orchestrator, protocol=PROTOCOL)

    async def events():
        return [event async for event in workbench.play(order)]

    try:
        return fold(asyncio.run(events()))
    finally:
        asyncio.run(workbench.close())


def test_without_weights_the_orchestrator_works_alone_and_is_judged(made):
    workbench, model = made(ASK, *WORK)
    trajectory = play(workbench)
    assert trajectory.outcome is True, trajectory.grades
    assert "call_expert" not in [tool.name for tool in trajectory.setting.tools]
    assert "Bike hire policy" in str(model.requests[0].messages)
    assert (trajectory.setting.protocol, trajectory.setting.assigned.domain) == (PROTOCOL, "mock")


def test_with_weights_the_coder_is_the_weakest_expert_and_speaks_to_the_user(made):
    asked_by_expert = (box("call_expert", expert="expert-3"), "What is your e-mail address?")
    workbench, model = made(*asked_by_expert, *WORK, expert=True)
    trajectory = play(workbench)
    assert trajectory.outcome is True, trajectory.grades
    [expert] = [call for call in trajectory.calls if call.call.tool == "call_expert"]
    assert {attempt.priced_as for attempt in expert.attempts} == {CODER}
    assert not model.script


def test_what_is_no_language_model_is_refused_with_the_remedy(made):
    workbench, _ = made()
    with pytest.raises(BadInput, match="conductor conducts over protocol chat only, or is off; use free-loop"):
        play(workbench, "conductor")
