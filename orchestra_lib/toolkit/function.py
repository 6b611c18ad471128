"""Any typed Python function as a tool: its schema from type hints and docstring, its file loaded by path.

The file is the user's own code: it runs in this process with the user's rights, like any script.
"""

import asyncio
import hashlib
import inspect
import re
import sys
import threading
import typing
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import docstring_parser

from orchestra_lib.codec import Form, dumps, to_data
from orchestra_lib.errors import BadInput, ModelMistake, OrchestraError
from orchestra_lib.protocols import ToolResult
from orchestra_lib.tool import ToolSpec

TIMEOUT_S = 60.0
MAX_ABANDONED = 8
"""So many calls that outlived their timeout may still run; until one ends no further call starts."""

TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""What servers take as the name of a tool."""
_MAX_ERROR = 2_000
_Function = Callable[..., Any]


class FunctionTool:
    """A function as a `Tool`, sync or async. What it returns becomes text: a string as it is, the rest as JSON.

    A sync function runs in a thread of its own. A thread cannot be stopped: a call that is given up goes on
    in the background and ends with the program at the latest. What the function raises is told to the
    model. Raises `BadInput` for a signature that no JSON arguments can meet, naming the parameter.
    """

    def __init__(self, function: _Function, *, timeout_s: float = TIMEOUT_S, source: str | None = None) -> None:
        self._function = function
        self._form, spec = _describe(function, timeout_s)
        self.spec = replace(spec, source=source)
        self._abandoned = 0

    async def call(self, arguments: Mapping[str, Any], *, run_id: str) -> ToolResult:
        name = self.spec.name
        try:
            given = self._form.read(arguments, where=name)
        except BadInput as mistake:
            raise ModelMistake(str(mistake)) from None
        if self._abandoned >= MAX_ABANDONED:
            text = f"{name} was not started: {self._abandoned} earlier calls are still running."
            return ToolResult(text=text, failed=True)
        value, error = await self._run(given)
        if isinstance(error, OrchestraError):
            raise error
        if error is not None:
            return ToolResult(text=f"{name} raised {type(error).__name__}: {error}"[:_MAX_ERROR], failed=True)
        return value if isinstance(value, ToolResult) else ToolResult(text=_text(value))

    async def release(self, run_id: str) -> None:
        """Nothing is kept for a run."""

    async def _run(self, given: dict[str, Any]) -> tuple[Any, BaseException | None]:
        try:
            if inspect.iscoroutinefunction(self._function):
                return await self._function(**given), None
            value, error = await self._in_thread(given)
            # A decorator may hide that the function is async.
            return (await value, error) if inspect.isawaitable(value) else (value, error)
        except Exception as error:
            return None, error

    async def _in_thread(self, given: dict[str, Any]) -> tuple[Any, BaseException | None]:
        # A thread of the loop's pool would keep the program from ending while the function hangs.
        loop = asyncio.get_running_loop()
        done: asyncio.Future[tuple[Any, BaseException | None]] = loop.create_future()

        def work() -> None:
            try:
                outcome: tuple[Any, BaseException | None] = self._function(**given), None
            except BaseException as error:  # also SystemExit: it is the function's, not the program's
                outcome = None, error
            with suppress(RuntimeError):  # the loop is closed: nobody waits any more
                loop.call_soon_threadsafe(self._settle, done, outcome)

        threading.Thread(target=work, name=f"tool {self.spec.name}", daemon=True).start()
        try:
            return await done
        except asyncio.CancelledError:
            self._abandoned += 1
            raise

    def _settle(self, done: asyncio.Future[Any], outcome: object) -> None:
        if done.cancelled():
            self._abandoned -= 1
        else:
            done.set_result(outcome)


def load_function(reference: str, *, taken: Collection[str] = (), timeout_s: float = TIMEOUT_S) -> FunctionTool:
    """The tool that `path/to/file.py:function` names; `taken` are the names of the tools there are already.

    Raises `BadInput` for a file that is missing or does not run, an unknown function, a signature that
    cannot be offered, and a name that is taken.
    """
    file, _, name = reference.rpartition(":")
    path = Path(file).expanduser()
    if not name or path.suffix != ".py":
        raise BadInput(f"--tools {reference!r}: write path/to/file.py:function")
    if name in taken:
        raise BadInput(f"--tools {reference!r}: there is a tool {name!r} already; rename the function")
    with loaded_file(path) as module:
        function = getattr(module, name, None)
        if function is None:
            raise BadInput(f"{path} has no function {name!r}; it has {', '.join(_functions(module)) or 'none'}")
        return FunctionTool(function, timeout_s=timeout_s, source=reference)


@contextmanager
def loaded_file(path: Path) -> Iterator[ModuleType]:
    """The user's Python file, run as a module that other modules find only here.

    Raises `BadInput` for a file that is missing or does not run.
    """
    module = ModuleType(f"_tools_{hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:12]}")
    module.__file__ = str(path)
    sys.modules[module.__name__] = module  # dataclasses look their module up while the file runs
    try:
        _execute(path, module)
        yield module
    finally:
        del sys.modules[module.__name__]


def _execute(path: Path, module: ModuleType) -> None:
    try:
        code = compile(path.read_bytes(), str(path), "exec", dont_inherit=True)
    except OSError as error:
        raise BadInput(f"cannot read {path}: {error.strerror}") from None
    except (SyntaxError, ValueError) as error:  # ValueError: null bytes
        raise BadInput(f"{path} is no Python file: {error}") from None
    try:
        exec(code, module.__dict__)  # noqa: S102  # the user's own file, asked for by path
    except (Exception, SystemExit) as error:
        raise BadInput(f"{path} does not run: {type(error).__name__}: {error}") from None


def _functions(module: ModuleType) -> list[str]:
    return [
        name
        for name, value in vars(module).items()
        if inspect.isfunction(value) and value.__module__ == module.__name__ and not name.startswith("_")
    ]


def _describe(function: _Function, timeout_s: float) -> tuple[Form, ToolSpec]:
    """The form of a function's arguments, and the tool that it makes."""
    name = str(getattr(function, "__name__", function))
    plain = inspect.unwrap(function)
    if not (inspect.isfunction(plain) or inspect.ismethod(plain)):
        raise BadInput(f"{name[:80]!r} is no Python function")
    if not TOOL_NAME.fullmatch(name):
        raise BadInput(f"{name!r} is no name for a tool: use up to 64 letters, digits and _")
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise BadInput(f"{name}: a generator cannot be a tool; return a value")
    signature = inspect.signature(function)
    hints = _hints(function, signature, name)
    optional = [
        parameter.name for parameter in signature.parameters.values() if parameter.default is not parameter.empty
    ]
    try:
        form = Form(hints, optional=optional)
    except BadInput as error:
        raise BadInput(f"{name}: {error}") from None
    words = docstring_parser.parse(inspect.getdoc(function) or "")
    spec = ToolSpec(
        name=name,
        title=name.replace("_", " ").strip().capitalize(),
        description=_description(words) or f"The Python function {name}{signature}.",
        parameters=_parameters(form, signature, hints, words),
        timeout_s=timeout_s,
    )
    return form, spec


