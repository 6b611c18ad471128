"""Our tasks exported to tau2-bench's form and scored by its own evaluator, where the user of the benchmark has it.

A domain becomes tau2's `DB` (a model with a dictionary a table) and a toolkit whose tools run the same operations on
it, without overlay, index or diff. tau2 replays the messages, replays the golden calls, and compares SHA-256 of both
databases, as `EnvironmentEvaluator` does; nothing of it is changed. Written against v1.0.1.
"""

import copy
import json
from importlib import import_module
from types import SimpleNamespace

from benchmarks.plain_state import PlainState
from orchestra_lib.environment.operations import writes

NEEDED = {
    "tau2.data_model.message": ("AssistantMessage", "ToolCall"),
    "tau2.data_model.tasks": ("Action", "EvaluationCriteria", "Task", "UserScenario"),
    "tau2.environment.db": ("DB",),
    "tau2.environment.environment": ("Environment",),
    "tau2.environment.toolkit": ("ToolKitBase", "ToolType", "is_tool"),
    "tau2.evaluator.evaluator_env": ("EnvironmentEvaluator",),
    "pydantic": ("create_model",),
}


def tau2():
    """What is needed of tau2, or None where it is not installed."""
    try:
        modules = {name: import_module(name) for name in NEEDED}
        import_module("loguru").logger.remove()  # it logs every call to stderr
    except ImportError:
        return None
    return SimpleNamespace(**{one: getattr(modules[name], one) for name, names in NEEDED.items() for one in names})


class _Journalled(PlainState):
    """A plain state over a database that lives on, which takes back what a refused call changed."""

    def __init__(self, domain, data):
        super().__init__(domain, "null")
        self.data = data

    def begin(self):
        self._touched, self._saved = [], {}

    def edit(self, table, key):
        self._saved.setdefault((table, key), copy.deepcopy(self.data[table][key]))
        return super().edit(table, key)

    def insert(self, table, record):
        new = super().insert(table, record)
        self._saved[table, new[self.base.tables[table].key]] = None
        return new

    def rollback(self):
        for (table, key), record in self._saved.items():
            if record is None:
                del self.data[table][key]
                self._new[table] -= 1
            else:
                self.data[table][key] = record


class Tau2Way:
    """One world under tau2's evaluator."""

    def __init__(self, lib, world):
        self._lib, self._world, self._text = lib, world, json.dumps(world.records)
        self._db = lib.create_model("Db", __base__=lib.DB, **{name: (dict, ...) for name in world.records})
        changing = set(writes(world.domain))
        tools = {
            one.name: lib.is_tool(lib.ToolType.WRITE if one.name in changing else lib.ToolType.READ)(_tool(one.name))
            for one in world.domain.operations
        }
        self._kit = type("Kit", (lib.ToolKitBase,), tools)

    def environment(self, solo_mode=False):
        """A fresh environment: tau2's way is to read the database anew."""
        db = self._db.model_validate(json.loads(self._text))
        kit = self._kit(db)
        data = {name: getattr(db, name) for name in self._world.records}
        state = _Journalled(self._world.domain, data)
        kit.run = lambda name, arguments: self._world.operations.run(state, name, arguments)
        return self._lib.Environment(domain_name=self._world.domain.name, policy="", tools=kit)

    def played(self, calls):
        """The messages of an episode of these calls, by running them."""
        return self.run(self.environment(), self.asked(calls))

    def asked(self, calls):
        """The calls as tau2's."""
        return [
            self._lib.ToolCall(id=str(at), name=call.operation, arguments=dict(call.arguments))
            for at, call in enumerate(calls)
        ]

    def run(self, environment, asked):
        """Steps: each call with its answer."""
        messages = []
        for call in asked:
            messages.append(self._lib.AssistantMessage(role="assistant", tool_calls=[call]))
            messages.append(environment.get_response(call))
        return messages

    def succeeds(self, task, messages):
        """The verdict on the state, by `EnvironmentEvaluator`."""
        found = self._lib.EnvironmentEvaluator.calculate_reward(self.environment, task, messages)
        return found.db_check.db_match

    def task(self, calls):
        """A task of which these are the golden calls."""
        actions = [
            self._lib.Action(action_id=str(at), name=call.operation, arguments=dict(call.arguments))
            for at, call in enumerate(calls)
        ]
        criteria = self._lib.EvaluationCriteria(actions=actions)
        scenario = self._lib.UserScenario(instructions="")
        return self._lib.Task(id="drawn", user_scenario=scenario, evaluation_criteria=criteria)


def _tool(name):
    def tool(self, **arguments):
        return self.run(name, arguments)

    tool.__name__ = name
    return tool
