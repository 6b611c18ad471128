"""The tokens of the tiny policy: about six hundred, each with the features that it is built from.

One token stands for what takes a bigger model several: a step of the price scale, a kind of task with a pair of levels,
a clause of the user's preference. The features are where training starts (the embedding of "price 12" begins as the sum
of *price* and of *step 12*, whose neighbours resemble it); what training makes of them is its own affair.
"""

from collections.abc import Iterator
from itertools import product

from orchestra_lib.record import record
from orchestra_lib.simulated_tasks import DIFFICULTIES, KINDS
from orchestra_lib.training.tiny.names import FIRST, SECOND
from orchestra_lib.training.tiny.scale import STEPS

LEVELS = ("weak", "fair", "good", "expert")
PLACES = 8
"""So many tools can be on offer."""

PAD, BEGIN, ASK, WISH, ASSISTANT, END = "<pad>", "<begin>", "<task>", "<wish>", "<assistant>", "<end>"
RESULT, WORKED, FAILED, MALFORMED = "<result>", "worked", "failed", "malformed"
WORD, NUMBER = "<word>", "<number>"
CALL, ANSWER, TRIED = "call", "answer with the last result", "tried"
_MARKS = (
    PAD, BEGIN, ASK, WISH, ASSISTANT, END, RESULT, WORKED, FAILED, MALFORMED, WORD, NUMBER, CALL, ANSWER, TRIED,
)  # fmt: skip
PLANS = ("cheapest", "fastest", "strongest", "named", "usual", "any")
CLAUSES = (
    "answer well", "quality matters", "quality matters a little", "a rough answer is enough",
    "keep the cost low", "cost matters", "cost matters a little", "cost does not matter",
    "be quick", "latency matters", "latency matters a little", "time does not matter",
    "call the cheapest able expert", "call the fastest able expert", "call the strongest expert",
)  # fmt: skip
NAMING = ("prefer", "use where it fits", "use less", "avoid", "call only")
WORDS = (
    "what", "who", "in", "how", "does", "is", "the", "of", "this", "which", "was", "much", "less", "print", "python",
    "line", "like", "program", "founded", "invented", "governed", "when", "its", "neighbour", "year", "older", "than",
    "oldest", "youngest", "second", "third", "sum", "squares", "from", "to", "remainder", "divided", "by", "power",
    "valley", "province", "town", "island", "*", "+", "-", "^", "?", ".", "(", ")", "`", ":", ";", "%", "=", ",",
)  # fmt: skip


@record
class Token:
    """What a token is called, what it is made of, and where it lies on a scale, if it does."""

    text: str
    features: tuple[str, ...]
    step: int | None = None


def place(number: int) -> str:
    """The token of the tool that stands at a place of the offer, from 0."""
    return f"#{number + 1}"


def price(step: int) -> str:
    """The token of a step of the price scale."""
    return f"price {step}"


def seconds(step: int) -> str:
    """The token of a step of the time scale."""
    return f"time {step}"


def skill(kind: str, easy: str, hard: str) -> str:
    """The token of what an expert is at one kind of task."""
    return f"{kind}: easy {easy}, hard {hard}"


def sort_of(kind: str, difficulty: str) -> str:
    """The token by which the policy restates what sort of task it has."""
    return f"{difficulty} {kind}"


def best(number: int, at: int | str) -> str:
    """The token of a running best: the place of a tool with its step, or with its level."""
    return f"best {place(number)} at {at}"


def first(syllable: str) -> str:
    """The token of a syllable that begins a name."""
    return f"{syllable}-"


def second(syllable: str) -> str:
    """The token of a syllable that ends a name."""
    return f"-{syllable}"


def _tokens() -> Iterator[Token]:
    for text in _MARKS:
        yield Token(text=text, features=(text,))
    for text in PLANS:
        yield Token(text=text, features=("plan", text))
    for number in range(PLACES):
        yield Token(text=place(number), features=("place", place(number)))
    for step in range(STEPS):
        yield Token(text=price(step), features=("price",), step=step)
        yield Token(text=seconds(step), features=("time",), step=step)
    for kind, easy, hard in product(KINDS, LEVELS, LEVELS):
        yield Token(text=skill(kind, easy, hard), features=(f"skill {kind}", f"easy {easy}", f"hard {hard}"))
    for kind, difficulty in product(KINDS, DIFFICULTIES):
        yield Token(text=sort_of(kind, difficulty), features=(f"sort {kind}", f"sort {difficulty}"))
    for text in LEVELS:
        yield Token(text=text, features=("level", f"level {text}"))
    for number, step in product(range(PLACES), range(STEPS)):
        yield Token(text=best(number, step), features=("best", place(number)), step=step)
    for number, text in product(range(PLACES), LEVELS):
        yield Token(text=best(number, text), features=("best", place(number), f"level {text}"))
    for syllable in FIRST:
        yield Token(text=first(syllable), features=("first", first(syllable)))
    for syllable in SECOND:
        yield Token(text=second(syllable), features=("second", second(syllable)))
    for text in (*CLAUSES, *NAMING):
        yield Token(text=f"wish: {text}", features=("wish", f"wish: {text}"))
    for text in WORDS:
        yield Token(text=f"word: {text}", features=("word", f"word: {text}"))


TOKENS = tuple(_tokens())
ID = {token.text: number for number, token in enumerate(TOKENS)}


def words(ids: list[int] | tuple[int, ...]) -> str:
    """What a policy wrote, as a person reads it."""
    return " ".join(TOKENS[one].text for one in ids)
