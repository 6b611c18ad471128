"""What a domain holds, in numbers: the figures by which environments are compared."""

import re
from typing import Any

from orchestra_lib.environment.domain import World
from orchestra_lib.environment.policy_text import policy_lines, policy_text
from orchestra_lib.environment.schema import Mode, OperationKind
from orchestra_lib.environment.validation import look_alikes
from orchestra_lib.record import record

_MODAL = re.compile(r"\b(?:must|may|can|cannot|should|shall|never|always|only|at most|at least|no more than)\b", re.I)


@record
class Census:
    """The figures of one domain. `leaves` are single values in its records; `twins` records that others look like.

    `lines` are the policy's bullet points, `modals` its words of duty and limit; rules are those of operations.
    `held_out` counts values of policy parameters that are kept for evaluation.
    """

    name: str
    title: str
    archetype: str
    split: str
    now: str
    records: dict[str, int]
    leaves: int
    reads: int
    writes: int
    generic: int
    parameters: float
    words: int
    lines: int
    modals: int
    enforced: int
    policy_only: int
    policy_parameters: int
    held_out: int
    statuses: int
    twins: int

    @property
    def tools(self) -> int:
        """All operations."""
        return self.reads + self.writes + self.generic


def census(world: World) -> Census:
    """Count a domain. Raises `BadInput` for a policy that cannot be rendered."""
    domain, policy = world.domain, policy_text(world.domain)
    kinds = [operation.kind for operation in domain.operations]
    modes = [rule.mode for operation in domain.operations for rule in operation.rules]
    return Census(
        name=domain.name,
        title=domain.title,
        archetype=domain.archetype,
        split=domain.split,
        now=domain.now,
        records={table.name: len(world.records[table.name]) for table in domain.tables},
        leaves=_leaves(world.records),
        reads=kinds.count(OperationKind.READ),
        writes=kinds.count(OperationKind.WRITE),
        generic=kinds.count(OperationKind.GENERIC),
        parameters=round(sum(len(one.parameters) for one in domain.operations) / len(domain.operations), 2),
        words=len(policy.split()),
        lines=len(policy_lines(domain)),
        modals=len(_MODAL.findall(policy)),
        enforced=modes.count(Mode.ENFORCED),
        policy_only=modes.count(Mode.POLICY),
        policy_parameters=len(domain.parameters),
        held_out=sum(len(one.held_out) for one in domain.parameters),
        statuses=sum(len(table.machine.states) for table in domain.tables if table.machine),
        twins=sum(len(keys) for table in domain.tables for keys in look_alikes(world, table.name).values()),
    )


def _leaves(value: Any) -> int:
    if isinstance(value, dict):
        return sum(map(_leaves, value.values()))
    return sum(map(_leaves, value)) if isinstance(value, list) else 1
