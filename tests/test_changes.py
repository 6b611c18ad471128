"""What pages show of a write: each field before and after."""

from worlds import call, done, world

from orchestra_lib.environment.changes import Change, changes, snapshot


def test_a_write_field_by_field():
    state = done(None, call("cancel_hire", hire_id="H1003", reason="illness"))
    found = {(one.table, one.path): (one.before, one.after) for one in changes(state)}
    assert found == {
        ("hires", "status"): ("booked", "cancelled"),
        ("hires", "reason"): (None, "illness"),
        ("hires", "payments[1]"): (None, {"payment_id": "wallet_31", "amount": -50.0}),
        ("bikes", "free"): (4, 5),
        ("members", "payment_methods[0].balance"): (41.5, 91.5),
    }


def test_only_what_came_since():
    state = done(None, call("cancel_hire", hire_id="H1003", reason="illness"))
    before = snapshot(state)
    world().operations.run(state, "update_member_email", {"member_id": "omar_haddad_2380", "email": "o@example.org"})
    assert changes(state, before) == (
        Change(
            table="members",
            key="omar_haddad_2380",
            path="email",
            before="omar_haddad_2380@example.org",
            after="o@example.org",
        ),
    )


def test_a_new_record_stands_whole():
    state = done(None, call(
        "create_hire", member_id="ana_berg_1201", bike_id="B104", starts_on="2026-05-10", days=2, payment_id="card_11"
    ))  # fmt: skip
    [made] = [one for one in changes(state) if one.table == "hires"]
    assert (made.key, made.path, made.before, made.after["total"]) == ("H1010", "", None, 22.5)
