"""A chat model that gives prepared verdicts, or what a function makes of the request."""

from orchestra_lib.errors import ProviderFault
from orchestra_lib.generation import Completion
from orchestra_lib.json_writing import dumps
from orchestra_lib.pricing import Attempt, Usage

JUDGE = "Qwen2.5-Coder-1.5B-Instruct"
"""Priced by the nominal table."""


def verdict(word, reason="because"):
    return dumps({"reason": reason, "verdict": word})


class Judge:
    """Says the replies one after another, the last one for ever; keeps what it was asked. A fault is raised."""

    def __init__(self, *replies, name=JUDGE):
        self.name, self.replies, self.asked = name, list(replies) or [verdict("correct")], []

    async def stream(self, request):
        self.asked.append(request)
        reply = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        said = reply(request) if callable(reply) else reply
        attempt = Attempt(priced_as=self.name, usage=Usage(input_tokens=100, output_tokens=10), wall_s=0.5)
        if isinstance(said, Exception):
            raise ProviderFault(str(said), (attempt,))
        yield Completion(content=said, attempts=(attempt,))
