"""A preference from a sentence, by rules: what was understood, as weights, and what was not, in the user's words.

For offline use, and to be seen and edited: nothing is guessed. English only. Wishes about a tool by its name or title
win over wishes about a kind of tools ("models", "APIs"); among equals the later one wins. A negative weight is our
extension of the paper's preferences.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from orchestra_lib import preference_words as words_for
from orchestra_lib.errors import BadInput
from orchestra_lib.preference import GOALS, MAX_SENTENCE, Preference
from orchestra_lib.record import record
from orchestra_lib.tool import ToolKind, ToolSpec


@record
class Understood:
    """Words of the sentence and what they were taken for: a weight of `outcome`, `cost`, `latency` or `tool.NAME`.

    `named` when it is about a tool by its own name or title; `overridden` when another part of the sentence says
    otherwise and wins.
    """

    words: str
    name: str
    weight: float
    named: bool = False
    overridden: bool = False


@record
class PreferenceReading:
    """The weights that a sentence gives; goals that it does not speak of keep their defaults.

    `no_tool` are words about a kind of tools of which none is on offer: understood, and nothing to weigh.
    """

    preference: Preference
    understood: tuple[Understood, ...]
    not_understood: tuple[str, ...]
    no_tool: tuple[str, ...] = ()

    @property
    def goals(self) -> Mapping[str, float]:
        """The weights of the goals that the sentence speaks of."""
        spoken = {said.name for said in self.understood if not said.name.startswith(_TOOL)}
        return {goal: getattr(self.preference, goal) for goal in GOALS if goal in spoken}


_MARK = "\ue000{}\ue001"
_MENTION = re.compile("\ue000(\\d+)\ue001")
_LIST = re.compile("\ue000\\d+\ue001(?:(?:\\s*,?\\s*(?:and|or|nor|&)\\s+|\\s*[,/]\\s*)(?:the )?\ue000\\d+\ue001)+")
_OVER = re.compile("(?<=\ue001)\\s*,?\\s*(?:over|instead of|rather than|more than)\\s+(?:the )?(?=\ue000)")
_CLAUSES = re.compile(r"[;!?,\n]+|\.(?=\s|$)|\b(?:and|but|however|though|while)\b")


@record
class _Mention:
    """Tools that some words stand for; `named` when they are the tool's own name or title."""

    words: str
    tools: tuple[str, ...]
    named: bool


def read_preference(sentence: str, tools: Sequence[ToolSpec], remote: Collection[str] = ()) -> PreferenceReading:
    """Read a sentence about a run with these tools, of which those named in `remote` send data elsewhere.

    The sentence becomes the preference's own, so that the orchestrator reads the user's words. Raises `BadInput`
    for one that is empty or over 600 characters.
    """
    check_sentence(sentence)
    text, mentions = _mentions(_plain(sentence), _vocabulary(tools, remote))
    reader = _Reader(mentions, tools, remote)
    reader.read(text)
    # The sort is stable: wishes about named tools come last, and so hold.
    final = {said.name: said.weight for said in sorted(reader.effects, key=lambda said: said.named)}
    goals = {name: weight for name, weight in final.items() if not name.startswith(_TOOL)}
    weights = {name.removeprefix(_TOOL): weight for name, weight in final.items() if name.startswith(_TOOL)}
    return PreferenceReading(
        preference=Preference(**goals, tools=weights, sentence=sentence),
        understood=tuple(replace(said, overridden=final[said.name] != said.weight) for said in reader.effects),
        not_understood=tuple(reader.lost),
        no_tool=tuple(dict.fromkeys(reader.moot)),
    )


def check_sentence(sentence: str) -> None:
    """Raise `BadInput` for a sentence that is empty or over 600 characters."""
    if not sentence.strip():
        raise BadInput("the sentence is empty; say what you prefer, for example: be quick, avoid paid APIs")
    if len(sentence) > MAX_SENTENCE:
        raise BadInput(f"the preference sentence has {len(sentence):,} characters; keep it under {MAX_SENTENCE}")


_TOOL = "tool."


def _plain(sentence: str) -> str:
    kept = re.sub("[\ue000\ue001]", " ", sentence.replace("\u2019", "'"))
    return re.sub(r"[^\S\n]+", " ", kept)


def _vocabulary(tools: Sequence[ToolSpec], remote: Collection[str]) -> tuple[tuple[str, _Mention], ...]:
    """Patterns of what may be meant by words, the most exact first."""
    exact = {words: spec.name for spec in tools for words in _names(spec)}
    entries = [
        # "generalist models" are a kind of tools, also where one of them is called generalist.
        (rf"(?:the )?{re.escape(words)}s?(?! models?\b)", _Mention(words=words, tools=(name,), named=True))
        for words, name in sorted(exact.items(), key=lambda item: -len(item[0]))
    ]
    models = [spec for spec in tools if spec.kind in (ToolKind.SPECIALIST, ToolKind.GENERALIST)]
    kinds: Mapping[tuple[str, ...], Iterable[ToolSpec]] = {
        words_for.REMOTE: [spec for spec in tools if spec.name in remote],
        words_for.OWN: [spec for spec in models if spec.name not in remote],
        words_for.SPECIALISTS: [spec for spec in models if spec.kind is ToolKind.SPECIALIST],
        words_for.GENERALISTS: [spec for spec in models if spec.kind is ToolKind.GENERALIST],
        words_for.MODELS: models,
        words_for.SEARCHES: [spec for spec in tools if "search" in spec.name],
    }
    for patterns, members in kinds.items():
        names = tuple(spec.name for spec in members)
        entries.append(("|".join(patterns), _Mention(words="", tools=names, named=False)))
    return tuple(entries)


