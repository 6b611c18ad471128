"""The language models of this machine by name: embedded, fetched, at an endpoint; and why one is off now."""

import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path

from orchestra_lib.ensemble import token_counter
from orchestra_lib.errors import BadInput, WeightsFault, WorldFault
from orchestra_lib.model.embedded import EmbeddedModel
from orchestra_lib.model.endpoints import Endpoints
from orchestra_lib.model.openai_compatible import OpenAICompatible
from orchestra_lib.model.weights import WeightsCatalog, WeightsStatus
from orchestra_lib.players import LocalOrchestrators
from orchestra_lib.policy.conductor.arguments_writer import BEGINNINGS
from orchestra_lib.policy.conductor.desk.writing import BEGINNING
from orchestra_lib.protocols import ChatModel
from orchestra_lib.toolorchestra.tokens import TokenCounter, WordPieces

CODER, GENERALIST = "Qwen2.5-Coder-1.5B-Instruct", "Qwen2.5-Coder-0.5B-Instruct"
"""The embedded models by the name of their weights, which is also the name that prices them."""

FREE_LOOP = "free-loop"
"""The embedded coder where it conducts by itself."""

OPENAI = "openai:"
"""What the name of a model begins with that the variables `OPENAI_*` of the environment lead to."""

OPENAI_URL = "https://api.openai.com/v1"


class LanguageModels:
    """Every model that a home folder and the environment lead to; one starts, or is asked, when it is first used.

    `environ` gives addresses and keys; a key is read when a request is made and kept nowhere.
    """

    def __init__(self, home: Path, environ: Mapping[str, str]) -> None:
        self.weights = WeightsCatalog.load(home)
        self._environ = environ
        self.embedded = {
            name: EmbeddedModel(name, partial(self.weights.path, name), home) for name in (CODER, GENERALIST)
        }
        for beginning in (*BEGINNINGS, BEGINNING):  # the last is read when first somebody works in a domain
            self.embedded[CODER].expect(beginning)
        self.endpoints = Endpoints.load(home, environ)
        self.local = LocalOrchestrators(self.weights, home)
        self._cancel_fetch = threading.Event()

    def names(self) -> tuple[tuple[str, str | None], ...]:
        """Every name that `get` knows, the embedded ones first, and why it is off now."""
        own = [(name, self.missing(name)) for name in self.embedded]
        local = [(name, self.missing(self.local.model(name).name)) for name in self.local]
        found = [(one.name, self.endpoints.off(one.name)) for one in self.endpoints]
        return (*own, *local, *found, (OPENAI + (self.openai_model or "MODEL"), self.openai_off()))

    def get(self, name: str) -> ChatModel:
        """One by its name: an endpoint, `openai:MODEL`, `local/NAME`, an embedded model by the name of its weights.

        Raises `BadInput` for an unknown name and for one that is off now.
        """
        if name.startswith(OPENAI):
            return self.openai(name.removeprefix(OPENAI))
        if name in self.endpoints:
            self.endpoints.look_at(name)
            if (why := self.endpoints.off(name)) is not None:
                raise BadInput(f"the model {name} is off: {why}")
            return self.endpoints.model(name)
        if name not in self.embedded and name not in self.local:
            known = ", ".join((*self.embedded, *self.local, *(endpoint.name for endpoint in self.endpoints)))
            raise BadInput(f"there is no model {name[:100]!r}; there are {known} and openai:MODEL")
        model = self.embedded[name] if name in self.embedded else self.local.model(name)
        if (missing := self.missing(model.name)) is not None:
            raise BadInput(f"the model {name} is off: {missing}")
        return model

    def of_orchestrator(self, name: str) -> ChatModel:
        """The model behind an orchestrator. Raises `BadInput` for an orchestrator that is no language model."""
        if name.startswith(OPENAI):
            return self.openai(name.removeprefix(OPENAI))
        if name in self.endpoints and self.endpoints.off(name) is None:
            return self.endpoints.model(name)
        if name in self.local and self.missing(self.local.model(name).name) is None:
            return self.local.model(name)
        if name == FREE_LOOP:
            return self.embedded[CODER]
        raise BadInput(
            f"{name} conducts over protocol chat only, or is off; use free-loop, openai:MODEL or an endpoint"
        )

    @property
    def openai_model(self) -> str:
        """The model that the environment names, empty where it names none."""
        return self._environ.get("OPENAI_MODEL", "")

    @property
    def openai_address(self) -> str:
        """Where `openai:MODEL` is asked."""
        return self._environ.get("OPENAI_BASE_URL") or OPENAI_URL

    def openai_off(self) -> str | None:
        """Why the model that the environment names cannot be used, None when it can."""
        known = self._environ.get("OPENAI_API_KEY") or self._environ.get("OPENAI_BASE_URL")
        if self.openai_model and known:
            return None
        return "set OPENAI_MODEL, and OPENAI_API_KEY or OPENAI_BASE_URL, and start again"

    def openai(self, model: str) -> ChatModel:
        """Any model at that address. Raises `BadInput` without a name, and where nothing says how to reach it."""
        if not model:
            raise BadInput("name the model: openai:MODEL, for example openai:gpt-5-mini")
        if not self._environ.get("OPENAI_BASE_URL") and not self._environ.get("OPENAI_API_KEY"):
            raise BadInput("openai:MODEL needs OPENAI_API_KEY, or OPENAI_BASE_URL for a server of your own")
        return OpenAICompatible(model, self.openai_address, model, api_key_env="OPENAI_API_KEY", counter=WordPieces())

    def missing(self, weights: str) -> str | None:
        """Why a model cannot be used now, None when its weights are here."""
        status = self.weights.status(weights)
        match status.state:
            case "ready":
                return None
            case "failed":
                return status.error
            case "absent" | "partial":
                size = f"{status.total_bytes / 1e6:,.0f} MB"
                which = "" if weights in self.embedded else f" {weights}"
                return f"its weights ({size}) are not here yet; `orchestra models fetch{which}` gets them"
            case _:
                done, size = status.done_bytes / 1e6, f"{status.total_bytes / 1e6:,.0f} MB"
                return f"its weights are arriving: {done:,.0f} of {size}"

    def counter(self) -> TokenCounter:
        """Counts as the coder does once its weights are here, and nearly so before."""
        try:
            return token_counter(self.weights.path(CODER))
        except WeightsFault:
            return token_counter()

    def statuses(self) -> tuple[WeightsStatus, ...]:
        """Where the weights of the embedded models stand."""
        return tuple(self.weights.status(name) for name in self.embedded)

    def fetch(self, on_progress: Callable[[WeightsStatus], None] | None = None) -> None:
        """Fetch what is missing, one file after another; blocks. Raises `WeightsFault` for the first that fails."""
        for name in self.embedded:
            self.weights.fetch(name, on_progress, self._cancel_fetch)

    def fetch_one(self, name: str) -> None:
        """Fetch one file of weights; blocks. Raises `WeightsFault`, `BadInput` for an unknown name."""
        self.weights.fetch(name, None, self._cancel_fetch)

    async def warm(self) -> None:
        """Read the beginnings of the coder's prompts. Raises the `WorldFault` of a model that does not start."""
        for beginning in BEGINNINGS:
            await self.embedded[CODER].warm(beginning)

    def cancel_fetch(self) -> None:
        """Stop fetching, for good."""
        self._cancel_fetch.set()

    def stop(self) -> None:
        """End the processes of models that this program started; blocks."""
        for stop in (*(model.stop for model in self.embedded.values()), self.local.stop):
            with suppress(WorldFault):
                stop()
