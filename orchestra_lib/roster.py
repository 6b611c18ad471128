"""Who can conduct and which tools there are on this machine, and why some are off now."""

import asyncio
import logging
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property, partial
from pathlib import Path
from typing import Protocol

from orchestra_lib import chat, toolorchestra
from orchestra_lib.chat import CallStyle
from orchestra_lib.descriptions import DescriptionBook
from orchestra_lib.ensemble import build, build_domain, token_counter
from orchestra_lib.errors import BadInput, WeightsFault, WorldFault
from orchestra_lib.experts import Experts
from orchestra_lib.model.embedded import EmbeddedModel
from orchestra_lib.model.endpoints import Endpoints
from orchestra_lib.model.minilm import MiniLM
from orchestra_lib.model.openai_compatible import OpenAICompatible
from orchestra_lib.model.weights import WeightsCatalog, WeightsStatus
from orchestra_lib.players import LocalOrchestrators, policy_of, tool_name, tools_of
from orchestra_lib.policy.baseline import at_random, cheapest, nearest, strongest
from orchestra_lib.policy.chat_model import ChatPolicy
from orchestra_lib.policy.conductor.arguments_writer import BEGINNINGS
from orchestra_lib.policy.conductor.desk.writing import BEGINNING
from orchestra_lib.policy.conductor.estimator import Estimator, WordEmbedder
from orchestra_lib.policy.conductor.examples import load_examples
from orchestra_lib.policy.conductor.policy import Conductor
from orchestra_lib.policy.oracle import ORACLE
from orchestra_lib.policy.routing.outcomes import known_outcomes
from orchestra_lib.policy.routing.router import CASCADE, KNN, MF, Lessons, cascade, router
from orchestra_lib.protocols import ChatModel, Describable, Policy, PolicySpec, Tool
from orchestra_lib.record import record
from orchestra_lib.store.recordings import Recordings
from orchestra_lib.tool import RECORDED, ToolSpec
from orchestra_lib.toolkit.code_interpreter import CodeInterpreter
from orchestra_lib.toolkit.local_search import LocalSearch
from orchestra_lib.toolkit.mcp.servers import McpServers
from orchestra_lib.toolkit.model_tool import coder, generalist
from orchestra_lib.toolkit.retrieval import LocalRetriever
from orchestra_lib.toolkit.web_search import WebSearch
from orchestra_lib.toolorchestra.tokens import TokenCounter, WordPieces

CODER, GENERALIST = "Qwen2.5-Coder-1.5B-Instruct", "Qwen2.5-Coder-0.5B-Instruct"
"""The embedded models by the name of their weights, which is also the name that prices them."""

OPENAI_URL = "https://api.openai.com/v1"
_ENDPOINT = "openai:"
_EMBEDDED_ALIASES = ("search-3", "reasoner-3", "answer-4")
"""The cheapest alias of each published tool: where the embedded model stands in."""
_EMBEDDED_EXPERTS = ("expert-3",)
_BASELINES = {
    "random": "Random tool",
    "strongest": "Dearest tool",
    "cheapest": "Cheapest able tool",
    "nearest": "Nearest description",
    CASCADE: "Cascade until two agree",
}
_ROUTERS = {
    KNN: ("Neighbour router", "learned from recorded outcomes, of tools by their names: the nearest tasks"),
    MF: ("Factor router", "learned from recorded outcomes, of tools by their names: factors of tasks and tools"),
}
_BOTH = (chat.PROTOCOL, toolorchestra.PROTOCOL)
"""What a language model can conduct over; the others speak chat only."""
_log = logging.getLogger(__name__)


@record
class Offer:
    """One orchestrator in a picker. `off` says why it cannot be used now; None means it can.

    `protocols` are those it can conduct over, the usual one first. `simulated` ones conduct simulated experts alone.
    """

    name: str
    title: str
    note: str
    off: str | None = None
    protocols: tuple[str, ...] = (chat.PROTOCOL,)
    simulated: bool = False


class Conductors(Protocol):
    """More orchestrators than the roster knows by itself, such as trained ones. `policy` raises `BadInput`."""

    def offers(self) -> Sequence[Offer]: ...
    def policy(self, name: str) -> Policy: ...


