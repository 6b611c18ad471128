"""What the makers of tasks reported, as plain data: each domain's funnel, and the metrics beside published ones."""

import json
from pathlib import Path
from typing import Any

from orchestra_lib.synthesis.metrics import LABELS, published
from orchestra_lib.synthesis.producing import REPORT

Data = dict[str, Any]
_STAGES = ("drawn", "golden", "solvable", "not free", "discriminative", "quota")
"""The filters in the order in which they run."""


def report_view(folder: Path) -> Data:
    """What the makers of tasks reported: the funnel of each domain, and the metrics of all beside published ones."""
    whole = _report(folder / REPORT)
    funnels = whole.get("domains", {})
    try:
        for file in sorted(folder.glob(f"*/{REPORT}")):
            funnels = {**funnels, **_report(file).get("domains", {})}
        return {
            "funnels": [_funnel(name, one) for name, one in funnels.items()],
            "metrics": _metrics(whole) if "metrics" in whole else None,
        }
    except (AttributeError, KeyError, TypeError):
        return {"funnels": [], "metrics": None}  # changed by hand: nothing of it can be said


def free_share(folder: Path, domain: str) -> float | None:
    """The share of the tasks made with a domain's that is passed by doing nothing, as their report has it."""
    for file in (folder / domain / REPORT, folder / REPORT):
        found = _report(file)
        metrics = found.get("metrics")
        if domain in found.get("domains", {}) and isinstance(metrics, dict):
            value = metrics.get("free")
            return float(value) if isinstance(value, int | float) else None
    return None


def _report(file: Path) -> Data:
    try:
        found = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _funnel(name: str, one: Data) -> Data:
    """One domain's candidates, filter by filter, those that dropped none among them."""
    stages, left = [], one["candidates"]
    for stage in (*_STAGES, *(name for name in one["rejected"] if name not in _STAGES)):
        reasons = one["rejected"].get(stage, {})
        left -= sum(reasons.values())
        stages.append({"name": stage, "left": left, "dropped": sum(reasons.values()), "reasons": reasons})
    return {"domain": name, "proposed": one["candidates"], "stages": stages}


def _metrics(report: Data) -> Data:
    ours, sets = report["metrics"], published()
    worse = report.get("worse_than_published", [])
    return {
        "sets": [name.replace("_", " ") for name in sets],
        "rows": [
            {
                "what": label,
                "ours": ours.get(name),
                "theirs": [one.get(name) for one in sets.values()],
                "worse": any(str(line).startswith(f"{label}:") for line in worse),
            }
            for name, label in LABELS.items()
        ],
    }
