"""Draws one task: wants that fit an owner, made harder by evolution steps, planned on a live state and put in words."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import Any

from orchestra_lib.environment.assignment import Assignment, AssignmentKind
from orchestra_lib.environment.domain import World
from orchestra_lib.environment.operations import writes
from orchestra_lib.environment.schema import Field, FieldType, Mode, Operation
from orchestra_lib.environment.state import Record
from orchestra_lib.errors import ModelMistake
from orchestra_lib.synthesis import phrases
from orchestra_lib.synthesis.candidates import Candidate, Candidates
from orchestra_lib.synthesis.lexicon import DESCRIBED, NEW, SAME, VAGUE, Lexicon, Mention, Payment
from orchestra_lib.synthesis.lookup import quantity_at
from orchestra_lib.synthesis.mentions import look_alikes, mention_of, siblings
from orchestra_lib.synthesis.planner import Planner
from orchestra_lib.synthesis.questions import question
from orchestra_lib.synthesis.routes import PAYMENTS
from orchestra_lib.synthesis.wants import Aim, Condition, Outcome, Rejected, Want
from orchestra_lib.synthesis.wording import Worded, Wording, facts_of

_REQUESTS = (1, 3, 3, 4, 4, 5, 5, 6, 6)
"""How many requests a task may have, each as likely."""

_CONDITION, _TELL, _VAGUE, _FOLLOW_UP, _TOLD, _BY_EMAIL, _WRONG_EMAIL = 0.22, 0.4, 0.12, 0.35, 0.3, 0.85, 0.3
_REFUSED_PART, _QUESTION_PART, _UNMET_PART, _FALLBACK, _BY_KIND, _INSISTS = 0.12, 0.04, 0.05, 0.5, 0.97, 0.6
_SAME, _GO_ON = 0.85, 0.75
"""The shares of tasks in which each step of evolution is tried."""

_WITHOUT_WRITE = (*[Outcome.REFUSED] * 3, Outcome.UNMET, Outcome.ANSWERED)
"""What tasks without a write come to, each as likely; a refusal is drawn in vain more often."""


class Composer:
    """Draws the tasks of one world. Every task is a function of its seed."""

    def __init__(self, world: World, lexicon: Lexicon) -> None:
        self.world, self.lexicon, self.routes = world, lexicon, lexicon.routes
        self._candidates = Candidates(world, lexicon.routes)
        self._writes = [one for one in self.routes.writes if one.name in lexicon.operations]

    def compose(self, seed: str, *, name: str, operation: str, acts: bool, split: str) -> Assignment:
        """A task around an operation; one that does not act is refused, unmet or a question. Raises `Rejected`."""
        random = Random(seed)  # noqa: S311 -- invented tasks, not secret
        first = self.routes.operations[operation]
        wish = Outcome.DONE if acts else random.choice(_WITHOUT_WRITE)
        state = self.world.state()
        candidate = self._candidates.draw(first, state, random, refused=wish is Outcome.REFUSED)
        if candidate is None:
            raise Rejected("no arguments that the rules allow")
        planner = Planner(self.world, self.lexicon, candidate.owner)
        profile = planner.profile
        by_email = random.random() < _BY_EMAIL
        planner.identify(by_email)
        wants = [planner.plan(self._first(first, candidate, planner, random, wish))]
        for _ in range(random.choice(_REQUESTS) - 1 if acts else int(random.random() < 0.3)):
            more = self._more(planner, wants, random, acts)
            if more is not None:
                wants.append(planner.plan(more))
        return self._worded(
            planner, wants, random, name=name, seed=seed, split=split, by_email=by_email, profile=profile
        )

    def _first(
        self, operation: Operation, candidate: Candidate, planner: Planner, random: Random, wish: Outcome
    ) -> Want:
        if wish is Outcome.ANSWERED:
            asked = question(self.lexicon, self.world, planner.trace.state, candidate.owner, random)
            if asked is not None:
                return asked
            return self._want(operation, candidate, planner, random, aim=Aim.WHAT_IF)
        want = self._want(operation, candidate, planner, random)
        if wish is Outcome.UNMET:
            return self._conditional(want, planner, random, holds=False)
        return replace(want, outcome=Outcome.REFUSED, tell=()) if wish is Outcome.REFUSED else want

    def _want(
        self,
        operation: Operation,
        candidate: Candidate,
        planner: Planner,
        random: Random,
        *,
        aim: Aim = Aim.DO,
        given: Mapping[str, Mention] | None = None,
    ) -> Want:
        """A candidate with words for its records and payment."""
        candidate = self._telling(operation, candidate, planner, random)
        mentions = dict(given or {})
        for one in self.routes.keys(operation):
            if one.name not in mentions and one.references:
                mentions[one.name] = self._mention(one, candidate, planner, random)
        want = Want(
            aim=aim,
            operation=operation.name,
            arguments=candidate.arguments,
            mentions=mentions,
            payment=self._payment(operation, candidate, planner, random),
        )
        paths = self._told(want, planner)
        if aim is Aim.WHAT_IF:
            if not paths:
                raise Rejected("no quantity to ask for")
            return replace(want, tell=(random.choice(paths),))
        if paths and random.random() < _CONDITION:
            return self._conditional(want, planner, random, holds=random.random() > _UNMET_PART)
        return replace(want, tell=(random.choice(paths),)) if paths and random.random() < _TELL else want

    def _telling(self, operation: Operation, candidate: Candidate, planner: Planner, random: Random) -> Candidate:
        """The candidate with a payment method whose choice shows in the records. Raises `Rejected`."""
        field = next((one for one in operation.parameters if self.routes.is_payment(one)), None)
        if field is None or candidate.broken or field.name not in candidate.arguments:
            return candidate
        drawn = candidate.arguments[field.name]
        methods = [one["id"] for one in planner.profile[PAYMENTS]]
        left = {one: self._after(operation, {**candidate.arguments, field.name: one}, planner) for one in methods}
        random.shuffle(methods)
        for one in sorted(methods, key=lambda method: method != drawn):
            if left[one] is not None and all(left[one] != left[other] for other in methods if other != one):
                return replace(candidate, arguments={**candidate.arguments, field.name: one})
        raise Rejected("the payment method makes no difference")

    def _after(self, operation: Operation, arguments: Mapping[str, Any], planner: Planner) -> Any:
        """What a call leaves behind, or None where it breaks a rule."""
        state = self.world.state()
        try:
            for call in planner.trace.calls:
                self.world.operations.run(state, call.operation, call.arguments)
            if self.world.operations.broken_rules(state, operation.name, arguments):
                return None
            self.world.operations.run(state, operation.name, arguments)
        except ModelMistake:
            return None
        return state.diff()

    def _mention(self, field: Field, candidate: Candidate, planner: Planner, random: Random) -> Mention:
        table = field.references or ""
        own = self.routes.tables[table].owner
        vague = bool(own) and random.random() < _VAGUE
        state = planner.trace.state
        found = mention_of(self.lexicon, state, table, candidate.arguments[field.name], candidate.owner, random)
        mine = own and (state.find(table, found.key or "") or {}).get(own) == candidate.owner
        return replace(found, kind=VAGUE) if vague and mine and not found.extremum else found

    def _payment(self, operation: Operation, candidate: Candidate, planner: Planner, random: Random) -> Payment | None:
        """The drawn method by id or kind, at times behind another one that does not cover the amount."""
        field = next((one for one in operation.parameters if self.routes.is_payment(one)), None)
        chosen = candidate.arguments.get(field.name) if field else None
        if field is None or chosen is None:
            return None
        methods = planner.profile[PAYMENTS]
        kinds = [one["kind"] for one in methods]

        def spoken(one: Mapping[str, Any]) -> str:
            by_kind = kinds.count(one["kind"]) == 1 and random.random() < _BY_KIND
            return str(one["kind"] if by_kind else one["id"])

        last = spoken(next(one for one in methods if one["id"] == chosen))
        for one in methods:
            if one["id"] != chosen and one["kind"] == "wallet" and random.random() < _FALLBACK:
                arguments = {**candidate.arguments, field.name: one["id"]}
                broken = self.world.operations.broken_rules(planner.trace.state, operation.name, arguments)
                if [rule.id for rule in broken] == ["payment_covers"]:
                    return Payment(first=spoken(one), other=last)
        return Payment(first=last)

    def _told(self, want: Want, planner: Planner) -> Sequence[str]:
        """The quantities of an operation that are known numbers here."""
        try:
            values = self.world.operations.values(planner.trace.state, want.operation, want.arguments)
        except ModelMistake as mistake:
            raise Rejected("a record that is not there") from mistake
        found = []
        for path in self.lexicon.quantities.get(want.operation, {}):
            value = quantity_at(values, path)
            if isinstance(value, int | float) and not isinstance(value, bool) and value > 0:
                found.append(path)
        return found

    def _conditional(self, want: Want, planner: Planner, random: Random, *, holds: bool) -> Want:
        paths = self._told(want, planner)
        if not paths:
            raise Rejected("no quantity for a condition")
        path = random.choice(paths)
        value = quantity_at(self.world.operations.values(planner.trace.state, want.operation, want.arguments), path)
        at_least = random.random() < 0.7
        step = max(1, round(value * random.choice((0.02, 0.1, 0.3))))
        above = at_least is not holds
        threshold = value + step if above else value - step
        rounded = float(round(threshold)) if value == int(value) else round(threshold, 2)
        if rounded < 0:
            raise Rejected("no threshold for a condition")
        condition = Condition(path=path, at_least=at_least, threshold=rounded)
        return replace(want, condition=condition, tell=(path,))

    def _more(self, planner: Planner, wants: Sequence[Want], random: Random, acts: bool) -> Want | None:
        """One more request: about what was just made, the same record, another one, or a question."""
        state, last = planner.trace.state, wants[-1]
        if random.random() < (_QUESTION_PART if acts else 1):
            return question(self.lexicon, self.world, state, planner.owner, random)
        refused = random.random() < _REFUSED_PART
        options = list(self._writes)
        random.shuffle(options)
        if last.operation and random.random() < _GO_ON:  # what works on the same record needs no further look-up
            table = self.routes.result_table(self.routes.operations[last.operation])
            options.sort(key=lambda one: all(key.references != table for key in self.routes.keys(one)))
        for operation in options[:8]:
            fixed, given = self._dependent(operation, last, planner, random)
            candidate = self._candidates.draw(
                operation, state, random, owner=planner.owner, fixed=fixed, refused=refused
            )
            if candidate is None or any(self._undoes(operation, candidate, one) for one in wants):
                continue
            try:
                want = self._want(operation, candidate, planner, random, given=given)
            except Rejected:
                continue
            return replace(want, outcome=Outcome.REFUSED, condition=None, tell=()) if refused else want
        return None

    def _undoes(self, operation: Operation, candidate: Candidate, before: Want) -> bool:
        """Whether the same would be done to the same record once more."""
        keys = self.routes.keys(operation)
        same = not keys or candidate.arguments[keys[0].name] == before.arguments.get(keys[0].name)
        return before.operation == operation.name and same

    def _dependent(
        self, operation: Operation, last: Want, planner: Planner, random: Random
    ) -> tuple[Mapping[str, str], Mapping[str, Mention]]:
        """The record of the last request as this one's, where it takes such a one."""
        if last.aim is not Aim.DO or not planner.trace.calls:
            return {}, {}
        before = self.routes.operations[last.operation]
        table = self.routes.result_table(before)
        result = planner.trace.results[-1]
        for one in self.routes.keys(operation):
            if one.references == table and table and last.outcome is Outcome.DONE:
                key = result.get(self.routes.tables[table].key)
                made = any(effect[0] == "insert" and effect[1] == table for effect in before.effects)
                if key and (made or random.random() < _SAME):
                    return {one.name: key}, {one.name: Mention(kind=NEW if made else SAME, key=key)}
        return {}, {}

    def _worded(
        self,
        planner: Planner,
        wants: Sequence[Want],
        random: Random,
        *,
        name: str,
        seed: str,
        split: str,
        by_email: bool,
        profile: Record,
    ) -> Assignment:
        wording = Wording(self.lexicon, random)
        worded = [wording.want(one) for one in wants]
        wrong = None if by_email or random.random() > _WRONG_EMAIL else _old_address(profile)
        identity = wording.identity(profile, by_email, wrong)
        told = [identity[-1].says] if random.random() < _TOLD else []
        facts = facts_of(worded, identity)
        first, later = _turns(worded, wording, random)
        refused = [one for one in wants if one.outcome is Outcome.REFUSED]
        golden = tuple(planner.trace.calls)
        changes = [one for one in golden if one.operation in writes(self.world.domain)]
        kind = AssignmentKind.WRITE if changes else AssignmentKind.REFUSAL if refused else AssignmentKind.READ
        if not changes and not any(one.answers for one in wants):
            raise Rejected("nothing that could be judged")
        required = {(one.value, one.unit): one for want in wants for one in want.answers}
        return Assignment(
            id=name,
            domain=self.world.domain.name,
            instruction=wording.opening(first, told),
            kind=kind,
            golden=golden,
            facts=facts,
            followups=later,
            insists=random.choice(phrases.INSISTS) if refused and random.random() < _INSISTS else None,
            persona=random.choice(phrases.PERSONAS),
            required=tuple(required.values()),
            difficulty={
                key: value
                for key, value in self._difficulty(planner, wants, facts, later, wrong, len(changes)).items()
                if value
            },
            intents=tuple(one.operation or f"{one.aim}_{one.table}" for one in wants),
            split=split,
            source=f"synthesis {seed}",
        )

    def _difficulty(
        self,
        planner: Planner,
        wants: Sequence[Want],
        facts: Sequence[Any],
        later: Sequence[str],
        wrong: str | None,
        changes: int,
    ) -> Mapping[str, int]:
        mentions = [(want, name, one) for want in wants for name, one in want.mentions.items()]
        described = [(want, name, one) for want, name, one in mentions if one.kind == DESCRIBED or one.kind == VAGUE]
        rules = [
            rule
            for want in wants
            if want.operation
            for rule in self.routes.operations[want.operation].rules
            if rule.mode is Mode.POLICY
        ]
        alike = 0
        for want, name, one in described:
            table = self._table(want, name)
            owner = planner.owner if self.routes.tables[table].owner else None
            rows = siblings(self.lexicon, planner.trace.state, table, owner)
            alike += look_alikes(self.lexicon, planner.trace.state, one, table, rows)
        return {
            "requests": len(wants),
            "writes": changes,
            "reads": len(planner.trace.calls) - changes,
            "described": len(described),
            "look_alikes": alike,
            "dependent": sum(one.kind in (SAME, NEW) for _, _, one in mentions),
            "conditions": sum(want.condition is not None for want in wants),
            "refused": sum(want.outcome is Outcome.REFUSED for want in wants),
            "policy_rules": len(rules),
            "fallbacks": sum(bool(want.payment and want.payment.other) for want in wants),
            "hidden": len(facts) - 1,
            "followups": len(later),
            "recoveries": int(wrong is not None),
            "pages": planner.pages,
            "arithmetic": sum(want.aim in (Aim.SUM, Aim.DIFFERENCE, Aim.DAYS, Aim.WHAT_IF) for want in wants)
            + sum(want.condition is not None for want in wants),
            "times": sum(self._has_time(want) for want in wants),
        }

    def _table(self, want: Want, name: str) -> str:
        if want.table:
            return want.table
        return next(
            one.references or "" for one in self.routes.operations[want.operation].parameters if one.name == name
        )

    def _has_time(self, want: Want) -> bool:
        operation = self.routes.operations.get(want.operation)
        times = (FieldType.DATE, FieldType.DATETIME)
        return operation is not None and any(one.type in times for one in operation.parameters)


def _turns(worded: Sequence[Worded], wording: Wording, random: Random) -> tuple[list[str], tuple[str, ...]]:
    """The sentences of the opening, and the requests that come later."""
    first = list(worded[0].sentences)
    later: list[str] = []
    for one in worded[1:]:
        if later or random.random() < _FOLLOW_UP:
            later.append(" ".join(one.sentences))
        else:
            first += [wording.next(one.sentences[0]), *one.sentences[1:]]
    return first, tuple(later)


def _old_address(profile: Mapping[str, Any]) -> str:
    return f"{profile['first_name']}_{profile['zip']}@old.example.net".lower()
