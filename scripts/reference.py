"""Write `docs/reference/`: every command from its `--help`, and the library's public names from their docstrings.

Run as `make docs`, or `python -m scripts.reference FOLDER` to write elsewhere. A test compares what is committed.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

import griffe
import typer
from typer.cli import get_docs_for_click
from typer.main import get_command

from orchestra_lib.cli import app

ROOT = Path(__file__).resolve().parent.parent
REFERENCE = ROOT / "docs" / "reference"
MADE = "<!-- Made by `make docs` from {source}. Change that, and make it again. -->\n\n"
LIBRARY = {
    "Floor 0: plain values and arithmetic": (
        "task tool preference pricing trajectory event reward advantage reward_report interval bias errors protocols"
    ),
    "Floor 1: rooms that do not know each other": (
        "store.store store.opening judge.checks environment.domain environment.success"
    ),
    "Floor 2: episodes, groups and what is made of them": (
        "play workbench grouping rescoring forking bias_report swapping evaluation.running "
        "sampling.sample synthesis.pipeline"
    ),
    "Floor 3: training": "training.settings training.rewarding training.run_folder training.tiny.evaluation",
}
"""What a program or a notebook of one's own imports; the rest of the library is read in its source."""


def command_reference() -> str:
    """Every command with its arguments and options, as Typer documents them."""
    command = get_command(app)
    _whole_sentences(command)
    text = get_docs_for_click(obj=command, ctx=typer.Context(command, info_name="orchestra"), name="orchestra")
    text = text.replace("&#x27;", "'").replace("&quot;", '"').replace("&lt;", "<").replace("&gt;", ">")
    text = text.replace(f"{ROOT}/", "")  # defaults that are files of the checkout
    head = "# Every command\n\nBy purpose, with examples: [`commands.md`](../commands.md).\n"
    return MADE.format(source="`orchestra --help`") + text.replace("# `orchestra`\n", head, 1).rstrip() + "\n"


def _whole_sentences(command: object) -> None:
    """Keep click from cutting a command's line in the list of commands."""
    for child in getattr(command, "commands", {}).values():
        child.short_help = (child.help or "").split("\n\n")[0].replace("\n", " ")
        _whole_sentences(child)


def library_reference() -> str:
    """The public names of the modules in `LIBRARY`; the source is read and not run."""
    house = griffe.load("orchestra_lib", search_paths=[str(ROOT)], allow_inspection=False)
    parts = [MADE.format(source="docstrings"), "# The library\n\n"]
    parts.append("What programs and notebooks of your own import. A *record* is a frozen dataclass.\n")
    for floor, names in LIBRARY.items():
        parts.append(f"\n## {floor}\n")
        for name in names.split():
            parts.extend(_module(house[name], f"orchestra_lib.{name}"))
    return "".join(parts)


def _module(module: griffe.Object | griffe.Alias, path: str) -> Iterator[str]:
    yield f"\n### `{path}`\n\n{_text(module)}"
    for one in module.members.values():
        if one.is_alias or one.name.startswith("_"):
            continue
        if one.is_class:
            yield from _class(one)
        elif one.is_function:
            yield f"\n**`{_signature(one)}`**\n\n{_text(one)}"


def _class(one: griffe.Object | griffe.Alias) -> Iterator[str]:
    record = any(getattr(mark.value, "name", None) == "record" for mark in one.decorators)
    bases = ", ".join(str(base) for base in one.bases)
    yield f"\n#### {one.name}\n\n{'*record.* ' if record else ''}{f'({bases}) ' if bases else ''}{_text(one)}"
    members = [child for child in one.members.values() if not child.is_alias and not child.name.startswith("_")]
    if fields := [child for child in members if child.is_attribute and _is_field(child)]:
        yield "\n" + "".join(f"- `{_field(child)}`{_inline(child)}\n" for child in fields)
    if methods := [child for child in members if child.is_function and child.has_docstring]:
        yield "\n" + "".join(f"- `{_signature(child)}`{_inline(child)}\n" for child in methods)


def _is_field(one: griffe.Object | griffe.Alias) -> bool:
    """Whether an attribute is told: not one that `__init__` sets and nobody describes."""
    return one.has_docstring or one.annotation is not None or "class-attribute" in one.labels


def _field(one: griffe.Object | griffe.Alias) -> str:
    kind = f": {one.annotation}" if one.annotation is not None else ""
    return f"{one.name}{kind}" + (f" = {one.value}" if one.value is not None else "")


def _signature(one: griffe.Object | griffe.Alias) -> str:
    written = one.signature().replace("(self, ", "(").replace("(self)", "()").replace("(cls, ", "(")
    return f"await {written}" if "async" in one.labels and "AsyncGenerator" not in written else written


def _text(one: griffe.Object | griffe.Alias) -> str:
    return f"{one.docstring.value}\n" if one.docstring else ""


def _inline(one: griffe.Object | griffe.Alias) -> str:
    return ": " + " ".join(one.docstring.value.split()) if one.docstring else ""


def write(folder: Path) -> None:
    """Write both files into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "commands.md").write_text(command_reference(), "utf-8")
    (folder / "library.md").write_text(library_reference(), "utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]) if len(sys.argv) > 1 else REFERENCE)
