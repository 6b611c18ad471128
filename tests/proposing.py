"""A chat model that proposes tasks for the mock domain: good ones by the wish in its brief, or what it is given."""

import json
import re

from orchestra_lib.environment.domain import DOMAINS, load_world
from orchestra_lib.errors import ProviderFault
from orchestra_lib.generation import Completion
from orchestra_lib.pricing import Attempt, Price, PriceTable, Usage
from orchestra_lib.synthesis.lexicon import Intents, Lexicon

MODEL = "scripted"
LIKE = "weather"
"""The shipped domain that a model proposes anew, in stages."""
WORLD = load_world("mock")
LEXICON = Lexicon(WORLD.domain, Intents(), where="mock")
PRICES = PriceTable(
    name="test",
    dated="2026-01-01",
    source="a test",
    prices={MODEL: Price(input_usd_per_mtok=10.0, output_usd_per_mtok=10.0, source="a test")},
)
_CALL = re.compile(r": (\w+)\((\{.*\})\)\.$")


def good(request):
    """A task that passes: identify, read what the call needs, call. No harder one comes to mind."""
    text = request.messages[1]["content"]
    if "Make a harder one of it" in text:
        return "I cannot."
    found = _CALL.search(text.splitlines()[-1])
    operation, arguments = found[1], json.loads(found[2])
    owner = json.loads(re.search(r"^members: (\{.*\})$", text, re.MULTILINE)[1])
    parameters = {one.name: one for one in WORLD.domain.operation(operation).parameters}
    said = [
        f"{parameters[name].words} {LEXICON.say(value, parameters[name])[0]}"
        for name, value in arguments.items()
        if name != "member_id"
    ]
    call = {"operation": operation, "arguments": arguments}
    refused = "forbidden by the policy" in text
    look = [{"operation": "get_member", "arguments": {"member_id": owner["member_id"]}}]
    look += [
        {"operation": f"get_{name}", "arguments": {f"{name}_id": arguments[f"{name}_id"]}}
        for name in ("hire", "bike")
        if refused and f"{name}_id" in arguments
    ]
    task = {
        "instruction": f"Hello, I need {operation.replace('_', ' ')} with {', '.join(said)}.",
        "facts": [
            {"name": "email", "says": f"My address is {owner['email']}.", "asked_by": ["email", "address"]}
        ],
        "followups": [],
        "golden": [
            {"operation": "find_member_by_email", "arguments": {"email": owner["email"]}},
            *look,
            *([] if refused else [call]),
        ],
        "required": [{"value": owner["tier"], "unit": "", "what": "tier"}] if refused else [],
    }  # fmt: skip
    return task | ({"refused": [call]} if refused else {})


def stages():
    """The stages of a shipped domain under another name, as a good model would propose them."""
    whole, plan, words = (
        json.loads((DOMAINS / LIKE / f"{name}.json").read_text("utf-8")) for name in ("domain", "generate", "intents")
    )
    keys = ("title", "description", "agent", "archetype", "roles")
    idea = {"name": "proposed_one", **{key: whole.pop(key) for key in keys}}
    schema = {key: whole.pop(key) for key in ("tables", "parameters")}
    rules = {key: value for key, value in whole.items() if key not in ("name", "now", "split")}
    return [idea, schema, plan, rules, words]


class Proposer:
    """Says what the replies make of each request, one after another, the last one for ever; keeps what it was asked."""

    name = MODEL

    def __init__(self, *replies):
        self.replies, self.asked = list(replies) or [good], []

    async def stream(self, request):
        self.asked.append(request)
        reply = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        said = reply(request) if callable(reply) else reply
        attempt = Attempt(priced_as=MODEL, usage=Usage(input_tokens=1000, output_tokens=100), wall_s=0.5)
        if isinstance(said, Exception):
            raise ProviderFault(str(said), (attempt,))
        yield Completion(content=said if isinstance(said, str) else json.dumps(said), attempts=(attempt,))
