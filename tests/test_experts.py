"""Simulated and recorded experts in the workbench: only on request, marked, priced, and refused plainly."""

import asyncio
import json
import re

import pytest

from orchestra_lib.errors import BadInput
from orchestra_lib.experts import Experts
from orchestra_lib.generation import ChatRequest, Completion
from orchestra_lib.model.recorded import Recorded, RecordedFirst, Recorder
from orchestra_lib.pricing import Attempt, Usage
from orchestra_lib.roster import Roster
from orchestra_lib.simulated_tasks import simulated_task
from orchestra_lib.store.recordings import Recordings
from orchestra_lib.store.summary import Filter
from orchestra_lib.workbench import Order, Workbench

TASK = simulated_task(7, 0)


class Live:
    """A model that answers and counts how often it was asked."""

    def __init__(self, name="Qwen2.5-Coder-0.5B-Instruct"):
        self.name, self.asked = name, 0

    async def stream(self, request):
        self.asked += 1
        used = Attempt(priced_as=self.name, usage=Usage(input_tokens=100, output_tokens=10), wall_s=2.5)
        yield Completion(content=f"answer {self.asked}", attempts=(used,))


def play(workbench, **order):
    async def events():
        return [event async for event in workbench.play(Order(**order))]

    run_id = asyncio.run(events())[0].setting.run_id
    return workbench.store.get(run_id)


@pytest.fixture
def workbench(tmp_path):
    made = Workbench(tmp_path, roster=Roster(tmp_path, {}))
    yield made
    asyncio.run(made.close())


def offered(roster):
    return {spec.name: off for spec, off in roster.tools() if spec.name.startswith(("sim_", "recorded_"))}


def test_simulated_experts_are_off_with_the_remedy_until_asked_for(tmp_path):
    roster = Roster(tmp_path, {})
    assert set(offered(roster)) >= {"sim_strongest", "sim_small"}
    assert set(offered(roster).values()) == {"it is simulated: ask for it by name, or start with ORCHESTRA_SIMULATED=1"}
    assert "oracle" not in {offer.name for offer in roster.orchestrators()}
    asked = Roster(tmp_path, {"ORCHESTRA_SIMULATED": "1"})
    assert set(offered(asked).values()) == {None}
    assert "oracle" in {offer.name for offer in asked.orchestrators()}


def test_a_run_with_them_is_marked_priced_timed_graded_and_filtered(workbench):
    run = play(workbench, task=TASK.text, orchestrator="strongest", tools=("sim:strongest", "sim:small"), seed=3)
    assert [spec.name for spec in run.setting.tools] == ["sim_strongest", "sim_small"]
    assert run.simulated
    assert (run.outcome, run.setting.task.reference) == (True, TASK.reference)
    assert run.bill().cost_usd > 0
    assert "simulated" in run.setting.prices.find("sim:strongest").source
    (line,) = workbench.store.list(Filter(simulated=True))
    assert line.latency_s == run.latency_s > 3
    assert workbench.store.list(Filter(simulated=False)) == ()


def test_they_say_what_they_cost_by_the_table_of_the_run(workbench):
    (prices := workbench.home / "prices").mkdir()
    rows = '[prices."sim:small"]\ninput_usd_per_mtok = 100.0\noutput_usd_per_mtok = 100.0\nsource = "made up"\n'
    (prices / "turned.toml").write_text('name = "turned"\ndated = 2026-11-30\nsource = "made up"\n' + rows)
    wanted = {"task": TASK.text, "orchestrator": "cheapest", "tools": ("sim:small", "sim:mid"), "seed": 3}
    stated, turned = play(workbench, **wanted), play(workbench, **wanted, prices="turned")
    small, mid = zip(*(run.setting.tools for run in (stated, turned)), strict=True)
    assert [re.findall(r"about \$([\d.e-]+)", spec.description) for spec in small] == [["8e-05"], ["0.04"]]
    assert mid[0] == mid[1]
    assert [run.turns[0].calls[0].call.tool for run in (stated, turned)] == ["sim_small", "sim_mid"]


def test_the_run_can_be_started_again_from_its_record(workbench):
    first = play(workbench, task=TASK.text, orchestrator="oracle", tools=("sim:maths", "sim:small"), seed=3)
    names = tuple(spec.name for spec in first.setting.tools)
    again = play(workbench, task=TASK.text, orchestrator="oracle", tools=names, seed=3)
    assert (again.answer, again.bill().cost_usd) == (first.answer, first.bill().cost_usd)


def test_a_task_of_ones_own_needs_a_reference(workbench):
    run = play(workbench, task="Who won?", orchestrator="cheapest", tools=("sim:small",))
    assert "no reference" in run.faults[0].message


