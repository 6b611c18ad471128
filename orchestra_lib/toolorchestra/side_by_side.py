"""The prompts of both protocols for one task, in two columns: to see what the difference is."""

import textwrap
from collections.abc import Iterable, Mapping
from itertools import zip_longest
from typing import Any

from orchestra_lib import chat
from orchestra_lib.generation import ChatRequest
from orchestra_lib.json_writing import spoken
from orchestra_lib.protocols import Situation

COLUMN = 76


def side_by_side(situation: Situation, request: ChatRequest, *, width: int = COLUMN) -> str:
    """What a `chat` orchestrator reads in its situation, and a `toolorchestra` request beside it."""
    setting = situation.setting
    left = _lines(chat.messages(situation, chat.CallStyle.NATIVE), chat.openai_tools(setting), width)
    right = _lines(request.messages, request.tools, width)
    head = f"{chat.PROTOCOL:<{width}} │ toolorchestra\n{'─' * width}─┼─{'─' * width}"
    rows = (f"{one:<{width}} │ {other}".rstrip() for one, other in zip_longest(left, right, fillvalue=""))
    return "\n".join([head, *rows]) + "\n"


def _lines(messages: Iterable[Mapping[str, Any]], tools: Iterable[Mapping[str, Any]], width: int) -> list[str]:
    lines: list[str] = []
    for message in messages:
        calls = [spoken(call) for call in message.get("tool_calls", ())]
        lines += [f"[{message['role']}]", *_wrapped("\n".join([message["content"], *calls]), width), ""]
    for tool in tools:
        function = tool["function"]
        lines += [f"[tool] {function['name']}", *_wrapped(function["description"], width)]
        for name, schema in function["parameters"].get("properties", {}).items():
            lines += _wrapped(f"· {name}: {schema.get('description', schema.get('type', ''))}", width)
        lines.append("")
    return lines


def _wrapped(text: str, width: int) -> list[str]:
    return [line for part in text.split("\n") for line in textwrap.wrap(part, width) or [""]]
