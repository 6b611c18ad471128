"""What the ToolOrchestra paper says of bias, to stand beside one's own runs and never among them."""

import json
from collections.abc import Mapping
from functools import cache

from orchestra_lib.codec import from_data
from orchestra_lib.families import shipped_families
from orchestra_lib.paths import DATA
from orchestra_lib.record import record

_FILE = DATA / "paper" / "bias.json"


@record
class Pilot:
    """One sentence of the paper with its figure. `what` is `strongest` or `own`."""

    orchestrator: str
    what: str
    share: float
    words: str


@record
class PaperBias:
    """The published figures. `calls_per_task` are means, in the order of `experts`."""

    source: str
    strongest: str
    experts: tuple[str, ...]
    calls_per_task: Mapping[str, tuple[float, ...]]
    pilot: tuple[Pilot, ...]

    def shares(self, orchestrator: str) -> Mapping[str, float]:
        """The share of each expert among the calls of an orchestrator. Raises `KeyError`."""
        calls = self.calls_per_task[orchestrator]
        return {name: count / sum(calls) for name, count in zip(self.experts, calls, strict=True)}

    def strongest_share(self, orchestrator: str) -> float:
        """How much of its calls went to the strongest."""
        return self.shares(orchestrator)[self.strongest]

    def own_share(self, orchestrator: str) -> float | None:
        """How much went to models of its own family; None where none was on offer."""
        family = shipped_families().of
        own = family(orchestrator)
        kin = [share for name, share in self.shares(orchestrator).items() if own is not None and family(name) == own]
        return sum(kin) if kin else None


@cache
def paper_bias() -> PaperBias:
    """The figures as they are stored with their source."""
    figures: PaperBias = from_data(json.loads(_FILE.read_text("utf-8")), PaperBias, where=str(_FILE))
    return figures
