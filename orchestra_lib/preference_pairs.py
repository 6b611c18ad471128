"""Pairs of an instruction and a preference vector, as the paper trains on: composed, checked, and split.

ToolOrchestra (section 3.2) has one language model propose pairs (PI, P) over a tool list and another one check them.
Here a situation is drawn, then what its people need, and so the vector; the words are composed of many wordings, or
written by a model (`wishing`). The check needs no model: the rule-based reader has to read the instruction back to a
vector that agrees with the stated one.

Two conventions are the paper's. A goal that an instruction does not speak of weighs 0. And weights lie in [0, 1], so
that "avoid APIs" is said by 0 for the APIs and 1 for the other tools; with `extension` it is said by -1 and 0.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field, replace

from orchestra_lib.errors import BadInput
from orchestra_lib.preference import GOALS, MAX_SENTENCE, Preference
from orchestra_lib.preference_drawing import Drawn, Offered, compose, draw, seeded
from orchestra_lib.preference_needs import EVAL, TRAIN
from orchestra_lib.preference_text import PreferenceReading, Understood, read_preference
from orchestra_lib.record import record

TOLERANCE = 0.25
"""Weights that differ by no more count as equal: between wordings of one meaning they differ by as much."""
APART = 0.75
"""Tools that are stated alike may not be read so far apart."""
ALIKE = 0.7
"""Two instructions that share so much of their three-word runs (Jaccard) are near-duplicates."""
MAX_PAIRS = 10_000
_CANDIDATES = 20
"""How many candidates are drawn at most for each pair that is wanted."""


@record
class Pair:
    """An instruction and its vector over `tools` and the goals. `by` is who worded it: `rules` or `model:NAME`.

    Tools that `preference` does not name weigh 0. The instruction speaks of the tools `about`; one that was not on
    offer when it was made weighs `others`. Situations of one split do not occur in the other.
    """

    id: str
    split: str
    situation: str
    instruction: str
    tools: tuple[str, ...]
    preference: Preference
    about: tuple[str, ...] = ()
    others: float = 0.0
    by: str = "rules"

    @property
    def extension(self) -> bool:
        """Whether a weight lies below 0, outside the paper's range."""
        return any(weight < 0 for weight in self.preference.tools.values())

    def over(self, tools: Iterable[str]) -> Preference | None:
        """The preference where these tools are on offer, in the instruction's words; None when it speaks of another."""
        names = list(tools)
        if not set(self.about) <= set(names):
            return None
        weights = {name: self.preference.weight(name) if name in self.tools else self.others for name in names}
        return replace(
            self.preference,
            tools={name: weight for name, weight in weights.items() if weight},
            sentence=self.instruction,
        )


@record
class Report:
    """What came of generating: how many candidates were drawn, and why some were rejected."""

    drawn: int
    accepted: Mapping[str, int]
    rejected: Mapping[str, int] = field(default_factory=dict)
    examples: Mapping[str, str] = field(default_factory=dict)
    """One rejected instruction for each reason."""


def generate(n: int, seed: int, offered: Offered, *, eval_share: float = 0.2) -> tuple[tuple[Pair, ...], Report]:
    """`n` pairs worded by rules; fewer where the tools on offer do not give so many different ones, as the report says.

    Raises `BadInput` for an `n` or a share out of range.
    """
    sieve = Sieve(n, offered, eval_share)
    for split, at in sieve.wanted():
        drawn = draw(seed, split, at, offered)
        sieve.take(drawn, compose(drawn, seeded(seed, f"{split}/{at}/words")))
    return sieve.pairs, sieve.report


class Sieve:
    """Takes candidates until there are enough pairs: checked, no near-duplicates, in two splits."""

    def __init__(self, n: int, offered: Offered, eval_share: float = 0.2) -> None:
        if not 1 <= n <= MAX_PAIRS:
            raise BadInput(f"n = {n:,}; generate 1 to {MAX_PAIRS:,} pairs")
        if not 0 <= eval_share < 1:
            raise BadInput(f"the share for evaluation = {eval_share:g} is out of range; use 0 to below 1")
        if not offered.tools:
            raise BadInput("pairs need tools to speak of; name some")
        held_out = round(n * eval_share)
        self._want = {TRAIN: n - held_out, EVAL: held_out}
        self._offered = offered
        self._seen = _Seen()
        self._pairs: dict[str, list[Pair]] = {TRAIN: [], EVAL: []}
        self._rejected: Counter[str] = Counter()
        self._examples: dict[str, str] = {}
        self._drawn = 0

    def wanted(self) -> Iterator[tuple[str, int]]:
        """The split and number of the next candidate, while pairs are missing and worth trying for."""
        for split, want in self._want.items():
            for at in range(want * _CANDIDATES):
                if len(self._pairs[split]) == want:
                    break
                yield split, at

    def take(self, drawn: Drawn, instruction: str, by: str = "rules") -> str | None:
        """Keep a candidate; returns why it is rejected, None when it is kept. One too many is passed over uncounted."""
        if len(self._pairs[drawn.split]) == self._want[drawn.split]:
            return "enough"
        self._drawn += 1
        pair = Pair(
            id=f"{drawn.split}-{len(self._pairs[drawn.split]) + 1:05}",
            split=drawn.split,
            situation=drawn.situation,
            instruction=instruction,
            tools=self._offered.names,
            preference=drawn.preference,
            about=drawn.about,
            others=drawn.others,
            by=by,
        )
        why = disagreement(pair, self._offered)
        if why is None and not self._seen.add(instruction):
            why = "nearly the words of another pair"
        if why is None:
            self._pairs[drawn.split].append(pair)
        else:
            self.reject(why.partition(":")[0], f"{instruction} [{why}]")
        return why

    def reject(self, why: str, example: str, *, drawn: int = 0) -> None:
        """Count a candidate that is no pair; `drawn` is 1 for one that `take` never saw."""
        self._drawn += drawn
        self._rejected[why] += 1
        self._examples.setdefault(why, example)

    @property
    def pairs(self) -> tuple[Pair, ...]:
        """What was kept, for training first."""
        return (*self._pairs[TRAIN], *self._pairs[EVAL])

    @property
    def report(self) -> Report:
        """What became of the candidates."""
        counts = {split: len(kept) for split, kept in self._pairs.items()}
        rejected = dict(self._rejected.most_common())
        return Report(drawn=self._drawn, accepted=counts, rejected=rejected, examples=self._examples)


