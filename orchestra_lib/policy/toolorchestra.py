"""The orchestrator of protocol `toolorchestra`: any chat model, and above all Nemotron-Orchestrator-8B.

It remembers nothing: its prompt is built anew each turn from the record. See `orchestra_lib.toolorchestra`.
"""

import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing

from orchestra_lib.call_text import ReadCall, arguments_of
from orchestra_lib.generation import Channel, ChatRequest, Completion, Delta, Generation
from orchestra_lib.protocols import ChatModel, PolicySpec, Situation
from orchestra_lib.reading import Reader, Reading, read
from orchestra_lib.record import record
from orchestra_lib.tool import ToolCall, ToolSpec
from orchestra_lib.toolorchestra import PROTOCOL, domain
from orchestra_lib.toolorchestra.aliases import EXPERT, SEARCH, Kit, openai_tools, parameter_of
from orchestra_lib.toolorchestra.context import HLE, Regime, orchestrator_context
from orchestra_lib.toolorchestra.domain import DomainWords
from orchestra_lib.toolorchestra.evidence import gather
from orchestra_lib.toolorchestra.prompt import orchestrator_messages, problem_of
from orchestra_lib.toolorchestra.tokens import TokenCounter, count

TEMPERATURE = 1.0
"""What the published evaluation samples with; its paper says 0."""

_TOOL_TOKENS = 3_000
_DOMAIN_OUTPUT_TOKENS = 8_000
_DOMAIN_INPUT_TOKENS = 32_000


class ToolOrchestra:
    """Question mode: picks one (tool, alias) a turn. `name` stands in records; the model's own name prices it.

    Of several calls the first valid one is made; of none valid the first is, so that the record says what was
    wrong with it. Text without a call is no answer: only the tool `answer` ends an episode.
    """

    def __init__(
        self,
        model: ChatModel,
        kit: Kit,
        counter: TokenCounter,
        *,
        name: str = PROTOCOL,
        regime: Regime = HLE,
        temperature: float = TEMPERATURE,
    ) -> None:
        self.spec = PolicySpec(
            name=name,
            protocol=PROTOCOL,
            priced_as=model.name,
            max_input_tokens=regime.whole_tokens + _TOOL_TOKENS,
            max_output_tokens=regime.output_tokens,
        )
        self._model, self._kit, self._counter = model, kit, counter
        self._regime, self._temperature = regime, temperature

    async def act(self, situation: Situation) -> AsyncGenerator[Delta | Generation, None]:
        """Stream one reply and pick its call."""
        async with aclosing(_spoken(self._model, self.request(situation))) as parts:
            async for part in parts:
                yield part if isinstance(part, Delta) else self._generation(part, situation)

    def request(self, situation: Situation) -> ChatRequest:
        """The whole request of this turn."""
        setting, evidence = situation.setting, gather(situation.turns)
        problem = problem_of(setting.task.text, setting.sentence)
        done = self._regime.searches_once and evidence.documents
        specs = [spec for spec in setting.tools if not (done and spec.name == SEARCH)]
        return ChatRequest(
            messages=orchestrator_messages(
                problem, orchestrator_context(evidence, problem, self._regime, self._counter)
            ),
            tools=openai_tools(self._kit, specs, setting.prices),
            max_tokens=self._regime.output_tokens,
            temperature=self._temperature,
            seed=setting.seed,
        )

    def _generation(self, spoken: "_Spoken", situation: Situation) -> Generation:
        known = {tool.name for tool in self._kit.tools}
        offered = {spec.name: spec for spec in situation.setting.tools if spec.name in known}
        valid = [call for call in spoken.calls if _is_choice(call, offered)]
        return spoken.generation(situation, calls=(valid or spoken.calls)[:1])


