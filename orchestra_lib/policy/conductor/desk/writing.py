"""What the small model writes at a desk under a schema: who the user is, what is to be done, what the rules say."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from orchestra_lib.json_writing import spoken
from orchestra_lib.policy.conductor.arguments_writer import ArgumentsWriter, Written
from orchestra_lib.policy.conductor.desk.conversation import Desk, Exchange
from orchestra_lib.policy.conductor.desk.records import Records
from orchestra_lib.tool import ToolSpec

TOKENS = 160
_TEXT = {"type": "string", "maxLength": 300}
_LEFT_OUT = ("page", "sort_by", "note")


async def identity(writer: ArgumentsWriter, names: Sequence[str], said: Sequence[str]) -> Written:
    """What the user said under these names, empty where nothing was said."""
    system = "Copy from the user's words what is asked for; leave empty what was not said. Reply with JSON only."
    ask = f"Asked for: {', '.join(name.replace('_', ' ') for name in names)}\nThe user said:\n" + "\n".join(said)
    schema = _closed({name: {"type": "string", "maxLength": 60} for name in names})
    return await writer.ask(_messages(system, ask), schema, TOKENS)


async def decision(
    writer: ArgumentsWriter,
    desk: Desk,
    records: Records,
    options: Sequence[ToolSpec],
    known: Sequence[str],
    filled: Mapping[str, Mapping[str, Any]],
) -> Written:
    """One of the operations with its arguments, or words for the user. `filled` arguments need not be written."""
    request, exchanges = desk.request
    schemas = [
        _closed(
            {
                "do": {"const": spec.name},
                **{
                    name: value
                    for name, value in _narrowed(spec, records).items()
                    if name not in filled.get(spec.name, {})
                },
            },
            optional=_optional(spec),
        )
        for spec in options
    ]
    schemas.append(_closed({"say": _TEXT}))
    ask = (
        f"It is {desk.now:%A %B %d %Y, %H:%M}.\n" if desk.now else ""
    ) + f"Records:\n{_lines(known)}\nOperations:\n{_lines(map(_offered, options))}\n{_talk(request, exchanges)}"
    return await writer.ask([*_DECIDE, {"role": "user", "content": ask}], {"oneOf": schemas}, TOKENS)


async def check(writer: ArgumentsWriter, what: str, rules: Sequence[str], known: Sequence[str], desk: Desk) -> Written:
    """Whether the rules allow an action: `{"rule": …, "fact": …, "allowed": bool}`."""
    ask = (
        f"It is {desk.now:%A %B %d %Y, %H:%M}.\n" if desk.now else ""
    ) + f"Records:\n{_lines(known)}\nAction: {what}\nRules:\n{_lines(rules)}"
    schema = _closed(
        {
            "rule": {"enum": [*rules, "none"]},
            "fact": {"type": "string", "maxLength": 120},
            "allowed": {"type": "boolean"},
        }
    )
    return await writer.ask([*_CHECK, {"role": "user", "content": ask}], schema, TOKENS)


def _narrowed(spec: ToolSpec, records: Records) -> Mapping[str, Any]:
    """The parameters of an operation, identifiers only those that were seen."""
    found: dict[str, Any] = {}
    for name, schema in spec.parameters.get("properties", {}).items():
        if name in _LEFT_OUT:
            continue
        seen = records.candidates(name)
        if seen is not None and "enum" not in schema:
            found[name] = {"enum": list(seen)}
        elif schema.get("type") == "string" and "enum" not in schema:
            found[name] = {"type": "string", "maxLength": 80}
        else:
            found[name] = {key: value for key, value in schema.items() if key in ("type", "enum", "items")}
    return found


def _optional(spec: ToolSpec) -> frozenset[str]:
    return frozenset(spec.parameters.get("properties", {})) - frozenset(spec.parameters.get("required", ()))


def _closed(properties: Mapping[str, Any], optional: frozenset[str] = frozenset()) -> dict[str, Any]:
    """A schema of exactly these properties."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": [name for name in properties if name not in optional],
        "additionalProperties": False,
    }


