"""`orchestra synth`: tasks of the shipped domains from a seed, with the funnel of what was rejected and the metrics."""

import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from orchestra_lib.cli.engine import AddressOption, Engine, EngineOption, WorkersOption, sieves, where
from orchestra_lib.cli.proposing import Terms, propose_new_domain, propose_tasks
from orchestra_lib.cli.terminal import note, print_json, print_table, printable
from orchestra_lib.engine.sieve import candidates
from orchestra_lib.errors import BadInput
from orchestra_lib.synthesis.metrics import LABELS, published, shown
from orchestra_lib.synthesis.producing import order_of, produce
from orchestra_lib.synthesis.proposing.run import Wanted

_EVERY = 100
_TASKS = 4063
"""As many as ToolScale has."""


def synth(
    out: Annotated[Path, typer.Option(help="The folder for NAME.jsonl of each domain and report.json.")],
    domains: Annotated[str, typer.Option(help="all, or names with commas.")] = "all",
    n: Annotated[
        int | None, typer.Option(help=f"How many tasks in all, in equal parts; without a model {_TASKS:,}.", min=1)
    ] = None,
    seed: Annotated[int, typer.Option(help="The same seed gives the same bytes.")] = 7,
    llm: Annotated[str | None, typer.Option(help="A model that proposes them, by its name in the catalogue.")] = None,
    new_domain: Annotated[
        str | None, typer.Option(help="With --llm: have it propose a domain about this, and --n tasks in it.")
    ] = None,
    jobs: Annotated[int, typer.Option(help="With --llm: so many requests at once.")] = 2,
    cost_limit: Annotated[float | None, typer.Option(help="With --llm: USD at most, worst case reserved.")] = None,
    prices: Annotated[str, typer.Option(help="With --llm: the price table.")] = "nominal",
    repairs: Annotated[int, typer.Option(help="With --llm: how often it is told what was wrong with a proposal.")] = 2,
    engine: EngineOption = Engine.LOCAL,
    ray_address: AddressOption = None,
    workers: WorkersOption = None,
    json: Annotated[bool, typer.Option("--json", help="The report as JSON.")] = False,
) -> None:
    """Draw tasks, run all four filters on each, and write what passes. Run it again to go on after an interruption."""
    place = where(engine, ray_address, workers)
    if llm is not None:
        if place is not None:
            raise BadInput("--llm waits for a model and not for this machine's CPUs; leave --engine ray out")
        terms = Terms(llm=llm, prices=prices, cost_limit=cost_limit, repairs=repairs)
        if not _proposed(domains, new_domain, Wanted(n=n, seed=seed, jobs=jobs) if n else None, terms, out, json=json):
            raise typer.Exit(1)
        return
    if new_domain is not None:
        raise BadInput("--new-domain needs a model to propose it: add --llm NAME, one of `orchestra models`")
    order = order_of(domains, n or _TASKS, seed)
    if place is None:
        report = produce(order, out, _progress())
    else:
        with sieves(place) as crew:
            report = produce(order, out, _progress(), partial(candidates, crew))
    if json:
        print_json(report)
        return
    print(printable(f"{out}: {report['total']['accepted']:,} tasks in {len(order.domains)} domains, seed {seed}"))
    _funnel(report["total"])
    _metrics(report["metrics"])
    for line in report["worse_than_published"]:
        print(f"worse than published: {line}")


def _proposed(
    domains: str, new_domain: str | None, wanted: Wanted | None, terms: Terms, out: Path, *, json: bool
) -> bool:
    if new_domain is not None:
        return propose_new_domain(new_domain, wanted, terms, out, json=json)
    if wanted is None:
        raise BadInput("say how many tasks the model should propose, for example --n 20: each costs a request")
    order = order_of(domains, wanted.n, wanted.seed, words=False)
    return propose_tasks(order, wanted, terms, out, json=json)


def _progress() -> Callable[[str, int, int], None]:
    def told(name: str, done: int, wanted: int) -> None:
        if sys.stderr.isatty() and done < wanted:
            print(f"\r\033[K{name}: {done:,} of {wanted:,}", end="", file=sys.stderr, flush=True)
        elif done == wanted or done % _EVERY == 0:
            note(f"{name}: {done:,} of {wanted:,}")

    return told


def _funnel(total: Mapping[str, Any]) -> None:
    rows = [("candidates", "", f"{total['candidates']:,}")]
    rows += [
        (stage, why, f"{count:,}") for stage, reasons in total["rejected"].items() for why, count in reasons.items()
    ]
    rows += [("accepted", kind, f"{count:,}") for kind, count in total["kinds"].items()]
    rows += [("split", split, f"{count:,}") for split, count in total["splits"].items()]
    print_table(("stage", "what", "tasks"), rows)


def _metrics(ours: Mapping[str, float | int | None]) -> None:
    rivals = published()
    rows = [
        (label, shown(ours.get(name)), *[shown(one.get(name)) for one in rivals.values()])
        for name, label in LABELS.items()
    ]
    print_table(("metric", "ours", *[name.replace("_", " ") for name in rivals]), rows)


COMMANDS: dict[str, Callable[..., Any]] = {"synth": synth}
