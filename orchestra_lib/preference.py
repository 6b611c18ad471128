"""What the user wants of a run: weights P over outcome, cost, latency and each tool.

ToolOrchestra (arXiv 2511.21689, section 3.2) takes every weight in [0, 1]. A tool
weight here lies in [-1, 1]: below zero the user wants the tool used less. That
extension is ours and is named so wherever it shows.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import field

from orchestra_lib.errors import BadInput
from orchestra_lib.record import record

GOALS = ("outcome", "cost", "latency")
"""Weights in [0, 1]: a solved task, a low bill, a short wait."""

DEFAULT_GOALS = {"outcome": 0.8, "cost": 0.3, "latency": 0.2}
_ALIASES = {"quality": "outcome", "time": "latency"}
MAX_SENTENCE = 600


@record
class Preference:
    """Weights of one user for one run.

    `outcome`, `cost`, `latency` lie in [0, 1]; `tools` maps tool names to [-1, 1], a
    missing tool weighs 0. `sentence` replaces the generated words that the model reads.

    Raises `BadInput` for a weight out of range or a sentence over 600 characters.
    """

    outcome: float = DEFAULT_GOALS["outcome"]
    cost: float = DEFAULT_GOALS["cost"]
    latency: float = DEFAULT_GOALS["latency"]
    tools: Mapping[str, float] = field(default_factory=dict)
    sentence: str | None = None

    def __post_init__(self) -> None:
        for goal in GOALS:
            _check(goal, getattr(self, goal), low=0.0)
        for tool, weight in self.tools.items():
            _check(f"tool.{tool}", weight, low=-1.0)
        if self.sentence is not None and len(self.sentence) > MAX_SENTENCE:
            raise BadInput(
                f"the preference sentence has {len(self.sentence):,} characters; keep it under {MAX_SENTENCE}"
            )

    def weight(self, tool: str) -> float:
        """The weight of one tool in [-1, 1]; 0 where the user said nothing."""
        return self.tools.get(tool, 0.0)


def parse_preference(pairs: Iterable[str]) -> Preference:
    """Read `cost=0.8`, `quality=1`, `tool.local_search=-1` into a `Preference`; the rest keeps its default.

    Raises `BadInput` for an unknown goal, a value that is no number or out of range.
    """
    goals, tools = parse_weights(pairs)
    return Preference(**{**DEFAULT_GOALS, **goals}, tools=tools)  # type: ignore[arg-type]  # goals are checked names


def parse_weights(pairs: Iterable[str]) -> tuple[dict[str, float], dict[str, float]]:
    """The weights of goals and of tools that such pairs name. Raises `BadInput` as `parse_preference` does."""
    goals: dict[str, float] = {}
    tools: dict[str, float] = {}
    for pair in pairs:
        name, separator, text = pair.partition("=")
        name = name.strip()
        if not separator or not name:
            raise BadInput(f"--prefer {pair!r}: write NAME=WEIGHT, for example cost=0.8 or tool.local_search=1")
        try:
            weight = float(text)
        except ValueError:
            raise BadInput(f"--prefer {pair!r}: {text!r} is no number") from None
        if name == "tool.":
            raise BadInput(f"--prefer {pair!r}: name the tool, for example tool.local_search=1")
        if name.startswith("tool."):
            tools[name.removeprefix("tool.")] = weight
        elif (goal := _ALIASES.get(name, name)) in GOALS:
            goals[goal] = weight
        else:
            raise BadInput(f"--prefer {pair!r}: unknown goal {name!r}; use {', '.join(GOALS)} or tool.NAME")
    return goals, tools


def _check(name: str, weight: float, *, low: float) -> None:
    if not (math.isfinite(weight) and low <= weight <= 1.0):
        raise BadInput(f"preference {name} = {weight!r} is out of range; use {low:g} to 1")


def describe(preference: Preference, titles: Mapping[str, str]) -> str:
    """The sentence that the model reads; `titles` maps the offered tools to their shown names.

    Tools that are not offered are left out: the model could not use them anyway.
    """
    if preference.sentence is not None:
        return preference.sentence
    wishes = [_goal_words("quality", preference.outcome, "answer well", "a rough answer is enough")]
    wishes.append(_goal_words("cost", preference.cost, "keep the cost low", "cost does not matter"))
    wishes.append(_goal_words("latency", preference.latency, "be quick", "time does not matter"))
    parts = [_sentence("; ".join(word for word in wishes if word))]
    for words, low, high in _BANDS:
        named = [title for tool, title in titles.items() if low < preference.weight(tool) <= high]
        if named:
            parts.append(_sentence(words.format(_join(named))))
    return " ".join(part for part in parts if part)


_BANDS = (
    ("Prefer {}", 0.5, 1.0),
    ("Use {} where it fits", 0.05, 0.5),
    ("Use {} less", -0.75, -0.05),
    ("Avoid {}", -math.inf, -0.75),
)


def _goal_words(goal: str, weight: float, much: str, none: str) -> str:
    if weight >= 0.75:
        return much
    if weight >= 0.4:
        return f"{goal} matters"
    if weight > 0.05:
        return f"{goal} matters a little"
    return none


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + "." if text else ""


def _join(names: list[str]) -> str:
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + " and " + names[-1]
