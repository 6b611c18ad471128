"""A published task in tau2's form: what the user wants, the golden calls, and what must be said."""

import json
from collections.abc import Mapping
from dataclasses import field
from typing import Any

from orchestra_lib.errors import BadInput
from orchestra_lib.published.fields import Fields
from orchestra_lib.record import record

DEFAULT_BASIS = ("DB", "COMMUNICATE")
"""What decides on success where a task does not say: the final database, and what was said."""

ASSISTANT, USER = "assistant", "user"


@record
class Scenario:
    """What the simulated user is told; nothing of it is the agent's. A part that a task lacks is empty.

    A scenario written as one text stands in `instructions`.
    """

    persona: str = ""
    reason: str = ""
    known: str = ""
    unknown: str = ""
    instructions: str = ""

    @property
    def text(self) -> str:
        """All of it, part by part."""
        parts = (self.persona, self.reason, self.known, self.unknown, self.instructions)
        return "\n".join(part for part in parts if part)


@record
class GoldenAction:
    """One call of the golden solution. `requestor` is who makes it: the assistant, or the user on a device of theirs.

    `compared` are the arguments that a published check looks at, None for all of them.
    """

    id: str | None = None
    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    requestor: str = ASSISTANT
    compared: tuple[str, ...] | None = None


@record
class PublishedTask:
    """One task. `domain` is None where nothing names it; `basis` is what decides on success there.

    `initial_state` and `state_checks` (tau2's `env_assertions`) are kept as they are written; `claims` are sentences
    that only a model could judge.
    """

    id: str
    domain: str | None
    scenario: Scenario
    golden: tuple[GoldenAction, ...] = ()
    communicate: tuple[str, ...] = ()
    claims: tuple[str, ...] = ()
    state_checks: tuple[Mapping[str, Any], ...] = ()
    initial_state: Mapping[str, Any] | None = None
    basis: tuple[str, ...] = DEFAULT_BASIS
    purpose: str = ""

    @property
    def opening(self) -> str:
        """The nearest thing to the user's first words: why they call. A simulated user words it anew in each run."""
        return self.scenario.reason or self.scenario.instructions


def read_task(data: object, where: str, *, domain: str | None = None) -> PublishedTask:
    """Read one task of tau2's form; `domain` holds where the task itself names none. Raises `BadInput`."""
    fields = Fields(data, where)
    criteria = fields.data.get("evaluation_criteria")
    wanted = Fields({} if criteria is None else criteria, f"{where}: evaluation_criteria")
    described = fields.data.get("description")
    scenario, named = _scenario(fields.child("user_scenario"))
    return PublishedTask(
        id=fields.text("id"),
        domain=named or domain,
        scenario=scenario,
        golden=tuple(_action(action) for action in wanted.children("actions")),
        communicate=wanted.texts("communicate_info"),
        claims=wanted.texts("nl_assertions"),
        state_checks=tuple(check.data for check in wanted.children("env_assertions")),
        initial_state=fields.mapping("initial_state"),
        basis=wanted.texts("reward_basis") or DEFAULT_BASIS,
        purpose="" if described is None else Fields(described, f"{where}: description").optional_text("purpose") or "",
    )


def _scenario(fields: Fields) -> tuple[Scenario, str | None]:
    """The scenario, and the domain that it names."""
    persona = fields.optional_text("persona") or ""
    if isinstance(fields.data.get("instructions"), str):
        return Scenario(persona=persona, instructions=fields.text("instructions")), None
    told = fields.child("instructions")
    scenario = Scenario(
        persona=persona,
        reason=told.optional_text("reason_for_call") or "",
        known=told.optional_text("known_info") or "",
        unknown=told.optional_text("unknown_info") or "",
        instructions=told.optional_text("task_instructions") or "",
    )
    return scenario, told.optional_text("domain") or None


def _action(fields: Fields) -> GoldenAction:
    requestor = fields.optional_text("requestor") or ASSISTANT
    if requestor not in (ASSISTANT, USER):
        raise BadInput(f"{fields.where}: requestor is {requestor!r}; it is {ASSISTANT} or {USER}")
    return GoldenAction(
        id=fields.optional_text("action_id"),
        tool=fields.text("name"),
        arguments=_arguments(fields),
        requestor=requestor,
        compared=None if fields.data.get("compare_args") is None else fields.texts("compare_args"),
    )


def _arguments(fields: Fields) -> Mapping[str, Any]:
    """An object, or one that a table keeps as JSON text."""
    if not isinstance(fields.data.get("arguments"), str):
        return fields.mapping("arguments") or {}
    try:
        value = json.loads(fields.data["arguments"])
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{fields.where}: arguments is no JSON ({error})") from None
    return Fields(value, f"{fields.where}: arguments").data
