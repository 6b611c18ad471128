"""One tiny request to a model, and what came back: how soon, with usage or not, calling natively or not."""

import time
from contextlib import aclosing

from orchestra_lib.chat import CallStyle
from orchestra_lib.errors import ProviderFault
from orchestra_lib.generation import ChatRequest, Completion
from orchestra_lib.protocols import ChatModel
from orchestra_lib.record import record

_MAX_TOKENS = 512
"""Models that think need some before they call."""
_TOOL = {
    "type": "function",
    "function": {
        "name": "say",
        "description": "Says a word aloud.",
        "parameters": {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]},
    },
}


@record
class Trial:
    """What one request showed. `error` is None when it worked; times are seconds, None when nothing came.

    `native_call`: True when the server handed over a tool call, None when its style is another one and none was
    asked for. `usage` says whether tokens were reported.
    """

    name: str
    error: str | None = None
    first_s: float | None = None
    total_s: float | None = None
    tries: int = 1
    usage: bool | None = None
    native_call: bool | None = None
    text: str = ""


async def try_out(name: str, model: ChatModel, style: CallStyle, *, must_call: bool = True) -> Trial:
    """Ask the model to call a tool, or to say a word where it calls in text.

    Without `must_call` it is free not to: only so is it seen whether a server reads the calls that its model writes.
    """
    native = style is CallStyle.NATIVE
    words = "Call the tool `say` with the word `ready`." if native else "Say the word: ready"
    request = ChatRequest(
        messages=({"role": "user", "content": words},),
        tools=(_TOOL,) if native else (),
        max_tokens=_MAX_TOKENS,
        must_call=native and must_call,
    )
    asked, first_s = time.monotonic(), None
    try:
        async with aclosing(model.stream(request)) as parts:
            async for part in parts:
                first_s = first_s or time.monotonic() - asked
                if isinstance(part, Completion):
                    return _trial(name, part, native, first_s, time.monotonic() - asked)
    except ProviderFault as fault:
        return Trial(name=name, error=str(fault), tries=len(fault.attempts), total_s=time.monotonic() - asked)
    raise RuntimeError(f"model {model.name} ended its stream without a Completion; yield exactly one")


def _trial(name: str, completion: Completion, native: bool, first_s: float, total_s: float) -> Trial:
    usage = completion.attempts[-1].usage if completion.attempts else None
    return Trial(
        name=name,
        first_s=first_s,
        total_s=total_s,
        tries=len(completion.attempts),
        usage=usage is not None and not usage.estimated,
        native_call=bool(completion.calls) if native else None,
        text=" ".join([*(f"{call.name}({call.arguments_text})" for call in completion.calls), completion.content])[
            :200
        ],
    )
