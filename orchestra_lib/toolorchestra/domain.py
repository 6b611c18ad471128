"""Domain mode: a real conversation over a domain's functions, and `call_expert`, which hands a turn to an expert.

The call to an expert does not enter the history: what the expert said or called stands there as the agent's own
turn. In the record the call is a turn, its observation the expert's move, and the next turn plays that move.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from orchestra_lib.call_text import ReadCall
from orchestra_lib.codec import dumps, from_data, to_data
from orchestra_lib.errors import BadInput
from orchestra_lib.generation import Generation
from orchestra_lib.json_writing import spoken
from orchestra_lib.protocols import Situation
from orchestra_lib.record import record
from orchestra_lib.tool import ASK_USER, CallStatus, ToolSpec
from orchestra_lib.toolorchestra.aliases import EXPERT, Kit, openai_tools
from orchestra_lib.toolorchestra.prompt import problem_of
from orchestra_lib.toolorchestra.tokens import TokenCounter, count
from orchestra_lib.trajectory import Call, Setting, Turn

TRANSFER = "transfer_to_human_agents"
"""A function that the orchestrator is not shown: it calls an expert in its place."""

CONTEXT_TOKENS = 23_000
"""What the conversation and the tools may take of the orchestrator's context."""

MAX_CALLS = 6
"""So many calls of one message are made."""

_NUDGE = "Please go on."
_HUMAN = re.compile(rf"human agents?\b|{TRANSFER}", re.IGNORECASE)
_TRANSFER_BLOCK = re.compile(r"\W*(to )?(transfer|escalat)", re.IGNORECASE)
_MESSAGE = re.compile(r"<message>(.*?)</message>", re.DOTALL)

Message = Mapping[str, Any]


@record
class DomainWords:
    """The published words of domain mode; `system` has the place `{policy}`."""

    expert_rule: str
    suffix: str
    filler: str
    system: str
    kit: Kit

    def expert_system(self, policy: str) -> str:
        """The clean system prompt, as every expert reads it."""
        return self.system.strip().replace("{policy}", policy.strip())

    def orchestrator_system(self, policy: str, *, experts: bool) -> str:
        """The same with the format that was trained, and where there are experts with them in place of human agents."""
        ruled = with_expert_rule(policy, self.expert_rule) if experts else policy
        return self.expert_system(ruled) + self.suffix


@record
class MoveCall:
    """A call that an expert made; the text may be no JSON."""

    name: str
    arguments_text: str


@record
class ExpertMove:
    """What an expert did with the turn that it was handed."""

    content: str
    calls: tuple[MoveCall, ...] = ()


def write_move(move: ExpertMove) -> str:
    """A move as the observation of `call_expert`."""
    return dumps(to_data(move))


def expert_move(turns: Sequence[Turn]) -> ExpertMove | None:
    """The move that waits to be played: that of the last turn, when it was a call to an expert that went well."""
    calls = turns[-1].calls if turns else ()
    observation = calls[0].observation if len(calls) == 1 and calls[0].call.tool == EXPERT else None
    if observation is None or observation.status is not CallStatus.OK:
        return None
    try:
        return from_data(json.loads(observation.text), ExpertMove, where=EXPERT)
    except (ValueError, BadInput):
        return None  # cut by the loop's cap: as if the expert had not been asked


def with_expert_rule(policy: str, rule: str) -> str:
    """The policy with what it says on human agents replaced by the rule; the rule at its end when it says nothing.

    A paragraph that opens with a transfer is replaced as a whole, elsewhere the lines that speak of human agents.
    """
    paragraphs: list[str] = []
    for paragraph in policy.split("\n\n"):
        lines = _ruled(paragraph, rule)
        if lines == [rule] and paragraphs and paragraphs[-1] == rule:
            continue
        paragraphs.append("\n".join(lines))
    text = "\n\n".join(paragraphs)
    return text if rule in text else f"{text.rstrip()}\n\n{rule}"


