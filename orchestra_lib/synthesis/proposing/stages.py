"""What a model is told in each stage of a domain: the form as our own files are documented, and what stands so far."""

from collections.abc import Mapping, Sequence
from typing import Any

from orchestra_lib.environment.domain import DOMAINS
from orchestra_lib.json_writing import spoken
from orchestra_lib.record import record
from orchestra_lib.synthesis import drawing, lexicon, records
from orchestra_lib.synthesis.proposing.asking import Brief

_MAX_TOKENS = 12_000
_ROLE = """You design domains for training customer-service agents, as data: tables, operations, rules, and how \
users speak. Everything is JSON in the form described below; expressions are data and nothing is ever run as code. \
What you propose is executed and checked; a rejection tells you what to correct. Reply with one JSON object and \
nothing else."""
_ROLES = """The archetypes bring operations of their own; the names in <<…>> are roles that you have to give: \
<<owner>> a table, <<owner.one>> one record's word."""


@record
class Stage:
    """One stage: what is wished, the documents that say its form, and the keys of the reply with their JSON types."""

    wish: str
    documents: tuple[str, ...]
    keys: Mapping[str, str]


SCHEMA = Stage(
    wish=(
        "Propose the tables (3 to 5, each with 5 to 12 fields) and the parameters of the policy (3 to 8 numbers with "
        "`choices`, `held_out`). The owner's table has first_name, last_name, email, zip and, where money is paid, a "
        "keyed list payment_methods with id, kind=card|wallet and balance:money?. One table has a `machine` of states."
    ),
    documents=("README",),
    keys={"tables": "array", "parameters": "array"},
)
RECORDS = Stage(
    wish=(
        "Propose how the records are drawn: 60 to 200 a table, owners first, with look-alikes (`twins`), with boundary "
        "values around the parameters, and with every state of every machine present (`cases`)."
    ),
    documents=("README", "records", "drawing"),
    keys={"seed": "integer", "tables": "array", "settle": "array"},
)
OPERATIONS = Stage(
    wish=(
        "Propose the operations (getters, a lister or search for each table that users speak of, 4 to 10 writes) with "
        "their rules, about half of them `enforced` and half `policy`, the invariants, and facts for the policy. "
        "Repeat no operation of the archetype."
    ),
    documents=("README",),
    keys={"operations": "array", "invariants": "array", "facts": "array"},
)
WORDS = Stage(
    wish=(
        "Propose how users speak: for each write two to four phrases with its parameters as slots, for each table "
        "phrases that describe a record, and the quantities of operations that users ask for."
    ),
    documents=("lexicon",),
    keys={"operations": "object", "records": "object", "quantities": "object", "values": "object"},
)


def idea_brief(subject: str, archetypes: Sequence[str]) -> Brief:
    """The brief of the first stage; `subject` is a person's words."""
    known = {name: _archetype(name) for name in archetypes}
    keys = {name: "string" for name in ("name", "title", "description", "agent", "archetype")}
    return Brief(
        role=_ROLE,
        request=(
            f"Propose the idea of a domain about: {subject}\n\nKeys: name (small letters and underscores), title, "
            'description (two sentences), agent ("an agent of …"), archetype (one of the names below), roles.\n'
            f"{_ROLES}\n\n" + "\n\n".join(f"{name}: {text}" for name, text in known.items())
        ),
        schema=_schema({**keys, "roles": "object"}),
        max_tokens=_MAX_TOKENS,
    )


def stage_brief(stage: Stage, whole: Mapping[str, Any]) -> Brief:
    """The brief of a later stage, with all that was accepted before."""
    parts = [_document(name) for name in stage.documents]
    archetype = str(whole.get("archetype", "common"))
    parts += [
        f"The archetype {archetype}, which includes `common`:\n{_archetype(archetype)}\n{_archetype('common')}",
        f"The domain so far:\n{spoken(whole)}",
        f"{stage.wish}\nKeys of your reply: {', '.join(stage.keys)}.",
    ]
    return Brief(role=_ROLE, request="\n\n".join(parts), schema=_schema(stage.keys), max_tokens=_MAX_TOKENS)


def _document(name: str) -> str:
    modules = {"records": records, "drawing": drawing, "lexicon": lexicon}
    text = modules[name].__doc__ if name in modules else (DOMAINS / "README.md").read_text("utf-8")
    return f"<{name}>\n{text}\n</{name}>"


def _archetype(name: str) -> str:
    return (DOMAINS / "archetypes" / f"{name}.json").read_text("utf-8").strip()


def _schema(keys: Mapping[str, str]) -> Mapping[str, Any]:
    return {
        "type": "object",
        "properties": {name: {"type": kind} for name, kind in keys.items()},
        "required": list(keys),
    }
