"""A whole domain proposed in stages: idea, schema, records, operations with rules and policy, words of its users.

Each stage is checked by executing what there is so far: records are drawn, predicates compiled, every operation tried,
tasks drawn and filtered. Nothing of a domain is written before all stages passed.
"""

import json
import re
import shutil
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

from orchestra_lib.codec import from_data
from orchestra_lib.environment.domain import DOMAINS, World, domain_names, domain_of
from orchestra_lib.environment.operations import writes
from orchestra_lib.environment.schema import Domain, Mode
from orchestra_lib.environment.trying import successes
from orchestra_lib.environment.validation import Problem, validate
from orchestra_lib.errors import BadInput
from orchestra_lib.json_writing import spoken
from orchestra_lib.record import record
from orchestra_lib.synthesis.lexicon import Intents, Lexicon
from orchestra_lib.synthesis.pipeline import Accepted, Pipeline, Rejection
from orchestra_lib.synthesis.proposing.asking import Asker
from orchestra_lib.synthesis.proposing.bounds import bounded, bounded_plan
from orchestra_lib.synthesis.proposing.stages import OPERATIONS, RECORDS, SCHEMA, WORDS, idea_brief, stage_brief
from orchestra_lib.synthesis.records import Plan, Records, draw_records, records_text

_NAME = re.compile(r"[a-z][a-z_]{2,23}")
ARCHETYPES = tuple(sorted(file.stem for file in (DOMAINS / "archetypes").glob("*.json")))
_NOW = "2026-05-04T09:00:00"
SEED = 7
_TRIED, _CANDIDATES, _PROBLEMS = 400, 40, 3
_BROKEN = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, RecursionError)
"""What data of the wrong form makes of code that reads it; every other error is a bug of ours."""

Data = Mapping[str, Any]
R = TypeVar("R")


@record
class ProposedDomain:
    """The parts of a domain, as its files hold them, and what they come to."""

    domain: Data
    plan: Data
    intents: Data
    world: World
    words: Lexicon


async def propose_domain(asker: Asker, subject: str, *, seed: int = SEED) -> ProposedDomain | None:
    """A domain on a subject in a person's words, or None when a stage was rejected every time.

    Raises what `Asker.ask` raises.
    """
    idea = await asker.ask("domain/1 idea", idea_brief(subject, ARCHETYPES), _idea, seed=seed)
    if idea is None:
        return None
    schema = await asker.ask("domain/2 schema", stage_brief(SCHEMA, idea), _schema_check(idea), seed=seed)
    if schema is None:
        return None
    whole = {**idea, **schema}
    plan = await asker.ask("domain/3 records", stage_brief(RECORDS, whole), _records_check(whole), seed=seed)
    if plan is None:
        return None
    drawn = _drawn(whole, plan)
    rules = await asker.ask(
        "domain/4 operations", stage_brief(OPERATIONS, whole), _rules_check(whole, drawn), seed=seed
    )
    if rules is None:
        return None
    whole |= rules
    world = World(_domain(whole), drawn)
    intents = await asker.ask("domain/5 words", stage_brief(WORDS, whole), _words_check(world), seed=seed)
    if intents is None:
        return None
    words = Lexicon(world.domain, from_data(intents, Intents, where="words"), where="words")
    return ProposedDomain(domain=whole, plan=plan, intents=intents, world=world, words=words)


def write_domain(made: ProposedDomain, folder: Path) -> Path:
    """Write a domain's four files into `FOLDER/NAME`, all or none. Raises `BadInput` for a folder that is there."""
    target = folder / made.world.domain.name
    if target.exists():
        raise BadInput(f"{target} is there already; name another --out, or remove it")
    shutil.copytree(DOMAINS / "archetypes", folder / "archetypes", dirs_exist_ok=True)  # a domain is read with its own
    shutil.copy(DOMAINS / "words.json", folder)
    with TemporaryDirectory(dir=folder) as scratch:
        part = Path(scratch) / "domain"
        part.mkdir()
        for name, data in (("domain", made.domain), ("generate", made.plan), ("intents", made.intents)):
            (part / f"{name}.json").write_text(f"{spoken(data, indent=1)}\n", "utf-8")
        (part / "records.json").write_text(records_text(made.world.records), "utf-8")  # type: ignore[arg-type]
        part.rename(target)
    return target


def _idea(data: Data) -> Data:
    keys = ("name", "title", "description", "agent", "archetype", "roles")
    if set(data) != set(keys):
        raise BadInput(f"form: the keys are {', '.join(keys)}, no more and no less")
    if not all(isinstance(data[key], str) and data[key].strip() for key in keys[:-1]):
        raise BadInput(f"form: {', '.join(keys[:-1])} are texts")
    if not _NAME.fullmatch(data["name"]) or data["name"] in domain_names():
        raise BadInput("form: name is one new word of 3 to 24 small letters and underscores")
    if data["archetype"] not in ARCHETYPES:
        raise BadInput(f"form: archetype is one of {', '.join(ARCHETYPES)}")
    roles = data["roles"]
    if not isinstance(roles, dict) or not {"owner", "owner.one"} <= roles.keys():
        raise BadInput('form: roles names tables: {"owner": …, "owner.one": …} and what the archetype needs')
    if not all(isinstance(one, str) and one.isidentifier() for one in roles.values()):
        raise BadInput("form: a role is a plain name")
    return {**data, "now": _NOW, "split": "proposed"}


