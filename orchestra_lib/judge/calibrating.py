"""Having a judge rate answers that people have labelled: as they are, in another order, and padded."""

from orchestra_lib.calibration import Rating
from orchestra_lib.errors import WorldFault
from orchestra_lib.judge.model import Question, judge
from orchestra_lib.pricing import Attempt
from orchestra_lib.protocols import ChatModel
from orchestra_lib.record import record

_FILLER = (
    "To answer this, it helps to go through what was asked step by step and to keep every part of it in view. "
    "Each part was considered on its own and then together with the others, and the result was looked at once more. "
    "Nothing in that changes what is said above, which stands as the answer. "
)
"""Words that add nothing: a judge that says another thing because of them goes by length."""


@record
class Labelled:
    """An answer that a person has judged."""

    task: str
    answer: str
    human: bool
    reference: str | None = None


@record
class Rated:
    """A rating, what it took, and the faults of the world on the way; after a fault the verdict is unknown."""

    rating: Rating
    attempts: tuple[Attempt, ...]
    faults: tuple[str, ...]


def padded(answer: str) -> str:
    """The same answer at more than twice its length, without a new thought."""
    return f"{answer}\n\n{_FILLER * (len(answer) // len(_FILLER) + 1)}".rstrip()


async def rate(model: ChatModel, labelled: Labelled) -> Rated:
    """Ask three times: as it is, with the answer before the reference, and with a padded answer."""
    plain = Question(task=labelled.task, reference=labelled.reference, answer=labelled.answer)
    longer = Question(task=labelled.task, reference=labelled.reference, answer=padded(labelled.answer))
    said: list[bool | None] = []
    attempts: tuple[Attempt, ...] = ()
    faults: list[str] = []
    for question, answer_first in ((plain, False), (plain, True), (longer, False)):
        try:
            judgement = await judge(model, question, answer_first=answer_first)
        except WorldFault as fault:
            said.append(None)
            attempts += getattr(fault, "attempts", ())
            faults.append(str(fault))
            continue
        said.append(judgement.verdict.outcome if judgement.verdict else None)
        attempts += judgement.attempts
        faults += [judgement.why] if judgement.why else []
    judged, swapped, with_filler = said
    rating = Rating(
        human=labelled.human, judge=judged, swapped=swapped, padded=with_filler, answer_chars=len(labelled.answer)
    )
    return Rated(rating=rating, attempts=attempts, faults=tuple(faults))
