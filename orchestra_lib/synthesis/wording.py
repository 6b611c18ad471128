"""Wants in a user's words: sentences for the opening, follow-ups, and facts for what they leave out."""

from collections.abc import Sequence
from random import Random
from typing import Any

from orchestra_lib.environment.assignment import UserFact
from orchestra_lib.environment.schema import Field
from orchestra_lib.environment.state import Record
from orchestra_lib.record import record
from orchestra_lib.synthesis import phrases
from orchestra_lib.synthesis.lexicon import DESCRIBED, IDENTIFIED, VAGUE, Lexicon, Mention
from orchestra_lib.synthesis.questions import named
from orchestra_lib.synthesis.wants import Aim, Outcome, Rejected, Want


@record
class Worded:
    """A want in sentences, with the facts that they leave to be asked for."""

    sentences: tuple[str, ...]
    facts: tuple[UserFact, ...] = ()


class Wording:
    """Words the wants of one task; draws from a random of its own."""

    def __init__(self, lexicon: Lexicon, random: Random) -> None:
        self._lexicon, self._routes, self._random = lexicon, lexicon.routes, random

    def want(self, want: Want) -> Worded:
        """One request in words. Raises `Rejected` where the domain has none for it."""
        if want.aim in (Aim.DO, Aim.WHAT_IF):
            return self._act(want)
        return Worded(sentences=(self._question(want),))

    def _act(self, want: Want) -> Worded:
        operation = self._routes.operations[want.operation]
        choices = self._lexicon.operations.get(want.operation, ())
        if not choices:
            raise Rejected("no words for an operation")
        phrase = self._random.choice(choices)
        facts: list[UserFact] = []
        fields = {one.name: one for one in operation.parameters}
        vp = phrase.fill([self._slot(want, fields[name], facts) for name in phrase.slots])
        for name, field in fields.items():
            if name not in phrase.slots and name in want.arguments and field.references != self._routes.owner.name:
                facts.append(self._fact(field, self._value(want, field), want.arguments[name]))
        return Worded(sentences=tuple(self._sentences(want, vp)), facts=tuple(facts))

    def _sentences(self, want: Want, vp: str) -> Sequence[str]:
        random = self._random
        said = [self.quantity(want.operation, path) for path in want.tell]
        if want.aim is Aim.WHAT_IF:
            return [random.choice(phrases.WHAT_IFS).format(quantity=said[0], vp=vp)]
        if want.condition:
            found = random.choice(phrases.CONDITIONS).format(
                quantity=self.quantity(want.operation, want.condition.path),
                bound=random.choice(phrases.BOUNDS[want.condition.at_least]),
                amount=self._amount(want, want.condition.threshold),
                vp=vp,
            )
            out = [found]
        else:
            out = [framed(random.choice(phrases.FRAMES), vp)]
        out += [random.choice(phrases.TELLS).format(quantity=one) for one in said]
        if want.outcome is Outcome.REFUSED:
            out.append(random.choice(phrases.REASONS))
        return out

    def quantity(self, operation: str, path: str) -> str:
        """A quantity of an operation in words."""
        return self._random.choice(self._lexicon.quantities[operation][path])

    def _amount(self, want: Want, threshold: float) -> str:
        assert want.condition is not None
        number = f"{threshold:,.0f}" if threshold == int(threshold) else f"{threshold:,.2f}"
        is_money = any(one.unit == "$" for one in want.answers)
        return f"${number}" if is_money else number

    def _slot(self, want: Want, field: Field, facts: list[UserFact]) -> str:
        mention = want.mentions.get(field.name)
        if mention and mention.kind == VAGUE and field.references:
            plain = self._mentioned(field.references, Mention(
                kind=DESCRIBED if mention.phrase else IDENTIFIED, key=mention.key,
                constraints=mention.constraints, phrase=mention.phrase))  # fmt: skip
            facts.append(self._fact(field, plain, want.arguments[field.name]))
            return f"one of my {field.references.replace('_', ' ')}"
        return self._value(want, field)

    def _value(self, want: Want, field: Field) -> str:
        """An argument in words."""
        if self._routes.is_payment(field):
            assert want.payment is not None
            return self._lexicon.speak_payment(want.payment)
        mention = want.mentions.get(field.name)
        if mention and field.references:
            return self._mentioned(field.references, mention)
        return self._random.choice(self._lexicon.say(want.arguments[field.name], field))

    def _mentioned(self, table: str, mention: Mention) -> str:
        one, random = self._lexicon.one(table), self._random
        match mention.kind:
            case "same":
                return random.choice((f"the same {one}", f"that {one}"))
            case "new":
                return f"the new {one}"
            case "identified":
                mine = self._routes.tables[table].owner and table in self._routes.listers
                lead = random.choice(("my", "the", "")) if mine else random.choice(("the", ""))
                return f"{lead} {one} {mention.key}".strip()
            case _:
                assert mention.phrase is not None
                fields = [self._routes.field(table, path) for path in mention.phrase.slots]
                said = [
                    random.choice(self._lexicon.say(value, field))
                    for (_, value), field in zip(mention.constraints, fields, strict=True)
                    if field
                ]
                return mention.phrase.fill(said)

    def _fact(self, field: Field, said: str, value: Any) -> UserFact:
        name = plain_name(field)
        text = self._random.choice(phrases.FACTS).format(name=name, value=said, Value=capital(said))
        return UserFact(
            name=field.name, says=text, asked_by=asked_by(field, self._routes.is_payment(field)), value=value
        )

    def _question(self, want: Want) -> str:
        random, table = self._random, want.table.replace("_", " ")
        field = self._routes.field(want.table, want.field)
        words = named(field) if field else ""
        said = [self._mentioned(want.table, one) for one in want.mentions.values()]
        match want.aim:
            case Aim.FIELD:
                return random.choice(phrases.FIELDS).format(field=words, record=said[0])
            case Aim.DAYS:
                return random.choice(phrases.DAYS).format(field=words, record=said[0])
            case Aim.DIFFERENCE:
                return random.choice(phrases.DIFFERENCES).format(field=words, first=said[0], second=said[1])
            case _:
                assert want.where is not None
                by = self._routes.field(want.table, want.where[0])
                assert by is not None
                texts = phrases.COUNTS if want.aim is Aim.COUNT else phrases.SUMS
                return random.choice(texts).format(table=table, where=by.words, value=want.where[1], field=words)

    def identity(self, profile: Record, by_email: bool, wrong: str | None) -> tuple[UserFact, ...]:
        """What the user knows of the own identity."""
        name = self._random.choice(phrases.NAMES).format(
            first=profile["first_name"], last=profile["last_name"], zip=profile["zip"]
        )
        named = UserFact(
            name="name and zip code",
            says=name,
            asked_by=("name", "zip", "zip code", "postcode"),
            value=[profile["first_name"], profile["last_name"], profile["zip"]],
        )
        asked = ("e-mail", "email", "mail", "e-mail address", "email address")
        if by_email:
            says = self._random.choice(phrases.EMAILS).format(value=profile["email"])
            mail = UserFact(name="email", says=says, asked_by=asked, value=profile["email"])
            return (mail, named) if self._random.random() < 0.5 else (mail,)
        says = self._random.choice(phrases.OLD_EMAILS).format(value=wrong) if wrong else phrases.NO_EMAIL
        return UserFact(name="email", says=says, asked_by=asked, value=wrong), named

    def opening(self, sentences: Sequence[str], told: Sequence[str]) -> str:
        """The user's first words."""
        pick = self._random.choice
        parts = [pick(phrases.GREETINGS), *told, pick(phrases.CONTEXTS), *sentences, pick(phrases.CLOSINGS)]
        return " ".join(part for part in parts if part)

    def next(self, sentence: str) -> str:
        """A sentence that follows another request."""
        lead = self._random.choice(phrases.NEXT)
        return sentence if sentence.startswith("I ") or sentence.startswith("I'") else lead + lower(sentence)


