"""A chat model that is recorded, and its replay: exact, by the hash of the whole request, without a network."""

from collections import Counter
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import replace
from typing import Any

from orchestra_lib.codec import fingerprint, from_data, to_data
from orchestra_lib.errors import BadInput, ProviderFault
from orchestra_lib.generation import Channel, ChatRequest, Completion, Delta
from orchestra_lib.pricing import Attempt
from orchestra_lib.protocols import ChatModel, Recordings
from orchestra_lib.tool import RECORDED

_SHOWN = 80


class Recorder:
    """A `ChatModel` that keeps every completion of another one; what fails is not kept.

    What this object asks twice gets both answers, in order; answers of earlier recorders are replaced. `known_as` is
    the name under which a replay will look for it, its own where that is None.
    Raises what the model raises, and `StoreFault` when an answer cannot be kept.
    """

    def __init__(self, model: ChatModel, recordings: Recordings, *, known_as: str | None = None) -> None:
        self._model, self._recordings = model, recordings
        self._known_as = known_as or model.name
        self._asked: set[str] = set()

    @property
    def name(self) -> str:
        return self._model.name

    async def stream(self, request: ChatRequest) -> AsyncGenerator[Delta | Completion, None]:
        """What the model says; the completion is on disk before it is handed on."""
        async with aclosing(self._model.stream(request)) as parts:
            async for part in parts:
                if isinstance(part, Completion):
                    self._keep(request, part)
                yield part

    def _keep(self, request: ChatRequest, completion: Completion) -> None:
        asked = _asked(self._known_as, request)
        key = fingerprint(asked)
        before = self._recordings.find(asked) if key in self._asked else ()
        self._recordings.keep(asked, [*before, to_data(completion)])
        self._asked.add(key)


class Recorded:
    """A `ChatModel` that says what `model` said when it was recorded.

    The n-th time it is asked the same it gives the n-th answer, and after the last the first again. Usage
    and times are the recorded ones; `name` and the attempts are priced as `recorded:MODEL`, or as `priced_as`
    says. `stream` raises `ProviderFault` for a request that was never recorded, and `StoreFault`.
    """

    def __init__(self, model: str, recordings: Recordings, *, priced_as: str | None = None) -> None:
        self.name = priced_as or RECORDED + model
        self._model, self._recordings = model, recordings
        self._given: Counter[str] = Counter()

    async def stream(self, request: ChatRequest) -> AsyncGenerator[Delta | Completion, None]:
        """The recorded reply: its reasoning, its content, its completion."""
        completion = self._find(request)
        for channel, text in ((Channel.REASONING, completion.reasoning), (Channel.CONTENT, completion.content)):
            if text:
                yield Delta(channel=channel, text=text)
        attempts = tuple(replace(attempt, priced_as=self.name) for attempt in completion.attempts)
        yield replace(completion, attempts=attempts)

    def knows(self, request: ChatRequest) -> bool:
        """Whether this was recorded. Raises `StoreFault`."""
        return bool(self._recordings.find(_asked(self._model, request)))

    def _find(self, request: ChatRequest) -> Completion:
        asked = _asked(self._model, request)
        key = fingerprint(asked)
        answers = self._recordings.find(asked)
        if not answers:
            unbilled = Attempt(priced_as=self.name, wall_s=0.0, billed=False, error="not recorded")
            raise ProviderFault(
                f"nothing is recorded of {self._model} for request {key[:16]} ({_words(request)}); "
                "record it with the model itself",
                (unbilled,),
            )
        answer = answers[self._given[key] % len(answers)]
        self._given[key] += 1
        try:
            return from_data(answer, Completion, where=f"recording {key[:16]} of {self._model}")
        except BadInput as error:
            raise ProviderFault(f"{error}; record it again") from None


class RecordedFirst:
    """A `ChatModel` that says what was recorded of `model`, and asks and records the model itself for the rest.

    What is new is priced as the model that was paid for it, what was recorded as `recorded:NAME`.
    """

    def __init__(self, name: str, model: ChatModel, recordings: Recordings) -> None:
        self._recorded = Recorded(name, recordings)
        self._live = Recorder(model, recordings, known_as=name)
        self.name = self._recorded.name

    async def stream(self, request: ChatRequest) -> AsyncGenerator[Delta | Completion, None]:
        """The recorded reply or, where there is none, a new one, which is recorded."""
        source: ChatModel = self._recorded if self._recorded.knows(request) else self._live
        async with aclosing(source.stream(request)) as parts:
            async for part in parts:
                yield part


def _asked(model: str, request: ChatRequest) -> Mapping[str, Any]:
    # What a request leaves at its default does not count, so that a new kind of option ages no recording.
    usual = to_data(ChatRequest(messages=()))
    said = {name: value for name, value in to_data(request).items() if value != usual[name]}
    return {"model": model, "request": said}


def _words(request: ChatRequest) -> str:
    """How the last message begins, to recognise a request by."""
    last = str(request.messages[-1].get("content") or "") if request.messages else ""
    words = " ".join(last.split())
    return f"{len(request.messages)} messages, the last {words[:_SHOWN]!r}"
