"""Imports point down, rooms know no sibling, and heavy libraries stay in their rooms."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
ROOMS = ("conductor", "environment", "judge", "model", "policy", "store", "toolkit")  # floor 1
VERBS = (  # floor 2
    "assigning", "best_choice", "bias_report", "bias_rows", "calling", "casting", "checkup", "configuration",
    "describing", "describing_words", "description_swaps", "descriptions", "engine", "ensemble", "evaluation",
    "experts", "export", "following", "forking", "grading", "grouping", "importing", "keeping", "language_models",
    "model_trials", "orchestrators", "play", "players", "pricelist", "profilefit", "profilelist", "published", "replay",
    "rescoring", "roster", "sampling", "serving", "swapping", "synthesis", "training_tasks", "wishing", "workbench",
)  # fmt: skip
FACES = ("cli", "server", "__main__")  # floor 4, with app/
HEAVY = {
    "torch": "training",
    "transformers": "training",
    "trl": "training",
    "vllm": "training",
    "gradio": "app",
    "fastapi": "app",
    "plotly": "app",
    "typer": "cli",
    "openai": "model",
    "ray": "engine",
    "duckdb": "store",
    "pyarrow": "store export published",  # partitions; where tables leave and where foreign ones come in
    "opentelemetry": "export",
    "pydantic": "codec server",
    "genai_prices": "pricebook",
    "math_verify": "judge",
    "pint": "judge",
    "mcp": "toolkit server",
}
FILES = sorted([*ROOT.glob("orchestra_lib/**/*.py"), *ROOT.glob("app/**/*.py")])


def place(module: str) -> tuple[int, str]:
    """The floor and the room of a module of ours."""
    parts = module.split(".")
    if parts[0] == "app":
        return 4, "app"
    room = parts[1] if len(parts) > 1 else ""
    if room in FACES:
        return 4, room
    if room == "training":
        return 3, room
    if room in VERBS:
        return 2, room
    return (1, room) if room in ROOMS else (0, room)


def imports(file: Path) -> list[str]:
    """Every module a file imports, inside functions too."""
    found = []
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            found += [f"{node.module}.{alias.name}" for alias in node.names]
    return found


def name_of(file: Path) -> str:
    return ".".join(file.relative_to(ROOT).with_suffix("").parts)


@pytest.mark.parametrize("file", FILES, ids=name_of)
def test_imports_point_down(file):
    floor, room = place(name_of(file))
    for module in imports(file):
        if module.split(".")[0] not in ("orchestra_lib", "app"):
            continue
        other_floor, other_room = place(module)
        assert other_floor <= floor, f"{name_of(file)} (floor {floor}) imports {module} (floor {other_floor})"
        if floor == other_floor == 1:
            assert room == other_room, f"{name_of(file)} imports its sibling room {other_room}"


@pytest.mark.parametrize("file", FILES, ids=name_of)
def test_heavy_libraries_stay_in_their_rooms(file):
    room = place(name_of(file))[1]
    for module in imports(file):
        top = module.split(".")[0]
        assert top not in HEAVY or room in HEAVY[top].split(), f"{name_of(file)} imports {top}; only {HEAVY[top]} may"


def test_no_module_outgrows_the_head():
    long = {name_of(file): lines for file in FILES if (lines := len(file.read_text("utf-8").splitlines())) > 500}
    assert long == {}
