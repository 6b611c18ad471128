"""The policy of a domain in English, rendered from the rules that the operations evaluate: one source of truth."""

from collections.abc import Iterator, Mapping, Sequence

from orchestra_lib.environment.prose import Prose
from orchestra_lib.environment.schema import (
    Conduct,
    Domain,
    Field,
    FieldType,
    Operation,
    OperationKind,
    Table,
)

_CONDUCT: Mapping[Conduct, str] = {
    Conduct.AUTHENTICATE: (
        "At the beginning of the conversation you must identify the {owner} with {finders}. Do this even when the "
        "user already gives an identifier."
    ),
    Conduct.ONE_USER: (
        "You may help one {owner} per conversation, with any number of requests. You must refuse requests about "
        "another {owner}'s records."
    ),
    Conduct.CONFIRM: (
        "Before any action that changes records you must list its details and ask; go on only after an explicit yes. "
        "Where the user's own request already states every detail and says to go ahead, that is the yes."
    ),
    Conduct.NO_INVENTION: (
        "Do not make up information or procedures that neither the user nor the tools gave you, and do not give "
        "subjective recommendations."
    ),
    Conduct.ONE_CALL: (
        "Make at most one tool call that changes records at a time, and wait for its result before you say that it is "
        "done."
    ),
    Conduct.DENY: (
        "You must refuse what this policy does not allow, and say which rule stands against it. A tool that would "
        "accept the call does not make it allowed: some rules are checked by you alone."
    ),
    Conduct.TRANSFER: (
        "Transfer the user to a human agent if and only if the request lies outside of what you can do, or the user "
        "asks for a human. Call `{transfer}` with a short summary. What this policy forbids is refused, not "
        "transferred."
    ),
    Conduct.COMPLETE: (
        "State amounts, dates and identifiers in your answers exactly as the tools gave them."
    ),
}  # fmt: skip
_TYPES: Mapping[FieldType, str] = {
    FieldType.MONEY: "an amount of money",
    FieldType.DATE: "a date",
    FieldType.DATETIME: "a time",
    FieldType.BOOLEAN: "yes or no",
    FieldType.LIST: "a list",
    FieldType.OBJECT: "an object",
}


def policy_text(domain: Domain) -> str:
    """The whole policy as Markdown. Raises `BadInput` for a text that names an unknown parameter or field."""
    prose = Prose(domain)
    parts = [f"# {domain.title} policy", *_opening(domain), "## Conduct", *_conduct(domain)]
    parts += ["## The records", *[block for table in domain.tables for block in _table(table, domain)]]
    facts = [f"- {prose.fill(fact.text)}" for fact in domain.facts]
    invariants = [f"- {prose.fill(one.text)}" for one in domain.invariants if one.public]
    if facts or invariants:
        parts.append("\n".join([*facts, *invariants]))
    parts += ["## Looking things up", "\n".join(_reads(domain))]
    writes = [one for one in domain.operations if one.kind is OperationKind.WRITE]
    if writes:
        parts.append("## Actions")
    for operation in writes:
        parts.append("\n\n".join(_action(operation, domain, prose)))
    return "\n\n".join(parts) + "\n"


def policy_lines(domain: Domain) -> tuple[str, ...]:
    """The single lines of the policy that bind the agent: rules, fees, facts and conduct."""
    return tuple(line.removeprefix("- ") for line in policy_text(domain).splitlines() if line.startswith("- "))


def _opening(domain: Domain) -> Iterator[str]:
    writes = [_heading(one) for one in domain.operations if one.kind is OperationKind.WRITE]
    agent = domain.agent or f"an agent of {domain.title}"
    yield f"You are {agent}. {domain.description}".strip()
    if writes:
        listed = "\n".join(f"- {words[0].lower()}{words[1:]}" for words in writes)
        yield f"You can answer questions about the records, and do the following:\n\n{listed}"
    yield f"The time is {domain.now.replace('T', ' ')} UTC; every date and time is UTC."


def _conduct(domain: Domain) -> Iterator[str]:
    finders = [f"`{one.name}`" for one in domain.operations if one.query and one.query.single]
    finders = [name for name in finders if domain.table(_of(domain, name)).name == domain.owner]
    transfer = next((one.name for one in domain.operations if one.builtin == "transfer"), None)
    lines = []
    for one in domain.conduct:
        if (one is Conduct.AUTHENTICATE and not finders) or (one is Conduct.TRANSFER and transfer is None):
            continue
        words = {"owner": domain.table(domain.owner).one.replace("_", " "), "finders": " or ".join(finders)}
        lines.append(f"- {_CONDUCT[one].format(transfer=transfer, **words)}")
    yield "\n".join(lines)


def _of(domain: Domain, quoted: str) -> str:
    query = domain.operation(quoted.strip("`")).query
    return query.table if query else ""


def _table(table: Table, domain: Domain) -> Iterator[str]:
    yield f"### {table.name.replace('_', ' ').capitalize()}"
    if table.description:
        yield table.description
    yield f"Each {table.one.replace('_', ' ')} has: {'; '.join(_field(field, domain) for field in table.fields)}."
    if table.machine:
        moves = [
            f"{state} to {' or '.join(following)}"
            for state, following in table.machine.transitions.items()
            if following
        ]
        if moves:
            status = table.machine.field.replace("_", " ")
            yield f"Its {status} goes from {', from '.join(moves)}; no other change is possible."


def _field(field: Field, domain: Domain) -> str:
    words = field.words
    if field.description:
        words += f" ({field.description[0].lower()}{field.description[1:]})"
    elif field.references:
        words += f" (of a {domain.table(field.references).one.replace('_', ' ')})"
    elif field.values:
        words += f" ({', '.join(field.values[:-1])} or {field.values[-1]})" if len(field.values) > 1 else ""
    elif field.fields:
        words += f" (each with {', '.join(one.words for one in field.fields)})"
    elif field.type in _TYPES:
        words += f" ({_TYPES[field.type]})"
    return words


def _reads(domain: Domain) -> Iterator[str]:
    for one in domain.operations:
        if one.kind is not OperationKind.READ:
            continue
        limit = f" It shows {one.query.page_size} at a time." if one.query and not one.query.single else ""
        yield f"- `{one.name}`: {one.description}{limit}"


def _action(operation: Operation, domain: Domain, prose: Prose) -> Sequence[str]:
    given = [one.words for one in operation.parameters if not one.optional]
    lines = [f"- {prose.fill(let.text)}" for let in operation.lets if let.text]
    lines += [f"- {prose.rule(rule)}" for rule in operation.rules if not rule.silent]
    lines += [f"- {prose.fill(text)}" for text in operation.effect_text]
    opening = f"{operation.description} With `{operation.name}`; you need the {_listed(given)}."
    return [f"### {_heading(operation)}", opening, *(["\n".join(lines)] if lines else [])]


def _heading(operation: Operation) -> str:
    return operation.heading or operation.name.replace("_", " ").capitalize()


def _listed(parts: Sequence[str]) -> str:
    if len(parts) < 2:
        return "".join(parts) or "user's yes"
    return f"{', '.join(parts[:-1])} and {parts[-1]}"
