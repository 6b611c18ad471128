"""tau2-bench beside ours, where the user of the benchmark has it: our tasks in its form, and its own as it ships them.

A domain of ours becomes tau2's `DB` as tau2 writes one, with models for its records and what is nested in them, and a
toolkit of tools that change these models in place (`tau2_tools.py`): `Tau2Way`. `Lent` is the same with our compiled
operations in its tools, on records of which what is nested stays plain: tau2 with the use of our engine, without
overlay, index or diff. tau2 replays the messages, replays the golden calls, and compares SHA-256 of both databases, as
`EnvironmentEvaluator` does; nothing of it is changed. `Tau2Retail` is tau2 alone: its retail domain with its own tools,
data and tasks. Written against v1.0.1.
"""

import copy
import json
from importlib import import_module
from types import SimpleNamespace

from benchmarks.plain_state import PlainState
from benchmarks.tau2_tools import PlainTools, Room, models_of
from orchestra_lib.environment.operations import writes
from orchestra_lib.environment.schema import FieldType

NEEDED = {
    "tau2.data_model.message": ("AssistantMessage", "ToolCall"),
    "tau2.data_model.tasks": ("Action", "EvaluationCriteria", "Task", "UserScenario"),
    "tau2.environment.db": ("DB",),
    "tau2.environment.environment": ("Environment",),
    "tau2.environment.toolkit": ("ToolKitBase", "ToolType", "is_tool"),
    "tau2.evaluator.evaluator_env": ("EnvironmentEvaluator",),
    "tau2.domains.retail.environment": ("get_environment", "get_tasks"),
    "pydantic": ("BaseModel", "create_model"),
}
_TYPES = {FieldType.INTEGER: int, FieldType.NUMBER: float, FieldType.MONEY: float, FieldType.BOOLEAN: bool,
          FieldType.LIST: list, FieldType.OBJECT: dict}  # fmt: skip


def tau2():
    """What is needed of tau2, or None where it is not installed."""
    try:
        modules = {name: import_module(name) for name in NEEDED}
        import_module("loguru").logger.remove()  # it logs every call to stderr
    except ImportError:
        return None
    return SimpleNamespace(**{one: getattr(modules[name], one) for name, names in NEEDED.items() for one in names})


class _Modelled(PlainState):
    """A plain state over a database of models that lives on, which takes back what a refused call changed."""

    def __init__(self, domain, db, models):
        super().__init__(domain, "null")
        self._db, self._models = db, models
        self.data = {name: {key: one.__dict__ for key, one in getattr(db, name).items()} for name in models}

    def begin(self):
        self._touched, self._saved = [], {}

    def edit(self, table, key):
        self._saved.setdefault((table, key), copy.deepcopy(self.data[table][key]))
        return super().edit(table, key)

    def insert(self, table, record):
        new = super().insert(table, record)
        key = new[self.base.tables[table].key]
        self._saved[table, key] = None
        made = getattr(self._db, table)[key] = self._models[table].model_validate(new)
        self.data[table][key] = made.__dict__
        return made.__dict__

    def rollback(self):
        for (table, key), record in self._saved.items():
            if record is None:
                del self.data[table][key], getattr(self._db, table)[key]
                self._new[table] -= 1
            else:
                self.data[table][key].update(record)


class Tau2Way:
    """One world under tau2's evaluator, with tools of its own."""

    def __init__(self, lib, world):
        self._lib, self._world, self._text = lib, world, json.dumps(world.records)
        self._models, self._make = self._export(lib, world)
        tables = {name: (dict[str, one], ...) for name, one in self._models.items()}
        self._db = lib.create_model("Db", __base__=lib.DB, **tables)
        changing = set(writes(world.domain))
        tools = {
            one.name: lib.is_tool(lib.ToolType.WRITE if one.name in changing else lib.ToolType.READ)(_tool(one.name))
            for one in world.domain.operations
        }
        self._kit = type("Kit", (lib.ToolKitBase,), tools)

    def _export(self, lib, world):
        """The models by table, and what makes the function that runs a tool over a database."""
        models = {one.name: models_of(lib, one.fields, f"{one.one.title()}Record") for one in world.domain.tables}
        tools = PlainTools(world.domain)
        return models, lambda db: Room(tools, db, models).run

    def environment(self, solo_mode=False):
        """A fresh environment: tau2's way is to read the database anew."""
        db = self._db.model_validate(json.loads(self._text))
        kit = self._kit(db)
        kit.run = self._make(db)
        return self._lib.Environment(domain_name=self._world.domain.name, policy="", tools=kit)

    def played(self, calls):
        """The messages of an episode of these calls, by running them."""
        return stepped(self._lib, self.environment(), self.asked(calls))

    def asked(self, calls):
        """The calls as tau2's."""
        return [
            self._lib.ToolCall(id=str(at), name=call.operation, arguments=dict(call.arguments))
            for at, call in enumerate(calls)
        ]

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


class Lent(Tau2Way):
    """The same with our operations in its tools."""

    def _export(self, lib, world):
        models = {one.name: _model(lib, one) for one in world.domain.tables}

        def make(db):
            state = _Modelled(world.domain, db, models)
            return lambda name, arguments: world.operations.run(state, name, arguments)

        return models, make


def _tool(name):
    def tool(self, **arguments):
        return self.run(name, arguments)

    tool.__name__ = name
    return tool


def _model(lib, table):
    """A record as a model; fields that a record lacks stay away when it is written out again."""
    fields = {one.name: (_TYPES.get(one.type, str) | None, None) for one in table.fields}
    return lib.create_model(f"{table.one.title()}Record", __base__=lib.BaseModel, **fields)


def stepped(lib, environment, asked):
    """Steps: each call with its answer, as messages."""
    messages = []
    for call in asked:
        messages.append(lib.AssistantMessage(role="assistant", tool_calls=[call]))
        messages.append(environment.get_response(call))
    return messages


class Tau2Retail:
    """The first retail tasks of tau2 as they are: its tools on its data, by its own golden calls."""

    def __init__(self, lib, many):
        self._lib, self._tasks = lib, [one for one in lib.get_tasks() if one.evaluation_criteria.actions][:many]
        self.asked = [self._calls(one) for one in self._tasks]
        self._messages = [stepped(lib, lib.get_environment(), calls) for calls in self.asked]

    def _calls(self, task):
        actions = task.evaluation_criteria.actions
        return [
            self._lib.ToolCall(id=str(at), name=one.name, arguments=one.arguments) for at, one in enumerate(actions)
        ]

    def evaluate(self):
        """Judge each golden episode. Raises `AssertionError` should one of them not pass."""
        for task, messages in zip(self._tasks, self._messages, strict=True):
            found = self._lib.EnvironmentEvaluator.calculate_reward(self._lib.get_environment, task, messages)
            assert found.db_check.db_match
