"""Tasks for training: instances drawn from assignments and questions, as rows for TRL; assignments verified."""

import json as json_module
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from orchestra_lib import chat, toolorchestra
from orchestra_lib.cli.engine import AddressOption, Engine, EngineOption, WorkersOption, sieves, where
from orchestra_lib.cli.terminal import note, print_json, printable
from orchestra_lib.codec import to_data
from orchestra_lib.engine.sieve import verified
from orchestra_lib.errors import BadInput
from orchestra_lib.export.samples import write_folder, write_lines
from orchestra_lib.paths import home
from orchestra_lib.preference_needs import EVAL, TRAIN
from orchestra_lib.roster import Roster
from orchestra_lib.sampling import sources
from orchestra_lib.sampling.instance import prompt_of, row_of
from orchestra_lib.sampling.mixing import share_of
from orchestra_lib.sampling.pairs import read_pairs
from orchestra_lib.sampling.prices import Regime
from orchestra_lib.sampling.sample import Materials, Plan, repeats, sample
from orchestra_lib.sampling.sources import Gathered
from orchestra_lib.sampling.wishes import DrawnWish, PairWish, Wish
from orchestra_lib.synthesis.verifying import Checked, files_of, verify
from orchestra_lib.tool import ToolKind, ToolSpec

app = typer.Typer(help="Tasks for training: sample instances for TRL, verify tasks.", no_args_is_help=True)

Files = list[Path] | None
_EVERY = 500


@app.callback()
def group() -> None:
    """Tasks for training."""


@app.command("sample")
def sample_tasks(
    out: Annotated[Path, typer.Option(help="A .jsonl file, or a new folder that `datasets.load_dataset` reads.")],
    tasks: Annotated[Files, typer.Option(help="Assignments as JSONL, or a folder of such files. Repeat it.")] = None,
    questions: Annotated[
        Files, typer.Option(help="Questions: FRAMES, GSM8K, GeneralThought, any question/answer JSONL. Repeat it.")
    ] = None,
    columns: Annotated[
        str | None, typer.Option(help="The columns of --questions where they have other names: question=q,answer=a.")
    ] = None,
    training_rows: Annotated[Files, typer.Option(help="The published training file data.jsonl. Repeat it.")] = None,
    databases: Annotated[
        Path | None, typer.Option(help="A folder of published domains, NAME/db.json and NAME/policy.md.")
    ] = None,
    tau2: Annotated[Path | None, typer.Option(help="A domain's folder in tau2's form; needs --toolkit.")] = None,
    toolkit: Annotated[
        str | None, typer.Option(help="Its tools in your own checkout, path/to/tools.py:ClassName. Runs your code.")
    ] = None,
    toolscale: Annotated[
        str | None,
        typer.Option(
            help="Tasks of --tau2's domain in place of its own: a file of ToolScale, Parquet or JSONL, or "
            "nvidia/ToolScale itself from the model hub."
        ),
    ] = None,
    n: Annotated[int, typer.Option(help="How many instances.")] = 1000,
    seed: Annotated[int, typer.Option(help="The same seed and files give the same bytes.")] = 0,
    qa_ratio: Annotated[str, typer.Option(help="The share of questions, exactly: 0.2 or 1/5.")] = "0.2",
    protocol: Annotated[
        str, typer.Option(help=f"{toolorchestra.PROTOCOL} or {chat.PROTOCOL}.")
    ] = toolorchestra.PROTOCOL,
    regime: Annotated[list[Regime] | None, typer.Option(help="Only these price regimes. Repeat it.")] = None,
    split: Annotated[str | None, typer.Option(help="Only assignments of this split.")] = None,
    avoid: Annotated[
        str, typer.Option(help="The share of tool wishes below 0, our extension; 0 for the paper's.")
    ] = "0.25",
    preferences: Annotated[
        Path | None,
        typer.Option(
            help="Wishes from a file of `orchestra preferences generate`, in its words, in place of drawn ones."
        ),
    ] = None,
    preferences_split: Annotated[str, typer.Option(help="With --preferences: train or eval.")] = TRAIN,
    json: Annotated[bool, typer.Option("--json", help="What was drawn as JSON.")] = False,
) -> None:
    """Draw instances for training: each with its own tools, prices, aliases, preference and prompt."""
    plan = Plan(
        n=n,
        seed=seed,
        qa_share=share_of(qa_ratio, "--qa-ratio"),
        protocol=protocol,
        regimes=tuple(regime or Regime),
    )
    wish = _wish(avoid, preferences, preferences_split)
    gathered = sources.assignments(tasks or (), split=split) + sources.questions(questions or (), columns=columns)
    gathered += sources.training_rows(training_rows or (), databases=databases)
    gathered += _toolkit(tau2, toolkit, toolscale)
    if not gathered.cases:
        raise BadInput("there is nothing to sample from: give --tasks, --questions, --training-rows or --tau2")
    drawn_from = sources.materials(_basics() if protocol == chat.PROTOCOL else ())
    wishes = {"avoid": avoid} if preferences is None else {"preferences": f"{preferences.name}, {preferences_split}"}
    facts = {**_plan_facts(plan), **wishes, "most_often": dict(repeats(plan, gathered.cases)), "files": gathered.files}
    counted: Counter[str] = Counter()
    rows = _rows(plan, gathered, drawn_from, wish, counted)
    if out.suffix == ".jsonl":
        write_lines(rows, out)
    else:
        write_folder(rows, out, json_module.dumps(facts, indent=2, ensure_ascii=False))
    _report(out, {**facts, "regimes_drawn": _counts(counted, "regime"), "domains": _counts(counted, "domain")}, json)


