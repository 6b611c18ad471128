"""The money of a whole evaluation: what its runs have spent, and what those that go on may still spend."""

import asyncio

from orchestra_lib.errors import BadInput


class Purse:
    """Lets a run begin only while its worst case fits into what is left, so that the budget holds whatever happens.

    `most_usd` is the worst case of one run: its own limit, and its judge's. A run whose cost is unknown when it has
    ended counts with it. Without a budget everything fits.
    """

    def __init__(self, budget_usd: float | None, most_usd: float | None, spent_usd: float = 0.0) -> None:
        if budget_usd is not None and (most_usd is None or most_usd > budget_usd):
            raise BadInput(
                f"one run may cost up to ${most_usd or float('inf'):g}, above the whole budget of ${budget_usd:g}, so "
                "that none could begin; lower --cost-limit or raise --budget-usd"
            )
        self._budget, self._most = budget_usd, most_usd or 0.0
        self.spent_usd, self._held = spent_usd, 0.0
        self._changed = asyncio.Condition()

    async def admit(self) -> bool:
        """Wait until one more run fits, and hold what it may cost; False when nothing that goes on could make room."""
        if self._budget is None:
            return True
        async with self._changed:
            while self.spent_usd + self._held + self._most > self._budget * (1 + 1e-9):
                if self._held <= 0.0:
                    return False
                await self._changed.wait()
            self._held += self._most
            return True

    async def settle(self, cost_usd: float | None) -> None:
        """Count what a run that was admitted has cost; None is unknown."""
        self.spent_usd += counted(cost_usd, 0.0, self._most)
        if self._budget is None:
            return
        async with self._changed:
            self._held = max(0.0, self._held - self._most)
            if self._held < self._most / 2:  # nothing is held but what adding and taking away has left
                self._held = 0.0
            self._changed.notify_all()


def counted(cost_usd: float | None, known_usd: float, most_usd: float) -> float:
    """What a run counts with: its cost, or where that is unknown the most that it may have been."""
    return max(known_usd, most_usd) if cost_usd is None else cost_usd
