"""A domain whose tools are methods of a class in the user's own checkout of tau2, as tools of ours.

The class is the user's own code and runs in this process with the user's rights, like any script: its path comes from
the command line and never from a page or a data file.
"""

import asyncio
import importlib
import inspect
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, get_type_hints

from orchestra_lib.codec import fingerprint, to_data
from orchestra_lib.errors import BadInput, WorldFault
from orchestra_lib.protocols import Tool, ToolResult
from orchestra_lib.published.statistics import CallKind
from orchestra_lib.published.task import USER, GoldenAction
from orchestra_lib.record import record
from orchestra_lib.tool import ToolKind, ToolSpec
from orchestra_lib.toolkit.function import FunctionTool, loaded_file

_IS_TOOL, _TOOL_TYPE = "__tool__", "__tool_type__"
"""The marks that tau2's decorator `is_tool` leaves on a method."""


@record
class StateChange:
    """One call and the hash of the whole database before and after it; equal hashes mean that nothing was written."""

    tool: str
    arguments: Mapping[str, Any]
    before: str
    after: str
    failed: bool


class PythonToolkit:
    """The tools of a toolkit class over one database; every run has a database of its own.

    `create` is the class; it takes the database, in the class that its `db` is annotated with, or as plain tables.
    Raises `BadInput` for a class that does not take the tables, or without a tool.
    """

    def __init__(self, create: Callable[[Any], Any], tables: Mapping[str, Any], *, source: str | None = None) -> None:
        self._create, self._tables, self._source = create, tables, source
        self._runs: dict[str, _Run] = {}
        self._changes: dict[str, list[StateChange]] = defaultdict(list)
        first = self._start()
        self.kinds: Mapping[str, CallKind | None] = {name: _kind(method) for name, method in first.methods.items()}
        """What each tool does to the database; None where its mark says nothing that is known."""
        self.initial_hash = first.hash()
        self.tools: tuple[Tool, ...] = tuple(_MethodTool(self, tool.spec) for tool in first.tools.values())

    def changes(self, run_id: str) -> tuple[StateChange, ...]:
        """What the calls of a run did, in order; kept after the run until `forget`."""
        return tuple(self._changes.get(run_id, ()))

    def final_hash(self, run_id: str) -> str:
        """The hash of a run's database after its last call."""
        changes = self.changes(run_id)
        return changes[-1].after if changes else self.initial_hash

    def forget(self, run_id: str) -> None:
        """Keep nothing of a run."""
        self._runs.pop(run_id, None)
        self._changes.pop(run_id, None)

    async def replay(self, golden: tuple[GoldenAction, ...], *, run_id: str = "golden") -> tuple[StateChange, ...]:
        """Make the assistant's golden calls on a fresh database; the changes say which of them failed.

        Raises `BadInput` for a call of a tool that the class does not have.
        """
        self.forget(run_id)
        tools = {tool.spec.name: tool for tool in self.tools}
        try:
            for action in (action for action in golden if action.requestor != USER):
                if action.tool not in tools:
                    raise BadInput(f"the golden call {action.tool} names no tool of {self._source}: {', '.join(tools)}")
                await tools[action.tool].call(action.arguments, run_id=run_id)
            return self.changes(run_id)
        finally:
            self.forget(run_id)

    async def call(self, name: str, arguments: Mapping[str, Any], *, run_id: str) -> ToolResult:
        """Call one tool in a run. Raises what the tool raises."""
        if run_id not in self._runs:
            self._runs[run_id] = self._start()
        run = self._runs[run_id]
        async with run.lock:  # parallel calls of one run take their turns, so that each has its own before and after
            before, failed = self.final_hash(run_id), True
            try:
                result = await run.tools[name].call(arguments, run_id=run_id)
                failed = result.failed
            finally:
                change = StateChange(tool=name, arguments=arguments, before=before, after=run.hash(), failed=failed)
                self._changes[run_id].append(change)
            return result

    def release(self, run_id: str) -> None:
        """Free the database of a run that has ended."""
        self._runs.pop(run_id, None)

    def _start(self) -> "_Run":
        try:
            return _Run(self._create(_database(self._create, self._tables)), self._source)
        except (BadInput, WorldFault):
            raise
        except Exception as error:  # the user's class, and runs their code
            name = getattr(self._create, "__name__", "the toolkit")
            raise BadInput(f"{name} does not take these tables ({type(error).__name__}: {error})") from None