def disagreement(pair: Pair, offered: Offered) -> str | None:
    """Why an instruction does not say its vector, None when it does: first what kind of fault, then the names.

    Goals that it speaks of are read back within `TOLERANCE`, the others weigh 0. Tools are read back in the stated
    order: one that weighs more by over `TOLERANCE` is read as weighing more, and tools that weigh alike are not read
    `APART`. No weight is read with the opposite sign; in the paper's range, not that of the tool that weighs
    most. An instruction that wants two things of one goal or tool
    contradicts itself.
    """
    if not pair.instruction.strip() or len(pair.instruction) > MAX_SENTENCE:
        return f"empty or over {MAX_SENTENCE} characters"
    unknown = sorted(set(pair.preference.tools) - set(offered.names))
    if unknown:
        return f"weighs a tool that is not on offer: {', '.join(unknown)}"
    if pair.extension and not offered.extension:
        return "weighs a tool below 0, which is the extension: use --extension for such pairs"
    if not any((*pair.preference.tools.values(), *(getattr(pair.preference, goal) for goal in GOALS))):
        return "weighs nothing: every rollout would earn the same"
    found = read_preference(pair.instruction, offered.tools, offered.remote)
    return (
        contradiction(found.understood)
        or _goals_differ(pair.preference, found)
        or _tools_differ(pair.preference, found.preference, offered)
    )


def contradiction(understood: Iterable[Understood]) -> str | None:
    """What a sentence wants and does not want at once. A wish about a tool by name may override one about its kind."""
    said: dict[tuple[str, bool], list[float]] = defaultdict(list)
    for one in understood:
        said[one.name, one.named].append(one.weight)
    for (name, _), weights in said.items():
        low, high = min(weights), max(weights)
        if low < 0 < high or (name in GOALS and high - low > TOLERANCE):
            return f"contradicts itself: {name} is wished {high:g} and {low:g}"
    return None


def _goals_differ(stated: Preference, found: PreferenceReading) -> str | None:
    for goal in GOALS:
        weight, read = getattr(stated, goal), found.goals.get(goal)
        if read is None and weight:
            return f"does not speak of a goal that it weighs: {goal} {weight:g}"
        if read is not None and abs(read - weight) > TOLERANCE:
            return f"a goal is read otherwise: {goal} is stated {weight:g} and read {read:g}"
    return None


def _tools_differ(stated: Preference, read: Preference, offered: Offered) -> str | None:
    most = max(map(stated.weight, offered.names))
    for name in offered.names:
        weight, again = stated.weight(name), read.weight(name)
        # In the paper's range a tool that is wanted less may weigh more than 0, but never the most.
        signed = offered.extension or (most > TOLERANCE and weight == most)
        if signed and ((weight > TOLERANCE and again < 0) or (weight < -TOLERANCE and again >= 0)):
            return f"a tool is read with another sign: {name} is stated {weight:g} and read {again:g}"
    for more in offered.names:
        for less in offered.names:
            ahead = stated.weight(more) - stated.weight(less)
            again = read.weight(more) - read.weight(less)
            if (ahead > TOLERANCE and again <= 0) or (abs(ahead) <= TOLERANCE and abs(again) >= APART):
                return f"tools are read in another order: {more} is stated {ahead:+.2g} to {less} and read {again:+.2g}"
    return None


class _Seen:
    """The instructions so far, by the three-word runs that they share."""

    def __init__(self) -> None:
        self._sizes: list[int] = []
        self._holders: dict[tuple[str, ...], list[int]] = defaultdict(list)

    def add(self, text: str) -> bool:
        """Whether a text is new; it is kept then."""
        words = "".join(char if char.isalnum() else " " for char in text.lower()).split()
        runs = {tuple(words[at : at + 3]) for at in range(max(1, len(words) - 2))}
        shared = Counter(holder for run in runs for holder in self._holders.get(run, ()))
        for holder, count in shared.items():
            if count / (len(runs) + self._sizes[holder] - count) >= ALIKE:
                return False
        for run in runs:
            self._holders[run].append(len(self._sizes))
        self._sizes.append(len(runs))
        return True
