"""What people want of a run and of its tools, what it weighs, and how they word it: the material of `preference_pairs`.

The last wordings of a need are held out for evaluation, so that no clause of a training pair stands in an evaluation
pair.
"""

from collections.abc import Mapping
from enum import StrEnum

from orchestra_lib.record import record

TRAIN, EVAL = "train", "eval"


class Need(StrEnum):
    """Something that people want of a run, without naming a tool."""

    SECRET = "secret"
    NO_APIS = "no_apis"
    HARDWARE = "hardware"
    CHEAP = "cheap"
    THRIFTY = "thrifty"
    FEW_CENTS = "few_cents"
    RICH = "rich"
    URGENT = "urgent"
    BRISK = "brisk"
    UNHURRIED = "unhurried"
    PATIENT = "patient"
    EXACT = "exact"
    DECENT = "decent"
    ROUGH = "rough"
    SPECIALISTS = "specialists"
    GENERALISTS = "generalists"
    SEARCHES = "searches"
    NO_SEARCHES = "no_searches"


class Stance(StrEnum):
    """How somebody stands towards tools that they name."""

    PREFER = "prefer"
    USE = "use"
    MAY = "may"
    LESS = "less"
    AVOID = "avoid"
    OVER = "over"


@record
class Wording:
    """What a need or a stance weighs, and the ways to say so; `held_out` are for evaluation only."""

    weight: float
    train: tuple[str, ...]
    held_out: tuple[str, ...]

    def of(self, split: str) -> tuple[str, ...]:
        """The wordings of one split."""
        return self.train if split == TRAIN else self.held_out


GOAL_OF: Mapping[Need, str] = {
    Need.CHEAP: "cost",
    Need.THRIFTY: "cost",
    Need.FEW_CENTS: "cost",
    Need.RICH: "cost",
    Need.URGENT: "latency",
    Need.BRISK: "latency",
    Need.UNHURRIED: "latency",
    Need.PATIENT: "latency",
    Need.EXACT: "outcome",
    Need.DECENT: "outcome",
    Need.ROUGH: "outcome",
}
"""The goal that a need weighs; the others weigh a kind of tools."""