@pytest.mark.parametrize(
    "name, words",
    [
        ("sim:nobody", "there are sim:code, sim:maths"),
        ("recorded:gpt", "nothing is recorded yet; record it with --rec"),
    ],
)
def test_an_unknown_expert_is_refused_before_the_run(workbench, name, words):
    with pytest.raises(BadInput, match=words):
        workbench.play(Order(task="x", orchestrator="cheapest", tools=(name,)))


def test_a_recorded_model_is_no_orchestrator(workbench):
    with pytest.raises(BadInput, match="orchestra replay"):
        workbench.roster.orchestrator("recorded:x")


def test_any_other_name_is_somebody_elses(tmp_path):
    experts = Experts(tmp_path, {}, Live)
    assert [experts.asked(name) for name in ("coder", "", "simulated", "sim_", "recorded", "recorded_x")] == [None] * 6


# ---- recorded


def record(home, live, name, questions=("What?",)):
    experts = Experts(home, {"ORCHESTRA_RECORD": "1"}, lambda asked: live)
    tool = experts.asked(f"recorded:{name}")
    return [asyncio.run(tool.call({"question": one}, run_id="x")).text for one in questions]


def test_what_was_paid_for_once_is_answered_again_without_the_model(tmp_path):
    live = Live()
    assert record(tmp_path, live, "local/small model") == ["answer 1"]
    experts = Experts(tmp_path, {}, lambda asked: pytest.fail("no model may be asked"))
    assert experts.recorded() == ("local/small model",)
    tool = experts.asked("recorded:local/small model")
    assert (tool.spec.name, tool.spec.model) == ("recorded_local-small-model", "recorded:local/small model")
    result = asyncio.run(tool.call({"question": "What?"}, run_id="x"))
    assert (result.text, live.asked) == ("answer 1", 1)
    assert [one.priced_as for one in result.attempts] == ["recorded:local/small model"]
    assert experts.asked(tool.spec.name).spec == tool.spec


def test_with_record_only_what_is_new_is_asked_and_paid(tmp_path):
    live = Live()
    assert record(tmp_path, live, "m", ("What?", "Why?", "What?")) == ["answer 1", "answer 2", "answer 1"]
    assert live.asked == 2
    first = RecordedFirst("m", live, Recordings(tmp_path / "other"))
    request = ChatRequest(messages=({"role": "user", "content": "?"},))

    async def payees():
        return [part.attempts[0].priced_as async for part in first.stream(request) if isinstance(part, Completion)]

    assert [asyncio.run(payees()), asyncio.run(payees())] == [[live.name], ["recorded:m"]]


def test_a_miss_is_a_fault_of_the_world_and_earns_no_reward(workbench):
    record(workbench.home, Live(), "Qwen2.5-Coder-0.5B-Instruct", ("Known",))
    name = "recorded_Qwen2-5-Coder-0-5B-Instruct"
    run = play(workbench, task="Unknown", orchestrator="cheapest", tools=("recorded:Qwen2.5-Coder-0.5B-Instruct",))
    assert [spec.name for spec in run.setting.tools] == [name]
    assert "nothing is recorded of Qwen2.5-Coder-0.5B-Instruct" in run.faults[0].message
    assert run.bill().cost_usd == 0.0


def test_a_recorded_answer_is_billed_as_it_was_paid_and_named_recorded(workbench):
    model = "Qwen2.5-Coder-0.5B-Instruct"
    record(workbench.home, Live(model), model, ("Known",))
    run = play(workbench, task="Known", orchestrator="cheapest", tools=(f"recorded:{model}",))
    assert (run.answer, run.simulated) == ("answer 1", False)
    assert run.setting.prices.aliases == {f"recorded:{model}": model}
    assert run.bill().cost_usd == pytest.approx(110 * 0.04 / 1e6)
    assert run.latency_s == pytest.approx(2.5, abs=1)
    assert workbench.roster.chat_model(f"recorded:{model}").name == f"recorded:{model}"
    assert workbench.setting(Order(task="x", tools=None)).tools
    assert offered(workbench.roster)["recorded_Qwen2-5-Coder-0-5B-Instruct"].startswith("it is recorded: ask for")


def test_a_recording_says_what_it_is_of(tmp_path):
    asyncio.run(_ask(Recorder(Live("priced"), Recordings(tmp_path), known_as="named")))
    (file,) = tmp_path.rglob("*.json")
    assert json.loads(file.read_text("utf-8"))["asked"]["model"] == "named"
    assert Recorded("named", Recordings(tmp_path)).knows(ChatRequest(messages=()))
    assert not Recorded("priced", Recordings(tmp_path)).knows(ChatRequest(messages=()))


async def _ask(model):
    return [part async for part in model.stream(ChatRequest(messages=()))]