def _schema_check(idea: Data) -> Callable[[Data], Data]:
    def check(data: Data) -> Data:
        _only(data, ("tables",), ("parameters",))
        bounded(data)
        domain = _domain({**idea, **data, "archetype": ""})
        if not 2 <= len(domain.tables) <= 6:
            raise BadInput(f"schema: {len(domain.tables)} tables; propose 3 to 5")
        world = _tried("schema", lambda: World(domain, {table.name: {} for table in domain.tables}))
        _sound("schema", (one for one in validate(world) if one.where.startswith("domain.json: tables")))
        return data

    return check


def _records_check(whole: Data) -> Callable[[Data], Data]:
    def check(data: Data) -> Data:
        _only(data, ("seed", "tables"), ("settle", "words"))
        drawn = _drawn(whole, data)
        world = World(_domain({**whole, "archetype": ""}), drawn)
        _sound("records", (one for one in validate(world) if one.where.startswith("records.json")))
        return data

    return check


def _rules_check(whole: Data, drawn: Records) -> Callable[[Data], Data]:
    def check(data: Data) -> Data:
        _only(data, ("operations",), ("parameters", "bundles", "invariants", "facts", "without", "conduct"))
        bounded(data)
        domain = _domain({**whole, **data})
        if not 2 <= len(writes(domain)) <= 16 or len(domain.operations) > 30:
            raise BadInput(
                f"operations: {len(writes(domain))} writes of {len(domain.operations)}; propose 4 to 12 writes"
            )
        if not any(rule.mode is Mode.POLICY for one in domain.operations for rule in one.rules):
            raise BadInput(
                'operations: no rule has "mode": "policy"; about half of the rules stand in the policy alone'
            )
        world = _tried("operations", lambda: World(domain, drawn))
        _sound("operations", _tried("operations", lambda: validate(world)))
        used = _tried("operations", lambda: successes(world, tries=_TRIED, enough=1))
        if unused := [name for name, calls in used.items() if not calls]:
            raise BadInput(f"operations: no drawn call of {unused[0]} went well in {_TRIED} tries; loosen its rules")
        return data

    return check


def _words_check(world: World) -> Callable[[Data], Data]:
    def check(data: Data) -> Data:
        words = Lexicon(world.domain, from_data(dict(data), Intents, where="words"), where="words")
        if missing := [name for name in writes(world.domain) if not words.operations.get(name)]:
            raise BadInput(f"words: operations.{missing[0]} has no phrase; give each write two or more")
        pipeline = Pipeline(world, words, seed=SEED)
        found = _tried("words", lambda: [pipeline.candidate(number) for number in range(_CANDIDATES)])
        if not any(isinstance(one, Accepted) for one in found):
            why = next(one for one in found if isinstance(one, Rejection))
            raise BadInput(f"words: none of {_CANDIDATES} drawn tasks passes the filters, for example: {why.reason}")
        return data

    return check


def _drawn(whole: Data, plan: Data) -> Records:
    bounded_plan(plan)
    read = from_data(dict(plan), Plan, where="records")
    shared = json.loads((DOMAINS / "words.json").read_text("utf-8"))
    full = Plan(seed=read.seed, tables=read.tables, settle=read.settle, words={**shared, **read.words})
    return _tried("records", lambda: draw_records(_domain({**whole, "archetype": ""}), full))


def _domain(data: Data) -> Domain:
    return domain_of(dict(data), where="domain")


def _only(data: Data, needed: tuple[str, ...], more: tuple[str, ...]) -> None:
    if missing := [key for key in needed if key not in data]:
        raise BadInput(f"form: {missing[0]!r} is missing")
    if extra := sorted(data.keys() - {*needed, *more}):
        raise BadInput(f"form: {extra[0][:40]!r} is no key here; use {', '.join((*needed, *more))}")


def _sound(stage: str, problems: Iterable[Problem]) -> None:
    """Raise `BadInput` with the first problems, where there are any."""
    if found := [str(one) for one in problems]:
        more = f" (and {len(found) - _PROBLEMS} more)" if len(found) > _PROBLEMS else ""
        raise BadInput(f"{stage}: {' | '.join(found[:_PROBLEMS])}{more}")


def _tried(stage: str, work: Callable[[], R]) -> R:
    """Work on proposed data; what its form breaks is the proposal's fault."""
    try:
        return work()
    except _BROKEN as error:
        raise BadInput(f"{stage}: it cannot be worked with ({type(error).__name__}: {error})") from None