class _Run:
    """One instance of the class with its own database."""

    def __init__(self, toolkit: Any, source: str | None) -> None:
        self._toolkit = toolkit
        self.lock = asyncio.Lock()
        self.methods = dict(_methods(toolkit))
        if not self.methods:
            raise BadInput(f"{type(toolkit).__name__} marks no method as a tool; tau2's decorator is is_tool")
        self.tools = {name: FunctionTool(method, source=source) for name, method in self.methods.items()}

    def hash(self) -> str:
        database = self._toolkit.db
        return fingerprint(database.model_dump(mode="json") if hasattr(database, "model_dump") else to_data(database))


class _MethodTool:
    """One method as a `Tool`."""

    def __init__(self, toolkit: PythonToolkit, spec: ToolSpec) -> None:
        self._toolkit = toolkit
        self.spec = replace(spec, kind=ToolKind.DOMAIN)

    async def call(self, arguments: Mapping[str, Any], *, run_id: str) -> ToolResult:
        return await self._toolkit.call(self.spec.name, arguments, run_id=run_id)

    async def release(self, run_id: str) -> None:
        self._toolkit.release(run_id)


def load_python_toolkit(reference: str, tables: Mapping[str, Any]) -> PythonToolkit:
    """The toolkit that `path/to/tools.py:ClassName` names, over these tables.

    A file inside a package is imported as a part of it, so that its own imports work. Raises `BadInput` for a file
    that is missing or does not run, an unknown class, and one that cannot be used.
    """
    file, _, name = reference.rpartition(":")
    path = Path(file).expanduser()
    if not name or path.suffix != ".py":
        raise BadInput(f"{reference!r}: write path/to/tools.py:ClassName")
    with _module(path) as module:
        create = getattr(module, name, None)
        if not inspect.isclass(create):
            raise BadInput(f"{path} has no class {name!r}; it has {', '.join(_classes(module)) or 'none'}")
        return PythonToolkit(create, tables, source=reference)


@contextmanager
def _module(path: Path) -> Iterator[Any]:
    root, names = path.resolve().parent, [path.stem]
    while (root / "__init__.py").is_file():
        root, names = root.parent, [root.name, *names]
    if len(names) == 1:
        with loaded_file(path) as module:
            yield module
        return
    sys.path.insert(0, str(root))
    try:
        yield importlib.import_module(".".join(names))
    except (ImportError, SyntaxError) as error:
        raise BadInput(f"{path} cannot be imported ({error}); install what the checkout needs") from None
    finally:
        sys.path.remove(str(root))


def _classes(module: Any) -> list[str]:
    return [
        name for name, value in vars(module).items() if inspect.isclass(value) and value.__module__ == module.__name__
    ]


def _methods(toolkit: Any) -> Iterator[tuple[str, Callable[..., Any]]]:
    """The methods that are marked as tools, in the order of the class and its bases."""
    names = {name: None for kind in reversed(type(toolkit).__mro__) for name in vars(kind)}
    for name in names:
        marked = inspect.getattr_static(toolkit, name)
        if getattr(marked, _IS_TOOL, False):
            yield name, getattr(toolkit, name)


def _kind(method: Callable[..., Any]) -> CallKind | None:
    said = getattr(method, _TOOL_TYPE, None)
    word = str(getattr(said, "value", said)).lower()
    return CallKind(word) if word in set(CallKind) else None


def _database(create: Callable[[Any], Any], tables: Mapping[str, Any]) -> Any:
    """The tables in the class that the toolkit's `db` is annotated with, or a copy of them as they are."""
    copied = to_data(tables)
    kinds = (hints.get("db") for hints in (_hints(create), _hints(getattr(create, "__init__", create))))
    validate = next((check for kind in kinds if (check := getattr(kind, "model_validate", None))), None)
    return copied if validate is None else validate(copied)


def _hints(thing: Any) -> Mapping[str, Any]:
    try:
        return get_type_hints(thing)
    except (NameError, TypeError):
        return {}
