"""The small model's part: writing a program, reading a passage, filling a schema, each a constrained second call; and
reckoning in words, which is free.

The model never chooses a tool and never hears of preferences. What stays the same comes first in every
prompt, so that the server keeps it in its cache.
"""

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any

from orchestra_lib.errors import ProviderFault, WorldFault
from orchestra_lib.generation import ChatRequest, Completion
from orchestra_lib.json_schema import closed
from orchestra_lib.json_writing import spoken
from orchestra_lib.policy.conductor import verifier
from orchestra_lib.pricing import Attempt
from orchestra_lib.protocols import ChatModel
from orchestra_lib.record import record
from orchestra_lib.tool import ToolSpec

PROGRAM_TOKENS = 320
READING_TOKENS = 160
RECKONING_TOKENS = 320
PASSAGE_CHARS = 2_400


@record
class Written:
    """What the model wrote: an object that fits the schema, or None with the reason; and what it cost."""

    value: Mapping[str, Any] | None
    raw_text: str = ""
    attempts: tuple[Attempt, ...] = ()
    why_not: str = ""


class ArgumentsWriter:
    """Asks `model` for one JSON object at a time."""

    def __init__(self, model: ChatModel) -> None:
        self._model = model

    @property
    def model_name(self) -> str:
        return self._model.name

    async def program(
        self, question: str, failures: Sequence[tuple[str, str]] = (), *, seed: int | None = None
    ) -> Written:
        """A Python program that prints the answer: `{"code": …}`; drawn with `seed`, else the likeliest."""
        messages = [*_PROGRAM, {"role": "user", "content": _with_failures(question, failures)}]
        schema = closed({"code": {"type": "string", "minLength": 6, "maxLength": 900}})
        written = await self.ask(messages, schema, PROGRAM_TOKENS, temperature=0.0 if seed is None else 0.7, seed=seed)
        if written.value is None:
            return written
        return replace(written, value={"code": verifier.mended(str(written.value["code"]))})

    async def reading(self, question: str, passages: str) -> Written:
        """What the passages say: `{"found": bool, "answer": …, "quote": …}`."""
        ask = f"Documents:\n{passages[:PASSAGE_CHARS]}\n\nQuestion: {question}"
        schema = closed(
            {
                "found": {"type": "boolean"},
                "quote": {"type": "string", "maxLength": 240},
                "answer": {"type": "string", "maxLength": 240},
            }
        )
        return await self.ask([*_READING, {"role": "user", "content": ask}], schema, READING_TOKENS)

    async def reckoning(self, question: str) -> Written:
        """A solution in words, step by step, and the number that it comes to: `{"answer": …}`."""
        messages = (*_RECKONING, {"role": "user", "content": question})
        written = await self._written(ChatRequest(messages=messages, max_tokens=RECKONING_TOKENS, temperature=0.0))
        found = _ANSWER.findall(written.raw_text)
        if not found:
            return replace(written, why_not=written.why_not or f"{self._model.name} came to no number")
        return replace(written, value={"answer": float(found[-1].replace(",", ""))})

    async def arguments(self, spec: ToolSpec, question: str) -> Written:
        """Arguments for a tool of any shape, under its own schema."""
        system = (
            f"Fill in the arguments of the tool {spec.name} for the user's request. Reply with JSON only.\n"
            f"{spec.description}\nSchema: {spoken(spec.parameters)}"
        )
        messages = [{"role": "system", "content": system}, {"role": "user", "content": question}]
        return await self.ask(messages, spec.parameters, PROGRAM_TOKENS)

    async def ask(
        self,
        messages: Sequence[Mapping[str, Any]],
        schema: Mapping[str, Any],
        max_tokens: int,
        *,
        temperature: float = 0.0,
        seed: int | None = None,
    ) -> Written:
        """One object under a schema. A model that cannot be reached is a reason, and raises nothing."""
        request = ChatRequest(
            messages=tuple(messages), schema=schema, max_tokens=max_tokens, temperature=temperature, seed=seed
        )
        written = await self._written(request)
        if written.why_not:
            return written
        try:
            value = json.loads(written.raw_text)
        except json.JSONDecodeError:
            value = None
        if isinstance(value, dict) and set(schema.get("required", ())) <= set(value):
            return replace(written, value=value)
        return replace(written, why_not=f"{self._model.name} did not keep to the schema")

    async def _written(self, request: ChatRequest) -> Written:
        """What the model writes, not yet read."""
        try:
            completion = await self._complete(request)
        except WorldFault as error:
            attempts = error.attempts if isinstance(error, ProviderFault) else ()
            return Written(value=None, attempts=attempts, why_not=f"{self._model.name} could not be reached: {error}")
        return Written(value=None, raw_text=completion.content, attempts=completion.attempts)

    async def _complete(self, request: ChatRequest) -> Completion:
        async with aclosing(self._model.stream(request)) as parts:
            async for part in parts:
                if isinstance(part, Completion):
                    return part
        raise RuntimeError(f"model {self._model.name} ended its stream without a Completion; yield exactly one")


