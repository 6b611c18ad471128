"""How the tiny policy is spoken to: a situation in fifty to ninety tokens, and what its tokens mean.

It reads the same texts as any other policy (the description of each expert, the task, the sentence of the preference),
reduced to what its vocabulary can say:

- a tool is its place in the offer, a name of two syllables, a step of price, a step of time and four pairs of skills;
  a name that is not of two known syllables is dealt one that is, for the time of the run;
- a task is its first six words and its last four, where a number and an unknown word are one token each;
- the preference comes last, a token for each clause;
- a result is only *worked* or *failed*, and the final answer is one token that points at the last result that worked:
  the policy chooses whom to ask and never copies what was said.

It answers with a plan, a running comparison of the experts where the plan needs one, and one call.
"""

import re
from collections.abc import Sequence
from functools import lru_cache

from orchestra_lib.errors import BadInput
from orchestra_lib.generation import Generation
from orchestra_lib.protocols import Situation
from orchestra_lib.record import record
from orchestra_lib.simulated_tasks import DIFFICULTIES, KINDS
from orchestra_lib.tool import CallStatus, ToolCall, ToolSpec
from orchestra_lib.training.tiny import vocabulary as voc
from orchestra_lib.training.tiny.names import ALL, syllables
from orchestra_lib.training.tiny.scale import price_step, time_step
from orchestra_lib.training.tiny.vocabulary import ID
from orchestra_lib.trajectory import Call, Setting

_FIGURES = re.compile(r"costs about \$([\d.e+-]+) and takes about ([\d.e+-]+) s\.")
_SKILLS = re.compile(r"Skills: ([^.]+)\.")
_MARK = re.compile(r"\s*\[simulated \d+-\d+\]\s*$")
_WORD = re.compile(r"[a-z]+|\d+|[^\w\s]")
_HEAD, _TAIL = 6, 4
_UNKNOWN_CLAUSE = 6
_ANSWER = "Answer: "


@record
class Offered:
    """An expert as the tiny policy sees it. `skills` are the levels at easy and hard tasks by kind."""

    price: int
    time: int
    skills: tuple[tuple[str, str], ...]


class TinyDialect:
    """The dialect of the tiny policy. Raises `BadInput` for tools that are no simulated experts with stated figures,
    and for more of them than it can number."""

    eos = ID[voc.END]
    pad = ID[voc.PAD]

    def prompt(self, situation: Situation) -> list[int]:
        """Tools, task, preference."""
        setting = situation.setting
        dealt = aliases(setting.tools)
        ids = [ID[voc.BEGIN]]
        for number, spec in enumerate(setting.tools):
            ids += [ID[voc.place(number)], *name_ids(dealt[spec.name]), *_offer_ids(spec.name, spec.description)]
        return [*ids, ID[voc.ASK], *task_ids(setting.task.text), ID[voc.WISH], *_wish_ids(setting, dealt), _ASSISTANT]

    def continuation(self, situation: Situation) -> list[int]:
        """How the last call came out."""
        last = situation.turns[-1]
        ids = last.generation.token_ids if last.generation else None
        ended = [] if ids and ids[-1] == self.eos else [self.eos]
        if not last.calls:
            word = voc.MALFORMED
        else:
            word = voc.WORKED if all(_worked(call) for call in last.calls) else voc.FAILED
        return [*ended, ID[voc.RESULT], ID[word], _ASSISTANT]

    def read(self, ids: Sequence[int], situation: Situation) -> Generation:
        """A call of one expert with the whole task, or the last result as the answer."""
        said, text = tuple(ids), voc.words(tuple(ids))
        thought = voc.words(said[: said.index(ID[voc.CALL])]) if ID[voc.CALL] in said else ""
        calls: tuple[ToolCall, ...] = ()
        answer: str | None = None
        if said == (ID[voc.ANSWER], self.eos):
            answer = _last_result(situation)
        elif (name := self._called(said, situation.setting)) is not None:
            arguments = {"question": situation.setting.task.text}
            calls = (ToolCall.of(f"call_{len(situation.turns) + 1}_1", name, arguments),)
        return Generation(
            raw_text=text,
            reasoning=thought if calls else "",
            content="" if calls else answer or text,
            calls=calls,
            answer=answer,
            token_ids=said,
        )

    def _called(self, said: tuple[int, ...], setting: Setting) -> str | None:
        """The tool that is called; None unless it is a thought of one piece, one call and the end.

        A call is the name, or the place in the offer and the name, which then decides.
        """
        head, name = said[:-3], said[-3:-1]
        if head and head[-1] in _PLACES:
            head = head[:-1]
        if len(head) < 2 or said[-1] != self.eos or head[-1] != ID[voc.CALL] or not _THOUGHT.issuperset(head[:-1]):
            return None
        by_ids = {name_ids(alias): tool for tool, alias in aliases(setting.tools).items()}
        return by_ids.get((name[0], name[1]))


