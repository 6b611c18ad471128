"""The money and tokens of one run: what is spent, what running calls hold, what is left.

The worst case of a call is reserved before it is made, so that calls that run at once cannot
overspend together. A USD limit with an unknown price cannot be kept and refuses to start.
"""

from collections.abc import Sequence

from orchestra_lib.billing import Spent, spent
from orchestra_lib.errors import BadInput, ModelMistake
from orchestra_lib.limits import Limits
from orchestra_lib.pricing import Attempt, PriceTable, cost_usd, total, worst_case_usd
from orchestra_lib.protocols import PolicySpec
from orchestra_lib.tool import ToolSpec
from orchestra_lib.trajectory import StopReason

STARVED_TURNS_LIMIT = 2
"""So many turns whose every call was refused for money end the run: no cheaper way is being found."""


class Budget:
    """Keeps the USD and token limits of one run."""

    def __init__(self, limits: Limits, prices: PriceTable, policy: PolicySpec, tools: Sequence[ToolSpec]) -> None:
        """Raise `BadInput` when a USD limit meets something whose worst case is unknown."""
        self._limits, self._prices = limits, prices
        self._turn_usd = self._worst_of_turn(policy)
        self._spent = spent(())
        self._held_usd = self._unbilled_usd = 0.0
        self._admitted = self._refused = self._starved_turns = 0
        unknown = [spec.name for spec in tools if self._worst_of_call(spec) is None]
        if self._turn_usd is None:
            unknown.insert(0, policy.name)
        if limits.cost_usd is not None and unknown:
            raise BadInput(
                f"a cost limit of ${limits.cost_usd:g} cannot be kept: table {prices.name!r} has no price or the tool "
                f"no token bound for {', '.join(unknown)}; drop them, add a price row, or run without a cost limit"
            )

    def settle(self, spent: Spent) -> None:
        """Take over what is spent when no call runs."""
        self._spent, self._unbilled_usd = spent, 0.0

    def exceeded(self) -> StopReason | None:
        """The limit that forbids another turn, if any; asked once before each turn."""
        if self._refused and not self._admitted:
            self._starved_turns += 1
        self._admitted = self._refused = 0
        limits, known_usd = self._limits, self._spent.known_usd
        if limits.cost_usd is not None and (
            known_usd + (self._turn_usd or 0.0) > limits.cost_usd or self._starved_turns >= STARVED_TURNS_LIMIT
        ):
            return StopReason.COST_LIMIT
        if (
            limits.tokens is not None
            and (self._spent.input_tokens or 0) + (self._spent.output_tokens or 0) >= limits.tokens
        ):
            return StopReason.TOKEN_LIMIT
        return None

    def hold(self, spec: ToolSpec) -> float | None:
        """Reserve and return the worst case of a call in USD, None when it is unknown.

        Raises `ModelMistake` when it does not fit into what is left.
        """
        worst, limit = self._worst_of_call(spec), self._limits.cost_usd
        if limit is not None and worst is not None:
            left = limit - self._spent.known_usd - self._unbilled_usd - self._held_usd
            if worst > left:
                self._refused += 1
                raise ModelMistake(
                    f"Not run: {spec.name} may cost up to ${worst:.4f} and ${max(left, 0.0):.4f} of the limit is left. "
                    "Use a cheaper tool or answer."
                )
        self._admitted += 1
        self._held_usd += worst or 0.0
        return worst

    def release(self, held_usd: float | None, attempts: Sequence[Attempt]) -> None:
        """Give back what a finished call held and count what it really cost."""
        self._held_usd -= held_usd or 0.0
        for attempt in attempts:
            self._unbilled_usd += cost_usd(attempt, self._prices.find(attempt.priced_as)) or 0.0

    def _worst_of_call(self, spec: ToolSpec) -> float | None:
        """The dearest of the models that the call may choose, and all that it pays besides."""
        choices = [self._worst_of(name, spec) for name in spec.choices]
        dearest = max((cost for cost in choices if cost is not None), default=0.0)
        unknown = None if None in choices else 0.0
        return total([dearest, unknown, *(self._worst_of(name, spec) for name in spec.parts)])

    def _worst_of(self, name: str, spec: ToolSpec) -> float | None:
        return worst_case_usd(
            self._prices.find(name),
            max_input_tokens=spec.max_input_tokens,
            max_output_tokens=spec.max_output_tokens,
            timeout_s=min(spec.timeout_s, self._limits.call_timeout_s),
        )

    def _worst_of_turn(self, policy: PolicySpec) -> float | None:
        if policy.priced_as is None:
            return 0.0
        return worst_case_usd(
            self._prices.find(policy.priced_as),
            max_input_tokens=policy.max_input_tokens,
            max_output_tokens=policy.max_output_tokens,
            timeout_s=policy.timeout_s,
        )
