"""The mock domain for tests: its world, small variants of it, and assignments in it."""

import json
from functools import cache

from orchestra_lib.environment.assignment import Assignment, AssignmentKind, GoldenCall, Information, UserFact
from orchestra_lib.environment.domain import DOMAINS, World, domain_of, load_world, records_of


@cache
def world():
    return load_world("mock")


def written():
    """The mock's files as plain data, to be changed."""
    folder = DOMAINS / "mock"
    return (
        json.loads((folder / "domain.json").read_text("utf-8")),
        json.loads((folder / "records.json").read_text("utf-8")),
    )


def changed(change=lambda domain, records: None):
    """The mock after `change(domain, records)` of its plain data."""
    domain, records = written()
    change(domain, records)
    made = domain_of(domain, where="mock")
    return World(made, records_of(records, made, where="records"))


def operation(domain, name):
    """An operation as the file has it."""
    return next(one for one in domain["operations"] if one.get("name") == name)


def call(name, /, **arguments):
    return GoldenCall(operation=name, arguments=arguments)


def cancellation(**changes):
    """Omar cancels his city bike from the North, and hears what he gets back."""
    values = {
        "id": "mock-1",
        "domain": "mock",
        "kind": AssignmentKind.WRITE,
        "instruction": "Hello, I fell ill and want to cancel my bike from the North station.",
        "facts": (
            UserFact(
                name="email",
                says="My e-mail address is omar_haddad_2380@example.org.",
                asked_by=("email", "e-mail"),
                value="omar_haddad_2380@example.org",
            ),
        ),
        "golden": (
            call("find_member_by_email", email="omar_haddad_2380@example.org"),
            call("get_member", member_id="omar_haddad_2380"),
            call("list_hires_of_member", member_id="omar_haddad_2380"),
            call("get_hire", hire_id="H1003"),
            call("cancel_hire", hire_id="H1003", reason="illness"),
        ),
        "required": (Information(value=50.0, unit="$", what="what is paid back"),),
    }
    return Assignment(**(values | changes))


def done(assignment, *calls):
    """The state after calls, the golden ones when none are given."""
    state = world().state()
    for one in calls or assignment.golden:
        world().operations.run(state, one.operation, one.arguments)
    return state
