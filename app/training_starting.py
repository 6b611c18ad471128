"""What can be trained from here: the configs that ship, why one cannot be started on this machine, and its plan."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from app.training_files import Data
from app.training_views import flat
from orchestra_lib.codec import to_data
from orchestra_lib.errors import BadInput, WeightsFault
from orchestra_lib.model.weights import WeightsCatalog
from orchestra_lib.roster import Roster
from orchestra_lib.training.launching import Launcher
from orchestra_lib.training.planning import can_answer, plan
from orchestra_lib.training.settings import resolve


def starting_view(launcher: Launcher, configs: Mapping[str, Path]) -> Data:
    """The configs with what keeps each from being started here, and what goes on already."""
    made = []
    for name, file in configs.items():
        try:
            text = file.read_text("utf-8")
            fields = flat(tomllib.loads(text))
        except (OSError, ValueError):  # one that cannot be read cannot be started
            continue
        off, planned = _obstacle(fields, launcher.home), "cluster.nodes" in fields
        made.append({"name": name, "fields": fields, "said": _comment(text), "off": off, "planned": planned})
    return {"configs": made, "running": list(launcher.running()), "folder": str(launcher.folder)}


def plan_view(name: str, launcher: Launcher, configs: Mapping[str, Path], roster: Roster) -> Data:
    """The dry run of a config for a cluster; nothing is started, no server asked. Raises `BadInput`."""
    if name not in configs:
        raise BadInput(f"there is no config {name[:80]!r}; there are {', '.join(configs) or 'none'}")
    made: Data = to_data(plan(resolve(configs[name], home=launcher.home), answers=can_answer(roster)))
    return made


def _obstacle(fields: Mapping[str, Any], home: Path) -> str | None:
    """Why a run by these settings would fail at once on this machine; None where nothing is known against it."""
    if "cluster.nodes" in fields:
        gpus = f"{fields.get('cluster.gpus', '?')} {fields.get('cluster.gpu', 'GPU')}s a node"
        return f"it needs a cluster ({gpus}): start it there with Slurm or Ray, as launch/README.md says"
    catalog, wanted = WeightsCatalog.load(home), fields.get("policy.checkpoint")
    if wanted in catalog.names:
        try:
            catalog.path(str(wanted))
        except WeightsFault as fault:
            return str(fault)
    return None


def _comment(text: str) -> str:
    """What a TOML file says of itself: the first paragraph of the comment that it begins with."""
    lines = []
    for line in text.splitlines():
        said = line.lstrip("# ").rstrip()
        if not line.startswith("#") or not said:
            break
        lines.append(said)
    return " ".join(lines)


def launch_view(launch: Any) -> Data:
    """What was started."""
    return {name: value for name, value in to_data(launch).items() if name in ("name", "folder", "pid", "resumed")}
