"""Evidence: what the tools of the protocol have brought so far, rebuilt from the record of the turns.

An observation carries its evidence as text that can be read back exactly. Documents stand behind their
lengths, so that no document can pass for two; a code run stands as the very fences that the prompt shows.
"""

import re
from collections.abc import Iterable, Sequence

from orchestra_lib.codec import well_formed
from orchestra_lib.record import record
from orchestra_lib.tool import CallStatus
from orchestra_lib.toolorchestra.aliases import ANSWER, REASON, SEARCH
from orchestra_lib.trajectory import Call, Turn

EVIDENCE_CHARS = 120_000
"""How much of one call's evidence is kept; the worst ranked documents that do not fit are left out."""

DOCUMENT_CHARS = 12_000
"""Where a single document is cut: three times what an orchestrator is shown of one."""

_HEAD = re.compile(r"Document (\d{1,6}), (\d{1,6}) characters:\n")
_CODE, _OUTPUT = "```python\n", "\n```\n\n```output\n"


@record
class Attempted:
    """An answer that was given and did not end the episode, as in a run that goes on after a fork."""

    alias: str
    answer: str


@record
class Evidence:
    """What the prompts are built from. Documents stand oldest and worst first, as they are shown."""

    documents: tuple[str, ...] = ()
    code: tuple[str, ...] = ()
    attempts: tuple[Attempted, ...] = ()


def gather(turns: Sequence[Turn]) -> Evidence:
    """The evidence after these turns. A document that is known already, to the letter, is not added again."""
    documents: dict[str, None] = {}
    code: list[str] = []
    attempts: list[Attempted] = []
    for call in (call for turn in turns for call in turn.calls):
        if call.observation is None:
            continue
        match call.call.tool:
            case tool if tool == SEARCH:
                documents |= dict.fromkeys(reversed(read_documents(call.observation.text)))
            case tool if tool == REASON:
                code += _code_of(call)
            case tool if tool == ANSWER and call.observation.status is CallStatus.OK:
                alias = str((call.call.arguments or {}).get("model", ""))
                attempts.append(Attempted(alias=alias, answer=call.observation.text))
    return Evidence(documents=tuple(documents), code=tuple(code), attempts=tuple(attempts))


def _code_of(call: Call) -> list[str]:
    observation = call.observation
    well = observation is not None and observation.status is CallStatus.OK and observation.text.startswith(_CODE)
    return [observation.text] if well and observation is not None else []


def write_documents(query: str, ranked: Iterable[str]) -> str:
    """A search's observation: the query on one line and the documents, best first, as many as fit."""
    text = f"Query: {' '.join(well_formed(query).split())}"
    for number, document in enumerate(ranked, start=1):
        cut = well_formed(document)[:DOCUMENT_CHARS]
        entry = f"\n\nDocument {number}, {len(cut)} characters:\n{cut}"
        if len(text) + len(entry) > EVIDENCE_CHARS:
            break
        text += entry
    return text


def read_documents(observation: str) -> list[str]:
    """The documents of a search's observation in rank order; none when it holds something else."""
    documents: list[str] = []
    query, _, _ = observation.partition("\n\n")
    at = len(query) + 2 if query.startswith("Query: ") else len(observation)
    while (head := _HEAD.match(observation, at)) and int(head[1]) == len(documents) + 1:
        end = head.end() + int(head[2])
        if end > len(observation):
            break
        documents.append(observation[head.end() : end])
        at = end + 2
    return documents


def write_code(code: str, output: str) -> str:
    """A code run's observation, as the prompt shows it. Half the room goes to the code, half to the output's end."""
    room = EVIDENCE_CHARS // 2
    return f"{_CODE}{well_formed(code)[:room]}{_OUTPUT}{well_formed(output)[-room:]}\n```"