_ASSISTANT = ID[voc.ASSISTANT]
_PLACES = frozenset(ID[voc.place(number)] for number in range(voc.PLACES))
_THOUGHT = frozenset(
    number
    for text, number in ID.items()
    if text.startswith(("#", "best ", "price ", "time "))
    or text in (*voc.PLANS, *voc.LEVELS, voc.TRIED)
    or text in {voc.sort_of(kind, difficulty) for kind in KINDS for difficulty in DIFFICULTIES}
)
"""What may stand before a call."""


def aliases(tools: Sequence[ToolSpec]) -> dict[str, str]:
    """The name under which the policy knows each tool: its own where it has two known syllables, else one that is
    free."""
    own = {spec.name for spec in tools if syllables(spec.name)}
    free = (name for name in ALL if name not in own)
    return {spec.name: spec.name if spec.name in own else next(free) for spec in tools}


def name_ids(alias: str) -> tuple[int, int]:
    """The two tokens of a name. The name has two known syllables."""
    first, second = syllables(alias) or (alias, "")
    return ID[voc.first(first)], ID[voc.second(second)]


@lru_cache(maxsize=4096)
def offered(description: str) -> Offered | None:
    """What a description says; None where it is no simulated expert's, or leaves out figures or skills."""
    figures, skills = _FIGURES.search(description), _SKILLS.search(description)
    if figures is None or skills is None:
        return None
    told: dict[str, tuple[str, str]] = {}
    for part in skills[1].split("; "):
        kind, _, levels = part.partition(": ")
        words = dict(pair.split(" ", 1) for pair in levels.split(", ")) if " " in levels else {}
        told[kind] = tuple(words.get(difficulty, levels if not words else "weak") for difficulty in DIFFICULTIES)  # type: ignore[assignment]  # there are two
    return Offered(
        price=price_step(float(figures[1])),
        time=time_step(float(figures[2])),
        skills=tuple(told.get(kind, ("weak", "weak")) for kind in KINDS),
    )


def _offer_ids(name: str, description: str) -> list[int]:
    one = offered(description)
    if one is None:
        raise BadInput(
            f"tool {name[:80]!r} states no price, time and skills; the tiny policy conducts simulated experts alone, "
            "so offer it those"
        )
    skills = (voc.skill(kind, *levels) for kind, levels in zip(KINDS, one.skills, strict=True))
    return [ID[voc.price(one.price)], ID[voc.seconds(one.time)], *(ID[text] for text in skills)]


def task_ids(text: str) -> list[int]:
    """The first six and the last four words of a task."""
    words = _WORD.findall(_MARK.sub("", text).lower())
    kept = words if len(words) <= _HEAD + _TAIL else [*words[:_HEAD], *words[-_TAIL:]]
    return [ID[voc.NUMBER] if word.isdigit() else ID.get(f"word: {word}", ID[voc.WORD]) for word in kept]


def _wish_ids(setting: Setting, dealt: dict[str, str]) -> list[int]:
    ids: list[int] = []
    shown = {shown.lower(): spec.name for spec in setting.tools for shown in (spec.title, spec.name)}
    for clause in re.split(r"[.;]\s*", setting.sentence.lower()):
        if not clause.strip():
            continue
        if (known := ID.get(f"wish: {clause}")) is not None:
            ids.append(known)
            continue
        word = next((word for word in voc.NAMING if clause.startswith(word)), None)
        word = word or next((one for one in ("use where it fits", "use less") if clause.endswith(one[4:])), None)
        if word is None:
            ids += [ID[voc.WORD]] * min(len(clause.split()), _UNKNOWN_CLAUSE)
            continue
        ids.append(ID[f"wish: {word}"])
        named = dict.fromkeys(name for text, name in shown.items() if re.search(rf"\b{re.escape(text)}(?!\w)", clause))
        for name in named:
            ids += name_ids(dealt[name])
    return ids


def _worked(call: Call) -> bool:
    return call.observation is not None and call.observation.status is CallStatus.OK


def _last_result(situation: Situation) -> str | None:
    """What the last call that worked said; None when none did."""
    calls = (call for turn in reversed(situation.turns) for call in reversed(turn.calls))
    good = next((call for call in calls if _worked(call)), None)
    return None if good is None or good.observation is None else good.observation.text.removeprefix(_ANSWER)
