"""Questions that are a calculation, read by patterns into a Python program; no model takes part.

Only digits and operators pass from the question into the program, and letters between quotation marks, so hostile text
cannot reach it.
"""

import ast
import re

from orchestra_lib.policy.conductor import calendar_words

NUMBER = r"(-?\d+(?:\.\d+)?)"
MAX_CHARS = 600
"""A longer text is no mere calculation."""
MAX_EXPONENT = 20_000
MAX_FACTORIAL = 5_000

_ASKING = re.compile(
    r"^(?:please\s+)?(?:can you (?:tell me )?)?(?:what(?:'s| is| does| are)?|how much (?:is|are)|compute|calculate"
    r"|evaluate|work out|find|determine|tell me|give me|solve|simplify)\b"
    r"\s*(?:the\s+(?:value|result|product) of\s+)?",
    re.IGNORECASE,
)
_WORDS = (
    (r"\bmultiplied by\b|\btimes\b|[×·]|(?<=\d)\s*x\s*(?=\d)", " * "),
    (r"\bdivided by\b|÷", " / "),
    (r"\bplus\b|\badded to\b", " + "),
    (r"\bminus\b|[−–]", " - "),
    (r"\b(?:raised )?to the power (?:of )?|\braised to\b|\^", " ** "),
    (r"\bsquared\b|²", " ** 2"),
    (r"\bcubed\b|³", " ** 3"),
    (r"\bmod(?:ulo|ulus)?\b", " % "),
    (r"(?:%|\bper ?cent) of\b", " / 100 * "),
)
_ROUNDING = re.compile(
    r",?\s*(?:and\s+)?\b(?:round|give|state)?(?:ed)?(?:\s+(?:the|your|it)(?:\s+(?:result|answer))?)?\s*"
    r"(?:to|with)\s+(\w+)\s+(?:decimals?(?:\s+places?)?|digits? after the (?:decimal )?point)\b",
    re.IGNORECASE,
)
_WHOLE = re.compile(r",?\s*(?:and\s+)?\bround(?:ed)?\b.{0,24}?\bnearest (?:whole number|integer|unit)\b", re.IGNORECASE)
_STEP = re.compile(
    r"^(.+?),?\s*(?:and|then|and then)\s+(add|subtract|multiply(?: it| that)? by|divide(?: it| that)? by)\s+" + NUMBER,
    re.IGNORECASE,
)
_COUNTS = {"no": 0, "zero": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6}
_LIST = r"((?:-?\d+(?:\.\d+)?(?:\s*,\s*|\s+and\s+|\s*,\s*and\s+))+-?\d+(?:\.\d+)?)"
_LENGTHS = {"second": 1, "minute": 60, "hour": 3600, "day": 86400, "week": 604800}

_QUOTE = "[\"'“”‘’]?"
_OF_X = r"(?:f\(x\)\s*=\s*)?([x\d\s.+*/^()-]*x[x\d\s.+*/^()-]*?)\s*(?:with respect to x|dx)?[\s?.]*$"
_READ_X = (
    "from sympy import {0}, symbols\n"
    "from sympy.parsing.sympy_parser import (\n"
    "    convert_xor, implicit_multiplication, parse_expr, standard_transformations\n)\n"
    "rules = (*standard_transformations, implicit_multiplication, convert_xor)\n"
    "value = str({0}(parse_expr('{{0}}', transformations=rules), symbols('x')))"
)

