"""Suites: where the tasks of an evaluation come from, and how each of them is judged.

Nothing of FRAMES, GSM8K, HLE or ToolScale ships: they are read from the user's own copy, `--path`, or a file of the
suite's name under `suites/` of the home folder.
"""

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from orchestra_lib.assigning import Assignments
from orchestra_lib.codec import fingerprint, to_data
from orchestra_lib.environment.assignment import Assignment, read_assignments
from orchestra_lib.errors import BadInput
from orchestra_lib.evaluation.toolscale import SOLO, Scene, published_tasks
from orchestra_lib.published import questions
from orchestra_lib.published.questions import QuestionForm, Unused, load_questions, parse_columns
from orchestra_lib.published.rows import read_rows
from orchestra_lib.published.task import GoldenAction
from orchestra_lib.record import record
from orchestra_lib.simulated_tasks import simulated_tasks

FRAMES, GSM8K, HLE, DOMAINS, TOOLSCALE, SIMULATED = "frames", "gsm8k", "hle", "domains", "toolscale", "simulated"
NAMES = (FRAMES, GSM8K, HLE, DOMAINS, TOOLSCALE, SIMULATED)
SUFFIXES = (".jsonl", ".json", ".parquet")
SIMULATED_TASKS = 200
"""So many simulated tasks where nobody says how many."""
SIMULATED_TOOLS = ("sim:small", "sim:mid", "sim:maths", "sim:strongest")
"""Who answers simulated tasks where nobody names tools: as many as a tiny policy conducts, and the same for all."""

_FORMS: Mapping[str, QuestionForm] = {
    FRAMES: questions.FRAMES,
    GSM8K: questions.GSM8K,
    HLE: QuestionForm(source=HLE, id="id", image="image"),
}
_WHENCE = {
    FRAMES: "google/frames-benchmark on the model hub, as JSONL with id, question and answer",
    GSM8K: "openai/gsm8k on the model hub: its test file as Parquet or JSONL",
    HLE: "cais/hle on the model hub, which asks you to accept its terms: its Parquet or JSONL file",
}


@record
class Item:
    """One task of a suite: a text with its reference, or with golden calls, or an assignment in a domain.

    `id` is the suite's own name for it.
    """

    id: str
    text: str = ""
    reference: str | None = None
    assignment: Assignment | None = None
    golden: tuple[GoldenAction, ...] | None = None

    @property
    def key(self) -> str:
        """What tells it from every other task, whatever it is called and wherever it lies."""
        assigned = None if self.assignment is None else to_data(self.assignment)
        golden = None if self.golden is None else [to_data(one) for one in self.golden]
        return fingerprint([self.text, self.reference, assigned, golden])[:12]


@record
class Suite:
    """Tasks to evaluate on. `whole` is how many the suite has before `limit`, `left_out` counts rows by why not.

    `tools` are what the suite is played with where nobody names tools; None: all that are on. `scene` has the tools
    and the verdicts of tasks with golden calls, `note` what to know before the figures are quoted.
    """

    name: str
    source: str
    items: tuple[Item, ...]
    whole: int
    left_out: Mapping[str, int]
    tools: tuple[str, ...] | None = None
    scene: Scene | None = None
    note: str | None = None


def load_suite(
    name: str,
    home: Path,
    *,
    path: Path | None = None,
    limit: int | None = None,
    draw: int = 0,
    columns: str | None = None,
    tau2: Path | None = None,
    toolkit: str | None = None,
) -> Suite:
    """The suite of this name, of a file of questions, or of `domains:NAME`; `limit` tasks drawn by the seed `draw`.

    `toolscale` needs a domain's folder in tau2's form and its tools, a class in the user's own checkout.
    More tasks of the same draw hold the fewer ones. Raises `BadInput` naming the file, the line and the remedy.
    """
    if limit is not None and limit < 1:
        raise BadInput(f"limit = {limit}; evaluate on 1 task or more, or leave it out for all")
    if name == TOOLSCALE:
        _no_columns(name, columns)
        return _drawn(_toolscale(path, tau2, toolkit), limit, draw)
    if tau2 is not None or toolkit is not None:
        raise BadInput(f"--tau2 and --toolkit belong to the suite {TOOLSCALE}; leave them out")
    if name == SIMULATED:
        _no_file(name, path, columns)
        return _simulated(draw, limit)
    if name.partition(":")[0] == DOMAINS:
        _no_columns(name, columns)
        return _drawn(_domains(name, home, path), limit, draw)
    if is_file(name):
        if path is not None:
            raise BadInput(f"the suite {name} is a file already; leave --path out")
        return _drawn(_own_file(Path(name), columns), limit, draw)
    if name not in NAMES:
        raise BadInput(f"there is no suite {name[:80]!r}; there are {', '.join(NAMES)}, domains:NAME and FILE.jsonl")
    _no_columns(name, columns)
    return _drawn(_questions(name, path or _copy(name, home), _FORMS[name]), limit, draw)


def is_file(name: str) -> bool:
    """Whether a suite is a file of the user's own."""
    return name not in NAMES and Path(name).suffix in SUFFIXES


