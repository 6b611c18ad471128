"""What would have been best in a setup, and who is the strongest in it, as far as anybody can know.

The best choice is known where every expert on offer is simulated by a profile at hand: then it is the first call of the
oracle. Elsewhere it is unknown, which is not the same as none.
"""

import json
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from orchestra_lib.codec import from_data
from orchestra_lib.policy.oracle import Known, merit
from orchestra_lib.preference import Preference
from orchestra_lib.pricing import Price
from orchestra_lib.profile import ABLE, Profile
from orchestra_lib.record import record

_ALIKE = 1e-9


@record
class Judged:
    """One setup. `best` is the share of each model among the best first calls, None where nobody knows them.

    `strongest` are the models of the highest mean chance by their profiles, else of the highest price of an output
    token; empty where neither is known, or all are alike. `models` are all on offer.
    """

    models: tuple[str, ...]
    best: Mapping[str, float] | None
    strongest: frozenset[str]

    def best_share(self, models: frozenset[str]) -> float | None:
        """How often the best choice is one of these."""
        return None if self.best is None else sum(share for model, share in self.best.items() if model in models)


def judged(
    offers: Sequence[Mapping[str, Any]],
    preference: str,
    kind: str | None,
    difficulty: str | None,
    profiles: Mapping[str, Profile],
) -> Judged:
    """What is known of a setup; `profiles` by the name that prices them, `preference` as JSON."""
    models = tuple(dict.fromkeys(one["model"] for one in offers))
    stated = {one["model"]: profiles[one["model"]] for one in offers if one["simulated"] and one["model"] in profiles}
    whole = len(stated) == len(models)
    if whole:
        means = {
            name: fmean([c for by in one.skills.values() for c in by.values()] or [0.0]) for name, one in stated.items()
        }
    else:
        means = {one["model"]: one["output_usd_per_mtok"] for one in offers if one["output_usd_per_mtok"] is not None}
    wish: Preference = from_data(json.loads(preference), Preference, where="preference")
    return Judged(
        models=models,
        best=_best(offers, wish, kind, difficulty, stated) if whole and kind is not None else None,
        strongest=_highest(means) if len(means) > 1 and min(means.values()) < max(means.values()) else frozenset(),
    )


def _best(
    offers: Sequence[Mapping[str, Any]],
    wish: Preference,
    kind: str | None,
    difficulty: str | None,
    profiles: Mapping[str, Profile],
) -> Mapping[str, float]:
    experts = {
        one["model"]: Known(
            name=one["tool"],
            chance=profile.chance(kind, difficulty) or 0.0,
            cost_usd=profile.typical_usd(_price(one)),
            latency_s=profile.latency.median,
        )
        for one in offers
        for profile in (profiles[one["model"]],)
    }
    able = [one for one in experts.values() if one.chance >= ABLE]
    scores = {model: merit(one, able, wish).score or 0.0 for model, one in experts.items()}
    first = _highest(scores)
    return {model: 1 / len(first) for model in first}


def _price(offer: Mapping[str, Any]) -> Price | None:
    parts = {name: offer[name] for name in ("input_usd_per_mtok", "output_usd_per_mtok", "call_usd", "second_usd")}
    return None if all(part is None for part in parts.values()) else Price(source="the run", **parts)


def _highest(scores: Mapping[str, float]) -> frozenset[str]:
    return frozenset(name for name, score in scores.items() if score >= max(scores.values()) - _ALIKE)
