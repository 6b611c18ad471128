"""Any typed function is a tool: what its schema says, how it runs, and what is refused."""

import asyncio
import enum
import sys
import threading
import time
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import pytest
from jsonschema import Draft202012Validator
from playing import run

from orchestra_lib.errors import BadInput, ModelMistake, ProviderFault
from orchestra_lib.policy.scripted import Scripted
from orchestra_lib.protocols import ToolResult
from orchestra_lib.toolkit.function import MAX_ABANDONED, FunctionTool, load_function


class Unit(enum.Enum):
    KM = "km"
    MILE = "mile"


@dataclass
class Place:
    city: str
    floor: int = 0


@dataclass
class Node:
    parts: "list[Node]"


def distance(
    start: str,
    ends: list[str],
    unit: Unit = Unit.KM,
    mode: Literal["air", "road"] = "air",
    stops: dict[str, int] | None = None,
    near: Annotated[float | None, "How near is near"] = None,
) -> float:
    """How far it is.

    As the crow flies,
    or by road.

    Args:
        start: Where to
            begin.
        ends (list[str]): Where to go.
        unit: Of length.
    """
    return 1.5 if unit is Unit.KM else 1.0


def call(function, arguments=None, **options):
    return asyncio.run(FunctionTool(function, **options).call(arguments or {}, run_id="run-1"))


def test_the_schema_is_the_signature_in_json():
    spec = FunctionTool(distance).spec
    properties = spec.parameters["properties"]
    Draft202012Validator.check_schema(spec.parameters)
    assert (spec.name, spec.title, spec.description) == (
        "distance",
        "Distance",
        "How far it is. As the crow flies, or by road.",
    )
    assert spec.parameters["required"] == ["start", "ends"]
    assert spec.parameters["additionalProperties"] is False
    assert properties["start"] == {"type": "string", "description": "Where to begin."}
    assert properties["ends"] == {"items": {"type": "string"}, "type": "array", "description": "Where to go."}
    assert properties["unit"]["default"] == "km"
    assert properties["mode"] == {"enum": ["air", "road"], "type": "string", "default": "air"}
    assert properties["near"]["description"] == "How near is near"
    assert "default" not in properties["near"]


def test_arguments_come_as_the_types_that_the_function_names():
    def kinds(unit: Unit, place: Place, pair: tuple[int, str]) -> str:
        return f"{unit!r} {place!r} {pair!r}"

    result = call(kinds, {"unit": "mile", "place": {"city": "Rome"}, "pair": [1, "a"]})
    assert result.text == "<Unit.MILE: 'mile'> Place(city='Rome', floor=0) (1, 'a')"


def test_a_nested_type_is_written_out_in_the_schema():
    def visit(places: list[Place]) -> int:
        return len(places)

    schema = FunctionTool(visit).spec.parameters
    assert "$ref" not in str(schema)
    assert schema["properties"]["places"]["items"]["required"] == ["city"]


def test_numpy_docstrings_are_read_too():
    def add(a: int, b: int = 2) -> int:
        """Add.

        Parameters
        ----------
        a : int
            The first.
        b : int, optional
            The second.
        """
        return a + b

    properties = FunctionTool(add).spec.parameters["properties"]
    assert (properties["a"]["description"], properties["b"]["default"]) == ("The first.", 2)
    assert call(add, {"a": 1}).text == "3"


def test_without_a_docstring_the_signature_describes_the_function():
    def plain(title: str) -> str:
        return title

    spec = FunctionTool(plain).spec
    assert spec.description == "The Python function plain(title: str) -> str."
    assert spec.parameters["properties"] == {"title": {"type": "string"}}


@pytest.mark.parametrize(
    "returned, text",
    [
        ("words", "words"),
        (None, "Done; nothing was returned."),
        ({"a": [1, 2.5, None], "ü": True}, '{"a":[1,2.5,null],"ü":true}'),
        (Place("Rome"), '{"city":"Rome","floor":0}'),
        ({Unit.KM}, '["km"]'),
        (object, "<class 'object'>"),
        (b"\xff", "b'\\xff'"),
    ],
)
def test_what_is_returned_is_text_or_json(returned, text):
    def give() -> Any:
        return returned

    assert call(give) == ToolResult(text=text)


def test_an_async_function_runs_too_also_behind_a_decorator():
    async def later(word: str) -> str:
        await asyncio.sleep(0)
        return word

    def hidden(word: str) -> Any:
        return later(word)

    assert call(later, {"word": "a"}).text == call(hidden, {"word": "a"}).text == "a"


@pytest.mark.parametrize("error", [KeyError("x"), SystemExit(3), StopIteration("end"), RuntimeError("y" * 9_000)])
def test_what_it_raises_is_told_to_the_model(error):
    def broken() -> None:
        raise error

    result = call(broken)
    assert result.failed
    assert result.text.startswith(f"broken raised {type(error).__name__}: ")
    assert len(result.text) <= 2_000


def test_our_own_errors_keep_their_fate():
    async def down() -> None:
        raise ProviderFault("the service is down")

    with pytest.raises(ProviderFault):
        call(down)


def test_arguments_that_do_not_fit_are_the_models_mistake():
    def positive(n: Annotated[int, Literal[1]]) -> int:
        return n

    with pytest.raises(ModelMistake, match="positive: n"):
        call(positive, {"n": "many"})


