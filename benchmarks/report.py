"""The table of all benchmarks as Markdown: claims, rivals, verdicts, what is missing, and where it was measured."""

from collections.abc import Iterator, Sequence

from benchmarks.claims import Claim, figure
from benchmarks.machine import Machine
from benchmarks.running import Result

_NONE = "–"


def document(results: Sequence[Result], machine: Machine, command: str) -> str:
    """The whole document. What failed, broke off or was left out stands in it like the rest."""
    return "\n".join(
        [
            "# Benchmarks",
            "",
            f"Written by `{command}`; each script ran alone, in a process of its own. `benchmarks/README.md` says what "
            "they measure and how. A ratio is the figure over the rival's of the same run. CPU s are those of a whole "
            "script.",
            "",
            *_where(machine),
            "",
            _sum(results),
            "",
            "| script | claim | figure | target | rival | ratio | verdict | CPU s |",
            "|---|---|--:|---|---|--:|---|--:|",
            *(f"| {' | '.join(_cell(cell) for cell in row)} |" for result in results for row in _rows(result)),
            *(line for result in results if result.printed for line in _printed(result)),
            "",
        ]
    )


def _where(machine: Machine) -> Iterator[str]:
    processor = machine.processor or "unknown processor"
    yield (
        f"- {machine.at:%-d %B %Y, %H:%M} UTC, commit {machine.commit or 'unknown'}\n"
        f"- {processor}, {machine.cores} cores, {machine.memory_gib:.0f} GiB, {machine.system}; "
        f"load at the start {machine.load:.2f}\n"
        f"- Python {machine.python}, " + ", ".join(" ".join(one) for one in machine.versions)
    )


def _sum(results: Sequence[Result]) -> str:
    verdicts = [one.holds for result in results for one in result.claims]
    parts = [
        f"{verdicts.count(True)} claims hold, {verdicts.count(False)} fail, {verdicts.count(None)} promise nothing",
        f"{sum(1 for one in results if one.fault)} scripts broke off",
        f"{sum(1 for one in results if one.left_out)} were left out",
    ]
    seconds = sum(one.wall_s or 0 for one in results)
    return "; ".join(parts) + f". It took {seconds / 60:.0f} minutes."


def _rows(result: Result) -> Iterator[list[str]]:
    cpu = _NONE if result.cpu_s is None else f"{result.cpu_s:,.0f}"
    if result.left_out is not None:
        yield [result.name, f"left out: {result.left_out}", *[_NONE] * 6]
    elif result.fault is not None:
        yield [result.name, f"broke off: {result.fault}", *[_NONE] * 4, "**BROKE OFF**", cpu]
    elif result.printed:
        yield [result.name, "a table, below", *[_NONE] * 5, cpu]
    for place, one in enumerate(result.claims):
        yield [result.name, *_claim(one), cpu if place == 0 else ""]


def _claim(one: Claim) -> list[str]:
    return [
        one.name,
        f"{figure(one.value)} {one.unit}",
        one.target or _NONE,
        f"{one.rival.name}: {figure(one.rival.value)}" if one.rival else _NONE,
        f"{one.ratio:.3g}" if one.ratio is not None else _NONE,
        {True: "holds", False: "**FAILS**", None: _NONE}[one.holds],
    ]


def _printed(result: Result) -> Iterator[str]:
    yield from ["", f"## {result.name}", "", "```text", *result.printed.splitlines(), "```"]


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
