"""An agent and a user for tau2-bench's mock domain that play scripts behind `orchestra serve`'s own server: no model.

    python -m benchmarks.tau2_served --port 7872 --home FOLDER       # then tau2's own CLI, see docs/serving.md

It shows that tau2's loop goes through: calls of its tools are handed over, runs go on, its own evaluator judges the
database. It says nothing about anybody's skill.
"""

import argparse
import re
from collections.abc import AsyncGenerator, Callable
from pathlib import Path

from orchestra_lib.generation import Delta, Generation
from orchestra_lib.model.weights import WeightsStatus
from orchestra_lib.protocols import Policy, PolicySpec, Situation
from orchestra_lib.roster import Roster
from orchestra_lib.server.application import Terms, create_server, serve
from orchestra_lib.tool import ToolCall
from orchestra_lib.workbench import Order, Workbench

KEY = "tau2-scripts"
_GOAL = re.compile(r"(?:Create a new task|Request (?:a new task|that)) .*?\.(?=\s|$)")
_TITLE, _TASK = re.compile(r"called '([^']+)' for (\w+)"), re.compile(r"(task_\d+) be marked as (\w+)")


class Agent:
    """Does what the user's first words ask for by one call, then says so."""

    spec = PolicySpec(name="agent")

    async def act(self, situation: Situation) -> AsyncGenerator[Delta | Generation, None]:
        task, number = situation.setting.task.text, len(situation.turns) + 1
        if any(call.call.tool != "ask_user" for turn in situation.turns for call in turn.calls):
            yield _said("It is done. Is there anything else?")
        elif found := _TITLE.search(task):
            yield _called(number, "create_task", {"title": found[1], "user_id": found[2]})
        elif found := _TASK.search(task):
            yield _called(number, "update_task_status", {"task_id": found[1], "status": found[2]})
        else:
            yield _said("I can create tasks and change their status. What shall it be?")


class User:
    """Asks for the goal of its scenario, then ends the conversation. It is given tools, so its turns come as turns."""

    spec = PolicySpec(name="user")

    async def act(self, situation: Situation) -> AsyncGenerator[Delta | Generation, None]:
        goal = _GOAL.search(situation.setting.task.text)
        yield _said("###STOP###" if situation.turns else goal[0] if goal else "Hello!")


def _said(text: str) -> Generation:
    return Generation(raw_text=text, content=text, answer=text)


def _called(turn: int, tool: str, arguments: dict[str, str]) -> Generation:
    return Generation(raw_text="", calls=(ToolCall.of(f"call_{turn}_1", tool, arguments),))


class _Scripts(Roster):
    def orchestrator(self, name: str) -> Policy:
        return Agent() if name == "agent" else User()

    async def prepare(self, on_progress: Callable[[WeightsStatus], None] | None = None) -> None:
        """Nothing is fetched."""


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--port", type=int, default=7872)
    options.add_argument("--home", type=Path, required=True, help="where the runs are kept")
    chosen = options.parse_args()
    workbench = Workbench(chosen.home, roster=_Scripts(chosen.home, {}))
    orders = {name: Order(orchestrator=name, tools=()) for name in ("agent", "user")}
    terms = Terms(key=KEY)
    serve(create_server(workbench, orders, terms), terms, chosen.port, list(orders))


if __name__ == "__main__":
    main()
