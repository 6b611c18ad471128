"""A scripted workbench whose orchestrators work in the mock domain.

`worker` does the cancellation, `hasty` too but looks before it knows whose records they are, `idle` does nothing.
"""

from pathlib import Path

from scripted_workbench import ScriptedRoster
from worlds import cancellation

from orchestra_lib.environment.assignment import write_assignments
from orchestra_lib.environment.domain_tools import ASK_USER
from orchestra_lib.orchestrators import Offer
from orchestra_lib.policy.scripted import Scripted
from orchestra_lib.workbench import Workbench

EMAIL = "omar_haddad_2380@example.org"
WORK = (
    [(ASK_USER, {"message": "Could you give me your e-mail address?"})],
    [("find_member_by_email", {"email": EMAIL})],
    [("list_hires_of_member", {"member_id": "omar_haddad_2380"}), ("get_member", {"member_id": "omar_haddad_2380"})],
    [("get_hire", {"hire_id": "H1003"}), ("get_bike", {"bike_id": "B104"})],
    [(ASK_USER, {"message": "I cancel H1003 because of illness and pay back $50.00. Shall I go ahead?"})],
    [("cancel_hire", {"hire_id": "H1003", "reason": "illness"})],
    "Your hire is cancelled and you get $50.00 back.",
)
HASTY = ([("get_hire", {"hire_id": "H1003"})], *WORK)
SCRIPTS = {"worker": WORK, "idle": ("Done!",), "hasty": HASTY}


class DomainRoster(ScriptedRoster):
    """The scripted roster with those who work in a domain first."""

    def orchestrators(self):
        offers = tuple(Offer(name=name, title=name.title(), note="plays a script in a domain") for name in SCRIPTS)
        return (*offers, *super().orchestrators())

    def orchestrator(self, name):
        return Scripted(SCRIPTS[name], name=name) if name in SCRIPTS else super().orchestrator(name)


def domain_workbench(home: Path) -> Workbench:
    """With the mock's cancellation among the assignments of its home."""
    workbench = Workbench(home, roster=DomainRoster(0.0))
    workbench.assignments.folder.mkdir(parents=True, exist_ok=True)
    write_assignments([cancellation()], workbench.assignments.folder / "mock.jsonl")
    return workbench
