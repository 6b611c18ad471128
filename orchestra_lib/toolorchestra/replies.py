"""Reading what an expert wrote: its query, its code, its answer. Reasoning is never read."""

import re

from orchestra_lib.reading import read
from orchestra_lib.toolorchestra.aliases import AnswerStyle

QUERY_CHARS = 390
MIN_QUERY_CHARS = 5
_BRACE = re.compile(r"\\boxed\s*\{|[{}]")


def said(reply: str) -> str:
    """A reply less its reasoning."""
    return read(reply, boxes=False).spoken


def read_query(reply: str) -> str | None:
    """The last query of a reply, cut to 390 characters; None when it has under 5.

    A reply without tags is all query, as published.
    """
    query = _last_tag(said(reply), "query").strip()[:QUERY_CHARS]
    return query if len(query) >= MIN_QUERY_CHARS else None


def read_code(reply: str) -> str | None:
    """The last Python block of a reply with the line ends around it; None when there is none or it is empty."""
    _, fence, block = said(reply).rpartition("```python")
    code = block.partition("```")[0]
    return code if fence and code.strip() else None


def read_answer(reply: str, style: AnswerStyle, *, cut: bool = False) -> str:
    """The marked answer of a reply, the last one where there are several.

    A reply without a mark is all answer, unless it was `cut` by the token limit: then it is none, and empty.
    """
    text = said(reply)
    boxed = _last_box(text)
    if boxed is not None and (style is AnswerStyle.BOXED or "<answer>" not in text):
        return boxed.strip()
    return "" if cut and "<answer>" not in text else _last_tag(text, "answer").strip()


def _last_tag(text: str, tag: str) -> str:
    return text.rpartition(f"<{tag}>")[2].partition(f"</{tag}>")[0]


def _last_box(text: str) -> str | None:
    """What stands in the last LaTeX box that is closed, its own braces balanced."""
    opened: list[re.Match[str]] = []
    last: tuple[int, int] | None = None
    for brace in _BRACE.finditer(text):
        if brace.group() != "}":
            opened.append(brace)
        elif opened:
            start = opened.pop()
            if start.group() != "{" and (last is None or start.end() > last[0]):
                last = (start.end(), brace.start())
    return text[slice(*last)] if last else None