def _offered(spec: ToolSpec) -> str:
    names = [name for name in spec.parameters.get("properties", {}) if name not in _LEFT_OUT]
    return f"{spec.name}({', '.join(names)}): {spec.title}. {spec.description}"


def _talk(request: str, exchanges: Sequence[Exchange]) -> str:
    lines = [f"User: {request}"]
    for one in exchanges:
        lines += [f"Agent: {one.agent}", f"User: {one.user}"]
    return "\n".join(lines)


def _lines(texts: Iterable[str]) -> str:
    return "\n".join(f"- {text}" for text in texts) or "- none"


def _messages(system: str, ask: str) -> list[dict[str, str]]:
    return [{"role": "system", "content": system}, {"role": "user", "content": ask}]


_NOW = "It is Monday March 02 2026, 10:00.\nRecords:"
_LOAN = "member_id m_7, name Ida Krause, tier standard"
_BOOKS = (
    "loan_id L81, book_id K3, due_on 2026-03-04 (Wednesday March 4, in 2 days), status lent, renewals 0; "
    "book: title Dune, hall Main",
    "loan_id L85, book_id K9, due_on 2026-03-20 (Friday March 20, in 18 days), status lent, renewals 2; "
    "book: title Emma, hall Annex",
)
_DECIDE = [
    {
        "role": "system",
        "content": "You are a service agent. Decide what the user's request needs and reply with one JSON object: "
        '{"do": OPERATION, …its arguments} to search or to change something, or {"say": TEXT} to answer a question '
        "from the records. Take identifiers and values from the records and the conversation only.",
    },
    {
        "role": "user",
        "content": f"{_NOW}\n- {_LOAN}\n- {_BOOKS[0]}\n- {_BOOKS[1]}\nOperations:\n"
        "- renew_loan(loan_id, weeks): Renew a loan. Lend a book for longer.\n"
        "- report_loss(loan_id, reason): Report a loss. Mark a lent book as lost.\n"
        "- search_books(title, hall): Search books.\nUser: The book from the annex has disappeared, I think I left it "
        "on a train.",
    },
    {"role": "assistant", "content": spoken({"do": "report_loss", "loan_id": "L85", "reason": "left on a train"})},
    {
        "role": "user",
        "content": f"{_NOW}\n- {_LOAN}\n- {_BOOKS[0]}\n- {_BOOKS[1]}\nOperations:\n"
        "- renew_loan(loan_id, weeks): Renew a loan. Lend a book for longer.\nUser: When do I have to bring back Dune?",
    },
    {"role": "assistant", "content": spoken({"say": "Dune is due on 2026-03-04."})},
]
_CHECK = [
    {
        "role": "system",
        "content": "Check whether a rule forbids the action. Name the rule that decides it (none if no rule is "
        "broken), the fact in the records, and whether the action is allowed. Reply with JSON.",
    },
    {
        "role": "user",
        "content": f"{_NOW}\n- {_LOAN}\n- {_BOOKS[1]}\nAction: renew a loan "
        "(loan id L85, weeks 2)\nRules:\n- A loan is renewed at most 4 weeks.\n- A loan is renewed at most 2 times.",
    },
    {
        "role": "assistant",
        "content": spoken(
            {"rule": "A loan is renewed at most 2 times.", "fact": "L85 was renewed 2 times.", "allowed": False}
        ),
    },
    {
        "role": "user",
        "content": f"{_NOW}\n- {_LOAN}\n- {_BOOKS[0]}\nAction: renew a loan "
        "(loan id L81, weeks 2)\nRules:\n- A loan is renewed at most 4 weeks.\n- A loan is renewed at most 2 times.",
    },
    {
        "role": "assistant",
        "content": spoken({"rule": "none", "fact": "L81 was renewed 0 times and 2 weeks are asked.", "allowed": True}),
    },
]
