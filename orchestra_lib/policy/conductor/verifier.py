"""Checks before a result may be an answer: no error text, no empty output, no claim that its source lacks."""

import ast
import re

from orchestra_lib.policy.conductor.documents import plain

_ERROR = re.compile(
    r"^\s*(?:\w*(?:Error|Exception|Warning|Interrupt)\b\s*[:(]|Traceback \(most recent|error\b\s*:"
    r"|Not run\b|Not finished\b|The code ran and printed nothing"
    r"|.{0,40}\b(?:failed|timed out|did not finish|raised \w+)\b)",
    re.IGNORECASE,
)
_SHRUG = re.compile(
    r"\b(?:i (?:do not|don't|cannot|can't|am unable|am not able|could not)|i'm (?:sorry|unable|not able)"
    r"|as an ai\b|no information)",
    re.IGNORECASE,
)
_TIMELY = re.compile(
    r"\b(?:right now|now|today|tonight|tomorrow|yesterday|currently|current|at the moment|latest|newest|live"
    r"|this (?:week|month|year)|last (?:night|week)|next (?:week|month)|upcoming|breaking|on time|as of)\b|\btoday's\b",
    re.IGNORECASE,
)
_MEASURED = re.compile(
    r"\bhow many (?:hours|minutes|litres|liters|kilomet\w+|metres|meters|km|dollars|euros|kg|kilograms|percent|cubic"
    r"|square|miles|times)\b",
    re.IGNORECASE,
)
_BLOCK = re.compile(r"```[ \t]*([\w+-]*)[ \t]*\r?\n(.*?)(?:```|\Z)", re.DOTALL)
_CODE_SIGNS = re.compile(r"\b(?:def|class|import|print|return|lambda)\b|=|\d\s*[-+*/%]")
_FUNCTION = re.compile(
    r"\b(?:function|class|method)\s+(?:called |named )?`?([A-Za-z_]\w*)\s*[(`]|`?\b([a-z_]\w*)\(\w[\w, =]*\)`?"
)


def is_error(text: str) -> bool:
    """True for an error text, which is never an answer."""
    return _ERROR.match(text) is not None


def usable(text: str) -> str | None:
    """Why a result cannot be an answer; None when it can."""
    if not text.strip():
        return "it printed nothing"
    if is_error(text):
        return f"it is an error: {text.strip().splitlines()[-1][:160]}"
    return None


def spoken(text: str) -> str | None:
    """Why a model's reply cannot be an answer; None when it can."""
    if (why := usable(text)) is not None:
        return why
    if len(text) < 400 and _SHRUG.search(text):
        return "the model said that it does not know"
    return None


def is_timely(question: str) -> bool:
    """True when the wording asks about the present, which no stored text or model can know."""
    return _TIMELY.search(re.sub(r"\bpeople live\b|\blive in\b", "", question)) is not None


def code_in(text: str) -> str | None:
    """The Python code in a reply: its fenced blocks, or all of it when it is Python as it stands."""
    blocks = [body for language, body in _BLOCK.findall(text) if language.lower() in ("", "python", "py", "python3")]
    code = blocks[0].strip("\n") if blocks else text.strip().strip("`")
    return code if _parses(code) and _CODE_SIGNS.search(code) else None


def _parses(code: str) -> bool:
    try:
        ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def mended(code: str) -> str:
    """A program less the closing marks that a schema makes a small model add, when that alone keeps it from parsing."""
    shorter = code.rstrip()
    while shorter and not _parses(shorter) and shorter[-1] in "}]\"'`,":
        shorter = shorter[:-1].rstrip()
    return shorter if _parses(shorter) else code


def named_function(task: str) -> str | None:
    """The function or class that the task asks for by name."""
    found = _FUNCTION.search(task)
    return (found[1] or found[2]) if found else None


def test_program(code: str, task: str) -> str:
    """A program that runs the code and says whether what the task names exists; `TEST_MARK` opens it."""
    name = named_function(task)
    check = f"\nassert callable({name}), '{name} is missing'" if name else ""
    return f"{TEST_MARK}\n{code}\n{check}\nprint('it runs')"


TEST_MARK = "# Does the code above run, and does it define what the task names?"


def grounded(answer: str, source: str) -> bool:
    """True when every number and most words of the answer stand in the source."""
    there = plain(source).replace(",", "")
    said = plain(answer).replace(",", "")
    words = re.findall(r"[\w.-]*\w", said)
    if not words or any(word not in there for word in words if re.search(r"\d", word)):
        return False
    long_words = [word for word in words if len(word) > 3] or words
    return sum(word in there for word in long_words) >= 0.7 * len(long_words)


def odd_count(question: str, output: str) -> str | None:
    """Why a number cannot be right: `how many …` of things that come whole is no fraction and not below zero."""
    found = re.fullmatch(r"\s*[$€£]?\s*(-?\d+(?:\.\d+)?)\s*\w*\s*", output)
    if found is None or not re.search(r"\bhow many\b", question, re.IGNORECASE):
        return None
    value = float(found[1])
    measured = _MEASURED.search(question)
    if value < 0:
        return f"{value:g} is below zero"
    return f"{value:g} is no whole number" if value != int(value) and not measured else None
