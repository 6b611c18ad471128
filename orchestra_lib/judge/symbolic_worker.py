"""One comparison of two mathematical expressions by math-verify, in a process of its own that may be killed.

Run as a script without the project: JSON `{"answer", "reference", "cpu_s", "memory_bytes"}` on stdin, JSON
`{"same": bool | null, "why"}` on stdout. Expressions are parsed as LaTeX by a grammar; nothing of them is evaluated
as Python.
"""

import json
import logging
import re
import resource
import sys

_PLAIN = (
    (re.compile(r"\*\*"), "^"),
    (re.compile(r"\^\(([^()]*)\)"), r"^{\1}"),
    (re.compile(r"(?<![\\a-zA-Z])sqrt\s*\(([^()]*)\)"), r"\\sqrt{\1}"),
    (re.compile(r"(?<![\\a-zA-Z])(pi|sin|cos|tan|log|ln|exp|infty)(?![a-zA-Z])"), r"\\\1 "),
)
"""What people write without LaTeX, in LaTeX."""


def latex(text: str) -> str:
    """The expression between dollar signs."""
    for pattern, said in _PLAIN:
        text = pattern.sub(said, text)
    return f"${text.strip().strip('$').strip()}$"


def compare(answer: str, reference: str) -> dict[str, object]:
    """Whether the two say the same; None when one is no expression."""
    from math_verify import LatexExtractionConfig, parse, verify

    def read(text: str) -> list[object]:
        return list(parse(text, extraction_config=[LatexExtractionConfig()], parsing_timeout=None))

    gold = read(latex(reference))
    if not gold:
        return {"same": None, "why": "the reference is no mathematical expression"}
    given = read(answer) if "$" in answer or "\\boxed" in answer or "\\(" in answer else read(latex(answer))
    if not given:
        return {"same": False, "why": "the answer has no mathematical expression"}
    return {"same": bool(verify(gold, given, timeout_seconds=None)), "why": ""}


def main() -> None:
    """Compare what stdin gives, within its limits."""
    task = json.load(sys.stdin)
    logging.disable(logging.CRITICAL)  # that timeouts are off: our parent keeps the time
    resource.setrlimit(resource.RLIMIT_CPU, (task["cpu_s"], task["cpu_s"]))
    resource.setrlimit(resource.RLIMIT_AS, (task["memory_bytes"], task["memory_bytes"]))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    try:
        said = compare(task["answer"], task["reference"])
    except (MemoryError, RecursionError, OverflowError) as error:
        said = {"same": None, "why": f"the comparison grew too large ({type(error).__name__})"}
    print(json.dumps(said))


if __name__ == "__main__":
    main()