class Roster:
    """Builds orchestrators and tools for one home folder; models start when first used.

    `environ` gives addresses and keys; a key is read when a request is made and kept nowhere.
    `others` are further orchestrators, which whoever stands above this floor adds.
    """

    def __init__(self, home: Path, environ: Mapping[str, str] = os.environ) -> None:
        self.weights = WeightsCatalog.load(home)
        self._home, self._environ = home, environ
        self._models = {
            name: EmbeddedModel(name, partial(self.weights.path, name), home) for name in (CODER, GENERALIST)
        }
        for beginning in (*BEGINNINGS, BEGINNING):  # the last is read when first somebody works in a domain
            self._models[CODER].expect(beginning)
        self.endpoints = Endpoints.load(home, environ)
        self._local = LocalOrchestrators(self.weights, home)
        self._interpreter = CodeInterpreter()
        self._search = LocalSearch(home)
        web = WebSearch.of(environ, Recordings(home / "web-cache"))
        self._cancel_fetch = threading.Event()
        self.others: list[Conductors] = []
        self._tools: dict[str, tuple[Tool, Callable[[], str | None]]] = {
            "code_interpreter": (self._interpreter, self._interpreter.availability),
            "local_search": (self._search, lambda: None),
            "web_search": (web, web.availability),
            "coder": (coder(self._models[CODER]), partial(self._missing, CODER)),
            "generalist": (generalist(self._models[GENERALIST]), partial(self._missing, GENERALIST)),
            **tools_of(self.endpoints),
        }
        self.mcp = McpServers(home, environ)
        self.experts = Experts(home, environ, self.chat_model)
        self.descriptions = DescriptionBook(home)

    @cached_property
    def _estimator(self) -> Estimator:
        return Estimator(load_examples(), _embedder())

    @cached_property
    def _lessons(self) -> Lessons:
        return Lessons(known_outcomes(self._home), _embedder() or WordEmbedder())

    def tools(self) -> tuple[tuple[ToolSpec, str | None], ...]:
        """Every tool, and why it is off now."""
        own = [(tool, off()) for tool, off in self._all_tools().values()]
        used = self.descriptions.in_use()
        return tuple((self._described(tool, used).spec, off) for tool, off in (*own, *self.experts.tools()))

    def remote(self) -> frozenset[str]:
        """The tools that send what they are asked to another machine."""
        away = {tool_name(one) for one in self.endpoints if one.tool and not self.endpoints.here(one.name)}
        return frozenset({"web_search", *away} & self._tools.keys() | self.mcp.tools().keys())

    def chat_models(self) -> tuple[tuple[str, str | None], ...]:
        """Every name that `chat_model` knows, the embedded ones first, and why it is off now."""
        own = [(name, self._missing(name)) for name in self._models]
        local = [(name, self._missing(self._local.model(name).name)) for name in self._local]
        found = [(one.name, self.endpoints.off(one.name)) for one in self.endpoints]
        offer = self._endpoint_offer()
        return (*own, *local, *found, (offer.name, offer.off))

    def _all_tools(self) -> dict[str, tuple[Tool, Callable[[], str | None]]]:
        """Those of the MCP servers too; a name that is taken here is not theirs."""
        return self._tools | {name: pair for name, pair in self.mcp.tools().items() if name not in self._tools}

    def add(self, tool: Tool) -> None:
        """Offer one more tool, which is always on. Raises `BadInput` when its name is taken."""
        if tool.spec.name in self._all_tools():
            raise BadInput(f"there is a tool {tool.spec.name!r} already; rename yours")
        self._tools[tool.spec.name] = (tool, lambda: None)

    @contextmanager
    def lent(self, tools: Iterable[Tool]) -> Iterator[None]:
        """Offer more tools for a while, and none of them afterwards. Raises `BadInput` as `add` does."""
        lent: list[str] = []
        try:
            for tool in tools:
                self.add(tool)
                lent.append(tool.spec.name)
            yield
        finally:
            for name in lent:
                del self._tools[name]

    def reload_endpoints(self) -> None:
        """Read the endpoints anew, since the user's file has changed; runs that go on keep what they have.

        Raises `BadInput` for what cannot be read; everything stays as it was then.
        """
        endpoints = Endpoints.load(self._home, self._environ)
        others = {name: pair for name, pair in self._tools.items() if name not in tools_of(self.endpoints)}
        self._tools = others | tools_of(endpoints)
        self.endpoints = endpoints

    def tool(self, name: str) -> Tool:
        """One tool, also a simulated or recorded expert. Raises `KeyError` for an unknown name."""
        own = self._all_tools()
        tool = own[name][0] if name in own else self.experts.tool(name)
        return self._described(tool, self.descriptions.in_use())

    def shipped_description(self, name: str) -> str:
        """The description that a tool comes with, whichever is in use. Raises `BadInput` for an unknown tool."""
        own = {tool.spec.name: tool.spec for tool, _ in self._tools.values()}
        spec = own.get(name) or next((tool.spec for tool, _ in self.experts.tools() if tool.spec.name == name), None)
        if spec is None:
            raise BadInput(f"there is no tool {name[:80]!r}; `orchestra models` lists them")
        return spec.description

    def asked(self, name: str) -> Tool | None:
        """A simulated or recorded expert that a run asks for; None for any other name. Raises `BadInput`."""
        found = self.experts.asked(name)
        return None if found is None else self._described(found, self.descriptions.in_use())

    def _described(self, tool: Tool, used: Mapping[str, int]) -> Tool:
        """A tool by the description that is in use."""
        name = tool.spec.name
        if name not in used or not isinstance(tool, Describable):
            return tool
        return tool.described(self.descriptions.version(name, used[name]).text)

    def orchestrators(self) -> tuple[Offer, ...]:
        """Who can conduct here, the default first."""
        waiting = self._missing(CODER)
        helped = "without a model until its weights are here" if waiting else "a 1.5B model writes arguments"
        return (
            Offer(
                name="conductor", title="Conductor", note=f"chooses by labelled examples and your preferences; {helped}"
            ),
            Offer(
                name="conductor-no-model",
                title="Conductor, no model",
                note="the same without any model, for small machines",
            ),
            Offer(
                name="free-loop",
                title="Qwen2.5-Coder 1.5B",
                note="experimental: the small model chooses freely",
                off=waiting,
                protocols=_BOTH,
            ),
            *(Offer(name=name, title=title, note="a baseline without a model") for name, title in _BASELINES.items()),
            *(Offer(name=name, title=title, note=note) for name, (title, note) in _ROUTERS.items()),
            self._endpoint_offer(),
            *self._local_offers(),
            *self._catalogue_offers(),
            *self._oracle_offers(),
            *(offer for source in self.others for offer in source.offers()),
        )

    def orchestrator(self, name: str) -> Policy:
        """Build one by name. Raises `BadInput` for an unknown name or one that is off."""
        if name.startswith(_ENDPOINT):
            return self._endpoint(name.removeprefix(_ENDPOINT))
        if name in self.endpoints:
            self.endpoints.look()  # waits for the first look only, which the pages have long asked for
        if name == ORACLE:
            return self.experts.oracle()
        if name.startswith(RECORDED):
            raise BadInput(f"{name} answers as a tool or a judge; `orchestra replay` plays a recorded run again")
        off = {offer.name: offer.off for offer in self.orchestrators()}
        if name not in off:
            known = ", ".join(known for known in off if not known.startswith(_ENDPOINT) and "/" not in known)
            raise BadInput(
                f"there is no orchestrator {name!r}; there are {known}, openai:MODEL and those of `orchestra models`"
            )
        if off[name] is not None:
            raise BadInput(f"the orchestrator {name} is off: {off[name]}")
        for source in self.others:
            if any(offer.name == name for offer in source.offers()):
                return source.policy(name)
        if name == "free-loop":
            return ChatPolicy(
                PolicySpec(name=name, priced_as=CODER, max_input_tokens=4096, max_output_tokens=400),
                self._models[CODER],
                style=CallStyle.CONSTRAINED,
            )
        if name in self.endpoints:
            return policy_of(self.endpoints, name)
        if name in self._local:
            return self._local.policy(name)
        if name in _BASELINES:
            return self._baseline(name)
        if name in _ROUTERS:
            return router(name, self._lessons)
        helper = self._models[CODER] if name == "conductor" and self._missing(CODER) is None else None
        return Conductor(self._estimator, helper, name=name)

    def ensemble(self, name: str) -> tuple[Policy, tuple[Tool, ...]]:
        """An orchestrator of protocol `toolorchestra` with its tools; the coder stands behind the aliases.

        Raises `BadInput` for an orchestrator that is no language model, and while there is no model for an alias.
        """
        conducting = self._language_model(name)
        if (missing := self._missing(CODER)) is not None:
            raise BadInput(f"no expert can answer: {missing}")
        return build(
            conducting,
            dict.fromkeys(_EMBEDDED_ALIASES, self._models[CODER]),
            search=LocalRetriever(self._search),
            interpreter=self._interpreter,
            counter=self._counter(),
            name=name,
        )

    def ensemble_in_domain(
        self, name: str, policy_text: str, functions: Sequence[Tool]
    ) -> tuple[Policy, tuple[Tool, ...]]:
        """An orchestrator of protocol `toolorchestra` over a domain's functions, with the coder as its weakest expert.

        Raises `BadInput` for an orchestrator that is no language model. Without the coder's weights it works alone.
        """
        experts = {} if self._missing(CODER) else dict.fromkeys(_EMBEDDED_EXPERTS, self._models[CODER])
        return build_domain(
            self._language_model(name),
            experts,
            policy_text,
            functions,
            counter=self._counter(),
            name=name,
        )

    def _counter(self) -> TokenCounter:
        """Counts as the coder does once its weights are here, and nearly so before."""
        try:
            return token_counter(self.weights.path(CODER))
        except WeightsFault:
            return token_counter()

    def chat_model(self, name: str) -> ChatModel:
        """A language model by its name in the catalogue, for whoever judges or writes.

        An endpoint, `openai:MODEL`, `local/NAME`, an embedded model by the name of its weights, or `recorded:` before
        any of these. Raises `BadInput` for an unknown name and for one that is off now.
        """
        if name.startswith(RECORDED):
            return self.experts.model(name.removeprefix(RECORDED))
        if name.startswith(_ENDPOINT):
            return self._client(name.removeprefix(_ENDPOINT))
        if name in self.endpoints:
            self.endpoints.look()
            if (why := self.endpoints.off(name)) is not None:
                raise BadInput(f"the model {name} is off: {why}")
            return self.endpoints.model(name)
        if name not in self._models and name not in self._local:
            known = ", ".join((*self._models, *self._local, *(endpoint.name for endpoint in self.endpoints)))
            raise BadInput(f"there is no model {name[:100]!r}; there are {known} and openai:MODEL")
        model = self._models[name] if name in self._models else self._local.model(name)
        if (missing := self._missing(model.name)) is not None:
            raise BadInput(f"the model {name} is off: {missing}")
        return model

    def _language_model(self, name: str) -> ChatModel:
        if name.startswith(_ENDPOINT):
            return self._client(name.removeprefix(_ENDPOINT))
        if name in self.endpoints and self.endpoints.off(name) is None:
            return self.endpoints.model(name)
        if name in self._local and self._missing(self._local.model(name).name) is None:
            return self._local.model(name)
        if name == "free-loop":
            return self._models[CODER]
        raise BadInput(
            f"{name} conducts over protocol chat only, or is off; use free-loop, openai:MODEL or an endpoint"
        )

    def _baseline(self, name: str) -> Policy:
        plain = {"random": at_random, "strongest": strongest, "cheapest": cheapest, CASCADE: cascade}
        return plain[name]() if name in plain else nearest(_embedder() or WordEmbedder())

    def _missing(self, name: str) -> str | None:
        """Why a model cannot be used now, None when its weights are here."""
        status = self.weights.status(name)
        match status.state:
            case "ready":
                return None
            case "failed":
                return status.error
            case "absent" | "partial":
                size = f"{status.total_bytes / 1e6:,.0f} MB"
                which = "" if name in self._models else f" {name}"
                return f"its weights ({size}) are not here yet; `orchestra models fetch{which}` gets them"
            case _:
                done, size = status.done_bytes / 1e6, f"{status.total_bytes / 1e6:,.0f} MB"
                return f"its weights are arriving: {done:,.0f} of {size}"

    def _local_offers(self) -> Iterator[Offer]:
        for name in self._local:
            title, note = self._local.words(name)
            off = self._missing(self._local.model(name).name)
            yield Offer(name=name, title=title, note=note, off=off, protocols=_BOTH)

    def _catalogue_offers(self) -> Iterator[Offer]:
        for endpoint in self.endpoints:
            if endpoint.orchestrator:
                name, title = endpoint.name, f"{endpoint.title} ({endpoint.provider})"
                note = f"at {self.endpoints.address(name)}"
                yield Offer(name=name, title=title, note=note, off=self.endpoints.off(name), protocols=_BOTH)

    def _oracle_offers(self) -> Iterator[Offer]:
        if self.experts.offered:
            note = "a benchmark: it knows the profiles of simulated experts and the kind of the task"
            yield Offer(name=ORACLE, title="Oracle of simulated experts", note=note)

    def _endpoint_offer(self) -> Offer:
        model = self._environ.get("OPENAI_MODEL", "")
        known = self._environ.get("OPENAI_API_KEY") or self._environ.get("OPENAI_BASE_URL")
        missing = (
            None if model and known else "set OPENAI_MODEL, and OPENAI_API_KEY or OPENAI_BASE_URL, and start again"
        )
        return Offer(
            name=_ENDPOINT + (model or "MODEL"),
            title=model or "Any OpenAI-compatible endpoint",
            note=f"at {self._environ.get('OPENAI_BASE_URL') or OPENAI_URL}",
            off=missing,
            protocols=_BOTH,
        )

    def _endpoint(self, model: str) -> Policy:
        spec = PolicySpec(name=_ENDPOINT + model, priced_as=model, max_input_tokens=128_000, max_output_tokens=8192)
        return ChatPolicy(spec, self._client(model), style=CallStyle.NATIVE)

    def _client(self, model: str) -> ChatModel:
        if not model:
            raise BadInput("name the model: openai:MODEL, for example openai:gpt-5-mini")
        base_url = self._environ.get("OPENAI_BASE_URL")
        if not base_url and not self._environ.get("OPENAI_API_KEY"):
            raise BadInput("openai:MODEL needs OPENAI_API_KEY, or OPENAI_BASE_URL for a server of your own")
        address = base_url or OPENAI_URL
        return OpenAICompatible(model, address, model, api_key_env="OPENAI_API_KEY", counter=WordPieces())

    def statuses(self) -> tuple[WeightsStatus, ...]:
        """Where the weights of the embedded models stand."""
        return tuple(self.weights.status(name) for name in self._models)

    def fetch(self, on_progress: Callable[[WeightsStatus], None] | None = None) -> None:
        """Fetch what is missing, one file after another; blocks. Raises `WeightsFault` for the first that fails."""
        for name in self._models:
            self.weights.fetch(name, on_progress, self._cancel_fetch)

    def fetch_one(self, name: str) -> None:
        """Fetch one file of weights; blocks. Raises `WeightsFault`, `BadInput` for an unknown name."""
        self.weights.fetch(name, None, self._cancel_fetch)

    async def prepare(self, on_progress: Callable[[WeightsStatus], None] | None = None) -> None:
        """Get everything ready: sandbox, embeddings, weights, the model's prompt beginnings.

        The world's faults are shown in `statuses`, or met again when the thing is used; none is raised.
        """
        await asyncio.to_thread(self._interpreter.availability)
        await asyncio.to_thread(lambda: self._estimator.near("Ready?", ()))
        try:
            await asyncio.to_thread(self.fetch, on_progress)
            for beginning in BEGINNINGS:
                await self._models[CODER].warm(beginning)
        except WorldFault as error:
            _log.warning("%s", error)

    async def close(self) -> None:
        """Stop fetching and end the processes of models and MCP servers that this program started."""
        self._cancel_fetch.set()
        await self.mcp.close()
        for stop in (*(model.stop for model in self._models.values()), self._local.stop):
            with suppress(WorldFault):
                await asyncio.to_thread(stop)


def _embedder() -> MiniLM | None:
    """The embedding model; without its package the estimator falls back to hashed words."""
    embedder = MiniLM()
    try:
        embedder.embed(["ready?"])
    except WeightsFault as error:
        _log.warning("%s", error)
        return None
    return embedder
