"""Many groups in one array: what is smallest, largest and average in each.

Shapes stand in suffixes: N members, G groups. A sum takes its parts in order of size, so that the order of the
members changes no bit of it.
"""

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Marks = NDArray[np.bool_]
Kind = TypeVar("Kind", bound=np.generic)


class Segments:
    """Members numbered by group. The numbers are any integers, in any order.

    `label_G` are the numbers that occur, ascending; `of_N` is each member's place among them.
    """

    def __init__(self, group_N: NDArray[np.integer]) -> None:
        self.label_G, of_N, self.size_G = np.unique(group_N, return_inverse=True, return_counts=True)
        self.of_N = of_N.reshape(-1)
        self._start_G = np.cumsum(self.size_G) - self.size_G
        ascending = bool(np.all(self.of_N[1:] >= self.of_N[:-1]))
        self._order_N = None if ascending else np.argsort(self.of_N, kind="stable")

    def lowest(self, values: Floats) -> Floats:
        """The smallest of each group, along the last axis."""
        return np.minimum.reduceat(self._side_by_side(values), self._start_G, axis=-1)

    def highest(self, values: Floats) -> Floats:
        """The largest of each group, along the last axis."""
        return np.maximum.reduceat(self._side_by_side(values), self._start_G, axis=-1)

    def total(self, value_N: Floats) -> Floats:
        """The sum of each group."""
        order_N = np.lexsort((value_N, self.of_N))
        sum_G: Floats = np.bincount(self.of_N[order_N], value_N[order_N], len(self.label_G)).astype(float, copy=False)
        return sum_G

    def spread(self, value_of_each: NDArray[Kind]) -> NDArray[Kind]:
        """What belongs to a group, given to each of its members, along the last axis."""
        return value_of_each[..., self.of_N]

    def _side_by_side(self, values: Floats) -> Floats:
        return values if self._order_N is None else values[..., self._order_N]