def _names(spec: ToolSpec) -> Iterator[str]:
    # A model may be called by a plain word; only what looks like a model's name is taken for one.
    model = spec.model if spec.model and re.search(r"[\d/-]", spec.model) else ""
    for name in (spec.title, spec.name, spec.name.replace("_", " "), model):
        if name.strip():
            yield " ".join(name.lower().split())


def _mentions(text: str, vocabulary: Iterable[tuple[str, _Mention]]) -> tuple[str, list[_Mention]]:
    """The text with a mark where tools are meant, lists of them as one, and what the marks mean."""
    found: list[_Mention] = []

    def marked(mention: _Mention, match: re.Match[str]) -> str:
        return mark(replace(mention, words=match[0]))

    def mark(mention: _Mention) -> str:
        found.append(mention)
        return _MARK.format(len(found) - 1)

    def joined(match: re.Match[str]) -> str:
        parts = [found[int(number)] for number in _MENTION.findall(match[0])]
        every = tuple(tool for part in parts for tool in part.tools)
        words = _MENTION.sub(lambda part: found[int(part[1])].words, match[0])
        return mark(_Mention(words=words, tools=every, named=all(part.named for part in parts)))

    for pattern, mention in vocabulary:
        whole = rf"(?<![\w\ue000])(?:{pattern})(?![\w\ue001])"
        text = re.sub(whole, partial(marked, mention), text, flags=re.IGNORECASE)
    return _LIST.sub(joined, text), found


def _cut(patterns: Iterable[str], text: str) -> tuple[str, int]:
    """The text without what the patterns match as whole words, and how often they did."""
    return re.subn(rf"(?<!\w)(?:{'|'.join(patterns)})(?!\w)", " ", text, flags=re.IGNORECASE)


class _Reader:
    """Reads clause after clause; a clause that names tools without a stance goes on with the last one."""

    def __init__(self, mentions: Sequence[_Mention], tools: Sequence[ToolSpec], remote: Collection[str]) -> None:
        self._mentions = mentions
        self._tools = tools
        self._remote = remote
        self._stance: float | None = None
        self.effects: list[Understood] = []
        self.lost: list[str] = []
        self.moot: list[str] = []

    def read(self, text: str) -> None:
        for clause in _CLAUSES.split(text):
            if clause.strip():
                self._read_clause(clause.strip())

    def _read_clause(self, clause: str) -> None:
        words, before = self._restored(clause), len(self.effects) + len(self.moot)
        rest = self._about_tools(self._facts(self._goals(clause, words), words), words)
        left = [word for word in re.findall(r"[\w'-]+", rest) if word.lower() not in words_for.FILLER]
        if len(self.effects) + len(self.moot) == before:
            self.lost.append(words)
        elif left:
            self.lost.append(" ".join(left))

    def _goals(self, clause: str, words: str) -> str:
        rest, found = clause, []
        for goal, weight, patterns in words_for.GOALS:
            rest, hits = _cut(patterns, rest)
            if hits:
                found.append((goal, weight))
        if _cut(words_for.NEGATIONS, rest)[1] and not _MENTION.search(clause):
            return clause
        for goal, weight in found:
            self._add(words, goal, weight, named=False)
        return rest

    def _facts(self, clause: str, words: str) -> str:
        """What follows from the user's situation: secret data stay here, own hardware is there to be used."""
        models = (ToolKind.SPECIALIST, ToolKind.GENERALIST)
        own = [spec.name for spec in self._tools if spec.kind in models and spec.name not in self._remote]
        for patterns, tools, weight in ((words_for.SECRET, sorted(self._remote), -1.0), (words_for.HARDWARE, own, 1.0)):
            clause, hits = _cut(patterns, clause)
            if hits:
                self._weigh(words, tools, weight, named=False)
        return clause

    def _about_tools(self, clause: str, words: str) -> str:
        wanted, *others = _OVER.split(clause)
        marks = self._marks(wanted)
        rest = _MENTION.sub(" ", " ".join((wanted, *others)))
        if _cut(words_for.EXCEPTIONS, rest)[1]:
            return clause
        for weight, patterns in words_for.STANCES if marks else ():
            rest, hits = _cut(patterns, rest)
            if hits:
                self._stance = weight
                break
        if self._stance is not None:
            for mention in marks:
                self._weigh(words, mention.tools, self._stance, named=mention.named)
            for mention in self._marks(" ".join(others)) if self._stance > 0 else ():
                self._weigh(words, mention.tools, words_for.LESS, named=mention.named)
        return rest

    def _marks(self, clause: str) -> list[_Mention]:
        return [self._mentions[int(number)] for number in _MENTION.findall(clause)]

    def _weigh(self, words: str, tools: Sequence[str], weight: float, *, named: bool) -> None:
        for tool in tools:
            self._add(words, f"{_TOOL}{tool}", weight, named=named)
        if not tools:
            self.moot.append(words)

    def _add(self, words: str, name: str, weight: float, *, named: bool) -> None:
        self.effects.append(Understood(words=words, name=name, weight=weight, named=named))

    def _restored(self, clause: str) -> str:
        return _MENTION.sub(lambda mark: self._mentions[int(mark[1])].words, clause)
