"""What the small model writes at a desk: short answers under a schema to one question after another about one case.

The questions are asked in one conversation that only grows, so that a server reads the case once. What never changes
comes first, as `BEGINNING`, for servers that can keep it.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from orchestra_lib.json_writing import spoken
from orchestra_lib.policy.conductor.arguments_writer import ArgumentsWriter, Written
from orchestra_lib.policy.conductor.desk.conversation import Desk
from orchestra_lib.policy.conductor.desk.records import Records
from orchestra_lib.tool import ToolSpec

NONE = "none"
TOKENS = 160
_TEXT = {"type": "string", "maxLength": 300}
_LEFT_OUT = ("page", "sort_by", "note")
_DATE = {"type": "string", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"}


class Interview:
    """Questions about one case."""

    def __init__(self, writer: ArgumentsWriter, desk: Desk, known: Sequence[str]) -> None:
        self._writer = writer
        request, exchanges = desk.request
        talk = [f"User: {request}"]
        for one in exchanges:
            talk += [f"Agent: {one.agent}", f"User: {one.user}"]
        now = f"It is {desk.now:%A %B %d %Y, %H:%M}.\n" if desk.now else ""
        self._messages: list[Mapping[str, str]] = [
            *BEGINNING,
            _user(f"{now}Records:\n{_lines(known)}\n" + "\n".join(talk)),
        ]

    async def operation(self, options: Sequence[ToolSpec]) -> Written:
        """`{"operation": NAME}`, `none` where it is to be answered from the records."""
        offered = [f"{spec.name}: {spec.title}. {spec.description}" for spec in options]
        names = [*(spec.name for spec in options), NONE]
        return await self._ask(f"{_WHICH}\n{_lines(offered)}", _closed({"operation": {"enum": names}}))

    async def arguments(self, spec: ToolSpec, records: Records, filled: Mapping[str, Any]) -> Written:
        """The arguments of an operation that are not filled in already; identifiers only those that were seen."""
        properties = {name: one for name, one in _narrowed(spec, records).items() if name not in filled}
        needed = frozenset(spec.parameters.get("required", ()))
        ask = f"Write the arguments of {spec.name}: {', '.join(map(_named(spec), properties))}"
        return await self._ask(ask, _closed(properties, optional=frozenset(properties) - needed))

    async def answer(self) -> Written:
        """`{"say": TEXT}`, from the records."""
        return await self._ask(_ANSWER, _closed({"say": _TEXT}))

    async def _ask(self, question: str, schema: Mapping[str, Any]) -> Written:
        written = await self._writer.ask([*self._messages, _user(question)], schema, TOKENS)
        self._messages += [_user(question), {"role": "assistant", "content": written.raw_text or "{}"}]
        return written


async def identity(writer: ArgumentsWriter, names: Sequence[str], said: Sequence[str]) -> Written:
    """What the user said under these names, empty where nothing was said."""
    system = "Copy from the user's words what is asked for; leave empty what was not said. Reply with JSON only."
    ask = f"Asked for: {', '.join(name.replace('_', ' ') for name in names)}\nThe user said:\n" + "\n".join(said)
    schema = _closed({name: {"type": "string", "maxLength": 60} for name in names})
    return await writer.ask([{"role": "system", "content": system}, _user(ask)], schema, TOKENS)


def _narrowed(spec: ToolSpec, records: Records) -> Mapping[str, Any]:
    """The parameters of an operation in few words, identifiers only those that were seen."""
    found: dict[str, Any] = {}
    for name, schema in spec.parameters.get("properties", {}).items():
        seen = records.candidates(name)
        if name in _LEFT_OUT:
            continue
        if "enum" in schema or schema.get("type") != "string":
            found[name] = {key: value for key, value in schema.items() if key in ("type", "enum", "items")}
        elif seen is not None:
            found[name] = {"enum": list(seen)}
        elif "(YYYY-MM-DD)" in schema.get("description", ""):
            found[name] = _DATE
        else:
            found[name] = {"type": "string", "maxLength": 80}
    return found


def _named(spec: ToolSpec) -> Any:
    """How a parameter is named to the model: with its description where that says more, and its values."""

    def named(name: str) -> str:
        schema = spec.parameters["properties"][name]
        words, values = schema.get("description", ""), schema.get("enum", ())
        more = "" if words in ("", name.replace("_", " ")) else f" ({words})"
        return f"{name}{more}" + (f" [{', '.join(map(str, values))}]" if values else "")

    return named


def _closed(properties: Mapping[str, Any], optional: frozenset[str] = frozenset()) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": [name for name in properties if name not in optional],
        "additionalProperties": False,
    }


def _lines(texts: Iterable[str]) -> str:
    return "\n".join(f"- {text}" for text in texts) or "- none"


def _user(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}


def _replied(**value: Any) -> dict[str, str]:
    return {"role": "assistant", "content": spoken(value)}


_WHICH = "Which operation does the request need now? none, if the records answer it."
_ANSWER = "Answer the user in one sentence, from the records."
_DUNE = "loan_id L81, due_on 2026-03-04 (Wednesday March 4, in 38 hours), renewals 0; book: title Dune, hall Main"
_EMMA = "loan_id L85, due_on 2026-03-20 (Friday March 20, in 18 days), renewals 2; book: title Emma, hall Annex"
_LIBRARY = (
    "It is Monday March 02 2026, 10:00.\nRecords:\n- member_id m_7, name Ida Krause, tier standard\n"
    f"- {_DUNE}\n- {_EMMA}\nUser: "
)
_RENEW, _LOSS, _SEARCH = (
    "- renew_loan: Renew a loan. Lend a book for longer.",
    "- report_loss: Report a loss. Mark a lent book as lost.",
    "- search_books: Search books. Every condition is optional.",
)
BEGINNING: tuple[Mapping[str, str], ...] = (
    {
        "role": "system",
        "content": "You help a service agent. Answer each question about the case with one JSON object. Take "
        "identifiers and values from the records and from what the user said.",
    },
    _user(f"{_LIBRARY}Hello, can I keep the book from the main hall for two more weeks?"),
    _user(f"{_WHICH}\n{_LOSS}\n{_SEARCH}\n{_RENEW}"),
    _replied(operation="renew_loan"),
    _user("Write the arguments of renew_loan: loan_id, weeks"),
    _replied(loan_id="L81", weeks=2),
    _user(f"{_LIBRARY}I need more time for Emma please, until the middle of April."),
    _user(f"{_WHICH}\n{_RENEW}\n{_LOSS}\n{_SEARCH}"),
    _replied(operation="renew_loan"),
    _user("Write the arguments of renew_loan: loan_id, weeks"),
    _replied(loan_id="L85", weeks=4),
    _user(f"{_LIBRARY}When do I have to bring back Dune?"),
    _user(f"{_WHICH}\n{_RENEW}\n{_SEARCH}\n{_LOSS}"),
    _replied(operation=NONE),
    _user(_ANSWER),
    _replied(say="Dune is due on 2026-03-04."),
)
"""Examples from a domain that nobody plays in. Nothing of a user is in it."""