_FORMS: tuple[tuple[str, str], ...] = (
    (rf"\b(?:square root of|sqrt\(?)\s*{NUMBER}", "from sympy import Rational, sqrt\nvalue = sqrt(Rational('{0}'))"),
    (rf"\bcube root of\s+{NUMBER}", "from sympy import Rational, root\nvalue = root(Rational('{0}'), 3)"),
    (
        rf"\b(?:greatest common divisor|highest common factor|gcd|hcf)\b\D{{0,8}}{NUMBER}\D+{NUMBER}",
        "import math\nvalue = math.gcd({0}, {1})",
    ),
    (
        rf"\b(?:least|lowest|smallest) common multiple\b\D{{0,8}}{NUMBER}\D+{NUMBER}",
        "import math\nvalue = math.lcm({0}, {1})",
    ),
    (
        r"\b(?:factorial of\s+(\d{1,4})\b|(\d{1,4})\s+factorial|(\d{1,4})!(?!\w))",
        "import math\nvalue = math.factorial({0})",
    ),
    (
        r"\bis\s+(?:the number\s+)?(\d+)\s+(?:a\s+)?prime\b",
        "from sympy import isprime\n"
        "value = 'yes, {0} is a prime number' if isprime({0}) else 'no, {0} is not a prime number'",
    ),
    (
        r"\bprime fact\w+ of\s+(\d+)",
        "from sympy import factorint\n"
        "value = ' * '.join(f'{{p}}^{{k}}' if k > 1 else str(p) for p, k in factorint({0}).items())",
    ),
    (
        r"\bhow many primes?(?: numbers)?\b.*\b(?:below|under|less than|smaller than)\s+(\d+)",
        "from sympy import primepi\nvalue = primepi({0} - 1)",
    ),
    (
        r"\bsum of\s+(?:all\s+)?(?:the\s+)?first\s+(\d{1,4})\s+primes?\b",
        "from sympy import prime\nvalue = sum(prime(n) for n in range(1, {0} + 1))",
    ),
    (r"\b(\d{1,4})(?:st|nd|rd|th)\s+prime\b", "from sympy import prime\nvalue = prime({0})"),
    (rf"\bderivative of\s+{_OF_X}", _READ_X.format("diff")),
    (rf"\b(?:integral|antiderivative) of\s+{_OF_X}", _READ_X.format("integrate")),
    (
        rf"\bhow many (?:times does (?:the )?)?(?:letters? )?{_QUOTE}([a-z]){_QUOTE}s?(?: (?:are|is)(?: there)?)?"
        rf"(?: (?:appear|occur))? in(?: the)?(?: word)? {_QUOTE}([a-z]+){_QUOTE}\W*$",
        "value = '{1}'.lower().count('{0}'.lower())",
    ),
    (rf"\breverse (?:the )?(?:string|word) {_QUOTE}([a-z]+){_QUOTE}\W*$", "value = '{0}'[::-1]"),
    (
        r"\bsort\b[^:]*\balphabetical\w*[^:]*:\s*([a-z]+(?:,\s*(?:and\s+)?[a-z]+|\s+and\s+[a-z]+)+)\W*$",
        "value = ', '.join(sorted(word.strip() for word in '{0}'.split(',')))",
    ),
    (
        r"\b(?:sum of|add(?: up)?|sum)\s+(?:all\s+)?(?:of\s+)?(?:the\s+)?(?:(?:integers|whole|natural)\s*)?(?:numbers)?"
        rf"\s*(?:from|between)\s+{NUMBER}\s+(?:to|and|through)\s+{NUMBER}",
        "value = sum(range({0}, {1} + 1))",
    ),
    (rf"\bremainder\b\D{{0,12}}{NUMBER}\s+(?:is\s+)?(?:/|divided by)\s+{NUMBER}", "value = {0} % {1}"),
    (
        rf"\blog(?:arithm)?\s+(?:to\s+)?(?:the\s+)?base\s+{NUMBER}\s+of\s+{NUMBER}",
        "import math\nvalue = math.log2({1}) / math.log2({0})",
    ),
    (rf"\b(?:average|mean) of\s+{_LIST}", "import statistics\nvalue = statistics.fmean([{0}])"),
    (rf"\bmedian of\s+{_LIST}", "import statistics\nvalue = statistics.median([{0}])"),
    (rf"\bsum of\s+{_LIST}", "from sympy import Rational\nvalue = sum(Rational(text) for text in '{0}'.split(','))"),
    (rf"\bproduct of\s+{_LIST}", "import math\nvalue = math.prod([{0}])"),
    (r"^\D*\b(\d+)\b(?: \(?decimal\)?)?\s+(?:to|into|in|as)\s+(?:a\s+)?binary\b", "value = format({0}, 'b')"),
    (r"^\D*\b(\d+)\b(?: \(?decimal\)?)?\s+(?:to|into|in|as)\s+(?:a\s+)?hex\w*\b", "value = format({0}, 'x')"),
    (r"\b0x([0-9a-f]+)\b.*\bdecimal\b", "value = int('{0}', 16)"),
    (r"\bbinary\b\D*\b([01]+)\b.*\bdecimal\b|\b([01]+)\b\D*\bbinary\b.*\bdecimal\b", "value = int('{0}', 2)"),
    (rf"{NUMBER}\s*(?:degrees?\s+|°\s*)?(?:celsius|c)\b.*\bfahrenheit\b", "value = {0} * 9 / 5 + 32"),
    (rf"{NUMBER}\s*(?:degrees?\s+|°\s*)?(?:fahrenheit|f)\b.*\bcelsius\b", "value = ({0} - 32) * 5 / 9"),
    (
        rf"\bperce?n?t(?:age)?\s+(?:increase|decrease|change)\b\D*\bfrom\s+{NUMBER}\s+to\s+{NUMBER}",
        "value = ({1} - {0}) / {0} * 100",
    ),
)  # fmt: skip
_COMPILED = tuple((re.compile(pattern, re.IGNORECASE), template) for pattern, template in _FORMS)


def program_for(question: str) -> str | None:
    """A program that prints the answer when the whole question reads as a calculation or a date, else None."""
    if len(question) > MAX_CHARS:
        return None
    text = re.sub(r"(?<=\d),(?=\d{3}\b)", "", " ".join(question.split()))
    if (dated := calendar_words.program_for(text)) is not None:
        return dated
    text, digits = _rounding(text)
    body = _form(text) or _duration(text) or _expression(text)
    return None if body is None else f"{body}\n{_printing(digits)}"


