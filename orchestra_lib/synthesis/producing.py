"""Writes the tasks of several domains: a JSONL file each, and a report that says what was rejected and why.

The same domains, number and seed give the same bytes. What an interrupted run has finished is kept and not drawn
again: the report names the digest of each file and of all that it was made from.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from orchestra_lib.environment.assignment import Assignment, read_assignments, write_assignments
from orchestra_lib.environment.domain import DOMAINS, domain_names, load_world
from orchestra_lib.errors import BadInput
from orchestra_lib.json_writing import spoken
from orchestra_lib.record import record
from orchestra_lib.synthesis.metrics import measure, published, worse
from orchestra_lib.synthesis.pipeline import VERSION, Accepted, Rejection, accept, pipeline_of

Told = Callable[[str, int, int], None]
"""Told how far it is: domain, tasks so far, tasks wanted."""

Drawn = Callable[[str, int], Iterable[Accepted | Rejection]]
"""What becomes of the candidates of a domain under a seed, in order and without end."""

REPORT = "report.json"
_FILES = ("domain.json", "records.json", "intents.json")


@record
class Order:
    """What to draw: so many tasks over these domains, in equal parts."""

    domains: tuple[str, ...]
    n: int
    seed: int

    @property
    def parts(self) -> Mapping[str, int]:
        """How many tasks of each domain; the first have one more where they do not divide."""
        each, more = divmod(self.n, len(self.domains))
        return {name: each + (place < more) for place, name in enumerate(self.domains)}


def order_of(domains: str, n: int, seed: int, *, words: bool = True) -> Order:
    """An order from words: `all`, or names with commas; without `words` also domains whose users have none.

    Raises `BadInput`.
    """
    spoken = [name for name in domain_names() if (DOMAINS / name / "intents.json").is_file()]
    known = spoken if words else domain_names()
    wanted = spoken if domains == "all" else [one.strip() for one in domains.split(",") if one.strip()]
    if unknown := [one for one in wanted if one not in known]:
        raise BadInput(f"--domains {unknown[0]}: no such domain with words for its users; there are {', '.join(known)}")
    if not wanted or n < len(wanted):
        raise BadInput(f"--n {n} --domains {domains}: at least one task for each domain is needed")
    return Order(domains=tuple(dict.fromkeys(wanted)), n=n, seed=seed)


def produce(
    order: Order, out: Path, told: Told = lambda name, done, wanted: None, drawn: Drawn | None = None
) -> Mapping[str, Any]:
    """Draw what is missing and write the report. Raises `BadInput` for a folder that cannot be written.

    `drawn` has somebody else draw the candidates and filter them; None: this process.
    """
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(f"{out}: cannot be made a folder ({error})") from None
    done = dict(_finished(out, order))
    for name, n in order.parts.items():
        if name in done:
            told(name, n, n)
            continue
        done[name] = _draw(name, n, order.seed, out, told, drawn)
        _write(out / REPORT, _report(order, done, out))
    report = _report(order, done, out, measured=True)
    _write(out / REPORT, report)
    return report


def _draw(name: str, n: int, seed: int, out: Path, told: Told, drawn: Drawn | None) -> dict[str, Any]:
    rejected: Counter[tuple[str, str]] = Counter()
    tried: Counter[int] = Counter()
    tasks: list[Assignment] = []
    for one in accept(pipeline_of(name, seed=seed), n, None if drawn is None else drawn(name, seed)):
        if isinstance(one, Accepted):
            tasks.append(one.assignment)
            tried[one.tried] += 1
            told(name, len(tasks), n)
        else:
            rejected[one.stage, one.reason] += 1
            tried[0] += one.reason == "no try of the solver succeeds"
    file = out / f"{name}.jsonl"
    write_assignments(tasks, file)
    return {
        "made_from": _made_from(name, n, seed),
        "sha256": _digest(file),
        "candidates": len(tasks) + sum(rejected.values()),
        "rejected": _by_stage(rejected),
        "accepted": len(tasks),
        "kinds": _counts(one.kind for one in tasks),
        "splits": _counts(one.split for one in tasks),
        "solver_tries": {str(number): tried[number] for number in sorted(tried)},
    }


def _by_stage(rejected: Mapping[tuple[str, str], int]) -> dict[str, dict[str, int]]:
    stages: dict[str, dict[str, int]] = {}
    for (stage, reason), count in sorted(rejected.items()):
        stages.setdefault(stage, {})[reason] = count
    return stages


def _counts(values: Any) -> dict[str, int]:
    return dict(sorted(Counter(str(one) for one in values).items()))


def _report(order: Order, done: Mapping[str, Any], out: Path, *, measured: bool = False) -> dict[str, Any]:
    names = [name for name in order.domains if name in done]
    report: dict[str, Any] = {
        "version": VERSION,
        "seed": order.seed,
        "n": order.n,
        "total": _total([done[name] for name in names]),
        "domains": {name: done[name] for name in names},
    }
    if measured:
        tasks = [one for name in names for one in read_assignments(out / f"{name}.jsonl")]
        tried: Counter[int] = Counter()
        for name in names:
            tried.update({int(number): count for number, count in done[name]["solver_tries"].items()})
        ours = measure([load_world(name) for name in names], tasks, tried=tried)
        report |= {"metrics": ours, "published": published(), "worse_than_published": list(worse(ours))}
    return report


def _total(parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    rejected: Counter[tuple[str, str]] = Counter()
    for one in parts:
        for stage, reasons in one["rejected"].items():
            rejected.update({(stage, reason): count for reason, count in reasons.items()})
    total: dict[str, Any] = {name: sum(one[name] for one in parts) for name in ("candidates", "accepted")}
    for name in ("kinds", "splits", "solver_tries"):
        counted: Counter[str] = Counter()
        for one in parts:
            counted.update(one[name])
        total[name] = dict(sorted(counted.items()))
    return {**total, "rejected": _by_stage(rejected)}


def _finished(out: Path, order: Order) -> Mapping[str, Any]:
    """The domains that an earlier run of the same order has finished, by what lies in the folder."""
    try:
        report = json.loads((out / REPORT).read_text("utf-8"))
        found = report["domains"]
        return {
            name: found[name]
            for name, n in order.parts.items()
            if name in found
            and found[name]["made_from"] == _made_from(name, n, order.seed)
            and found[name]["sha256"] == _digest(out / f"{name}.jsonl")
        }
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def _made_from(name: str, n: int, seed: int) -> str:
    """The digest of all that a domain's tasks are a function of."""
    made = hashlib.sha256(f"{VERSION}/{seed}/{n}".encode())
    for file in _FILES:
        made.update((DOMAINS / name / file).read_bytes())
    return made.hexdigest()


def _digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _write(file: Path, report: Mapping[str, Any]) -> None:
    part = file.with_name(f"{file.name}.part")
    part.write_text(spoken(report, indent=1) + "\n", "utf-8")
    part.replace(file)
