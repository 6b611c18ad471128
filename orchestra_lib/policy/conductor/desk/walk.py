"""The next move at a desk, the first that applies: report, do what was agreed, identify, look up, decide."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from orchestra_lib.generation import Estimate
from orchestra_lib.json_writing import dumps
from orchestra_lib.policy.conductor.arguments_writer import ArgumentsWriter
from orchestra_lib.policy.conductor.costs import Costs
from orchestra_lib.policy.conductor.desk import writing
from orchestra_lib.policy.conductor.desk.conversation import ANYTHING_ELSE, CONFIRM, Desk, looks
from orchestra_lib.policy.conductor.desk.likeness import ranked
from orchestra_lib.policy.conductor.desk.records import Known, Records, plain, reads_next, spoken
from orchestra_lib.policy.conductor.desk.rules import shown_broken
from orchestra_lib.policy.conductor.estimator import Estimator
from orchestra_lib.policy.conductor.moves import Move
from orchestra_lib.protocols import Situation
from orchestra_lib.tool import ASK_USER, ToolSpec

OPTIONS = 4
"""So many operations are put before the model, those most like the request."""
SHOWN = 5
"""So many records are, those most like the request."""
READS = 8
"""So many records are looked up in a turn."""
SEARCHES = 2
"""So many searches are made for a request."""
TRIES = 3
"""So often a request is decided on before it is given up."""
_EMAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_LISTED = re.compile(r"^- ([\w ]+): (.*)$", re.MULTILINE)
_IDENTITY = "The policy wants the user identified first."
_WHO = "Could you please tell me your"


class DeskTurn(Costs):
    """The thinking of one turn at a desk."""

    def __init__(self, situation: Situation, desk: Desk, estimator: Estimator, writer: ArgumentsWriter | None) -> None:
        super().__init__(situation)
        self._desk, self._estimator, self._writer = desk, estimator, writer
        self._records = Records(desk)

    async def move(self) -> Move:
        """What is done next."""
        desk = self._desk
        if (told := self._report()) is not None:
            return told
        if desk.confirmed() and (agreed := _agreed(desk)) is not None:
            name, arguments = agreed
            return Move(why="The user said yes.", tool=name, arguments=(arguments,))
        if desk.owner is None and desk.finders and (who := await self._identify()) is not None:
            return who
        if reads := reads_next(desk, self._records, READS):
            tool = reads[0][0]
            same = tuple(arguments for name, arguments in reads if name == tool)
            return Move(
                why=f"{self._title(tool)}: what is on record is read before anything.", tool=tool, arguments=same
            )
        return await self._decide()

    def _report(self) -> Move | None:
        """Tell the user what came of an action."""
        desk = self._desk
        names = {spec.name for spec in desk.actions}
        acted = [call for call in desk.last if call.call.tool in names]
        if not acted:
            return None
        if desk.failed and desk.failed[-1][0] is acted[-1]:
            return _say("The operation was refused.", f"I am sorry, that is not possible: {desk.failed[-1][1]}")
        result = desk.done[-1].result
        told = self._records.changes(result) if isinstance(result, Mapping) else str(result)
        return _say("It is done.", f"{self._title(acted[-1].call.tool)}: done. {told}.")

    async def _identify(self) -> Move | None:
        """Find the user by what was said, or ask; None once the user was asked for everything."""
        desk = self._desk
        wanted = [(spec, tuple(spec.parameters.get("required", ()))) for spec in desk.finders]
        names = tuple(dict.fromkeys(name for _, needed in wanted for name in needed))
        said = " ".join(desk.said)
        found = {name: seen[-1] for name in names if "email" in name and (seen := _EMAIL.findall(said))}
        if (move := self._find(wanted, found)) is not None:
            return move
        rest = [name for name in names if "email" not in name]
        if rest and self._writer is not None and desk.exchanges:
            written = await self.write(writing.identity(self._writer, rest, desk.said))
            copied = {name: str(value) for name, value in (written.value or {}).items() if value}
            found |= {name: value for name, value in copied.items() if value.casefold() in said.casefold()}
            if (move := self._find(wanted, found)) is not None:
                return move
        asked = sum(_WHO in one.agent for one in desk.exchanges)
        if asked >= len(wanted):
            return None
        words = [" and ".join(map(plain, needed)) for _, needed in wanted]
        return _ask(_IDENTITY, f"{_WHO} {words[asked] if asked else ', or your '.join(words)}?")

    def _find(self, wanted: Sequence[tuple[ToolSpec, Sequence[str]]], found: Mapping[str, str]) -> Move | None:
        """The first search for the user that has all it needs and was not made yet."""
        tried = [(call.call.tool, call.call.arguments) for call, _ in self._desk.failed]
        for spec, needed in wanted:
            arguments = {name: found[name] for name in needed if name in found}
            if len(arguments) == len(needed) and (spec.name, arguments) not in tried:
                return Move(why=_IDENTITY, tool=spec.name, arguments=(arguments,))
        return None

    async def _decide(self) -> Move:
        desk = self._desk
        request, exchanges = desk.request
        if sum(CONFIRM in one.agent for one in exchanges) >= TRIES:
            return _say("It was tried often enough.", "I am sorry, I did not understand you, and I change nothing.")
        alike = ranked(self._estimator, request, self._able())
        estimates = tuple(_estimate(spec, score, shown=place < OPTIONS) for place, (spec, score) in enumerate(alike))
        if self._writer is None:
            words = "I am sorry, I cannot do this here: no model is at hand that could decide on it."
            return _say("No model is here that could fill in arguments.", words, estimates)
        options = [spec for spec, _ in alike[:OPTIONS]]
        interview = writing.Interview(self._writer, desk, self._shown(request))
        chosen = await self.write(interview.operation(options))
        if chosen.value is None:
            return _say(chosen.why_not, "I am sorry, I cannot do this now: I could not decide on it.", estimates)
        name = chosen.value.get("operation", writing.NONE)
        spec = next((spec for spec in options if spec.name == name), None)
        if spec is None:
            said = (await self.write(interview.answer())).value or {}
            words = str(said.get("say") or "I am sorry, I cannot do that.")
            return _say(f"{self._writer.model_name} sees nothing to be done and answers.", words, estimates)
        filled = self._filled(spec)
        written = await self.write(interview.arguments(spec, self._records, filled))
        given = {name: one for name, one in (written.value or {}).items() if one not in ("", None)}
        why = f"{self._title(spec.name)} is what {self._writer.model_name} chose of {len(options)}."
        move = self._proposed(why, spec, {**filled, **given})
        return replace(move, estimates=estimates)

    def _proposed(self, why: str, spec: ToolSpec, arguments: Mapping[str, Any]) -> Move:
        """Look up at once; change something only when nothing is missing, no rule is broken, and the user agrees."""
        if looks(spec):
            if any(one.tool == spec.name and one.arguments == arguments for one in self._desk.done):
                return _say(f"{why} It was looked up before.", "I am sorry, I found nothing that fits.")
            return Move(why=why, tool=spec.name, arguments=(arguments,))
        if (name := self._unsaid(spec, arguments)) is not None:
            question, lacks = f"Could you please tell me the {plain(name)}?", f"{why} Nobody said the {plain(name)}."
            if any(one.agent == question for one in self._desk.exchanges):
                return _say(lacks, f"I am sorry, I cannot do that without the {plain(name)}.")
            return _ask(lacks, question)
        if (broken := shown_broken(self._desk.rules(spec.name), self._concerned(arguments))) is not None:
            return _say(f"{why} The records show a rule against it.", f"I am sorry, that is not possible. {broken}")
        listed = "\n".join(f"- {plain(name)}: {_listed(one)}" for name, one in arguments.items())
        return _ask(why, f"{spec.title}, with\n{listed}\n{CONFIRM}")

    def _able(self) -> list[ToolSpec]:
        """The operations that can be done with the identifiers at hand, and searches while they may bring more."""
        desk = self._desk
        able = [spec for spec in desk.actions if all(self._has(name) for name in spec.parameters["required"])]
        searched = sum(one.tool.startswith("search_") for one in desk.recent)
        return able + [spec for spec in desk.tools if spec.name.startswith("search_") and searched < SEARCHES]

    def _has(self, name: str) -> bool:
        seen = self._records.candidates(name)
        return seen is None or bool(seen)

    def _filled(self, spec: ToolSpec) -> dict[str, Any]:
        """The identifiers that can be only one."""
        seen = {name: self._records.candidates(name) for name in spec.parameters["required"]}
        found = {name: ids[0] for name, ids in seen.items() if ids is not None and len(ids) == 1}
        own: dict[str, Any] = {name: self._desk.owner for name, ids in seen.items() if ids and self._desk.owner in ids}
        return {**found, **own}

    def _unsaid(self, spec: ToolSpec, arguments: Mapping[str, Any]) -> str | None:
        """The first argument that is missing, or is text that nobody said and that was not read either."""
        heard = " ".join((*self._desk.said, *(str(one.fields) for one in self._records.all()))).casefold()
        properties: Mapping[str, Any] = spec.parameters["properties"]
        for name, schema in properties.items():
            value = arguments.get(name)
            free = isinstance(value, str) and "enum" not in schema and not _DATE.match(value)
            missing = value is None and name in spec.parameters["required"]
            if missing or (free and str(value).casefold() not in heard):
                return name
        return None

    def _concerned(self, arguments: Mapping[str, Any]) -> list[Known]:
        """The records that an action is about, other than the user's."""
        values = {str(one) for one in arguments.values()} - {self._desk.owner}
        return [one for one in self._records.all() if one.id in values]

    def _shown(self, request: str) -> list[str]:
        """The records most like the request, the user's own first."""
        owned, owner = self._records.owned(), self._desk.owner
        searched = [one for one in self._records.all() if one not in owned and self._is_found(one)]
        rows = [self._records.told(one) for one in (*owned, *searched) if one.id != owner]
        profile = [self._records.told(one) for one in owned if one.id == owner]
        if len(rows) > SHOWN:
            likeness = self._estimator.likeness(request, rows)
            kept = sorted(sorted(range(len(rows)), key=lambda at: -likeness[at])[:SHOWN])
            rows = [rows[at] for at in kept]
        return [*profile, *rows]

    def _is_found(self, one: Known) -> bool:
        """Whether a search for the open request brought it."""
        return any(
            done.tool.startswith("search_") and one.id in spoken("", str(done.result)) for done in self._desk.recent
        )

    def _title(self, tool: str) -> str:
        return next((spec.title for spec in self._desk.tools if spec.name == tool), tool)


