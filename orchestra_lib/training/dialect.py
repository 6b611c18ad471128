"""The seam between a policy's tokens and the loop: what a situation looks like in ids, and what ids mean.

A conversation is built of ids alone. What the policy sampled is kept as it was and never written out and read again,
which would give other ids for the same text.
"""

from collections.abc import Sequence
from typing import Protocol

from orchestra_lib.generation import Generation
from orchestra_lib.protocols import Situation


class Dialect(Protocol):
    """How one kind of policy is spoken to.

    `prompt` is the whole prompt of the first turn; `continuation` is what stands between the last generation (its
    `eos` included, where it wrote one) and the next: the end of its turn, results of its calls, the beginning of a
    new turn. `read` makes a move of what was sampled: calls, an answer, or neither when it is malformed, as it also
    is when `ids` end without `eos`. Call ids are unique within the run. `pad` is a token that means nothing.
    """

    @property
    def eos(self) -> int: ...
    @property
    def pad(self) -> int: ...
    def prompt(self, situation: Situation) -> list[int]: ...
    def continuation(self, situation: Situation) -> list[int]: ...
    def read(self, ids: Sequence[int], situation: Situation) -> Generation: ...
