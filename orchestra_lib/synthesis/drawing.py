"""Values drawn from a seed: the forms that `generate.json` gives for each field of a table.

What is no object is an expression over `$row` (the fields drawn before it), `$n` (the number of the row, from 1) and,
inside a list, `$item` (likewise) and `$place` (from 1). An object names how to draw:

    {"pick": [a, b], "weights": [3, 1]}           one of them           {"cycle": [a, b]}        in turn, by row
    {"range": [lo, hi], "step": 0.5}              a number              {"word": "cities"}       a word of a list
    {"days": [lo, hi], "from": date}              a date                {"code": "AA-9999"}      letters and digits
    {"hours": [lo, hi], "from": time, "step": 1}  a time                {"text": "{name:slug}"}  a template of fields
    {"serial": "ORD", "start": 100, "stride": 7, "digits": 5}           an id
    {"ref": "users", "where": condition on $it}   a key of a table drawn before
    {"one": expression of a list}                 one of its items
    {"maybe": 0.3, "of": form}                    or null               {"case": [[condition, form], …, form]}
    {"list": [lo, hi], "each": form, "key": "f"}  distinct in f         {"some": [a, b, c], "n": [lo, hi]}
    {"object": {"f": form}}                       with $item            any of them with "unique": true

Only `Random.random()` is drawn from, the one method that Python promises to keep.
"""

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from random import Random
from typing import Any

from orchestra_lib.environment.expression import Compiler, Evaluate, Scope
from orchestra_lib.environment.kinds import ANY
from orchestra_lib.environment.operators import moment
from orchestra_lib.errors import BadInput

Draw = Callable[[Scope, Random], Any]
_NAMES = {"row": ANY, "item": ANY, "n": ANY, "place": ANY}
_TRIES = 400


