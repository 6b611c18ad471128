"""The tools that a request brings, and what its `tool_choice` makes of them."""

from collections.abc import Mapping, Sequence

from orchestra_lib.errors import BadInput
from orchestra_lib.record import record
from orchestra_lib.serving.refusal import Refusal
from orchestra_lib.tool import ToolKind, ToolSpec
from orchestra_lib.toolkit.foreign_schema import plain_parameters
from orchestra_lib.toolkit.function import TOOL_NAME

MAX_TOOLS = 128
"""As many as OpenAI takes."""

CHOICE = "tool_choice"


@record
class Brought:
    """The caller's tools that are on offer, and whether one of them must be called before anything is answered."""

    tools: tuple[ToolSpec, ...] = ()
    must_call: bool = False


def read_tools(tools: object, choice: object) -> Brought:
    """Read `tools` and `tool_choice`: none offers nothing, a named function that one alone. Raises `Refusal`."""
    specs = _specs(tools)
    if choice in (None, "auto"):
        return Brought(tools=specs)
    if choice == "none":
        return Brought()
    if choice == "required":
        return Brought(tools=_some(specs), must_call=True)
    return Brought(tools=(_named(_some(specs), choice),), must_call=True)


def _some(specs: tuple[ToolSpec, ...]) -> tuple[ToolSpec, ...]:
    if not specs:
        raise Refusal(f"{CHOICE} asks for a call and there are no tools; send them, or leave it out", param=CHOICE)
    return specs


def _named(specs: Sequence[ToolSpec], choice: object) -> ToolSpec:
    function = choice.get("function") if isinstance(choice, Mapping) and choice.get("type") == "function" else None
    name = function.get("name") if isinstance(function, Mapping) else None
    if not isinstance(name, str):
        raise Refusal(
            f"{CHOICE} = {str(choice)[:80]!r}; send auto, none, required or one function by its name", param=CHOICE
        )
    found = next((spec for spec in specs if spec.name == name), None)
    if found is None:
        known = ", ".join(spec.name for spec in specs[:10])
        raise Refusal(f"{CHOICE} names {name[:64]!r}, which is none of the tools: {known}", param=CHOICE)
    return found


def _specs(tools: object) -> tuple[ToolSpec, ...]:
    if tools is None:
        return ()
    if not isinstance(tools, list):
        raise Refusal("tools is no list", param="tools")
    if len(tools) > MAX_TOOLS:
        raise Refusal(
            f"tools: {len(tools):,} are more than the {MAX_TOOLS} that one request may bring; send those that matter",
            param="tools",
        )
    specs = tuple(_tool(tool, f"tools[{place}]") for place, tool in enumerate(tools))
    names = [spec.name for spec in specs]
    if double := next((name for name in names if names.count(name) > 1), None):
        raise Refusal(f"tools: there are two of the name {double!r}; rename one", param="tools")
    return specs


def _tool(tool: object, where: str) -> ToolSpec:
    function = tool.get("function") if isinstance(tool, Mapping) else None
    if not isinstance(tool, Mapping) or tool.get("type", "function") != "function" or not isinstance(function, Mapping):
        raise Refusal(f"{where} is no function tool; send type function and the function", param=where)
    name, description = function.get("name"), function.get("description") or ""
    if not isinstance(name, str) or not TOOL_NAME.fullmatch(name):
        raise Refusal(
            f"{where}.function.name = {str(name)[:80]!r}; use up to 64 letters, digits, _ and -",
            param=f"{where}.function.name",
        )
    if not isinstance(description, str):
        raise Refusal(f"{where}.function.description is no text", param=f"{where}.function.description")
    try:
        parameters = plain_parameters(function.get("parameters") or {}, where=f"{where} ({name})")
        return ToolSpec(
            name=name,
            title=name,
            description=description,
            parameters=parameters,
            kind=ToolKind.DOMAIN,
        )
    except BadInput as error:
        raise Refusal(str(error), param=f"{where}.function") from None