def _ruled(paragraph: str, rule: str) -> list[str]:
    lines = paragraph.split("\n")
    if not _HUMAN.search(paragraph):
        return lines
    first = next((line for line in lines if line.strip()), "")
    if (_HUMAN.search(first) and not first.lstrip().startswith(("-", "*"))) or _TRANSFER_BLOCK.match(first):
        return [rule]
    ruled: list[str] = []
    for line in lines:
        replaced = rule if _HUMAN.search(line) else line
        if not (replaced == rule and ruled and ruled[-1] == rule):
            ruled.append(replaced)
    return ruled


def to_user(message: str, setting: Setting) -> ReadCall | None:
    """A message as the call that speaks it, where somebody plays the user."""
    if not message or all(spec.name != ASK_USER for spec in setting.tools):
        return None
    arguments = {"message": message}
    return ReadCall(name=ASK_USER, arguments=arguments, text=spoken(arguments))


def message_of(spoken: str) -> str:
    """What a reply says to the user: the last `<message>`, or all of it."""
    found = _MESSAGE.findall(spoken)
    return (found[-1] if found else spoken).strip()


def orchestrator_tools(setting: Setting, kit: Kit) -> tuple[Message, ...]:
    """The domain's functions, then `call_expert` where it is on offer, in place of the transfer to a human agent."""
    experts = openai_tools(kit, setting.tools, setting.prices)
    shown = [spec for spec in functions(setting) if not (experts and spec.name == TRANSFER)]
    return (*map(_function, shown), *experts)


def expert_tools(setting: Setting) -> tuple[Message, ...]:
    """The domain's own functions, all of them."""
    return tuple(map(_function, functions(setting)))


def functions(setting: Setting) -> Iterable[ToolSpec]:
    """What the domain itself offers."""
    return (spec for spec in setting.tools if spec.name not in (EXPERT, ASK_USER))


def _function(spec: ToolSpec) -> Message:
    function = {"name": spec.name, "description": spec.description, "parameters": spec.parameters}
    return {"type": "function", "function": function}


def conversation(
    situation: Situation, system: str, filler: str, limit: int, counter: TokenCounter, *, sentence: str = ""
) -> tuple[Message, ...]:
    """The conversation so far under a system prompt, cut in the middle to a token budget.

    `sentence` is the preference, for the orchestrator and not for experts; the protocol has no other place for one.

    Half the budget keeps the beginning and half the end; a call and its result are never parted. The system
    prompt, the request and the last turn always stay, whatever their size.
    """
    opening = [
        ({"role": "system", "content": system},),
        ({"role": "user", "content": problem_of(situation.setting.task.text, sentence)},),
    ]
    turns = [said for turn in situation.turns if turn.generation and (said := _said(turn, turn.generation, filler))]
    groups = [*opening, *turns]
    sizes = [count(counter, dumps(group)) for group in groups]
    if sum(sizes) > limit:
        end = max(1, _fitting(sizes[::-1], limit - limit // 2))
        head = max(len(opening), _fitting(sizes, min(limit // 2, limit - sum(sizes[-end:]))))
        groups = groups[:head] + groups[max(head, len(groups) - end) :]
    return tuple(message for group in groups for message in group)


def _fitting(sizes: Sequence[int], budget: int) -> int:
    """How many from the start fit."""
    total = 0
    for place, size in enumerate(sizes):
        total += size
        if total > budget:
            return place
    return len(sizes)


def _said(turn: Turn, generation: Generation, filler: str) -> tuple[Message, ...]:
    calls = [call for call in turn.calls if call.call.tool != EXPERT]
    if len(calls) < len(turn.calls):
        return ()  # a turn that was handed to an expert: its move is the next turn
    said: dict[str, Any] = {"role": "assistant", "content": generation.content or ("" if calls else filler)}
    if not calls:
        return (said, {"role": "user", "content": _NUDGE})
    if calls[0].call.tool == ASK_USER:
        return (said, {"role": "user", "content": _result(calls[0])})
    said["tool_calls"] = [
        {
            "id": call.call.id,
            "type": "function",
            "function": {
                "name": call.call.tool,
                "arguments": spoken(call.call.arguments or {}),
            },
        }
        for call in calls
    ]
    return (said, *({"role": "tool", "tool_call_id": call.call.id, "content": _result(call)} for call in calls))


def _result(call: Call) -> str:
    return call.observation.text if call.observation else "No result."