def _no_file(name: str, path: Path | None, columns: str | None) -> None:
    if path is not None:
        raise BadInput(f"the suite {name} is made from a seed and reads no file; leave --path out")
    _no_columns(name, columns)


def _no_columns(name: str, columns: str | None) -> None:
    if columns is not None:
        raise BadInput(f"the suite {name} has columns of its own; --columns is for a file of questions")


def _copy(name: str, home: Path) -> Path:
    """The user's copy of a suite."""
    found = [file for suffix in SUFFIXES if (file := home / "suites" / f"{name}{suffix}").is_file()]
    if not found:
        raise BadInput(
            f"{name} does not ship with the workbench; give your own copy with --path, or put it at "
            f"{home / 'suites' / name}.jsonl. It is {_WHENCE[name]}"
        )
    return found[0]


def _simulated(seed: int, limit: int | None) -> Suite:
    made = simulated_tasks(seed, SIMULATED_TASKS if limit is None else limit)
    items = tuple(Item(id=one.id, text=one.text) for one in made)
    return Suite(
        name=SIMULATED, source=f"made from seed {seed}", items=items, whole=len(items), left_out={},
        tools=SIMULATED_TOOLS,
    )  # fmt: skip


def _toolscale(path: Path | None, tau2: Path | None, toolkit: str | None) -> Suite:
    if tau2 is None or toolkit is None:
        raise BadInput(
            "published tasks need their domain and its tools, which do not ship: give --tau2 FOLDER with db.json and "
            "policy.md, and --toolkit path/to/tools.py:ClassName of your own checkout"
        )
    scene, tasks, left_out = published_tasks(path, tau2, toolkit)
    made = [Item(id=one.id, text=one.text, golden=one.golden) for one in tasks]
    items = tuple({item.key: item for item in reversed(made)}.values())[::-1]  # the first of those that are the same
    if len(items) < len(made):
        left_out = {**left_out, str(Unused.REPEATED): len(made) - len(items)}
    return Suite(
        name=TOOLSCALE, source=str(path or tau2), items=items, whole=len(items), left_out=left_out, tools=scene.tools,
        scene=scene, note=SOLO,
    )  # fmt: skip


def _questions(name: str, file: Path, form: QuestionForm | None) -> Suite:
    found = load_questions(file, form)
    counted: dict[str, int] = {}
    for one in found.left_out:
        counted[str(one.why)] = counted.get(str(one.why), 0) + 1
    if not found.rows:
        why = ", ".join(f"{count} with {words}" for words, count in counted.items())
        raise BadInput(f"{file} has no question to evaluate on ({why}); give a file of questions with answers")
    items = tuple(Item(id=row.id, text=row.question, reference=row.answer) for row in found.rows)
    return Suite(name=name, source=str(file), items=items, whole=len(items), left_out=counted)


def _own_file(file: Path, columns: str | None) -> Suite:
    rows = read_rows(file)
    if columns is None and rows and {"golden", "domain"} <= rows[0].data.keys():
        return _assignments(file.stem, str(file), read_assignments(file))
    form = None if columns is None else parse_columns(columns, file.stem)
    return _questions(file.stem, file, form)


def _domains(name: str, home: Path, path: Path | None) -> Suite:
    """All assignments at hand, those of one domain, or those of a file or folder."""
    _, _, domain = name.partition(":")
    if path is not None:
        files = sorted(path.glob("*.jsonl")) if path.is_dir() else [path]
        found = [one for file in files for one in read_assignments(file)]
        return _assignments(name, str(path), [one for one in found if domain in ("", one.domain)])
    at_hand = Assignments(home)
    if domain and domain not in at_hand.files():
        raise BadInput(f"there are no assignments of {domain[:60]!r}; there are of {', '.join(at_hand.files())}")
    wanted = [domain] if domain else at_hand.files()
    return _assignments(name, "the assignments at hand", [one for each in wanted for one in at_hand.of(each)])


def _assignments(name: str, source: str, found: Iterable[Assignment]) -> Suite:
    items = tuple(Item(id=f"{one.domain}/{one.id}", assignment=one) for one in found)
    _refuse_repeated(source, [item.id for item in items])
    if not items:
        raise BadInput(f"{source}: there is no assignment to evaluate on")
    return Suite(name=name, source=source, items=items, whole=len(items), left_out={})


def _refuse_repeated(source: str, ids: Sequence[str]) -> None:
    seen: set[str] = set()
    for one in ids:
        if one in seen:
            raise BadInput(f"{source}: there are two assignments {one!r}; remove one, or give it another id")
        seen.add(one)


def _drawn(suite: Suite, limit: int | None, draw: int) -> Suite:
    """A suite cut to a fair sample."""
    items = list(suite.items)
    if limit is None or limit >= len(items):
        return suite
    random.Random(f"suite/{draw}").shuffle(items)  # noqa: S311  # a lot, not a secret
    return replace(suite, source=f"{suite.source}, drawn by seed {draw}", items=tuple(items[:limit]))
