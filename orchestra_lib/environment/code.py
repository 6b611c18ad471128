"""Python functions made for the expressions and operations of a domain: straight lines without a call for each part.

Nothing that a domain says stands in their source. It is put together from the forms of this package alone: names are
numbers (`v3`, `k7`), and every text, number and field of the domain is a value that the function is given under such
a name, with no builtins beside them. So no proposal becomes code, whatever it holds; and domains of one shape, such as
one domain under several policies, share what was compiled.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from types import CodeType
from typing import Any

from orchestra_lib.environment.operators import tidy
from orchestra_lib.record import record

Made = Callable[..., Any]
_STATE = "s"


@record
class Piece:
    """An expression of Python. `simple` ones cost nothing to write twice, `sure` ones are never null, those of `truth`
    are True or False.
    """

    text: str
    simple: bool = False
    sure: bool = False
    truth: bool = False


class Code:
    """One function in the making. `scoped` takes a mapping of names, with the state under `state`; else it has
    variables for them, a state and arguments as its parameters.
    """

    def __init__(self, *, scoped: bool = False, state: str = "") -> None:
        self.variables: dict[str, str] = {}
        self.sure: set[str] = set()
        """The names whose variables are never null."""
        self.edited: set[str] = set()
        """The names whose variables hold what may be changed."""
        self.written: defaultdict[str, set[str]] = defaultdict(set)
        """What the function may change: by table the names of fields, `NEW` for new records."""
        self._scoped, self._state = scoped, state
        self._values: dict[str, Any] = {}
        self._known: dict[Any, str] = {}
        self._lines: list[str] = []
        self._count, self._depth = 0, 1

    @property
    def state(self) -> str:
        """The text for the state."""
        return f"s[{self.constant(self._state).text}]" if self._scoped else _STATE

    def constant(self, value: Any) -> Piece:
        """A value of the domain, or something that the code uses."""
        if value is None or value is True or value is False:
            return Piece(text=repr(value), simple=True, sure=value is not None, truth=value is not None)
        key = value if isinstance(value, str) else id(value)
        name = self._known.get(key)
        if name is None:
            name = self._known[key] = f"k{len(self._values)}"
            self._values[name] = value  # so it lives on, and its id is no other's
        return Piece(text=name, simple=True, sure=True)

    def values(self, pieces: Sequence[Piece]) -> list[Any] | None:
        """What constants stand for, or None where one of them is none."""
        found = [self._values.get(one.text, one) for one in pieces]
        return None if any(isinstance(one, Piece) for one in found) else found

    def variable(self, name: str, *, sure: bool = False) -> str:
        """The variable of a name, new or to be set again."""
        (self.sure.add if sure else self.sure.discard)(name)
        self.edited.discard(name)
        if name not in self.variables:
            self.variables[name] = self.temporary()
        return self.variables[name]

    def name(self, name: str) -> Piece:
        """What a name stands for."""
        if name in self.variables:
            return Piece(text=self.variables[name], simple=True, sure=name in self.sure)
        assert self._scoped, name
        return Piece(text=f"s[{self.constant(name).text}]")

    def temporary(self) -> str:
        """A variable that nothing else has."""
        self._count += 1
        return f"v{self._count}"

    def held(self, piece: Piece) -> tuple[str, str]:
        """The text of a piece where it is first evaluated, and what stands for it afterwards."""
        if piece.simple:
            return piece.text, piece.text
        kept = self.temporary()
        return f"({kept} := {piece.text})", kept

    def line(self, text: str) -> None:
        """One statement."""
        self._lines.append("    " * self._depth + text)

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        """Statements under a head."""
        self.line(head)
        self._depth += 1
        before = len(self._lines)
        yield
        if len(self._lines) == before:
            self.line("pass")
        self._depth -= 1

    def function(self) -> Made:
        """The function: of a scope, or of a state and arguments."""
        parameters = "s" if self._scoped else "s, a"
        return _function("\n".join([f"def made({parameters}):", *self._lines, ""]), self._values)


def _function(source: str, values: Mapping[str, Any]) -> Made:
    names: dict[str, Any] = {**values, "__builtins__": {}}
    exec(_own(_compiled(source)), names)  # noqa: S102 -- forms of this package with numbered names; see the module's text
    made: Made = names["made"]
    return made


def _own(code: CodeType) -> CodeType:
    """A copy: what Python notes in code on the names it is run with, to be quicker, is then of one function alone."""
    inner = (_own(one) if isinstance(one, CodeType) else one for one in code.co_consts)
    return code.replace(co_consts=tuple(inner))


@lru_cache(maxsize=8192)
def _compiled(source: str) -> CodeType:
    return compile(source, "<operations>", "exec")


def walk(code: Code, root: Piece, steps: Sequence[str]) -> Piece:
    """A path; what is missing on the way is null."""
    for step in steps:
        key = code.constant(step).text
        if root.sure:
            root = Piece(text=f"{root.text}.get({key})")
        else:
            first, again = code.held(root)
            root = Piece(text=f"(None if {first} is None else {again}.get({key}))")
    return root


def operator(code: Code, head: str, run: Made, parts: Sequence[Piece]) -> Piece:
    """An operator over its parts; `run` is what computes it where no shorter form is known."""
    texts = [one.text for one in parts]
    match head, texts:
        case (("==" | "!="), [left, right]):
            return _truth(f"({left} {head} {right})")
        case (("<" | "<=" | ">" | ">="), [_, _]):
            tests, (left, right) = _given(code, parts)
            return _truth(f"({' and '.join([*tests, f'{left} {head} {right}'])})")
        case (("+" | "-" | "*"), [_, _]):
            tests, (left, right) = _given(code, parts)
            value = _tidied(code, f"{left} {head} {right}")
            missing = " and ".join(tests)
            return Piece(text=f"({value} if {missing} else None)" if missing else value, sure=not missing)
        case "not", [part]:
            return _truth(f"(not {part})")
        case "empty", [part]:
            return _truth(f"(not {part})")
        case "exists", [part]:
            return _truth(f"({part} is not None)")
        case "missing", [part]:
            return _truth(f"({part} is None)")
        case "in", [one, items]:
            return _truth(f"({one} in {items if parts[1].sure else f'({items} or ())'})")
        case "not_in", [one, items]:
            return _truth(f"({one} not in {items if parts[1].sure else f'({items} or ())'})")
        case _:
            return Piece(text=f"{code.constant(run).text}({', '.join(texts)})")


def joined(code: Code, word: str, parts: Sequence[Piece]) -> Piece:
    """Whether all hold (`and`), or one does (`or`), in order until it is decided."""
    text = f"({f' {word} '.join(one.text for one in parts)})"
    return _truth(text if all(one.truth for one in parts) else f"{code.constant(bool).text}{text}")


def chosen(condition: Piece, then: Piece, other: Piece) -> Piece:
    """One of two."""
    return Piece(
        text=f"({then.text} if {condition.text} else {other.text})",
        sure=then.sure and other.sure,
        truth=then.truth and other.truth,
    )


def listed(code: Code, parts: Sequence[Piece]) -> Piece:
    """A list; of constants it is one itself."""
    values = code.values(parts) if parts else None
    return (
        Piece(text=f"[{', '.join(one.text for one in parts)}]", sure=True) if values is None else code.constant(values)
    )


def mapping(code: Code, fields: Mapping[str, Piece]) -> Piece:
    """An object."""
    parts = [f"{code.constant(name).text}: {one.text}" for name, one in fields.items()]
    return Piece(text=f"{{{', '.join(parts)}}}", sure=True)


def of_key(code: Code, items: Piece, key: Piece, field: str) -> Piece:
    """The object of a list that has a key, or null."""
    return Piece(text=f"{code.constant(_of_key).text}({items.text}, {key.text}, {code.constant(field).text})")


def iterable(code: Code, items: Piece) -> tuple[str, str]:
    """A list, or none where it is null, for a loop to run over: what must come before it, and the list itself."""
    if ":=" not in items.text:
        return "", items.text if items.sure else f"{items.text} or ()"
    kept = code.temporary()  # Python takes no assignment where a comprehension has its list
    return f"{kept} := {items.text} or ()", kept


def looped(before: str, text: str) -> Piece:
    """A loop behind what must come before it."""
    return Piece(text=f"(({before}), {text})[1]" if before else text, sure=True)


def _truth(text: str) -> Piece:
    return Piece(text=text, sure=True, truth=True)


def _given(code: Code, parts: Sequence[Piece]) -> tuple[list[str], list[str]]:
    """Tests that the parts are not null, and what stands for each behind them."""
    tests, texts = [], []
    for one in parts:
        if one.sure:
            texts.append(one.text)
        else:
            first, again = code.held(one)
            tests.append(f"{first} is not None")
            texts.append(again)
    return tests, texts


def _tidied(code: Code, number: str) -> str:
    """What `operators.tidy` makes of a number, written out: it stands in most writes, and a call costs more than it."""
    kept, scaled, whole = code.temporary(), code.temporary(), code.temporary()
    near = f"-0.25 < {scaled} - ({whole} := {code.constant(round).text}({scaled})) < 0.25"
    quick = f"1.0 <= ({scaled} := {kept} * 1e6) < 1e12 and {near}"
    integer = f"({kept} := {number}).__class__ is {code.constant(int).text}"
    return f"({kept} if {integer} else {whole} / 1e6 if {quick} else {code.constant(tidy).text}({kept}))"


def _of_key(items: Any, wanted: Any, field: str) -> Any:
    for one in items or ():
        if one.get(field) == wanted:
            return one
    return None
