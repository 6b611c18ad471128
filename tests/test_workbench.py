import asyncio
import re
from datetime import datetime

import pytest
from playing import Echo

from orchestra_lib.errors import BadInput, StoreFault
from orchestra_lib.event import fold
from orchestra_lib.limits import Limits
from orchestra_lib.orchestrators import Offer
from orchestra_lib.policy.scripted import Scripted
from orchestra_lib.preference import Preference
from orchestra_lib.workbench import Order, Workbench, new_run_id


class Two:
    """A roster of one script and two tools, one of them off."""

    def __init__(self, *script):
        self.script, self.echo, self.away = script, Echo("local_search"), Echo("coder")

    def orchestrators(self):
        return (Offer(name="scripted", title="Scripted", note="plays a script"),)

    def orchestrator(self, name):
        return Scripted(self.script)

    def tools(self):
        return ((self.echo.spec, None), (self.away.spec, "no weights"))

    def tool(self, name):
        return {"local_search": self.echo, "coder": self.away}[name]

    async def close(self):
        pass


@pytest.fixture
def bench(tmp_path):
    workbench = Workbench(tmp_path, roster=Two([("local_search", {"word": "hi"})], "hi"))
    yield workbench
    asyncio.run(workbench.close())


def play(workbench, **order):
    async def collect():
        return [event async for event in workbench.play(Order(orchestrator="scripted", **order))]

    return fold(asyncio.run(collect()))


def test_a_run_is_found_again_in_journal_and_store(bench):
    trajectory = play(bench, task="Say hi.")
    assert bench.store.get(trajectory.id) == trajectory
    assert fold(bench.journal.read(trajectory.id)).answer == "hi"


def test_the_record_holds_only_tools_that_are_on_and_prices_they_need(bench):
    setting = play(bench, task="Say hi.").setting
    assert [spec.name for spec in setting.tools] == ["local_search"]
    assert set(setting.prices.prices) == {"local_search"}


@pytest.mark.parametrize(
    "order, says",
    [
        ({"task": " "}, "empty"),
        ({"task": "x" * 1_000_000}, "1,000,000 characters"),
        ({"task": "x", "tools": ("spoon",)}, "no tool 'spoon'"),
        ({"task": "x", "tools": ("coder",)}, "no weights"),
        ({"task": "x", "prices": "gold"}, "no price table 'gold'"),
        ({"task": "x", "preference": Preference(tools={"spoon": 1.0})}, "unknown tool 'spoon'"),
    ],
)
def test_bad_orders_are_refused_before_anything_is_recorded(bench, order, says):
    with pytest.raises(BadInput, match=re.escape(says)):
        play(bench, **order)
    assert bench.store.count() == 0


def test_a_run_that_refuses_to_start_leaves_no_record(bench):
    bench.roster.echo = Echo("unpriced")
    bench.roster.tool = lambda name: bench.roster.echo
    bench.roster.tools = lambda: ((bench.roster.echo.spec, None),)
    with pytest.raises(BadInput, match="cost limit"):
        play(bench, task="x", limits=Limits(cost_usd=1.0))
    assert bench.store.count() == 0


def test_a_reader_that_leaves_midway_leaves_a_run_that_is_closed_honestly(bench):
    async def leave():
        async for event in bench.play(Order(task="Say hi.", orchestrator="scripted"), run_id="left"):
            if event.kind == "call_finished":
                break

    asyncio.run(leave())
    again = Workbench(bench.home, roster=Two())
    assert again.store.get("left").status == "fault"
    assert again.store.get("left").faults[0].kind == "interrupted"
    asyncio.run(again.close())


def test_a_journal_that_cannot_be_written_stops_the_run(bench):
    bench.journal.folder = bench.home / "workbench.duckdb" / "journals"
    with pytest.raises(StoreFault, match="cannot create the journal"):
        play(bench, task="Say hi.")


def play_kind(workbench, count):
    async def collect():
        order = Order(orchestrator="scripted", task="Say hi.")
        begin = workbench.kind(order)
        for number in range(count):
            async for _ in begin(order, f"run-{number}", asyncio.Event()):
                pass
        await workbench.stored()

    asyncio.run(collect())


def test_runs_of_a_kind_are_in_the_store_once_it_is_asked_for(bench):
    play_kind(bench, 3)
    with bench.store._cursor() as cursor:  # its own lists would take in what it lacks
        assert cursor.execute("SELECT count(*) FROM trajectories WHERE answer = 'hi'").fetchall() == [(3,)]


@pytest.mark.parametrize("count", [1, 2])
def test_a_run_of_a_kind_that_cannot_be_stored_is_told_and_stays_in_its_journal(bench, count):
    bench.store.close()
    with pytest.raises(StoreFault):
        play_kind(bench, count)
    assert fold(bench.journal.read("run-0")).answer == "hi"


def test_run_ids_sort_by_time_and_differ():
    ids = [new_run_id() for _ in range(500)]
    assert len(set(ids)) == 500
    assert [run_id[:10] for run_id in ids] == sorted(run_id[:10] for run_id in ids)


DATED = """
name = "dated"
dated = 2026-11-30
source = "tests"
[prices.local_search]
call_usd = 1.0
source = "tests"
[[changes.local_search]]
call_usd = 1.0
source = "tests"
[[changes.local_search]]
call_usd = 2.0
since = 2027-01-01
source = "tests"
"""


@pytest.mark.parametrize("day, usd", [("2026-12-31", 1.0), ("2027-01-01", 2.0)])
def test_a_run_is_billed_with_the_prices_of_its_day(tmp_path, day, usd):
    (tmp_path / "prices").mkdir()
    (tmp_path / "prices" / "dated.toml").write_text(DATED)
    now = datetime.fromisoformat(f"{day}T12:00:00+00:00")
    workbench = Workbench(tmp_path, roster=Two([("local_search", {"word": "hi"})], "hi"), now=lambda: now)
    trajectory = play(workbench, task="Say hi.", prices="dated")
    asyncio.run(workbench.close())
    assert trajectory.bill().cost_usd == usd
