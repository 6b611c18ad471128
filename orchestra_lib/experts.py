"""Experts that no endpoint answers for: simulated ones, which follow a stated profile, and recorded ones.

They are offered only when somebody asks for them, by name (`sim:small`, `recorded:MODEL`) or for all runs by
`ORCHESTRA_SIMULATED`.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote, unquote

from orchestra_lib.errors import BadInput
from orchestra_lib.model.recorded import Recorded, RecordedFirst
from orchestra_lib.policy.baseline import Baseline
from orchestra_lib.policy.oracle import oracle
from orchestra_lib.pricing import PriceTable
from orchestra_lib.profile import PREFIX, price_table, restated
from orchestra_lib.profilelist import load_profiles
from orchestra_lib.protocols import ChatModel, Tool
from orchestra_lib.store.recordings import Recordings
from orchestra_lib.task import Task
from orchestra_lib.tool import RECORDED, ToolSpec, wire_name
from orchestra_lib.toolkit.model_tool import ModelTool, expert_tool
from orchestra_lib.toolkit.simulated import SimulatedExpert, placed, tool_name

SIMULATED, RECORD = "ORCHESTRA_SIMULATED", "ORCHESTRA_RECORD"
"""Environment variables: `1` offers simulated experts in every run, `sleep` has them take their time too; `1` lets
recorded models ask and record what they do not know yet."""

FOLDER = "recordings"
"""Where answers that were paid for lie under the home folder, a folder for each model."""

ON_REQUEST = (PREFIX, RECORDED, "sim_", "recorded_")
"""What the names of these experts begin with, as people write them and as tools."""

_NOT_ASKED = f"it is simulated: ask for it by name, or start with {SIMULATED}=1"


class Experts:
    """The simulated and recorded experts of one home folder. `record` lets recorded ones fall through to the model.

    `live` gives a model by its name. Raises `BadInput` for a profile that cannot be read.
    """

    def __init__(self, home: Path, environ: Mapping[str, str], live: Callable[[str], ChatModel]) -> None:
        self._home, self._live = home, live
        self._offered = environ.get(SIMULATED, "") not in ("", "0")
        self.record = environ.get(RECORD, "") not in ("", "0")
        sleeps = environ.get(SIMULATED) == "sleep"
        made = (SimulatedExpert(profile, sleeps=sleeps) for profile in load_profiles(home).values())
        self._simulated = {expert.spec.name: expert for expert in made}

    def tools(self) -> Iterator[tuple[Tool, str | None]]:
        """Every simulated expert and every model of which something is recorded, and why it is off."""
        off = None if self._offered else _NOT_ASKED
        yield from ((expert, off) for expert in self._simulated.values())
        for name in self.recorded():
            yield _model_tool(name, Recorded(name, self._recordings(name))), f"it is recorded: ask for {RECORDED}{name}"

    def tool(self, name: str) -> Tool:
        """One of `tools`. Raises `KeyError` for an unknown name."""
        return {tool.spec.name: tool for tool, _ in self.tools()}[name]

    def asked(self, name: str) -> Tool | None:
        """The expert that a run asks for by its name here or as a tool; None for every other name.

        Raises `BadInput` for a profile or a recording that there is not.
        """
        if name.startswith(PREFIX) or name in self._simulated:
            wanted = tool_name(name.removeprefix(PREFIX)) if name.startswith(PREFIX) else name
            if wanted not in self._simulated:
                known = ", ".join(PREFIX + expert.profile.name for expert in self._simulated.values())
                raise BadInput(f"there is no simulated expert {name[:80]!r}; there are {known}")
            return self._simulated[wanted]
        if name.startswith(RECORDED):
            model = name.removeprefix(RECORDED)
            return _model_tool(model, self.model(model))
        named = {_recorded_name(model): model for model in self.recorded()}
        return _model_tool(named[name], self.model(named[name])) if name in named else None

    def model(self, name: str) -> ChatModel:
        """A recorded model by the name of the model. Raises `BadInput` where nothing is recorded of it."""
        if self.record:
            return RecordedFirst(name, self._live(name), self._recordings(name))
        known = self.recorded()
        if name not in known:
            what = f"there are {', '.join(RECORDED + one for one in known)}" if known else "nothing is recorded yet"
            raise BadInput(f"nothing is recorded of {name[:80]!r}, {what}; record it with --record")
        return Recorded(name, self._recordings(name))

    def recorded(self) -> tuple[str, ...]:
        """The models of which something is recorded."""
        folders = sorted((self._home / FOLDER).glob("*/"))
        return tuple(unquote(folder.name) for folder in folders if any(folder.glob("*/*.json")))

    def priced(self, table: PriceTable, specs: Collection[ToolSpec]) -> PriceTable:
        """A table that also prices these experts: simulated ones by their profiles, recorded ones as what was paid for.

        The table's own rows win.
        """
        offered = {spec.priced_as for spec in specs if spec.simulated}
        stated = [one.profile for one in self._simulated.values() if one.profile.priced_as in offered]
        profiles = price_table(stated, name=table.name, dated=table.dated)
        paid = {
            spec.priced_as: row
            for spec in specs
            if spec.priced_as.startswith(RECORDED) and (row := table.resolve(_paid_as(spec.priced_as)).row)
        }
        return replace(table.with_rows_of(profiles), aliases={**table.aliases, **paid})

    def told(self, tools: Sequence[Tool], table: PriceTable) -> tuple[Tool, ...]:
        """The tools of a run, where simulated experts say what they cost by the run's table and not by their profile:
        whoever conducts reads the prices that the bill is made by.
        """
        return tuple(_told(tool, table) if isinstance(tool, SimulatedExpert) else tool for tool in tools)

    def oracle(self) -> Baseline:
        """The benchmark that knows the profiles."""
        return oracle({one.profile.priced_as: one.profile for one in self._simulated.values()}, _kind_of)

    @property
    def offered(self) -> bool:
        """Whether simulated experts are offered in every run."""
        return self._offered

    def _recordings(self, name: str) -> Recordings:
        return Recordings(self._home / FOLDER / quote(name, safe=""))


def _model_tool(name: str, model: ChatModel) -> ModelTool:
    return expert_tool(
        model,
        name=_recorded_name(name),
        title=f"{name} (recorded)",
        description=f"Answers that {name} once gave, word for word; it knows only what it was asked before.",
    )


def _told(expert: SimulatedExpert, table: PriceTable) -> SimulatedExpert:
    price = table.resolve(expert.spec.priced_as).price
    if price is None or expert.profile.typical_usd(price) == expert.profile.typical_usd():
        return expert
    return expert.described(restated(expert.spec.description, expert.profile, price))


def _paid_as(priced_as: str) -> str:
    """The name that priced a model when it was asked: embedded ones go by the name of their weights."""
    return priced_as.removeprefix(RECORDED).removeprefix("local/").removeprefix("openai:")


def _recorded_name(model: str) -> str:
    """A recorded model's name as a tool."""
    return wire_name(f"recorded_{model}")


def _kind_of(task: Task) -> tuple[str | None, str | None]:
    place = placed(task)
    return place.kind, place.difficulty
