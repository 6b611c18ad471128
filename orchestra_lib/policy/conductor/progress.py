"""The episode so far, as the conductor reads it: everything follows from the turns, nothing is remembered."""

from orchestra_lib.policy.conductor import documents
from orchestra_lib.policy.conductor.findings import Search
from orchestra_lib.policy.conductor.verifier import TEST_MARK
from orchestra_lib.protocols import Situation
from orchestra_lib.record import record
from orchestra_lib.tool import CallStatus, ToolSpec
from orchestra_lib.trajectory import Call


@record
class Progress:
    """What was asked, what may be used, and what came back, oldest first; turns without calls are left out."""

    task: str
    tools: tuple[ToolSpec, ...]
    rounds: tuple[tuple[Call, ...], ...]

    @classmethod
    def of(cls, situation: Situation) -> "Progress":
        return cls(
            task=situation.setting.task.text,
            tools=situation.setting.tools,
            rounds=tuple(turn.calls for turn in situation.turns if turn.calls),
        )

    @property
    def last(self) -> tuple[Call, ...]:
        """The calls of the latest round; empty at the start."""
        return self.rounds[-1] if self.rounds else ()

    @property
    def calls(self) -> tuple[Call, ...]:
        return tuple(call for calls in self.rounds for call in calls)

    def spec(self, name: str) -> ToolSpec | None:
        return next((spec for spec in self.tools if spec.name == name), None)

    def used(self) -> frozenset[str]:
        """Tools that had their chance: every one that was called, tests of found code aside."""
        return frozenset(call.call.tool for call in self.calls if not is_test(call))

    def searches(self) -> tuple[Search, ...]:
        """What was searched for so far, and what it brought; a failed search brought nothing."""
        asked = [call for call in self.calls if "query" in (call.call.arguments or {})]
        return tuple(
            Search(
                query=str((call.call.arguments or {})["query"]),
                documents=documents.parse(text_of(call)) if succeeded(call) else (),
            )
            for call in asked
        )

    def programs(self) -> tuple[Call, ...]:
        """Calls that ran code, tests aside."""
        return tuple(call for call in self.calls if "code" in (call.call.arguments or {}) and not is_test(call))


def succeeded(call: Call) -> bool:
    """True when the call ran and did not fail."""
    return call.observation is not None and call.observation.status is CallStatus.OK


def text_of(call: Call) -> str:
    """What came back, empty while it runs."""
    return call.observation.text if call.observation else ""


def code_of(call: Call) -> str:
    """The program of a call that runs code."""
    return str((call.call.arguments or {}).get("code", ""))


def is_test(call: Call) -> bool:
    """True for a program that tests code which a model wrote."""
    return code_of(call).startswith(TEST_MARK)


def argument_of(spec: ToolSpec) -> str | None:
    """The single text argument by which a tool is driven: `code`, `query` or `question`; None for any other shape."""
    properties = spec.parameters.get("properties", {})
    return next((name for name in ("code", "query", "question") if name in properties), None)
