"""What a home folder offers to a run: who can conduct, which tools there are, which models judge and write."""

import asyncio
import logging
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from orchestra_lib.descriptions import DescriptionBook
from orchestra_lib.ensemble import build, build_domain
from orchestra_lib.errors import BadInput, WorldFault
from orchestra_lib.experts import Experts
from orchestra_lib.language_models import CODER, GENERALIST, LanguageModels
from orchestra_lib.model.endpoints import Endpoints
from orchestra_lib.model.weights import WeightsStatus
from orchestra_lib.orchestrators import Conductors, Offer, Orchestrators
from orchestra_lib.players import tool_name, tools_of
from orchestra_lib.protocols import ChatModel, Describable, Policy, Tool
from orchestra_lib.store.recordings import Recordings
from orchestra_lib.tool import RECORDED, ToolSpec
from orchestra_lib.toolkit.code_interpreter import CodeInterpreter
from orchestra_lib.toolkit.local_search import LocalSearch
from orchestra_lib.toolkit.mcp.servers import McpServers
from orchestra_lib.toolkit.model_tool import coder, generalist
from orchestra_lib.toolkit.retrieval import LocalRetriever
from orchestra_lib.toolkit.web_search import WebSearch

_EMBEDDED_ALIASES = ("search-3", "reasoner-3", "answer-4")
"""The cheapest alias of each published tool: where the embedded model stands in."""
_EMBEDDED_EXPERTS = ("expert-3",)
_log = logging.getLogger(__name__)


class Roster:
    """Builds orchestrators and tools for one home folder; models start when first used.

    `environ` gives addresses and keys; a key is read when a request is made and kept nowhere.
    `others` are further orchestrators, which whoever stands above this floor adds.
    """

    def __init__(self, home: Path, environ: Mapping[str, str] = os.environ) -> None:
        self._home, self._environ = home, environ
        self.models = models = LanguageModels(home, environ)
        self._interpreter = CodeInterpreter()
        self._search = LocalSearch(home)
        web = WebSearch.of(environ, Recordings(home / "web-cache"))
        self._tools: dict[str, tuple[Tool, Callable[[], str | None]]] = {
            "code_interpreter": (self._interpreter, self._interpreter.availability),
            "local_search": (self._search, lambda: None),
            "web_search": (web, web.availability),
            "coder": (coder(models.embedded[CODER]), partial(models.missing, CODER)),
            "generalist": (generalist(models.embedded[GENERALIST]), partial(models.missing, GENERALIST)),
            **tools_of(models.endpoints),
        }
        self.mcp = McpServers(home, environ)
        self.experts = Experts(home, environ, self.chat_model)
        self.descriptions = DescriptionBook(home)
        self.others: list[Conductors] = []
        self._orchestrators = Orchestrators(home, models, self.experts, self.others)

    @property
    def endpoints(self) -> Endpoints:
        """The endpoints as they were last read."""
        return self.models.endpoints

    def orchestrators(self) -> tuple[Offer, ...]:
        """Who can conduct here, the default first."""
        return self._orchestrators.offers()

    def orchestrator(self, name: str) -> Policy:
        """Build one by name. Raises `BadInput` for an unknown name or one that is off."""
        return self._orchestrators.policy(name)

    def chat_model(self, name: str) -> ChatModel:
        """A language model by its name in the catalogue, for whoever judges or writes; `recorded:` before one replays.

        Raises `BadInput` for an unknown name and for one that is off now.
        """
        if name.startswith(RECORDED):
            return self.experts.model(name.removeprefix(RECORDED))
        return self.models.get(name)

    def tools(self) -> tuple[tuple[ToolSpec, str | None], ...]:
        """Every tool, and why it is off now."""
        own = [(tool, off()) for tool, off in self._all_tools().values()]
        used = self.descriptions.in_use()
        return tuple((self._described(tool, used).spec, off) for tool, off in (*own, *self.experts.tools()))

    def remote(self) -> frozenset[str]:
        """The tools that send what they are asked to another machine."""
        away = {tool_name(one) for one in self.endpoints if one.tool and not self.endpoints.here(one.name)}
        return frozenset({"web_search", *away} & self._tools.keys() | self.mcp.tools().keys())

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
        self.models.endpoints = endpoints

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

    def ensemble(self, name: str) -> tuple[Policy, tuple[Tool, ...]]:
        """An orchestrator of protocol `toolorchestra` with its tools; the coder stands behind the aliases.

        Raises `BadInput` for an orchestrator that is no language model, and while there is no model for an alias.
        """
        conducting = self.models.of_orchestrator(name)
        if (missing := self.models.missing(CODER)) is not None:
            raise BadInput(f"no expert can answer: {missing}")
        return build(
            conducting,
            dict.fromkeys(_EMBEDDED_ALIASES, self.models.embedded[CODER]),
            search=LocalRetriever(self._search),
            interpreter=self._interpreter,
            counter=self.models.counter(),
            name=name,
        )

    def ensemble_in_domain(
        self, name: str, policy_text: str, functions: Sequence[Tool]
    ) -> tuple[Policy, tuple[Tool, ...]]:
        """An orchestrator of protocol `toolorchestra` over a domain's functions, with the coder as its weakest expert.

        Raises `BadInput` for an orchestrator that is no language model. Without the coder's weights it works alone.
        """
        experts = {} if self.models.missing(CODER) else dict.fromkeys(_EMBEDDED_EXPERTS, self.models.embedded[CODER])
        return build_domain(
            self.models.of_orchestrator(name),
            experts,
            policy_text,
            functions,
            counter=self.models.counter(),
            name=name,
        )

    async def prepare(self, on_progress: Callable[[WeightsStatus], None] | None = None) -> None:
        """Get everything ready: sandbox, embeddings, weights, the model's prompt beginnings.

        The world's faults are shown by the models' statuses, or met again when the thing is used; none is raised.
        """
        await asyncio.to_thread(self._interpreter.availability)
        await asyncio.to_thread(lambda: self._orchestrators.estimator.near("Ready?", ()))
        try:
            await asyncio.to_thread(self.models.fetch, on_progress)
            await self.models.warm()
        except WorldFault as error:
            _log.warning("%s", error)

    async def close(self) -> None:
        """Stop fetching and end the processes of models and MCP servers that this program started."""
        self.models.cancel_fetch()
        await self.mcp.close()
        await asyncio.to_thread(self.models.stop)
