"""Where cases come from: files of assignments, of questions, of published rows; and what instances are drawn from."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from orchestra_lib.ensemble import domain_words, published_kit
from orchestra_lib.environment.assignment import read_assignments
from orchestra_lib.errors import BadInput
from orchestra_lib.pricelist import SHIPPED, load_table
from orchestra_lib.published.hub import fetch_dataset
from orchestra_lib.published.python_toolkit import load_python_toolkit
from orchestra_lib.published.questions import load_questions, parse_columns
from orchestra_lib.published.task import PublishedTask
from orchestra_lib.published.tau2 import load_tau2_domain
from orchestra_lib.published.toolscale import load_toolscale, load_training_rows
from orchestra_lib.record import record
from orchestra_lib.sampling.cases import Case, Worlds, functions_of, published_case, question_case
from orchestra_lib.sampling.sample import Materials
from orchestra_lib.tool import ToolSpec

PUBLISHED = "toolorchestra"
"""The table with a price for every model of the published kit."""

PROVIDERS = ("together", "deepinfra", "openrouter", "vendor")
"""The shipped tables that the regime `provider` draws from."""


@record
class Gathered:
    """The cases of some files, and for each file its name, its hash, what it gave, and what was left out and why."""

    cases: tuple[Case, ...] = ()
    files: tuple[Mapping[str, Any], ...] = ()

    def __add__(self, other: "Gathered") -> "Gathered":
        return Gathered(cases=self.cases + other.cases, files=self.files + other.files)


def materials(basics: Sequence[ToolSpec] = ()) -> Materials:
    """The published kits and the shipped price tables."""
    return Materials(
        kit=published_kit(),
        words=domain_words(),
        published=load_table(SHIPPED / f"{PUBLISHED}.toml"),
        providers=tuple(load_table(SHIPPED / f"{name}.toml") for name in PROVIDERS),
        basics=tuple(basics),
    )


def assignments(paths: Iterable[Path], *, split: str | None = None, worlds: Worlds | None = None) -> Gathered:
    """The assignments of JSONL files, or of all in a folder, only those of a split where one is named.

    Raises `BadInput` naming the file and line, and for two assignments of one id.
    """
    worlds, gathered, seen = worlds or Worlds(), Gathered(), dict[str, Path]()
    for file in _files(paths):
        read = list(read_assignments(file))
        wanted = [one for one in read if split in (None, one.split)]
        for one in wanted:
            if one.id in seen:
                raise BadInput(f"{file}: the id {one.id!r} stood in {seen[one.id]} already; sample from one of them")
            seen[one.id] = file
        left = {f"not of split {split}": len(read) - len(wanted)} if len(read) > len(wanted) else {}
        gathered += _gathered(file, (worlds.case(one) for one in wanted), left)
    return gathered


def questions(files: Iterable[Path], *, columns: str | None = None) -> Gathered:
    """The questions of files in any form that `load_questions` reads, or under named columns. Raises `BadInput`."""
    gathered = Gathered()
    for file in files:
        found = load_questions(file, None if columns is None else parse_columns(columns, file.stem))
        left = Counter(str(one.why) for one in found.left_out)
        gathered += _gathered(file, map(question_case, found.rows), left)
    return gathered


def training_rows(files: Iterable[Path], *, databases: Path | None = None) -> Gathered:
    """The rows of published training files, whose own tools, prices and preferences are drawn anew.

    `databases` is a folder with `NAME/db.json` and `NAME/policy.md` a domain. Raises `BadInput`.
    """
    gathered = Gathered()
    for file in files:
        cases: list[Case] = []
        for row in load_training_rows(file, databases):
            if row.question is not None:
                cases.append(question_case(row.question))
            elif row.task is not None:
                functions = functions_of(row.tools, f"{file}: {row.index}")
                policy = _policy(databases, row.index.partition("____")[0])
                cases.append(published_case(row.task, functions, policy=policy, source=file.stem))
        gathered += _gathered(file, cases, {})
    return gathered


def toolkit_tasks(folder: Path, toolkit: str, *, toolscale: str | None = None) -> Gathered:
    """The tasks of a domain's folder in tau2's form, with the functions of a toolkit class of the user's.

    With `toolscale`, a file or a data set of the model hub, its tasks of this domain come in place of the folder's
    own. Raises `BadInput`, and `WorldFault` when the hub cannot be reached.
    """
    domain = load_tau2_domain(folder)
    functions = [tool.spec for tool in load_python_toolkit(toolkit, domain.tables).tools]
    if toolscale is None:
        given = {folder / "tasks.json": domain.tasks}
    else:
        files = [Path(toolscale)] if Path(toolscale).suffix else fetch_dataset(toolscale)
        given = {file: load_toolscale(file, folder.parent) for file in files}
    gathered = Gathered()
    for file, tasks in given.items():
        ours = [task for task in tasks if task.domain == domain.name]
        left = {f"not of {domain.name}": len(tasks) - len(ours)} if len(tasks) > len(ours) else {}
        gathered += _gathered(file, _published(ours, functions, domain.policy, domain.name), left)
    if not gathered.cases:
        raise BadInput(f"{toolscale or folder} has no task of {domain.name}; name the folder of a domain that it has")
    return gathered


def _published(tasks: Iterable[PublishedTask], functions: Sequence[ToolSpec], policy: str, name: str) -> Iterator[Case]:
    return (published_case(task, functions, policy=policy, source=name) for task in tasks)


def _policy(databases: Path | None, domain: str) -> str:
    file = None if databases is None else databases / domain / "policy.md"
    return file.read_text("utf-8") if file is not None and file.is_file() else ""


def _gathered(file: Path, cases: Iterable[Case], left_out: Mapping[str, int]) -> Gathered:
    found = tuple(cases)
    sha256 = hashlib.sha256(file.read_bytes()).hexdigest() if file.is_file() else None
    facts = {"file": file.name, "sha256": sha256, "cases": len(found), "left_out": dict(left_out)}
    return Gathered(cases=found, files=(facts,))


def _files(paths: Iterable[Path]) -> Iterator[Path]:
    for path in paths:
        inside = sorted(path.glob("*.jsonl")) if path.is_dir() else [path]
        if not inside:
            raise BadInput(f"{path} holds no .jsonl file; give files of assignments, or a folder of them")
        yield from inside
