"""How a question is worded: the names in it, clauses that describe a country, and what is to be done with values."""

import re

from orchestra_lib.policy.conductor.documents import plain
from orchestra_lib.record import record

CLAUSE = re.compile(
    r"\b(?:the |that )?(?:only |one |same )?(?:country|nation|state|land|island|territory)\s+"
    r"(?P<link>whose|which|that|with|where|of which|having|bordering|using)\s+(?P<words>.+?)"
    r"(?=\?|$|;|,?\s+(?:or|and|than|have|has)\s+(?:the|that|in)\s+(?:only |one )?(?:country|nation|state)\b"
    r"|\s+than\b|,\s)",
    re.IGNORECASE,
)
"""`the only country that borders X`: a description that stands for a name."""
WHICH_COUNTRY = re.compile(
    r"^\s*(?:which|what|name the|of which|in which)\s+(?:country|nation|state|land|territory|place)\b"
    r"|\b(?:of|in) (?:which|what) country\b",
    re.IGNORECASE,
)
YES_OR_NO = re.compile(r"(?:is|are|does|do|has|have)\b", re.IGNORECASE)
LOW = re.compile(r"\b(?:fewer|fewest|smaller|smallest|less|least|lower|lowest)\b", re.IGNORECASE)
_OPERATIONS = (
    (
        "density",
        r"\bdensity\b|\bper (?:square )?k(?:m|ilomet)|\bpeople per\b"
        r"|\bpopulation (?:of .+ )?(?:divided by|over|per) .*\barea\b",
    ),
    ("average", r"\b(?:average|mean)\b"),
    ("ratio", r"\bhow many times\b|\bratio\b"),
    (
        "percent",
        r"\b(?:how many|what) (?:per ?cent(?:age)?|%)"
        r"(?: (?:more|fewer|less|larger|bigger|smaller|higher|greater)\b|\?|$)"
        r"|\bper ?cent(?:age)? difference\b|\bhow much \w+ in per ?cent\b",
    ),
    (
        "difference",
        r"\bdifference\b|\bby how (?:many|much)\b|\bhow (?:many|much) (?:more|fewer|less|larger|bigger|smaller)\b",
    ),
    ("sum", r"\b(?:combined|together|total|altogether|sum|in all)\b"),
    ("rank", r"\b(?:rank|order|sort)\b"),
    ("lowest", LOW.pattern),
    ("highest", r"\b(?:more|most|larger|largest|bigger|biggest|greater|greatest|higher|highest)\b"),
)
PART_OF_WHOLE = re.compile(r"\b(?:share|per ?cent(?:age)?|proportion|fraction)\b|%", re.IGNORECASE)
"""What no program here computes: better no answer than a sum."""
_AND_BY = re.compile(r"\band by (?:how|what)\b", re.IGNORECASE)
_SECOND = re.compile(
    r",?\s+and\s+(?P<words>(?:how|what|which|who|whom|whose|when|where|why)\b.+?)[\s?.!]*$", re.IGNORECASE
)
OF_THE_ANSWER = re.compile(
    r"\b(?:letters?|characters?|vowels?|consonants?|syllables?|backwards?|reversed?|upper ?case|lower ?case)\b"
    r"|\b(?:half|double|twice|times|squared|divided|multiplied|rounded|plus|minus)\b",
    re.IGNORECASE,
)
"""What can be reckoned of an answer by itself, without another fact."""
_DEFINED = re.compile(
    r"\s*(?:(?:please )?(?:define|explain)|what(?:'s| is| are| does))\s+(?:(?:an?|the|meant by)\s+)*"
    r"(?P<term>[\w '-]{2,40}?)(?:\s+means?)?(?:\s+(?:here|in (?:the |this |orchestra )*workbench))?[\s?.!]*$",
    re.IGNORECASE,
)
COMPARING = frozenset({"lowest", "highest", "rank"})
BETWEEN = frozenset({"ratio", "percent", "difference"})
"""What takes two subjects at least."""
_PROPER = re.compile(r"\b[A-ZÀ-Þ][\w'’.-]*(?:\s+(?:of(?: the)?\s+)?[A-ZÀ-Þ][\w'’.-]*)*")
_NO_NAMES = frozenset(
    re.findall(
        r"\w+",
        "what which who whom whose where when why how is are was were do does did can could name tell give list find "
        "rank the a an of in according please compare by to and or for on at from with between into it its many much "
        "round answer use state show both only if then one two three explain write",
    )
)
_ROUND = re.compile(r"\bround\w*\b.{0,30}?\bto (\w+) decimal", re.IGNORECASE)
_DIGITS = {"one": 1, "two": 2, "three": 3, "no": 0, "zero": 0}


@record
class Name:
    """A name in a question and where it stands."""

    text: str
    start: int
    end: int


def names(question: str) -> tuple[Name, ...]:
    """Capitalised words in order, an opening question word aside."""
    found = []
    for match in _PROPER.finditer(question):
        word, start = match[0].rstrip(".'’"), match.start()
        first, _, rest = word.partition(" ")
        if re.split("['’]", first.casefold())[0] in _NO_NAMES:
            word, start = rest, start + len(first) + 1
        word = re.sub(r"['’]s$", "", word)
        if len(word) > 2 or (len(word) == 2 and word.isupper()):
            found.append(Name(text=word, start=start, end=match.end()))
    return tuple(found)


def values(question: str) -> tuple[str, ...]:
    """Codes and numbers in the question, such as `+372`."""
    return tuple(re.findall(r"(?<!\w)[+.]?\d[\d-]*(?!\w)", question))


def operation(question: str, *, but: str = "") -> str | None:
    """What is to be done with several values, such as `ratio`, `difference` or `highest`; `but` is not looked for."""
    found = (name for name, pattern in _OPERATIONS if name != but and re.search(pattern, question, re.IGNORECASE))
    return next(found, None)


def names_and_amount(question: str) -> bool:
    """Whether both are asked: which one it is, and by how much."""
    return _AND_BY.search(question) is not None


def defined(question: str) -> str:
    """The term whose meaning is asked for, as in `what is a rollout?`; empty where none is."""
    found = _DEFINED.match(question)
    return found["term"] if found else ""


def second_part(question: str) -> str:
    """A second question behind the first, as `how many letters does it have`; empty where there is none."""
    found = _SECOND.search(question)
    return found["words"] if found else ""


def decimals(question: str, default: int) -> int:
    """To how many decimals the answer is wanted."""
    found = _ROUND.search(question)
    if found is None:
        return default
    return int(found[1]) if found[1].isdigit() else _DIGITS.get(found[1].lower(), default)


def mentions(text: str, name: str) -> bool:
    """True when the name stands in the text as whole words; case and accents do not matter."""
    return re.search(rf"(?<!\w){re.escape(plain(name))}(?!\w)", plain(text)) is not None
