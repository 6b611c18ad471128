"""Whether two texts are the same but for what does not matter, and whether an answer takes the right option."""

import re
import unicodedata

from orchestra_lib.check import Check
from orchestra_lib.errors import BadInput
from orchestra_lib.judge.claim import bold, ending, marked
from orchestra_lib.judge.verdict import Verdict, shown

_QUIET = re.compile(r"(?<!\d)[.,](?!\d)|(?<=\d)[.,](?!\d)|(?<!\d)[.,](?=\d)|[;:!?\"'`´’‘“”„«»()\[\]{}…*_\\]")
"""Punctuation that says nothing; a point or comma inside a number does."""
_DASH = re.compile(r"[‐‑‒–—―−-](?!\d)|(?<=\w)[‐‑‒–—―−-]")
_ARTICLE = re.compile(r"^(?:the|an|a)\s+(?=\S)")
_LETTER = re.compile(r"^\W*(?:(?:option|choice)\s+)?\(?([a-z])\)?(?:[).:]|\s*$)", re.IGNORECASE)


def normalised(text: str) -> str:
    """The text without case, accents, quiet punctuation, a leading article and spare space.

    A text that is nothing else, such as `?!`, stays as it is.
    """
    plain = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", text).casefold())
    plain = "".join(sign for sign in plain if not unicodedata.combining(sign))
    plain = " ".join(_DASH.sub(" ", _QUIET.sub(" ", plain)).split())
    return _ARTICLE.sub("", plain) or " ".join(text.split())


def contains(text: str, part: str) -> bool:
    """Whether the normalised part stands in the normalised text as whole words."""
    return re.search(rf"(?<!\w){re.escape(normalised(part))}(?!\w)", normalised(text)) is not None


def exact(check: Check, answer: str, reference: str) -> Verdict:
    """The whole answer, its marked result or its only part in bold is the reference.

    Raises `BadInput` for a reference that is none of the check's choices.
    """
    if check.choices:
        return _choice(check.choices, answer, reference)
    expected = normalised(reference)
    for candidate in _candidates(answer):
        if normalised(candidate) == expected:
            return Verdict(outcome=True, reason=f"{shown(candidate)} is the reference {shown(reference)}")
    more = ", although it holds it among other words" if contains(ending(answer), reference) else ""
    return Verdict(outcome=False, reason=f"{shown(answer)} is not the reference {shown(reference)}{more}")


def _candidates(answer: str) -> list[str]:
    in_bold, said = bold(answer), marked(answer)
    return [ending(answer), *([said] if said else []), *(in_bold if len(in_bold) == 1 else ())]


def _choice(choices: tuple[str, ...], answer: str, reference: str) -> Verdict:
    right = _chosen(choices, reference)
    if right is None:
        letters = f"A to {chr(ord('A') + len(choices) - 1)}"
        raise BadInput(f"the reference {shown(reference)} is none of the choices; use {letters}, or one of their texts")
    for candidate in reversed(_candidates(answer)):
        taken = _chosen(choices, candidate)
        if taken is not None:
            words = f"{_named(choices, taken)} was taken; {_named(choices, right)} is right"
            return Verdict(outcome=taken == right, reason=words)
    return Verdict(outcome=False, reason=f"{shown(answer)} takes no one choice; {_named(choices, right)} is right")


def _chosen(choices: tuple[str, ...], text: str) -> int | None:
    """The one option that a text takes: by its letter, by its words, or as the only one that it names."""
    same = [n for n, choice in enumerate(choices) if normalised(choice) == normalised(text)]
    if len(same) == 1:
        return same[0]
    if (letter := _LETTER.match(text)) and (n := ord(letter[1].upper()) - ord("A")) < len(choices):
        return n
    named = [n for n, choice in enumerate(choices) if contains(ending(text), choice)]
    return named[0] if len(named) == 1 else None


def _named(choices: tuple[str, ...], n: int) -> str:
    return f"{chr(ord('A') + n)} {shown(choices[n])}"