NEEDS: Mapping[Need, Wording] = {
    Need.SECRET: Wording(
        weight=-1.0,
        train=(
            "the data is confidential",
            "these records are private",
            "what I send you is sensitive",
            "the files must not leave",
            "this is secret",
        ),
        held_out=("our documents are confidential", "nothing may leave", "it is all very private"),
    ),
    Need.NO_APIS: Wording(
        weight=-1.0,
        train=(
            "avoid paid APIs",
            "no external services",
            "do not use hosted models",
            "stay away from the cloud",
            "never call an API",
            "skip commercial APIs",
        ),
        held_out=("avoid API calls", "don't use remote services", "without external APIs"),
    ),
    Need.HARDWARE: Wording(
        weight=1.0,
        train=(
            "I have many GPUs",
            "we have GPUs",
            "we own enough GPUs",
            "my lab has several GPUs",
            "I have plenty of hardware",
        ),
        held_out=("we have lots of GPUs", "there are idle GPUs", "I own hardware"),
    ),
    Need.CHEAP: Wording(
        weight=1.0,
        train=(
            "keep the cost low",
            "be as cheap as possible",
            "my budget is tight",
            "I must save money",
            "cost matters most",
            "spend as little as possible",
            "nothing expensive",
            "minimize the cost",
        ),
        held_out=("keep the bill down", "cost is critical", "I have a small budget", "money matters a lot"),
    ),
    Need.THRIFTY: Wording(
        weight=0.5,
        train=("cost matters", "the price matters", "money matters to me"),
        held_out=("the budget matters", "costs matter"),
    ),
    Need.FEW_CENTS: Wording(
        weight=0.2,
        train=("cost matters a little", "the price matters a bit"),
        held_out=("money matters a little", "cost matters a bit"),
    ),
    Need.RICH: Wording(
        weight=0.0,
        train=(
            "money is no object",
            "cost does not matter",
            "I don't care about the price",
            "at any price",
            "whatever it costs",
        ),
        held_out=("budget is no concern", "regardless of the cost", "the price doesn't matter"),
    ),
    Need.URGENT: Wording(
        weight=1.0,
        train=(
            "be quick",
            "I need it fast",
            "this is urgent",
            "I am in a hurry",
            "answer as fast as possible",
            "speed is very important",
            "time is critical",
        ),
        held_out=("I need this asap", "it has to be fast", "tell me right away", "latency matters most"),
    ),
    Need.BRISK: Wording(
        weight=0.5,
        train=("time matters", "speed matters", "the time matters too"),
        held_out=("latency matters", "speed matters to us"),
    ),
    Need.UNHURRIED: Wording(
        weight=0.2,
        train=("speed matters a little", "time matters a bit"),
        held_out=("latency matters a little", "speed matters a bit"),
    ),
    Need.PATIENT: Wording(
        weight=0.0,
        train=("no hurry", "take your time", "I can wait", "it need not be fast", "I don't care how long it takes"),
        held_out=("no rush", "time does not matter", "we can wait"),
    ),
    Need.EXACT: Wording(
        weight=1.0,
        train=(
            "get it right",
            "be accurate",
            "I need the best answer",
            "the result must be correct",
            "accuracy is essential",
            "be very careful",
            "quality matters most",
        ),
        held_out=("answer well", "be precise", "correctness is key", "give me the highest quality"),
    ),
    Need.DECENT: Wording(
        weight=0.5,
        train=("quality matters", "accuracy matters"),
        held_out=("correctness matters", "precision matters"),
    ),
    Need.ROUGH: Wording(
        weight=0.0,
        train=(
            "a rough answer is enough",
            "it need not be perfect",
            "a rough guess will do",
            "accuracy does not matter",
        ),
        held_out=("it need not be exact", "quality doesn't really matter"),
    ),
    Need.SPECIALISTS: Wording(
        weight=1.0,
        train=("prefer specialists", "mostly specialists, please", "rely on specialist models"),
        held_out=("favour specialists", "I prefer specialist models"),
    ),
    Need.GENERALISTS: Wording(
        weight=1.0,
        train=("prefer generalists", "rely on generalist models", "I like generalists"),
        held_out=("favour generalists", "mainly generalist models"),
    ),
    Need.SEARCHES: Wording(
        weight=1.0,
        train=("prefer searching", "I like searches", "always look things up"),
        held_out=("rely on searching", "mainly search"),
    ),
    Need.NO_SEARCHES: Wording(
        weight=-1.0,
        train=("no searching", "avoid searches", "never look things up"),
        held_out=("don't search", "do it without searching"),
    ),
}

STANCES: Mapping[Stance, Wording] = {
    Stance.PREFER: Wording(
        weight=1.0,
        train=("prefer {}", "rely on {}", "I favor {}", "I like {}", "work mainly with {}", "always ask {}"),
        held_out=("I would rather have {}", "go mostly with {}", "we love {}"),
    ),
    Stance.USE: Wording(
        weight=0.75,
        train=("use {}", "I want {} used", "call {}"),
        held_out=("we want {}", "try using {}"),
    ),
    Stance.MAY: Wording(
        weight=0.3,
        train=("use {} where it fits", "you may use {}", "sometimes {}", "{} can be used"),
        held_out=("{} if useful", "{} could be used", "{} when helpful"),
    ),
    Stance.LESS: Wording(
        weight=-0.5,
        train=("use {} less", "use {} sparingly", "{} only if needed", "rarely call {}"),
        held_out=("{} only if necessary", "seldom use {}", "use {} less often"),
    ),
    Stance.AVOID: Wording(
        weight=-1.0,
        train=("avoid {}", "never use {}", "do not use {}", "no {}", "skip {}", "I don't like {}"),
        held_out=("stay away from {}", "don't call {}", "do it without {}", "exclude {}"),
    ),
    Stance.OVER: Wording(
        weight=1.0,
        train=("prefer {} over {}", "use more of {} rather than {}"),
        held_out=("rely on {} instead of {}", "I like {} more than {}"),
    ),
}
"""How tools are spoken of; of `OVER` the second one is wanted less."""