def _hints(function: _Function, signature: inspect.Signature, name: str) -> dict[str, Any]:
    for parameter in signature.parameters.values():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise BadInput(f"{name}: the parameter *{parameter.name} has no fixed form; name each parameter")
        if parameter.kind is parameter.POSITIONAL_ONLY:
            raise BadInput(
                f"{name}: the parameter {parameter.name!r} is positional-only; drop the / from the signature"
            )
        if parameter.annotation is parameter.empty:
            raise BadInput(f"{name}: the parameter {parameter.name!r} has no type; annotate it")
    try:
        hints = typing.get_type_hints(function, include_extras=True)
    except Exception as error:  # annotations are the user's code, and run it
        raise BadInput(f"{name}: its type hints cannot be read ({type(error).__name__}: {error})") from None
    return {parameter: hints[parameter] for parameter in signature.parameters}


def _parameters(
    form: Form, signature: inspect.Signature, hints: Mapping[str, Any], words: docstring_parser.Docstring
) -> dict[str, Any]:
    """The schema with what the docstring and the annotations say of each parameter, and its default."""
    said = {param.arg_name: " ".join((param.description or "").split()) for param in words.params}
    properties = {name: dict(parameter) for name, parameter in form.schema["properties"].items()}
    for name, parameter in properties.items():
        notes = [note for note in getattr(hints[name], "__metadata__", ()) if isinstance(note, str)]
        if description := " ".join(notes) or said.get(name) or parameter.get("description"):
            parameter["description"] = description
        default = signature.parameters[name].default
        if default is not inspect.Parameter.empty and default is not None:
            with suppress(ValueError):  # a default that no JSON has is not shown
                parameter.setdefault("default", to_data(default, Any))
    return {**form.schema, "properties": properties}


def _description(words: docstring_parser.Docstring) -> str:
    parts = (words.short_description, words.long_description)
    return " ".join(" ".join(part.split()) for part in parts if part)


def _text(value: object) -> str:
    """A returned value as the model reads it."""
    if value is None:
        return "Done; nothing was returned."
    if isinstance(value, str):
        return value
    try:
        return dumps(to_data(value, Any))
    except (ValueError, RecursionError):
        return repr(value)