class ToolOrchestraInDomain:
    """Domain mode under a domain's `policy_text`. `call_expert` wins over every other call of its turn.

    The turn after a call to an expert plays the expert's move and asks no model. A message without a call
    goes to the user: it ends an episode in which nobody plays the user.
    """

    def __init__(
        self,
        model: ChatModel,
        words: DomainWords,
        policy_text: str,
        counter: TokenCounter,
        *,
        name: str = PROTOCOL,
        temperature: float = TEMPERATURE,
    ) -> None:
        self.spec = PolicySpec(
            name=name,
            protocol=PROTOCOL,
            priced_as=model.name,
            max_input_tokens=_DOMAIN_INPUT_TOKENS,
            max_output_tokens=_DOMAIN_OUTPUT_TOKENS,
        )
        self._model, self._words, self._counter = model, words, counter
        self._systems = {experts: words.orchestrator_system(policy_text, experts=experts) for experts in (True, False)}
        self._temperature = temperature

    async def act(self, situation: Situation) -> AsyncGenerator[Delta | Generation, None]:
        """Play an expert's move that waits, or stream one reply and read it."""
        move = domain.expert_move(situation.turns)
        if move is not None:
            yield _played(move, situation)
            return
        async with aclosing(_spoken(self._model, self.request(situation))) as parts:
            async for part in parts:
                yield part if isinstance(part, Delta) else self._generation(part, situation)

    def request(self, situation: Situation) -> ChatRequest:
        """The whole request of this turn."""
        tools = domain.orchestrator_tools(situation.setting, self._words.kit)
        system = self._systems[any(spec.name == EXPERT for spec in situation.setting.tools)]
        limit = domain.CONTEXT_TOKENS - count(self._counter, json.dumps(tools, ensure_ascii=False))
        return ChatRequest(
            messages=domain.conversation(situation, system, self._words.filler, limit, self._counter),
            tools=tools,
            max_tokens=_DOMAIN_OUTPUT_TOKENS,
            temperature=self._temperature,
            seed=situation.setting.seed,
        )

    def _generation(self, spoken: "_Spoken", situation: Situation) -> Generation:
        experts = {spec.name: spec for spec in situation.setting.tools if spec.name == EXPERT}
        handed = [call for call in spoken.calls if _is_choice(call, experts)]
        calls = handed[:1] or spoken.calls[: domain.MAX_CALLS]
        message = domain.message_of(spoken.said.content)
        # A reply cut by the token limit is no message: half a sentence must not end the episode.
        finished = message and not calls and spoken.completion.finish_reason != "length"
        return spoken.generation(situation, calls=calls, content=message, answer=message if finished else None)


@record
class _Spoken:
    """A reply, whole and read. `calls` are those that the server read, then those in the text."""

    completion: Completion
    said: Reading
    calls: tuple[ReadCall, ...]

    def generation(
        self, situation: Situation, *, calls: Sequence[ReadCall], content: str | None = None, answer: str | None = None
    ) -> Generation:
        completion = self.completion
        return Generation(
            raw_text=_raw_text(completion),
            reasoning="\n".join(part for part in (completion.reasoning.strip(), self.said.reasoning) if part),
            content=self.said.content if content is None else content,
            calls=_numbered(calls, situation),
            answer=answer,
            token_ids=completion.token_ids,
            attempts=completion.attempts,
        )


async def _spoken(model: ChatModel, request: ChatRequest) -> AsyncGenerator[Delta | _Spoken, None]:
    reader = Reader()
    async with aclosing(model.stream(request)) as parts:
        async for part in parts:
            if isinstance(part, Delta):
                for delta in [part] if part.channel is Channel.REASONING else reader.feed(part.text):
                    yield delta
                continue
            for delta in reader.close():
                yield delta
            said = read(part.content)
            native = (_native(call.name, call.arguments_text) for call in part.calls)
            yield _Spoken(completion=part, said=said, calls=(*native, *said.calls))
            return
    raise RuntimeError(f"model {model.name} ended its stream without a Completion; yield exactly one")


def _native(name: str, text: str) -> ReadCall:
    arguments, recovered = arguments_of(text)
    return ReadCall(name=name.strip(), arguments=arguments, text=text, recovered=recovered)


def _is_choice(call: ReadCall, offered: Mapping[str, ToolSpec]) -> bool:
    """A call of an alias tool on offer with exactly its one parameter and a known alias."""
    spec = offered.get(call.name)
    if spec is None or call.arguments is None:
        return False
    parameter, schema = parameter_of(spec)
    return set(call.arguments) == {parameter} and call.arguments[parameter] in schema["enum"]


def _numbered(calls: Sequence[ReadCall], situation: Situation) -> tuple[ToolCall, ...]:
    """Ids of our own: servers leave them out, repeat them, or change their form."""
    turn = len(situation.turns) + 1
    return tuple(
        ToolCall(
            id=f"call_{turn}_{place}",
            tool=call.name,
            arguments=call.arguments,
            arguments_text=call.text,
            recovered=call.recovered,
        )
        for place, call in enumerate(calls, start=1)
    )


def _raw_text(completion: Completion) -> str:
    """All that the model wrote; calls that the server took out of the text stand in boxes again, as it wrote them."""
    boxes = (
        f'<tool_call>\n{{"name": {json.dumps(call.name)}, "arguments": {call.arguments_text}}}\n</tool_call>'
        for call in completion.calls
    )
    return "\n".join(part for part in (completion.content, *boxes) if part)


def _played(move: domain.ExpertMove, situation: Situation) -> Generation:
    """An expert's move as this turn's: it cost nothing further, and no token of it is the orchestrator's."""
    calls = tuple(_native(call.name, call.arguments_text) for call in move.calls)
    message = move.content if not calls else None
    return Generation(
        raw_text="", content=move.content, calls=_numbered(calls[: domain.MAX_CALLS], situation), answer=message or None
    )
