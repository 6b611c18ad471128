"""Routers between the two embedded models, on outcomes that were once measured: real models, no run, few tasks.

    python -m benchmarks.recorded_routers --json

`data/conductor/examples.jsonl` holds what Qwen2.5-Coder 1.5B (`coder`) and 0.5B (`generalist`) came to on the same
questions, asked once at temperature 0. Routers learn from nine tenths of the questions which both were measured on and
choose for the last tenth, in turn; a choice then came to what was recorded. Cost is that of the reply under the nominal
price table, by its recorded length: nobody is billed. The `best` knows every outcome and takes the cheapest right one.
Intervals of 95 % are by bootstrap over questions; accuracy is compared with always taking `coder`, by sign flips and
after Holm. The questions were written for this project.
"""

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from benchmarks.claims import parser
from benchmarks.routers import WISHES, cell
from orchestra_lib.evaluation.intervals import difference, figure, holm
from orchestra_lib.language_models import CODER, GENERALIST
from orchestra_lib.model.minilm import MiniLM
from orchestra_lib.paths import home
from orchestra_lib.policy.conductor.examples import Example, load_examples
from orchestra_lib.policy.oracle import Known, merit
from orchestra_lib.policy.routing.outcomes import of_examples
from orchestra_lib.policy.routing.router import METHODS, Lessons
from orchestra_lib.preference import Preference
from orchestra_lib.pricelist import find_table
from orchestra_lib.profile import ABLE

TOOLS = {"coder": CODER, "generalist": GENERALIST}
BESIDE = "always coder"
FOLDS = 10
_CENTS = 100.0


def main() -> None:
    options = parser(__doc__)
    chosen = options.parse_args()
    rows = measured(both_measured()[: 20 if chosen.quick else None])
    if chosen.json:
        print(*map(json.dumps, rows), sep="\n")
        return
    print(f"two embedded models, {rows[0]['tasks']} questions, outcomes recorded once; nominal prices")
    print(
        f"{'preference':11}{'router':18}{'accuracy':>24}{'cost, cents':>34}  to coder  accuracy less that of {BESIDE}"
    )
    for row in rows:
        accuracy, cost = (cell(row["figures"][what], what) for what in ("accuracy", "cost_cents"))
        apart = row["accuracy apart"]
        beside = "" if apart is None else f"{cell(apart, 'apart')} p {apart['p_holm']:.2g}"
        print(f"{row['preference']:11}{row['router']:18}{accuracy:>24}{cost:>34}{row['to_coder']:>10.0%}  {beside}")


def both_measured() -> list[Example]:
    """The examples on which both models were run, in an order by lot."""
    found = [one for one in load_examples() if set(TOOLS) <= set(one.measured) & set(one.writes)]
    random.Random("folds").shuffle(found)
    return found


def measured(examples: Sequence[Example]) -> list[dict[str, Any]]:
    """A row for each router under a preference for the outcome and one for cost."""
    prices = find_table(home(), "nominal")
    usd = {tool: (row.output_usd_per_mtok or 0.0) / 1e6 for tool, name in TOOLS.items() if (row := prices.find(name))}
    chances = {method: _chances(examples, method) for method in METHODS}
    rows = []
    for wish in ("outcome", "cost"):
        choices = {f"always {tool}": [tool] * len(examples) for tool in TOOLS}
        choices["random"] = [random.Random(one.text).choice(list(TOOLS)) for one in examples]
        choices |= {name: [_choice(one, WISHES[wish], usd) for one in told] for name, told in chances.items()}
        choices["best"] = [
            max(TOOLS, key=lambda tool: (one.solves[tool], -usd[tool] * one.writes[tool])) for one in examples
        ]
        rows += [{"preference": wish, **row} for row in _rows(examples, choices, usd)]
    return rows


def _chances(examples: Sequence[Example], method: str) -> list[Mapping[str, float]]:
    """The chances of each example's tools, learned from the folds that it is not in."""
    embedder = MiniLM()
    found: list[Mapping[str, float]] = [{}] * len(examples)
    for fold in range(FOLDS):
        lessons = Lessons(of_examples([one for at, one in enumerate(examples) if at % FOLDS != fold]), embedder)
        for at in range(fold, len(examples), FOLDS):
            found[at] = lessons.chances(method, examples[at].text)
    return found


def _choice(chances: Mapping[str, float], wish: Preference, usd: Mapping[str, float]) -> str:
    known = [Known(name=tool, chance=chances[tool], cost_usd=usd[tool], latency_s=None) for tool in TOOLS]
    able = [one for one in known if one.chance >= ABLE]
    return max(known, key=lambda one: merit(one, able, wish).score or 0.0).name


def _rows(
    examples: Sequence[Example], choices: Mapping[str, Sequence[str]], usd: Mapping[str, float]
) -> list[dict[str, Any]]:
    came = {name: zip(examples, tools, strict=True) for name, tools in choices.items()}
    both = {
        name: [(one.solves[tool], usd[tool] * one.writes[tool] * _CENTS) for one, tool in of]
        for name, of in came.items()
    }
    values = {name: np.array(of).T[:, :, None] for name, of in both.items()}
    apart = {name: difference(of[0], values[BESIDE][0]) for name, of in values.items() if name != BESIDE}
    adjusted = dict(zip(apart, holm([one.p for one in apart.values()]), strict=True))
    return [
        {
            "router": name, "simulated": False, "nominal": True, "tasks": len(examples),
            "to_coder": choices[name].count("coder") / len(examples),
            "figures": {
                "accuracy": asdict(figure(of[0], len(examples), shares=True)),
                "cost_cents": asdict(figure(of[1], len(examples))),
            },
            "accuracy apart": None if name == BESIDE else {**asdict(apart[name]), "p_holm": adjusted[name]},
        }
        for name, of in values.items()
    ]  # fmt: skip


if __name__ == "__main__":
    main()
