"""The orchestrator of protocol `toolorchestra`: any chat model, and above all Nemotron-Orchestrator-8B.

It remembers nothing: its prompt is built anew each turn from the record. See `orchestra_lib.toolorchestra`.
"""

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing

from orchestra_lib.call_text import ReadCall
from orchestra_lib.errors import ContextOverflow
from orchestra_lib.generation import ChatRequest, Delta, Generation, RawCall
from orchestra_lib.json_writing import spoken
from orchestra_lib.policy.spoken import Spoken, coerced, native, numbered, speak
from orchestra_lib.protocols import ChatModel, PolicySpec, Situation
from orchestra_lib.tool import ToolSpec
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
    wrong with it. Text without a call is no answer: only the tool `answer` ends an episode. Raises
    `ContextOverflow`, and asks nobody, for a problem that alone is longer than the regime's whole budget.
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
            max_input_tokens=regime.whole_tokens * (1 if regime.counts_problem else 2) + _TOOL_TOKENS,
            max_output_tokens=regime.output_tokens,
        )
        self._model, self._kit, self._counter = model, kit, counter
        self._regime, self._temperature = regime, temperature

    async def act(self, situation: Situation) -> AsyncGenerator[Delta | Generation, None]:
        """Stream one reply and pick its call."""
        async with aclosing(speak(self._model, self.request(situation))) as parts:
            async for part in parts:
                yield part if isinstance(part, Delta) else self._generation(part, situation)

    def request(self, situation: Situation) -> ChatRequest:
        """The whole request of this turn."""
        setting, evidence = situation.setting, gather(situation.turns)
        problem = problem_of(setting.task.text, setting.sentence)
        size = count(self._counter, problem)
        if size > self._regime.whole_tokens:
            raise ContextOverflow(
                f"the task has {size:,} tokens and the protocol takes {self._regime.whole_tokens:,}; shorten it"
            )
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

    def _generation(self, spoken: Spoken, situation: Situation) -> Generation:
        known = {tool.name for tool in self._kit.tools}
        offered = {spec.name: spec for spec in situation.setting.tools if spec.name in known}
        valid = [call for call in spoken.calls if _is_choice(call, offered)]
        return spoken.generation(situation, calls=(valid or spoken.calls)[:1], content=spoken.said.content, answer=None)


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
        async with aclosing(speak(self._model, self.request(situation))) as parts:
            async for part in parts:
                yield part if isinstance(part, Delta) else self._generation(part, situation)

    def request(self, situation: Situation) -> ChatRequest:
        """The whole request of this turn."""
        tools = domain.orchestrator_tools(situation.setting, self._words.kit)
        system = self._systems[any(spec.name == EXPERT for spec in situation.setting.tools)]
        limit = domain.CONTEXT_TOKENS - count(self._counter, spoken(tools))
        return ChatRequest(
            messages=domain.conversation(
                situation,
                system,
                self._words.filler,
                limit,
                self._counter,
                sentence=situation.setting.sentence,
            ),
            tools=tools,
            max_tokens=_DOMAIN_OUTPUT_TOKENS,
            temperature=self._temperature,
            seed=situation.setting.seed,
        )

    def _generation(self, spoken: Spoken, situation: Situation) -> Generation:
        experts = {spec.name: spec for spec in situation.setting.tools if spec.name == EXPERT}
        handed = [call for call in spoken.calls if _is_choice(call, experts)]
        own = [coerced(call, situation.setting.tools) for call in spoken.calls[: domain.MAX_CALLS]]
        calls = handed[:1] or own
        message = domain.message_of(spoken.said.content)
        if not calls and not spoken.cut and (told := domain.to_user(message, situation.setting)):
            return spoken.generation(situation, calls=[told], content=message, answer=None)
        answer = message or None if not calls and not spoken.cut else None
        return spoken.generation(situation, calls=calls, content=message, answer=answer)


def _is_choice(call: ReadCall, offered: Mapping[str, ToolSpec]) -> bool:
    """A call of an alias tool on offer with exactly its one parameter and a known alias."""
    spec = offered.get(call.name)
    if spec is None or call.arguments is None:
        return False
    parameter, schema = parameter_of(spec)
    return set(call.arguments) == {parameter} and call.arguments[parameter] in schema["enum"]


def _played(move: domain.ExpertMove, situation: Situation) -> Generation:
    """An expert's move as this turn's: it cost nothing further, and no token of it is the orchestrator's."""
    sent = move.calls[: domain.MAX_CALLS]
    read = (native(RawCall(id="", name=call.name, arguments_text=call.arguments_text)) for call in sent)
    calls = [coerced(call, situation.setting.tools) for call in read]
    if not calls and (told := domain.to_user(move.content, situation.setting)):
        return Generation(raw_text="", content=move.content, calls=numbered([told], situation))
    answer = move.content or None if not calls else None
    return Generation(raw_text="", content=move.content, calls=numbered(calls, situation), answer=answer)