def _wish(avoid: str, preferences: Path | None, split: str) -> Wish:
    if preferences is None:
        return DrawnWish(float(share_of(avoid, "--avoid")))
    if split not in (TRAIN, EVAL):
        raise BadInput(f"--preferences-split {split!r}; use {TRAIN} or {EVAL}")
    return PairWish([pair for pair in read_pairs(preferences) if pair.split == split])


def _toolkit(tau2: Path | None, toolkit: str | None, toolscale: str | None) -> Gathered:
    if tau2 is None and toolkit is None and toolscale is None:
        return Gathered()
    if tau2 is None or toolkit is None:
        raise BadInput("a published domain needs both: --tau2 FOLDER, and --toolkit path/to/tools.py:ClassName")
    return sources.toolkit_tasks(tau2, toolkit, toolscale=toolscale)


def _basics() -> Sequence[ToolSpec]:
    return [spec for spec, _ in Roster(home()).tools() if spec.kind is ToolKind.BASIC]


def _rows(
    plan: Plan, gathered: Gathered, drawn_from: Materials, wish: Wish, counted: Counter[str]
) -> Iterator[dict[str, Any]]:
    for instance in sample(plan, gathered.cases, drawn_from, wish):
        counted[f"regime {instance.regime}"] += 1
        counted[f"domain {instance.case.domain or instance.case.source}"] += 1
        yield row_of(instance, prompt_of(instance, drawn_from.words))


def _plan_facts(plan: Plan) -> dict[str, Any]:
    return {
        "n": plan.n,
        "seed": plan.seed,
        "qa_ratio": str(plan.qa_share),
        "counts": {str(name): count for name, count in plan.counts.items()},
        "protocol": plan.protocol,
        "regimes": [str(regime) for regime in plan.regimes],
    }


def _counts(counted: Counter[str], what: str) -> dict[str, int]:
    return {name.partition(" ")[2]: counted[name] for name in sorted(counted) if name.startswith(f"{what} ")}


def _report(out: Path, facts: dict[str, Any], json: bool) -> None:
    if json:
        print_json({"out": str(out), **facts})
        return
    counts = facts["counts"]
    print(printable(f"{out}: {facts['n']:,} instances, protocol {facts['protocol']}, seed {facts['seed']}"))
    print(f"questions {counts['qa']:,}, function calls {counts['func_call']:,}: qa ratio {facts['qa_ratio']}, exactly")
    print("price regimes: " + ", ".join(f"{name} {count:,}" for name, count in facts["regimes_drawn"].items()))
    print(printable("from: " + ", ".join(f"{name} {count:,}" for name, count in facts["domains"].items())))
    print("prices are drawn and nobody charges them; aliases are shuffled in every row")
    for file in facts["files"]:
        for why, count in file["left_out"].items():
            note(f"{file['file']}: left out {count:,}, {why}")
    for name, most in facts["most_often"].items():
        if most > 1:
            note(f"{name}: fewer cases than instances, a case comes up to {most:,} times with other draws")


@app.command("verify")
def verify_tasks(
    path: Annotated[Path, typer.Argument(help="Assignments as JSONL, or a folder of such files.")],
    engine: EngineOption = Engine.LOCAL,
    ray_address: AddressOption = None,
    workers: WorkersOption = None,
    json: Annotated[bool, typer.Option("--json", help="The counts and every failure as JSON.")] = False,
) -> None:
    """Replay every golden and run all four filters. Exit code 1 when a task fails, and its name is printed."""
    files, place = files_of(path), where(engine, ray_address, workers)
    if place is None:
        _verified(path, verify(files), json=json)
    else:
        with sieves(place) as crew:
            _verified(path, verified(crew, files), json=json)


def _verified(path: Path, tasks: Iterable[Checked], *, json: bool) -> None:
    checked, unread, failures = 0, 0, []
    for one in tasks:
        checked, unread = checked + 1, unread + (not one.solver)
        if one.failure:
            failures.append({"file": str(one.file), "id": one.assignment.id, **to_data(one.failure)})
        if checked % _EVERY == 0:
            note(f"{checked:,} tasks checked, {len(failures):,} failed")
    if json:
        print_json({"path": str(path), "tasks": checked, "without_solver": unread, "failures": failures})
    else:
        for failure in failures:
            line = "{id}: {filter}: {reason} {detail} ({file})".format(**failure)
            print(printable(line))
        print(printable(f"{path}: {checked:,} tasks, {len(failures):,} failed"))
        if unread:
            note(f"{unread:,} tasks: in other words than the scripted solver can read, so that it was left out")
    if failures:
        raise typer.Exit(1)


COMMANDS: dict[str, typer.Typer] = {"tasks": app}
