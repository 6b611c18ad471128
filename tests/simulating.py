"""What tests of simulated experts need: profiles of stated skills, and episodes played with them."""

import asyncio
from dataclasses import replace
from datetime import date

from playing import MemoryArtefacts, setting

from orchestra_lib.event import fold
from orchestra_lib.play import play
from orchestra_lib.pricing import Price
from orchestra_lib.profile import Profile, Spread, price_table
from orchestra_lib.simulated_tasks import DIFFICULTIES, KINDS
from orchestra_lib.tool import ToolKind
from orchestra_lib.toolkit.simulated import SimulatedExpert


def profile(name="one", chance=0.7, *, usd=2.0, latency_s=5.0, **fields):
    """A profile that is right with one chance on everything, unless told otherwise."""
    given = {
        "title": name.title(),
        "kind": ToolKind.GENERALIST,
        "skills": {kind: dict.fromkeys(DIFFICULTIES, chance) for kind in KINDS},
        "price": Price(input_usd_per_mtok=usd, output_usd_per_mtok=usd, source="tests"),
        "latency": Spread(median=latency_s, sigma=0.5),
        "answer_tokens": Spread(median=300, sigma=0.5),
        **fields,
    }
    return Profile(name=name, **given)


def expert(*args, **fields):
    return SimulatedExpert(profile(*args, **fields))


def played(policy, experts, task, *, prices=None, **fields):
    """The trajectory of one episode, priced by the profiles unless told otherwise."""
    table = prices or price_table([one.profile for one in experts], name="simulated", dated=date(2026, 1, 1))
    started = replace(setting(experts, prices=table), task=task, **fields)

    async def events():
        return [event async for event in play(started, policy, experts, artefacts=MemoryArtefacts())]

    return fold(asyncio.run(events()))