def _with_failures(question: str, failures: Sequence[tuple[str, str]]) -> str:
    """A fresh prompt each time: failed programs are told by their errors only, so as not to be copied."""
    if not failures:
        return question
    errors = "\n".join(f"- {error[-200:]}" for _, error in failures[-2:])
    again = "Write it in another way and print the answer."
    return f"{question}\n\nAn earlier program for this did not work:\n{errors}\n{again}"


def _turns(*pairs: tuple[str, Mapping[str, Any] | str]) -> list[dict[str, str]]:
    return [
        message
        for question, reply in pairs
        for message in (
            {"role": "user", "content": question},
            {"role": "assistant", "content": reply if isinstance(reply, str) else spoken(reply)},
        )
    ]


_RICE = "Nina buys 4 bags of rice at 3 dollars each and pays with a 20-dollar note. How much change does she get?"
_SCHOOL = "A school has 3 times as many girls as boys and 480 pupils in all. How many girls are there?"
_COAT = "A coat costs 150 euros. The price rises by 20% and then falls by 30%. What does it cost in the end?"
_PROGRAM = [
    {
        "role": "system",
        "content": "You turn a question into a short Python program. Give every quantity in the question a name, "
        "take one step per line, and print only the final answer. Read carefully what is asked for. "
        'Reply with JSON: {"code": "..."}',
    },
    *_turns(
        (
            _RICE,
            {"code": "bags = 4\nprice = 3\npaid = 20\nspent = bags * price\nchange = paid - spent\nprint(change)"},
        ),
        (
            _SCHOOL,
            {"code": "pupils = 480\nparts = 3 + 1\nboys = pupils / parts\ngirls = 3 * boys\nprint(int(girls))"},
        ),
        (
            _COAT,
            {
                "code": "price = 150\nafter_rise = price * (1 + 0.20)\nafter_fall = after_rise * (1 - 0.30)\n"
                "print(round(after_fall, 2))"
            },
        ),
        (
            "How many eggs are left over when 100 eggs are packed in boxes of 12, after 9 of them broke?",
            {"code": "eggs = 100 - 9\nper_box = 12\nleft_over = eggs % per_box\nprint(left_over)"},
        ),
    ),
]
_READING = [
    {
        "role": "system",
        "content": "Answer the question from the documents alone. Copy the sentence or line that says it as quote. "
        "If the documents do not say it, found is false. "
        'Reply with JSON: {"found": ..., "quote": "...", "answer": "..."}',
    },
    *_turns(
        (
            "Documents:\nHarbour rules\nBoats longer than 12 m tie up at the east pier. The fee is 9 euros a night.\n\n"
            "Question: What does a night at the pier cost?",
            {"found": True, "quote": "The fee is 9 euros a night.", "answer": "9 euros a night"},
        ),
        (
            "Documents:\nHarbour rules\nBoats longer than 12 m tie up at the east pier. The fee is 9 euros a night.\n\n"
            "Question: Who founded the harbour?",
            {"found": False, "quote": "", "answer": ""},
        ),
    ),
]
_ANSWER = re.compile(r"^Answer:[^\d\n-]*(-?\d[\d,]*(?:\.\d+)?)", re.MULTILINE)
_RECKONING = [
    {
        "role": "system",
        "content": "You solve word problems. Write the solution step by step, one short line for each step, each with "
        "its calculation. End with a line: Answer: NUMBER",
    },
    *_turns(
        (_RICE, "The rice costs 4 * 3 = 12 dollars.\nThe change is 20 - 12 = 8 dollars.\nAnswer: 8"),
        (
            _SCHOOL,
            "Boys and girls make 1 + 3 = 4 parts.\nOne part is 480 / 4 = 120 pupils.\nThe girls are 3 * 120 = 360.\n"
            "Answer: 360",
        ),
        (
            _COAT,
            "After the rise it costs 150 * 1.20 = 180 euros.\nAfter the fall it costs 180 * 0.70 = 126 euros.\n"
            "Answer: 126",
        ),
    ),
]

BEGINNINGS: tuple[tuple[Mapping[str, str], ...], ...] = (tuple(_PROGRAM), tuple(_READING), tuple(_RECKONING))
"""What every prompt of a kind begins with, for servers that can read it ahead; nothing of a user is in it."""