class Drawer:
    """Compiles forms. Raises `BadInput` that names the place and the remedy."""

    def __init__(self, compiler: Compiler, words: Mapping[str, Sequence[str]], now: str) -> None:
        self._compiler = compiler
        self._words = words
        self._now = now

    def compile(self, form: Any, where: str) -> Draw:
        """How to draw one value."""
        if not isinstance(form, Mapping):
            value = self.expression(form, where)
            return lambda scope, _: value(scope)
        kinds = [name for name in form if name in _FORMS]
        if len(kinds) != 1:
            raise BadInput(f"{where}: {sorted(form)} names no one way to draw; take one of {', '.join(_FORMS)}")
        unknown = set(form) - {kinds[0], "unique", *_OPTIONS.get(kinds[0], ())}
        if unknown:
            known = ", ".join(("unique", *_OPTIONS.get(kinds[0], ())))
            raise BadInput(f"{where}: {kinds[0]!r} has no option {sorted(unknown)[0]!r}; it has {known}")
        draw = _FORMS[kinds[0]](self, form, f"{where}.{kinds[0]}")
        return _unique(draw, where) if form.get("unique") else draw

    def expression(self, form: Any, where: str, **more: Any) -> Evaluate:
        """An expression over the row."""
        return self._compiler.compile(form, {**_NAMES, **more}, where)[0]

    def _pick(self, form: Mapping[str, Any], where: str) -> Draw:
        draws = self._all(form["pick"], where)
        weights = form.get("weights", [1] * len(draws))
        if len(weights) != len(draws):
            raise BadInput(f"{where}: {len(draws)} values but {len(weights)} weights; give one for each")
        total = sum(weights)

        def draw(scope: Scope, random: Random) -> Any:
            left = random.random() * total
            for one, weight in zip(draws, weights, strict=True):
                left -= weight
                if left < 0:
                    return one(scope, random)
            return draws[-1](scope, random)

        return draw

    def _one(self, form: Mapping[str, Any], where: str) -> Draw:
        items = self.expression(form["one"], where)

        def draw(scope: Scope, random: Random) -> Any:
            found = items(scope)
            if not found:
                raise BadInput(f"{where}: the list is empty in row {scope['n']}: {scope['row']}")
            return found[below(random, len(found))]

        return draw

    def _cycle(self, form: Mapping[str, Any], where: str) -> Draw:
        draws = self._all(form["cycle"], where)
        return lambda scope, random: draws[(scope["n"] - 1) % len(draws)](scope, random)

    def _range(self, form: Mapping[str, Any], where: str) -> Draw:
        low, high = (self.expression(end, where) for end in form["range"])
        step = form.get("step", 1)

        def draw(scope: Scope, random: Random) -> Any:
            start, end = low(scope), high(scope)
            if start is None or end is None or end < start:
                raise BadInput(f"{where}: nothing lies between {start} and {end}")
            value = start + step * below(random, int((end - start) / step + 1e-9) + 1)
            return value if isinstance(value, int) else round(value, 4)

        return draw

    def _days(self, form: Mapping[str, Any], where: str) -> Draw:
        number = self._range({"range": form["days"]}, where)
        start = self.expression(form.get("from", "$today"), where)
        return lambda scope, random: (
            (moment(start(scope)) + timedelta(days=number(scope, random))).date().isoformat()
        )  # fmt: skip

    def _hours(self, form: Mapping[str, Any], where: str) -> Draw:
        number = self._range({"range": form["hours"], "step": form.get("step", 0.25)}, where)
        start = self.expression(form.get("from", "$now"), where)

        def draw(scope: Scope, random: Random) -> str:
            base = start(scope)
            if base is None:
                raise BadInput(f"{where}: the time to count from is null")
            return (moment(base) + timedelta(hours=number(scope, random))).isoformat(timespec="seconds")

        return draw

    def _word(self, form: Mapping[str, Any], where: str) -> Draw:
        words = self._words.get(form["word"])
        if not words:
            raise BadInput(f"{where}: no list of words {form['word']!r}; known are {', '.join(sorted(self._words))}")
        return lambda _, random: words[below(random, len(words))]

    def _code(self, form: Mapping[str, Any], where: str) -> Draw:
        sets = {"A": "ABCDEFGHJKLMNPQRSTUVWXYZ", "9": "0123456789", "8": "123456789"}

        def draw(_: Scope, random: Random) -> str:
            return "".join(
                chars[below(random, len(chars))] if (chars := sets.get(one)) else one for one in form["code"]
            )

        return draw

    def _text(self, form: Mapping[str, Any], where: str) -> Draw:
        def fill(scope: Scope, match: re.Match[str]) -> str:
            found = scope["item"] if match[1] else scope["row"]
            if match[2] not in found:
                raise BadInput(f"{where}: nothing drawn before is named {match[2]!r}")
            return slug(str(found[match[2]])) if match[3] else str(found[match[2]])

        return lambda scope, _: re.sub(r"\{(item\.)?(\w+)(:slug)?\}", lambda match: fill(scope, match), form["text"])

    def _serial(self, form: Mapping[str, Any], where: str) -> Draw:
        start, stride, digits = form.get("start", 1), form.get("stride", 1), form.get("digits", 1)
        return lambda scope, _: f"{form['serial']}{start + stride * (scope['n'] - 1):0{digits}d}"

    def _ref(self, form: Mapping[str, Any], where: str) -> Draw:
        condition = self.expression(form.get("where", True), where, it=ANY)
        table = form["ref"]
        if table not in self._compiler.tables:
            raise BadInput(f"{where}: no table {table!r}; known are {', '.join(self._compiler.tables)}")

        def draw(scope: Scope, random: Random) -> Any:
            inner = dict(scope)
            fitting = []
            for key, one in scope[""].keyed(table):
                inner["it"] = one
                if condition(inner):
                    fitting.append(key)
            if not fitting:
                raise BadInput(f"{where}: no record of {table} fits row {scope['n']}: {scope['row']}")
            return fitting[below(random, len(fitting))]

        return draw

    def _maybe(self, form: Mapping[str, Any], where: str) -> Draw:
        inner = self.compile(form["of"], where)
        return lambda scope, random: inner(scope, random) if random.random() < form["maybe"] else None

    def _case(self, form: Mapping[str, Any], where: str) -> Draw:
        *cases, last = form["case"]
        pairs = [(self.expression(one, where), self.compile(then, where)) for one, then in cases]
        default = self.compile(last, where)

        def draw(scope: Scope, random: Random) -> Any:
            for condition, then in pairs:
                if condition(scope):
                    return then(scope, random)
            return default(scope, random)

        return draw

    def _list(self, form: Mapping[str, Any], where: str) -> Draw:
        number = self._range({"range": form["list"]}, where)
        each, key = self.compile(form["each"], where), form.get("key")

        def draw(scope: Scope, random: Random) -> list[Any]:
            found: list[Any] = []
            wanted, seen = number(scope, random), set()
            inner = dict(scope)
            for _ in range(_TRIES):
                if len(found) == wanted:
                    return found
                inner["place"] = len(found) + 1
                one = each(inner, random)
                mark = one[key] if key else one if isinstance(one, str) else len(found)
                if mark not in seen:
                    seen.add(mark)
                    found.append(one)
            raise BadInput(f"{where}: {wanted} different ones do not exist; ask for fewer or widen their form")

        return draw

    def _some(self, form: Mapping[str, Any], where: str) -> Draw:
        number = self._range({"range": form.get("n", [1, len(form["some"])])}, where)
        items = form["some"]

        def draw(scope: Scope, random: Random) -> list[Any]:
            left, chosen = number(scope, random), []
            for place, item in enumerate(items):
                if random.random() * (len(items) - place) < left:
                    chosen.append(item)
                    left -= 1
            return chosen

        return draw

    def _object(self, form: Mapping[str, Any], where: str) -> Draw:
        draws = {name: self.compile(one, f"{where}.{name}") for name, one in form["object"].items()}

        def draw(scope: Scope, random: Random) -> dict[str, Any]:
            item: dict[str, Any] = {}
            inner = {**scope, "item": item}
            for name, one in draws.items():
                item[name] = one(inner, random)
            return {name: value for name, value in item.items() if not name.startswith("_")}

        return draw

    def _all(self, forms: Sequence[Any], where: str) -> list[Draw]:
        if not forms:
            raise BadInput(f"{where}: an empty list; give values to draw from")
        return [self.compile(form, f"{where}[{place}]") for place, form in enumerate(forms)]