def _estimate(spec: ToolSpec, score: float, *, shown: bool) -> Estimate:
    note = f"likeness to the request {score:.2f}"
    return Estimate(
        tool=spec.name, score=round(score, 3) if shown else None, note=note if shown else f"{note}: too little"
    )


def _say(why: str, words: str, estimates: tuple[Estimate, ...] = ()) -> Move:
    """Words that close a request."""
    return _ask(why, f"{words} {ANYTHING_ELSE}", estimates)


def _ask(why: str, message: str, estimates: tuple[Estimate, ...] = ()) -> Move:
    return Move(why=why, tool=ASK_USER, arguments=({"message": message},), estimates=estimates)


def _agreed(desk: Desk) -> tuple[str, Mapping[str, Any]] | None:
    """The operation that the user agreed to, read back from what was listed."""
    message = desk.exchanges[-1].agent
    spec = next((one for one in desk.actions if message.startswith(f"{one.title}, with\n")), None)
    if spec is None:
        return None
    properties = spec.parameters["properties"]
    listed = {name.replace(" ", "_"): text for name, text in _LISTED.findall(message)}
    return spec.name, {name: _typed(text, properties[name]) for name, text in listed.items() if name in properties}


def _listed(value: Any) -> str:
    """A value on one line, so that no text of a model can pass for another line."""
    return " ".join(value.split()) if isinstance(value, str) else dumps(value)


def _typed(text: str, schema: Mapping[str, Any]) -> Any:
    return text if schema.get("type") == "string" else json.loads(text)
