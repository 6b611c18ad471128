"""The orchestrator of a replay: it says what was said, when it was said, and breaks off where it broke off."""

from collections.abc import AsyncGenerator

from orchestra_lib.errors import Fault, ProviderFault, WorldFault
from orchestra_lib.generation import Channel, Delta, Generation
from orchestra_lib.pricing import Attempt
from orchestra_lib.protocols import PolicySpec, Situation
from orchestra_lib.replay.script import Astray, Script
from orchestra_lib.trajectory import ORCHESTRATOR


class RecordedBug(Exception):  # stands for whatever was raised
    """A bug that the record tells of."""


class RecordedPolicy:
    """Says what was said, when it was said."""

    def __init__(self, script: Script, spec: PolicySpec | None) -> None:
        setting = script.recorded.setting
        attempts = [one for turn in script.turns if turn.generation for one in turn.generation.attempts]
        plain = PolicySpec(
            name=setting.orchestrator,
            protocol=setting.protocol,
            priced_as=attempts[-1].priced_as if attempts and setting.limits.cost_usd is None else None,
        )
        self.spec, self._script = spec or plain, script

    async def act(self, situation: Situation) -> AsyncGenerator[Delta | Generation, None]:
        script, place = self._script, len(situation.turns)
        if place >= len(script.turns):
            raise Astray(f"the record has {len(script.turns)} turns and the loop asks for another")
        turn = script.turns[place]
        generation, fault = turn.generation, script.fault_of_turn(place)
        end_s = turn.started_s if turn.generated_s is None else turn.generated_s
        if fault is None and not script.is_broken_off(place) and generation is not None:
            await script.until(end_s)
            yield generation
            return
        if generation is not None:
            for channel, text in ((Channel.REASONING, generation.reasoning), (Channel.CONTENT, generation.content)):
                if text:
                    yield Delta(channel=channel, text=text)
        if fault is None:
            await script.never(end_s)
            return
        await script.until(end_s)
        raise _raised(fault, generation.attempts if generation else ())


def _raised(fault: Fault, attempts: tuple[Attempt, ...]) -> Exception:
    """The exception that a fault came from."""
    if fault.where != ORCHESTRATOR:
        name, _, message = fault.message.partition(": ")
        named: type[RecordedBug] = type(name, (RecordedBug,), {})
        return named(message)
    kind = next((one for one in _below(WorldFault) if one.kind == fault.kind), WorldFault)
    return kind(fault.message, attempts) if issubclass(kind, ProviderFault) else kind(fault.message)


def _below(kind: type[WorldFault]) -> list[type[WorldFault]]:
    return [kind, *(below for direct in kind.__subclasses__() for below in _below(direct))]
