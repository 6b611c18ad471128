"""All targets by name."""

from collections.abc import Mapping

from fuzz import kept, said
from fuzz.target import Target

TARGETS: Mapping[str, Target] = {target.name: target for target in (*said.TARGETS, *kept.TARGETS)}