def test_a_sync_function_does_not_hold_up_its_siblings():
    both = threading.Barrier(2, timeout=5)

    def meet(word: str) -> str:
        both.wait()
        return word

    trajectory = run(Scripted([[("meet", {"word": "a"}), ("meet", {"word": "b"})], "x"]), [FunctionTool(meet)])
    assert [call.observation.text for call in trajectory.calls] == ["a", "b"]


def test_a_function_that_hangs_is_given_up_and_does_not_keep_the_program():
    """H5: a call that never yields."""
    hang = threading.Event()

    def stuck() -> None:
        hang.wait(20)

    started = time.monotonic()
    trajectory = run(Scripted([[("stuck", {})], "x"]), [FunctionTool(stuck, timeout_s=0.05)])
    assert trajectory.calls[0].observation.status == "timeout"
    assert time.monotonic() - started < 10
    hang.set()


def test_calls_that_never_end_do_not_pile_up():
    hang = threading.Event()

    def stuck(n: int) -> None:
        hang.wait(20)

    async def calls():
        tool = FunctionTool(stuck)
        for n in range(MAX_ABANDONED):
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(tool.call({"n": n}, run_id="run-1"), 0.01)
        refused = await tool.call({"n": 99}, run_id="run-1")
        hang.set()
        await asyncio.sleep(0.3)
        return refused, await tool.call({"n": 100}, run_id="run-1")

    refused, after = asyncio.run(calls())
    assert refused.text == f"stuck was not started: {MAX_ABANDONED} earlier calls are still running."
    assert not after.failed


def test_an_unsupported_signature_is_refused_by_the_name_of_its_parameter():
    def untyped(a: int, b) -> None: ...
    def many(*parts: int) -> None: ...
    def options(**rest: int) -> None: ...
    def placed(a: int, /) -> None: ...
    def back(call: type(len)) -> None: ...
    def unknown(a: "Nowhere") -> None: ...  # noqa: F821
    def größe(a: int) -> None: ...
    def each(a: int) -> Any:
        yield a

    def tree(node: Node) -> None: ...

    said = {
        untyped: "untyped: the parameter 'b' has no type; annotate it",
        many: r"\*parts has no fixed form",
        options: r"\*rest has no fixed form",
        placed: "'a' is positional-only",
        back: "back: the type of 'call' has no JSON form",
        unknown: "its type hints cannot be read .*Nowhere",
        größe: "is no name for a tool",
        each: "a generator cannot be a tool",
        tree: "tree: the type Node holds itself",
        len: "is no Python function",
        Place: "is no Python function",
    }
    for function, words in said.items():
        with pytest.raises(BadInput, match=words):
            FunctionTool(function)


FILE = '''
from __future__ import annotations
from dataclasses import dataclass

@dataclass
class Item:
    name: str
    price: float = 1.0

def total(items: list[Item]) -> float:
    """Sum of prices."""
    return sum(item.price for item in items)

def _hidden() -> None: ...
def other() -> None: ...
'''


def written(folder, text, name="mine.py"):
    path = folder / name
    path.write_text(text, "utf-8")
    return path


def test_a_function_is_loaded_by_path_and_leaves_nothing_behind(tmp_path):
    before = set(sys.modules)
    tool = load_function(f"{written(tmp_path, FILE)}:total")
    items = [{"name": "a", "price": 2}, {"name": "b"}]
    assert asyncio.run(tool.call({"items": items}, run_id="run-1")).text == "3.0"
    assert not [name for name in set(sys.modules) - before if name.startswith("_tools_")]
    assert [path.name for path in tmp_path.iterdir()] == ["mine.py"]


@pytest.mark.parametrize(
    "text, name, words",
    [
        (FILE, "sum_up", "has no function 'sum_up'; it has total, other"),
        ("def broken(:", "broken", "is no Python file"),
        ("\0", "x", "is no Python file"),
        ("raise SystemExit(3)", "x", "does not run: SystemExit: 3"),
        ("import not_installed_here", "x", "does not run: ModuleNotFoundError"),
        ("x = 3", "x", "is no Python function"),
        (FILE, "coder", "there is a tool 'coder' already"),
    ],
)
def test_a_file_that_cannot_be_used_says_why(tmp_path, text, name, words):
    with pytest.raises(BadInput, match=words):
        load_function(f"{written(tmp_path, text)}:{name}", taken=["coder"])


@pytest.mark.parametrize("reference", ["mine.py", "mine.py:", ":total", "mine.txt:total", "", "nowhere.py:total"])
def test_a_reference_that_names_no_function_of_a_file_is_refused(reference):
    with pytest.raises(BadInput, match=r"path/to/file.py:function|cannot read nowhere.py"):
        load_function(reference)


def test_a_users_function_is_called_in_an_episode_with_coerced_checks(tmp_path):
    tool = load_function(f"{written(tmp_path, FILE)}:total")
    script = [[("total", {"items": [{"name": "a"}]}), ("total", {"items": [{"price": 1}]}), ("total", {})], "x"]
    trajectory = run(Scripted(script), [tool])
    assert [str(call.observation.status) for call in trajectory.calls] == ["ok", "rejected", "rejected"]
    assert "items" in trajectory.calls[2].observation.text
