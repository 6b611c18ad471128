"""Claims about speed: what was measured, what it is measured against, and whether it holds.

Every script here that claims something prints one object per claim, `name, value, unit, rival, ratio, target,
holds`, as a table or with `--json` as JSON lines; `--quick` takes sizes that show that the script works and
no figures worth quoting.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict

from orchestra_lib.record import record


@record
class Rival:
    """Who else did the same in the same run, and the figure it reached, in the claim's unit."""

    name: str
    value: float


@record
class Claim:
    """One figure. `ratio` is value / rival; `target` is None, and then so is `holds`, where nothing is promised."""

    name: str
    value: float
    unit: str
    rival: Rival | None
    ratio: float | None
    target: str | None
    holds: bool | None


def claim(
    name: str,
    value: float,
    unit: str,
    *,
    rival: Rival | None = None,
    at_most: float | None = None,
    at_least: float | None = None,
    ratio_at_most: float | None = None,
) -> Claim:
    """A claim with at most one target: a bound on the value, or on its ratio to the rival's."""
    ratio = None if rival is None or rival.value == 0 else value / rival.value
    target, holds = None, None
    if at_most is not None:
        target, holds = f"at most {at_most:,g} {unit}", value <= at_most
    elif at_least is not None:
        target, holds = f"at least {at_least:,g} {unit}", value >= at_least
    elif ratio_at_most is not None:
        target, holds = f"ratio at most {ratio_at_most:g}", ratio is not None and ratio <= ratio_at_most
    return Claim(name=name, value=value, unit=unit, rival=rival, ratio=ratio, target=target, holds=holds)


def parser(doc: str | None) -> argparse.ArgumentParser:
    """The options that every script has."""
    options = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--json", action="store_true", help="one JSON object a line")
    options.add_argument("--quick", action="store_true", help="a few seconds, to see that it works")
    return options


def show(claims: Sequence[Claim], *, as_json: bool) -> None:
    """Print claims to stdout."""
    for one in claims:
        sys.stdout.write(json.dumps(asdict(one), ensure_ascii=False) + "\n" if as_json else _line(one))


def note(text: str) -> None:
    """A word on how far it is, to stderr, so that stdout stays readable by programs."""
    print(text, file=sys.stderr, flush=True)


def _line(one: Claim) -> str:
    verdict = {True: "holds", False: "FAILS", None: ""}[one.holds]
    rival = f"{one.rival.name} {figure(one.rival.value)}" if one.rival else ""
    ratio = f"{one.ratio:.2f}x" if one.ratio is not None else ""
    value = f"{figure(one.value)} {one.unit}"
    return f"{verdict:6}{one.name:56}{value:>28} {ratio:>7} {rival:30} {one.target or ''}".rstrip() + "\n"


def figure(value: float) -> str:
    """A number as tables show it: three digits that count, thousands apart."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
