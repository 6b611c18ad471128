"""What an orchestrator was sent, rebuilt from the record: the messages of each request.

A conversation of protocol `chat` only grows, so that its last request holds the earlier ones. Protocol
`toolorchestra` builds each turn's two messages anew.
"""

from collections.abc import Mapping
from typing import Any

from orchestra_lib import chat, toolorchestra
from orchestra_lib.chat import CallStyle
from orchestra_lib.protocols import Situation
from orchestra_lib.record import record
from orchestra_lib.toolorchestra.context import HLE, orchestrator_context
from orchestra_lib.toolorchestra.evidence import gather
from orchestra_lib.toolorchestra.prompt import orchestrator_messages, problem_of
from orchestra_lib.toolorchestra.tokens import WordPieces
from orchestra_lib.trajectory import Trajectory


@record
class Asked:
    """The messages of one request; `turn` is the turn that it was for, None for a whole conversation."""

    turn: int | None
    messages: tuple[Mapping[str, Any], ...]


def style_of(trajectory: Trajectory) -> CallStyle:
    """How the model was asked to call, read off what it wrote: the record does not name it."""
    texts = [turn.generation.raw_text.lstrip() for turn in trajectory.turns if turn.generation]
    if any("<tool_call>" in text for text in texts):
        return CallStyle.HERMES
    if texts and all(text.startswith("{") for text in texts):
        return CallStyle.CONSTRAINED
    return CallStyle.NATIVE


def was_asked(trajectory: Trajectory) -> bool:
    """Whether the orchestrator is a model that was sent messages; a policy of rules reads the record itself."""
    return any(turn.generation and turn.generation.attempts for turn in trajectory.turns)


def transcript(trajectory: Trajectory, style: CallStyle | None = None) -> tuple[Asked, ...]:
    """Every request of a run. `style` None: the one that its texts tell of.

    The evidence of protocol `toolorchestra` is cut by an approximate token count where the exact tokenizer was not
    recorded, so that a very long run's requests may differ at the cut. An imported run has its file's conversation.
    """
    if trajectory.setting.protocol == toolorchestra.PROTOCOL:
        return tuple(_fresh(trajectory, place) for place in range(len(trajectory.turns)))
    if trajectory.setting.conversation is not None:
        return (Asked(turn=None, messages=trajectory.setting.conversation),)
    messages = chat.messages(_before(trajectory, len(trajectory.turns)), style or style_of(trajectory))
    last = trajectory.turns[-1].generation if trajectory.turns else None
    if last is not None and last.answer is not None:
        messages = messages[:-1]  # the nudge that would follow, had there been another turn
    return (Asked(turn=None, messages=messages),)


def _fresh(trajectory: Trajectory, place: int) -> Asked:
    situation, counter = _before(trajectory, place), WordPieces()
    problem = problem_of(trajectory.setting.task.text, trajectory.setting.sentence)
    context = orchestrator_context(gather(situation.turns), problem, HLE, counter)
    return Asked(turn=trajectory.turns[place].index, messages=orchestrator_messages(problem, context))


def _before(trajectory: Trajectory, place: int) -> Situation:
    return Situation(setting=trajectory.setting, turns=trajectory.turns[:place], spent_usd=None, elapsed_s=0.0)
