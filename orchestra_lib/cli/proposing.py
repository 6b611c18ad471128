"""Synthesis with a language model from a terminal: progress and cost on stderr, tasks and a report in a folder."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from orchestra_lib.billing import spent_on
from orchestra_lib.cli.terminal import dollars, note, one_line, print_json, print_table
from orchestra_lib.codec import fingerprint, to_data
from orchestra_lib.environment.assignment import write_assignments
from orchestra_lib.environment.domain import DOMAINS, World, load_world
from orchestra_lib.errors import BadInput
from orchestra_lib.json_writing import dumps
from orchestra_lib.paths import home
from orchestra_lib.pricelist import find_table
from orchestra_lib.pricing import PriceTable
from orchestra_lib.protocols import ChatModel
from orchestra_lib.record import record
from orchestra_lib.roster import Roster
from orchestra_lib.synthesis.lexicon import Lexicon, words_in
from orchestra_lib.synthesis.producing import Order
from orchestra_lib.synthesis.proposing.asking import Asker, MoneyGone, Purse
from orchestra_lib.synthesis.proposing.domains import SEED, propose_domain, write_domain
from orchestra_lib.synthesis.proposing.journal import Journal, Try
from orchestra_lib.synthesis.proposing.run import Outcome, Proposals, Wanted, rejections

FOLDER = "llm"
"""Under the output folder: journals and the report."""


@record
class Terms:
    """How a model is asked: its name in the catalogue, the price table, the limit, repairs of one proposal."""

    llm: str
    prices: str = "nominal"
    cost_limit: float | None = None
    repairs: int = 2


def propose_tasks(order: Order, wanted: Wanted, terms: Terms, out: Path, *, json: bool) -> bool:
    """Have a model propose the tasks of an order; whether there are as many as wanted.

    Writes `OUT/DOMAIN.jsonl`, and under `OUT/llm/` a journal a domain and `report.json`. Raises `BadInput` for an
    unknown model or domain, and for a limit that cannot be kept.
    """
    return _run(_proposed(order, wanted, terms, out, json=json), out)


def propose_new_domain(subject: str, wanted: Wanted | None, terms: Terms, out: Path, *, json: bool) -> bool:
    """Have a model propose a domain, and tasks in it where some are wanted; whether all that was wanted is there.

    Writes `OUT/domains/NAME/` once every stage passed; `orchestra domains --folder OUT/domains` works on it. Raises
    `BadInput`.
    """
    if not subject.strip():
        raise BadInput('say what the domain is about: --new-domain "a bike-sharing club"')
    return _run(_new_domain(subject.strip(), wanted, terms, out, json=json), out)


def _run(proposing: Coroutine[Any, Any, bool], out: Path) -> bool:
    try:
        return asyncio.run(proposing)
    except KeyboardInterrupt:
        note(f"stopped; every try is kept in {out / FOLDER}, and the same command goes on from there")
        raise


async def _proposed(order: Order, wanted: Wanted, terms: Terms, out: Path, *, json: bool) -> bool:
    async with _session(terms) as session:
        rows = [
            await _of_domain(world, words_in(world.domain, DOMAINS / name), replace(wanted, n=n), terms, session, out)
            for name, n in order.parts.items()
            for world in [load_world(name)]
        ]
    _finish(rows, wanted.seed, terms, session.table, out, json=json)
    return sum(int(row["accepted"]) for row in rows) == wanted.n


async def _new_domain(subject: str, wanted: Wanted | None, terms: Terms, out: Path, *, json: bool) -> bool:
    rows: list[dict[str, Any]] = []
    seed = wanted.seed if wanted else SEED
    async with _session(terms) as session:
        with Journal(
            out / FOLDER / "new-domain.jsonl", {"model": terms.llm, "subject": subject, "seed": seed}
        ) as journal:
            asker = Asker(
                session.model, journal, session.purse, repairs=terms.repairs, on_try=_telling(journal, session.table)
            )
            made, stopped = None, None
            try:
                made = await propose_domain(asker, subject, seed=seed)
            except MoneyGone as gone:
                stopped = str(gone)
            rows.append(_row("new domain", 1, Outcome(tasks=(), slots=1, stopped=stopped), journal, session.table))
        if made is not None:
            name, folder = made.world.domain.name, out / "domains"
            rows[0]["accepted"] = 1
            if not (folder / name).exists():
                note(f"the domain {name} is in {write_domain(made, folder)}")
            if wanted is not None:
                rows.append(await _of_domain(made.world, made.words, wanted, terms, session, out))
    _finish(rows, seed, terms, session.table, out, json=json)
    return all(row["accepted"] == row["wanted"] for row in rows)


@record
class _Session:
    """The model of a run with its money."""

    model: ChatModel
    purse: Purse
    table: PriceTable


@asynccontextmanager
async def _session(terms: Terms) -> AsyncGenerator[_Session, None]:
    roster, table = Roster(home()), find_table(home(), terms.prices).at(datetime.now(UTC).date())
    try:
        model = roster.chat_model(terms.llm)
        yield _Session(model=model, purse=Purse(model.name, table, terms.cost_limit), table=table)
    finally:
        await roster.close()


def _finish(
    rows: Sequence[Mapping[str, Any]], seed: int, terms: Terms, table: PriceTable, out: Path, *, json: bool
) -> None:
    report = {"model": terms.llm, "prices": table.name, "nominal": table.nominal, "seed": seed, "domains": rows}
    (out / FOLDER / "report.json").write_text(dumps(report) + "\n", "utf-8")
    _show(report, json=json)


async def _of_domain(
    world: World, words: Lexicon, wanted: Wanted, terms: Terms, session: _Session, out: Path
) -> dict[str, Any]:
    name = world.domain.name
    facts = {
        "model": terms.llm,
        "domain": name,
        "seed": wanted.seed,
        "evolve": wanted.evolve,
        "data": fingerprint([to_data(world.domain), world.records]),
    }
    with Journal(out / FOLDER / f"{name}.jsonl", facts) as journal:
        if journal.before:
            note(f"{name}: {journal.before} tries of an earlier run count")
        note(f"{name}: {terms.llm} has {terms.repairs + 1} tries for each of {wanted.n}; each is told when it ends")
        asker = Asker(
            session.model, journal, session.purse, repairs=terms.repairs, on_try=_telling(journal, session.table)
        )
        outcome = await Proposals(world, words, asker, model=terms.llm).run(wanted)
        write_assignments(outcome.tasks, out / f"{name}.jsonl")
        return _row(name, wanted.n, outcome, journal, session.table)


def _row(name: str, n: int, outcome: Outcome, journal: Journal, table: PriceTable) -> dict[str, Any]:
    spent = spent_on(journal.attempts(), table)
    return {
        "domain": name,
        "wanted": n,
        "accepted": len(outcome.tasks),
        "slots": outcome.slots,
        "tries": len(journal.tries),
        "rejected": rejections(journal),
        "twice": outcome.twice,
        "faults": sum(one.fault for one in journal.tries),
        "cost_usd": spent.cost_usd,
        "input_tokens": spent.input_tokens,
        "output_tokens": spent.output_tokens,
        "stopped": outcome.stopped,
    }


def _telling(journal: Journal, table: PriceTable) -> Callable[[Try], None]:
    def tell(one: Try) -> None:
        said = "accepted" if one.reason is None else f"{'fault' if one.fault else 'rejected'}: {one.reason}"
        spent = dollars(spent_on(journal.attempts(), table).cost_usd)
        nominal = " nominal" if table.nominal else ""
        note(f"{one.slot} try {one.number}: {one_line(said, 160)} · {spent}{nominal} so far")

    return tell


def _show(report: Mapping[str, Any], *, json: bool) -> None:
    if json:
        print_json(report)
        return
    head = ("domain", "accepted", "slots", "tries", "rejected", "cost")
    print_table(head, [_cells(row) for row in report["domains"]])
    if report["nominal"]:
        note(f"costs at the nominal prices of {report['prices']}: nobody is billed for them")
    for row in report["domains"]:
        if row["stopped"]:
            note(f"{row['domain']}: {one_line(row['stopped'], 300)}")


def _cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    rejected = ", ".join(f"{kind} {count}" for kind, count in row["rejected"].items()) or "none"
    return (
        row["domain"], f"{row['accepted']}/{row['wanted']}", str(row["slots"]), str(row["tries"]), rejected,
        dollars(row["cost_usd"]),
    )  # fmt: skip