def framed(frame: str, vp: str) -> str:
    """A request in a frame."""
    return frame.format(vp=vp, Vp=capital(vp))


def plain_name(field: Field) -> str:
    """A parameter as users and agents call it."""
    return field.words.removesuffix(" id")


def asked_by(field: Field, is_payment: bool) -> tuple[str, ...]:
    """The words of a question that ask for a parameter."""
    plain = plain_name(field)
    words = [plain, field.words, *(word for word in plain.split() if len(word) > 3)]
    if is_payment:
        words += ["payment", "pay", "card", "wallet", "charge"]
    return tuple(dict.fromkeys(words))


def capital(text: str) -> str:
    """With a capital first letter."""
    return text[:1].upper() + text[1:]


def lower(text: str) -> str:
    """With a small first letter, unless it stands for a name or an id."""
    word = text.partition(" ")[0]
    return text if word.isupper() or any(one.isdigit() for one in word) else text[:1].lower() + text[1:]


def facts_of(worded: Sequence[Worded], identity: Sequence[UserFact]) -> tuple[UserFact, ...]:
    """All facts of a task. Raises `Rejected` where one name would have two values."""
    found: dict[str, UserFact] = {one.name: one for one in identity}
    for one in worded:
        for fact in one.facts:
            if fact.name in found and found[fact.name].value != fact.value:
                raise Rejected("two facts of one name")
            found.setdefault(fact.name, fact)
    return tuple(found.values())