def _rounding(text: str) -> tuple[str, int | None]:
    if found := _ROUNDING.search(text):
        word = found[1].lower()
        digits = int(word) if word.isdigit() else _COUNTS.get(word)
        if digits is not None:
            return text[: found.start()] + text[found.end() :], digits
    if found := _WHOLE.search(text):
        return text[: found.start()] + text[found.end() :], 0
    return text, None


def _printing(digits: int | None) -> str:
    """Whole numbers without a point, the rest with at most 12 significant digits."""
    if digits is not None:
        return f"print(round(float(value), {digits}))" if digits else "print(round(float(value)))"
    return (
        "whole = not isinstance(value, str) and value == int(value)\n"
        "print(int(value) if whole else value if isinstance(value, str) else f'{float(value):.12g}')"
    )


def _form(text: str) -> str | None:
    for pattern, template in _COMPILED:
        if found := pattern.search(text):
            numbers = [re.sub(r"\s*,?\s*and\s+", ",", group) for group in found.groups() if group is not None]
            if "factorial" in template and int(numbers[0]) > MAX_FACTORIAL:
                return None
            rest = (text[: found.start()] + text[found.end() :]).lower()
            return None if re.search(r"\d", rest) else template.format(*numbers)
    return None


def _duration(text: str) -> str | None:
    """`How many minutes are in 3 days and 7 hours?`"""
    found = re.match(
        r"how many (second|minute|hour|day|week)s? (?:are|is|make)(?: there)? (?:in )?(.+?)\??$", text, re.IGNORECASE
    )
    if found is None:
        return None
    parts = re.findall(r"\b(\d+(?:\.\d+)?|an?) (second|minute|hour|day|week)s?\b", found[2], re.IGNORECASE)
    rest = re.sub(
        r"\b(?:\d+(?:\.\d+)?|an?) (?:second|minute|hour|day|week)s?\b|\band\b|,", "", found[2], flags=re.IGNORECASE
    )
    if not parts or rest.strip():
        return None
    seconds = " + ".join(
        f"{'1' if number.lower().startswith('a') else number} * {_LENGTHS[unit.lower()]}" for number, unit in parts
    )
    return f"value = ({seconds}) / {_LENGTHS[found[1].lower()]}"


def _expression(text: str) -> str | None:
    """The question as an arithmetic expression over exact rationals, when nothing but one is left of it."""
    text = _ASKING.sub("", text, count=1)
    text = re.sub(r"^divide\s+(.+?)\s+by\s+", r"(\1) / ", text, flags=re.IGNORECASE)
    text = re.sub(r"^multiply\s+(.+?)\s+(?:by|and|with)\s+", r"(\1) * ", text, flags=re.IGNORECASE)
    text = re.sub(r"^subtract\s+(.+?)\s+from\s+(.+)", r"(\2) - (\1)", text, flags=re.IGNORECASE)
    text = re.sub(r"^add\s+(.+?)\s+(?:and|to)\s+", r"(\1) + ", text, flags=re.IGNORECASE)
    text = _then(text)
    for pattern, sign in _WORDS:
        text = re.sub(pattern, sign, text, flags=re.IGNORECASE)
    text = re.sub(
        r"\s*(?:=\s*\??|equals?(?: to)?|\?|!|(?<!\d)\.|\.$|and round(?: the result)?)+\s*$",
        "",
        text,
        flags=re.IGNORECASE,
    ).strip(" ,.?")
    if not re.fullmatch(r"[\d\s.+*/%()-]+", text) or not re.search(r"\d", text):
        return None
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    if not any(isinstance(node, ast.BinOp) for node in ast.walk(tree)) or not _modest(tree):
        return None
    exact = re.sub(r"\d+(?:\.\d+)?", lambda number: f"Fraction('{number[0]}')", text.strip())
    if "/" in text or "." in text:
        return f"from fractions import Fraction\nvalue = {exact}"
    return f"value = {text.strip()}"


def _then(text: str) -> str:
    """`…, then subtract 5 and divide by 2`: each step applies to all before it."""
    signs = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/"}
    while found := _STEP.match(text):
        sign = signs[found[2].split()[0].lower()]
        text = f"({found[1]}) {sign} {found[3]}{text[found.end() :]}"
    return text


def _modest(tree: ast.AST) -> bool:
    """No tower of powers: the interpreter has limits of its own, but a refusal here costs nothing."""
    powers = [node for node in ast.walk(tree) if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow)]
    return len(powers) <= 1 and all(
        isinstance(node.right, ast.Constant) and abs(node.right.value) <= MAX_EXPONENT  # type: ignore[arg-type]
        for node in powers
    )