def below(random: Random, count: int) -> int:
    """A whole number from 0 up to, without, `count`."""
    return int(random.random() * count)


def slug(text: str) -> str:
    """A text as it stands in an e-mail address: ASCII letters and digits in lower case."""
    plain = unicodedata.normalize("NFKD", text.lower().replace("ø", "o").replace("ł", "l").replace("ß", "ss"))
    return re.sub(r"[^a-z0-9]+", "", plain.encode("ascii", "ignore").decode())


def _unique(draw: Draw, where: str) -> Draw:
    seen: set[Any] = set()

    def again(scope: Scope, random: Random) -> Any:
        for _ in range(_TRIES):
            value = draw(scope, random)
            if value not in seen:
                seen.add(value)
                return value
        raise BadInput(f"{where}: no further value that is unique; widen the form")

    return again


_FORMS: Mapping[str, Callable[[Drawer, Mapping[str, Any], str], Draw]] = {
    "pick": Drawer._pick,
    "one": Drawer._one,
    "cycle": Drawer._cycle,
    "range": Drawer._range,
    "days": Drawer._days,
    "hours": Drawer._hours,
    "word": Drawer._word,
    "code": Drawer._code,
    "text": Drawer._text,
    "serial": Drawer._serial,
    "ref": Drawer._ref,
    "maybe": Drawer._maybe,
    "case": Drawer._case,
    "list": Drawer._list,
    "some": Drawer._some,
    "object": Drawer._object,
}
_OPTIONS: Mapping[str, tuple[str, ...]] = {
    "pick": ("weights",),
    "range": ("step",),
    "days": ("from",),
    "hours": ("from", "step"),
    "serial": ("start", "stride", "digits"),
    "ref": ("where",),
    "maybe": ("of",),
    "list": ("each", "key"),
    "some": ("n",),
}
