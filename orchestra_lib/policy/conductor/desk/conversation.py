"""What a run at a service desk has brought so far: the policy, what was said, what was done and what came back."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from orchestra_lib.policy.conductor.progress import succeeded, text_of
from orchestra_lib.protocols import Situation
from orchestra_lib.record import record
from orchestra_lib.tool import ASK_USER, ToolKind, ToolSpec
from orchestra_lib.trajectory import Call

ANYTHING_ELSE = "Is there anything else I can do for you?"
CONFIRM = "Shall I go ahead?"

_POLICY = re.compile(r"<policy>\s*(.*?)\s*</policy>", re.DOTALL)
_OPENING = re.compile(r"The user says: (.*)", re.DOTALL)
_NOW = re.compile(r"\bThe time is (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)")
_IDENTIFY = re.compile(r"\bidentify the (\w+) with ((?:`\w+`(?:,? or )?)+)")
_YES = re.compile(r"\s*(?:yes\b|please do\b|sure\b|go ahead\b|that is (?:right|correct)\b)", re.IGNORECASE)
_LOOKS = ("find_", "get_", "list_", "search_", "check_", "count_")
"""How operations that only look are named."""
_OTHER = frozenset({"calculate", "transfer_to_human_agents", ASK_USER})


@record
class Exchange:
    """What the agent said, and the user's reply."""

    agent: str
    user: str


@record
class Done:
    """A call of an operation that went well, with its result as data."""

    tool: str
    arguments: Mapping[str, Any]
    result: Any


@record
class Desk:
    """The run so far. `done` and `failed` are in order; `failed` has the reason for each.

    `recent` was done since the open request was made, `last` are the calls of the latest turn.
    """

    policy: str
    opening: str
    tools: tuple[ToolSpec, ...]
    exchanges: tuple[Exchange, ...]
    done: tuple[Done, ...]
    failed: tuple[tuple[Call, str], ...]
    recent: tuple[Done, ...]
    last: tuple[Call, ...]

    @classmethod
    def of(cls, situation: Situation) -> "Desk | None":
        """None for a run that is no assignment under protocol `chat`."""
        task = situation.setting.task.text
        policy, opening = _POLICY.search(task), _OPENING.search(task)
        tools = situation.setting.tools
        if policy is None or opening is None or all(spec.name != ASK_USER for spec in tools):
            return None
        calls = [call for turn in situation.turns for call in turn.calls]
        return cls(
            policy=policy[1],
            opening=opening[1].strip(),
            tools=tuple(spec for spec in tools if spec.kind is ToolKind.DOMAIN),
            exchanges=tuple(_exchanges(calls)),
            done=_done(calls),
            failed=tuple((call, text_of(call).strip()) for call in calls if _operates(call) and not succeeded(call)),
            recent=_done(calls[1 + max((place for place, call in enumerate(calls) if _closes(call)), default=-1) :]),
            last=situation.turns[-1].calls if situation.turns else (),
        )

    @property
    def now(self) -> datetime | None:
        """The domain's time, as its policy gives it."""
        found = _NOW.search(self.policy)
        return datetime.fromisoformat(found[1]) if found else None

    @property
    def said(self) -> tuple[str, ...]:
        """All that the user said."""
        return (self.opening, *(one.user for one in self.exchanges))

    @property
    def request(self) -> tuple[str, tuple[Exchange, ...]]:
        """The request that is open, and what was said about it since."""
        begins = [place for place, one in enumerate(self.exchanges) if ANYTHING_ELSE in one.agent]
        if not begins:
            return self.opening, self.exchanges
        return self.exchanges[begins[-1]].user, self.exchanges[begins[-1] + 1 :]

    @property
    def finders(self) -> tuple[ToolSpec, ...]:
        """The operations by which the policy wants the user identified."""
        named = _IDENTIFY.search(self.policy)
        names = re.findall(r"`(\w+)`", named[2]) if named else []
        return tuple(spec for spec in self.tools if spec.name in names)

    @property
    def owner(self) -> str | None:
        """The identifier of the user, once found."""
        names = {spec.name for spec in self.finders}
        found = next((one.result for one in reversed(self.done) if one.tool in names), None)
        if isinstance(found, Mapping):
            found = next(iter(found.values()), None)
        return None if found is None else str(found)

    @property
    def actions(self) -> tuple[ToolSpec, ...]:
        """The operations that change something."""
        return tuple(spec for spec in self.tools if not looks(spec) and spec.name not in _OTHER)

    def rules(self, name: str) -> tuple[str, ...]:
        """The rules of an operation in the policy's own words."""
        section = next((part for part in re.split(r"\n#{2,3} ", self.policy) if f"With `{name}`" in part), "")
        return tuple(line[2:].strip() for line in section.splitlines() if line.startswith("- "))

    def confirmed(self) -> bool:
        """Whether the user has just said yes to what was listed."""
        if not self.exchanges or not self._just_spoke():
            return False
        latest = self.exchanges[-1]
        return CONFIRM in latest.agent and _YES.match(latest.user) is not None

    def _just_spoke(self) -> bool:
        return len(self.last) == 1 and self.last[0].call.tool == ASK_USER


def looks(spec: ToolSpec) -> bool:
    """Whether an operation only looks something up, by the verb of its name."""
    return spec.name.startswith(_LOOKS)


def _exchanges(calls: Sequence[Call]) -> Iterator[Exchange]:
    for call in calls:
        if call.call.tool == ASK_USER and succeeded(call):
            yield Exchange(agent=str((call.call.arguments or {}).get("message", "")), user=text_of(call))


def _done(calls: Sequence[Call]) -> tuple[Done, ...]:
    return tuple(
        Done(tool=call.call.tool, arguments=call.call.arguments or {}, result=_data(text_of(call)))
        for call in calls
        if _operates(call) and succeeded(call)
    )


def _operates(call: Call) -> bool:
    return call.call.tool != ASK_USER


def _closes(call: Call) -> bool:
    """Whether it ends one request and asks for the next."""
    return not _operates(call) and ANYTHING_ELSE in str((call.call.arguments or {}).get("message", ""))


def _data(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text.strip()
