"""Lines of conduct that a record can be held against: reported beside the verdict, and no part of success.

Of the policy's lines on behaviour these four can be read off the calls. Refusing and exact figures show in the state
and in what was said; whether a yes was explicit and whether something was made up is nothing that a program can tell.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import suppress

from orchestra_lib.environment.schema import Builtin, Conduct, Domain, Operation, OperationKind
from orchestra_lib.tool import CallStatus
from orchestra_lib.trajectory import Call, Trajectory


def breaches(domain: Domain, trajectory: Trajectory) -> tuple[str, ...]:
    """What an episode did against the conduct that its domain's policy asks for, in words."""
    operations = {one.name: one for one in domain.operations}
    ran = [
        (turn.index, operations[call.call.tool], call)
        for turn in trajectory.turns
        for call in turn.calls
        if went_well(call) and call.call.tool in operations
    ]
    found = {
        Conduct.AUTHENTICATE: _unidentified(domain, [one for _, one, _ in ran]),
        Conduct.ONE_USER: _other_users(domain, [(one, call) for _, one, call in ran]),
        Conduct.ONE_CALL: _at_once([(turn, one) for turn, one, _ in ran]),
        Conduct.TRANSFER: _transferred([one for _, one, _ in ran]),
    }
    return tuple(f"{rule}: {why}" for rule, whys in found.items() if rule in domain.conduct for why in whys)


def went_well(call: Call) -> bool:
    """Whether a call was done."""
    return call.observation is not None and call.observation.status is CallStatus.OK


def _finds(domain: Domain, operation: Operation) -> bool:
    query = operation.query
    return query is not None and query.single and query.table == domain.owner


def _unidentified(domain: Domain, ran: Sequence[Operation]) -> Iterator[str]:
    """The first call on somebody's records that came before anybody was found."""
    if not any(_finds(domain, one) for one in domain.operations):
        return
    owned = {one.name for one in domain.tables if one.owner} | {domain.owner}
    for one in ran:
        if _finds(domain, one):
            return
        tables = {load.table for load in one.loads} | ({one.query.table} if one.query else set())
        if one.kind is OperationKind.WRITE or tables & owned:
            yield f"{one.name} before the user was identified"
            return


def _other_users(domain: Domain, ran: Sequence[tuple[Operation, Call]]) -> Iterator[str]:
    key, found = domain.table(domain.owner).key, []
    for one, call in ran:
        if _finds(domain, one) and call.observation is not None:
            with suppress(ValueError, KeyError, TypeError):
                found.append(str(json.loads(call.observation.text)[key]))
    others = sorted(set(found) - set(found[:1]))
    if others:
        yield f"{len(others) + 1} users in one conversation, {found[0]} first"


def _at_once(ran: Sequence[tuple[int, Operation]]) -> Iterator[str]:
    writes = [turn for turn, one in ran if one.kind is OperationKind.WRITE]
    for turn in sorted(set(writes)):
        if (many := writes.count(turn)) > 1:
            yield f"{many} changes at once in turn {turn}"


def _transferred(ran: Sequence[Operation]) -> Iterator[str]:
    """No assignment asks for a human or for what the tools cannot do."""
    if any(one.builtin is Builtin.TRANSFER for one in ran):
        yield "transferred what could be settled or refused"
