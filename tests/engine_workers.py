"""What workers of the engine's tests have: orchestrators that play scripts, and an actor that can be made to die.

Imported by the workers themselves, so it stands in a module of its own.
"""

import asyncio
import hashlib
import os
import signal
from pathlib import Path

from orchestra_lib.engine.crew import Place
from orchestra_lib.orchestrators import Offer
from orchestra_lib.policy.scripted import Scripted

DOOM = "ENGINE_TESTS_DOOM"
"""The variable with the folder where it is written down who has died."""


class Slow(Scripted):
    """Takes its time, so that a worker dies in the middle of it."""

    async def act(self, situation):
        await asyncio.sleep(0.05)
        async for part in super().act(situation):
            yield part


class Doomed(Slow):
    """Has its worker killed in the middle of one task, the first time that it comes to it."""

    async def act(self, situation):
        async for part in super().act(situation):
            died = Path(os.environ[DOOM], "died")
            if situation.setting.task.text == "Say 7 once." and not died.exists():
                died.touch()
                os.kill(os.getpid(), signal.SIGKILL)
            yield part


class Scripts:
    """Orchestrators by name."""

    def __init__(self):
        self.policies = {
            "right": Scripted([[("code_interpreter", {"code": "print(6 * 7)"})], "42"], name="right"),
            "wrong": Scripted(["41"], name="wrong"),
            "slow": Slow(["42"], name="slow"),
            "doomed": Doomed(["42"], name="doomed"),
        }

    def offers(self):
        return tuple(Offer(name=name, title=name, note="a test's") for name in self.policies)

    def policy(self, name):
        return self.policies[name]


def scripted(workbench):
    """Adds them to a workbench, here or on a worker."""
    workbench.roster.others.append(Scripts())


class Fragile:
    """A worker that counts what it does at once, sees its environment, and dies when it is told to."""

    def __init__(self, post):
        self.now = self.most = 0

    async def place(self):
        return Place(node="here", pid=os.getpid(), code="", settings=None, shared=True)

    async def at_once(self, number):
        self.now += 1
        self.most = max(self.most, self.now)
        await asyncio.sleep(0.02)
        self.now -= 1
        return number, self.most

    async def digest(self, name):
        return hashlib.sha256(os.environ[name].encode()).hexdigest()

    async def refuse(self, why):
        raise why

    async def die(self, folder, times):
        """Dies so often, whichever worker it is asked of, and then says how often it was begun."""
        begun = len([*Path(folder).glob("begun-*")]) + 1
        (Path(folder) / f"begun-{begun}").touch()
        if begun <= times:
            os.kill(os.getpid(), signal.SIGKILL)
        return begun

    async def close(self, remove):
        """Nothing is kept."""
