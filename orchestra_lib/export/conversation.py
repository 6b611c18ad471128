"""A trajectory as a conversation: OpenAI's messages, and ShareGPT's turns.

An imported conversation is given back as its file has it; of any other run the conversation of protocol `chat` is
made, whatever protocol it was played under.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from orchestra_lib import chat
from orchestra_lib.codec import dumps
from orchestra_lib.json_writing import spoken
from orchestra_lib.protocols import Situation
from orchestra_lib.trajectory import Setting, Trajectory


def messages(trajectory: Trajectory) -> dict[str, Any]:
    """One conversation of protocol `chat` with its tools, ending with the answer when there is one."""
    setting = trajectory.setting
    if setting.conversation is not None:
        return {"messages": list(setting.conversation), "tools": _tools_as_imported(setting), "id": trajectory.id}
    last = trajectory.turns[-1].generation if trajectory.turns else None
    answered = last is not None and last.answer is not None
    turns = trajectory.turns[:-1] if answered else trajectory.turns
    situation = Situation(setting=setting, turns=turns, spent_usd=None, elapsed_s=0.0)
    said = list(chat.messages(situation, chat.CallStyle.NATIVE))
    if trajectory.answer is not None:
        said.append({"role": "assistant", "content": trajectory.answer})
    return {"messages": said, "tools": list(chat.openai_tools(setting)), "id": trajectory.id}


def _tools_as_imported(setting: Setting) -> list[dict[str, Any]]:
    """Without a price in the description: the source had none."""
    return [
        {
            "type": "function",
            "function": {"name": spec.name, "description": spec.description, "parameters": spec.parameters},
        }
        for spec in setting.tools
    ]


_FROM = {"user": "human", "assistant": "gpt"}


def sharegpt(trajectory: Trajectory) -> dict[str, Any]:
    """The conversation in ShareGPT's form, as LLaMA-Factory reads it with tools.

    The calls of a turn are one `function_call`, what came back is one `observation`: a JSON list of both where a turn
    made several. Text beside a call stands under `content`. `tools` is JSON text, so that no two rows' schemas mix.
    """
    whole = messages(trajectory)
    said: Sequence[Mapping[str, Any]] = whole["messages"]
    system = [_text(message) for message in said if message["role"] in ("system", "developer")]
    rest = (message for message in said if message["role"] not in ("system", "developer"))
    return {
        "conversations": list(_sharegpt_turns(rest)),
        "system": "\n\n".join(system),
        "tools": spoken([tool["function"] for tool in whole["tools"]]),
        "id": trajectory.id,
    }


def _sharegpt_turns(said: Iterator[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    for is_result, group in groupby(said, lambda message: message["role"] in ("tool", "function")):
        if is_result:
            results = [_text(message) for message in group]
            yield {"from": "observation", "value": results[0] if len(results) == 1 else spoken(results)}
            continue
        for message in group:
            calls = message.get("tool_calls") or ()
            text = _text(message)
            if not calls:
                yield {"from": _FROM.get(message["role"], message["role"]), "value": text}
                continue
            value = ", ".join(_called(call["function"]) for call in calls)
            made = {"from": "function_call", "value": value if len(calls) == 1 else f"[{value}]"}
            yield {**made, "content": text} if text else made


def _called(function: Mapping[str, Any]) -> str:
    """A call as JSON text, its arguments as an object wherever they are one."""
    arguments = function["arguments"]
    readable = isinstance(arguments, str) and arguments.lstrip().startswith("{")
    return f'{{"name": {spoken(function["name"])}, "arguments": {arguments if readable else spoken(arguments)}}}'


def typed_message(message: Mapping[str, Any]) -> dict[str, Any]:
    """A message with the same keys whatever it says, for columns: arguments and lists of parts are JSON text."""
    calls = message.get("tool_calls")
    return {
        "role": message["role"],
        "content": _text(message),
        "tool_calls": None if not calls else [_typed_call(call) for call in calls],
        "tool_call_id": message.get("tool_call_id"),
    }


def _typed_call(call: Mapping[str, Any]) -> dict[str, Any]:
    arguments = call["function"]["arguments"]
    text = arguments if isinstance(arguments, str) else dumps(arguments)
    return {"id": call.get("id"), "type": "function", "function": {"name": call["function"]["name"], "arguments": text}}


def _text(message: Mapping[str, Any]) -> str:
    content = message.get("content")
    return content if isinstance(content, str) else "" if content is None else spoken(content)
