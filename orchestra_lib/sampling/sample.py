"""Draws instances by a plan and a seed. What is drawn for instance k follows from the seed and k, not from others."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from random import Random

from orchestra_lib import chat, toolorchestra
from orchestra_lib.errors import BadInput
from orchestra_lib.pricing import PriceTable
from orchestra_lib.record import record
from orchestra_lib.sampling.cases import Case, Category
from orchestra_lib.sampling.instance import PROTOCOLS, Instance
from orchestra_lib.sampling.mixing import largest_remainder, taken
from orchestra_lib.sampling.offering import Offer, offer_aliases, offer_tools
from orchestra_lib.sampling.prices import Regime, by_strength, draw_prices
from orchestra_lib.sampling.wishes import DrawnWish, Wish, words_of
from orchestra_lib.tool import ToolSpec
from orchestra_lib.toolorchestra.aliases import ANSWER, EXPERT, Kit
from orchestra_lib.toolorchestra.domain import DomainWords

_SEEDS = 2**31


@record
class Plan:
    """How many instances of what. `qa_share` is exact; the price regimes are drawn with equal chances."""

    n: int
    seed: int
    qa_share: Fraction = Fraction(1, 5)
    protocol: str = toolorchestra.PROTOCOL
    regimes: tuple[Regime, ...] = tuple(Regime)

    def __post_init__(self) -> None:
        if self.n < 1:
            raise BadInput(f"n = {self.n}; draw at least one instance")
        if self.protocol not in PROTOCOLS:
            raise BadInput(f"there is no protocol {self.protocol!r}; use {' or '.join(PROTOCOLS)}")
        if not self.regimes:
            raise BadInput(f"name at least one price regime of {', '.join(Regime)}")

    @property
    def counts(self) -> Mapping[str, int]:
        """How many instances of each category there are."""
        return largest_remainder(self.n, {Category.QA: self.qa_share, Category.FUNCTION_CALL: 1 - self.qa_share})


@record
class Materials:
    """What instances are drawn from: the kit of questions, the words of domains, price tables, and basic tools.

    `published` prices every model of the kits; `basics` are tools without a model, for protocol `chat`.
    """

    kit: Kit
    words: DomainWords
    published: PriceTable
    providers: tuple[PriceTable, ...] = ()
    basics: tuple[ToolSpec, ...] = ()


def sample(plan: Plan, cases: Sequence[Case], materials: Materials, wish: Wish | None = None) -> Iterator[Instance]:
    """The instances of a plan. Raises `BadInput` when a category is wanted and there is no case of it."""
    draw = _draw(plan, "order")
    order: list[Case] = []
    for category, count in plan.counts.items():
        there = [case for case in cases if case.category == category]
        if count and not there:
            remedy = "give a file of questions" if category == Category.QA else "give tasks of domains"
            raise BadInput(f"{count:,} instances of {category} are wanted and there is no case of it; {remedy}")
        order += taken(draw, there, count)
    draw.shuffle(order)
    width = len(str(plan.n))
    for at, case in enumerate(order, 1):
        yield _instance(f"s{plan.seed}-{at:0{width}}", _draw(plan, at), case, plan, materials, wish)


def _draw(plan: Plan, what: object) -> Random:
    return Random(f"{plan.seed}/{what}")  # noqa: S311  # nothing here is secret


def _instance(name: str, draw: Random, case: Case, plan: Plan, materials: Materials, wish: Wish | None) -> Instance:
    offer = _offer(draw, case, plan.protocol, materials)
    regime = draw.choice(plan.regimes)
    used = set(offer.models.values())
    ranked = by_strength((*materials.kit.tools, *materials.words.kit.tools))
    prices = draw_prices(
        draw,
        regime,
        [model for model in ranked if model in used],
        offer.services,
        published=materials.published,
        providers=materials.providers,
        free=[spec.name for spec in case.offered(plan.protocol)],
    )
    preference = (wish or DrawnWish())(draw, offer.weighable)
    return Instance(
        id=name,
        case=case,
        protocol=plan.protocol,
        offer=offer,
        prices=prices,
        regime=regime,
        preference=preference,
        sentence=words_of(preference, offer.weighable),
        seed=draw.randrange(_SEEDS),
    )


def _offer(draw: Random, case: Case, protocol: str, materials: Materials) -> Offer:
    """A domain's own functions all stay, whatever is drawn: its policy speaks of them."""
    in_domain = case.category is Category.FUNCTION_CALL
    if protocol == chat.PROTOCOL:
        experts = materials.words.kit.tool(EXPERT) if in_domain else materials.kit.tool(ANSWER)
        return offer_tools(draw, experts, () if in_domain else materials.basics)
    if in_domain:
        return offer_aliases(draw, materials.words.kit, must=(EXPERT,))
    return offer_aliases(draw, materials.kit)


def repeats(plan: Plan, cases: Sequence[Case]) -> Mapping[str, int]:
    """The most often that a case of each category is drawn; above 1 there are fewer cases than instances."""
    there = Counter(str(case.category) for case in cases)
    return {name: -(-count // there[name]) if there[name] else 0 for name, count in plan.counts.items()}
