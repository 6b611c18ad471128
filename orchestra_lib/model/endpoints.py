"""The endpoints of the catalogue as they stand now: which are off and why, and each one as a `ChatModel`."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from orchestra_lib.errors import BadInput
from orchestra_lib.model.endpoint import SERVED, Catalogue, Endpoint, Provider
from orchestra_lib.model.failure import Address
from orchestra_lib.model.gate import Gate
from orchestra_lib.model.openai_compatible import OpenAICompatible
from orchestra_lib.model.probe import PATIENT_S, Door, Probes, Sight
from orchestra_lib.model.wire import is_local
from orchestra_lib.toolorchestra.tokens import WordPieces

_SHOWN = 3


class Endpoints:
    """Endpoints by name. `environ` holds keys and addresses; a key is looked up when needed and kept nowhere.

    Methods raise `BadInput` for an unknown name.
    """

    def __init__(self, catalogue: Catalogue, environ: Mapping[str, str], probes: Probes | None = None) -> None:
        self._catalogue, self._environ, self._probes = catalogue, environ, probes or Probes()
        self._gates = {
            name: Gate(at_once=provider.at_once, per_minute=provider.per_minute)
            for name, provider in catalogue.providers.items()
        }

    @classmethod
    def load(cls, home: Path, environ: Mapping[str, str]) -> "Endpoints":
        """What ships and what the user added. Raises `BadInput` that names the file, the entry and the remedy."""
        return cls(Catalogue.load(home), environ)

    def __iter__(self) -> Iterator[Endpoint]:
        return iter(self._catalogue.endpoints.values())

    def __contains__(self, name: object) -> bool:
        return name in self._catalogue.endpoints

    def get(self, name: str) -> Endpoint:
        """One endpoint of the catalogue."""
        if name not in self:
            raise BadInput(f"there is no endpoint {name!r}; there are {', '.join(self._catalogue.endpoints)}")
        return self._catalogue.endpoints[name]

    def provider(self, name: str) -> Provider:
        """Whose it is."""
        return self._catalogue.providers[self.get(name).provider]

    def door(self, name: str) -> Door:
        """Where it is asked, with the key for it."""
        return self._door(self.provider(name))

    def address(self, name: str) -> str:
        """Where it is, without a password that an address from the environment may hold."""
        provider = self.provider(name)
        return Address(base_url=self._door(provider).base_url, model="", key_name="").shown

    def here(self, name: str) -> bool:
        """Whether it is on this machine, so that what it is asked stays here."""
        return is_local(self._door(self.provider(name)).base_url)

    def off(self, name: str) -> str | None:
        """Why it cannot be used now and what helps, None when it can; never waits for a server."""
        endpoint, provider = self.get(name), self.provider(name)
        if not provider.local and not self._key(provider):
            return f"{provider.title} needs a key: set {provider.key_env} and start again"
        if not self._door(provider).base_url.startswith(("http://", "https://")):
            return f"{provider.base_url_env} holds no URL; write for example {provider.base_url}"
        sight = self._probes.sight(self._door(provider))
        if sight is None:
            return f"looking for {provider.title} at {self.address(name)}" if provider.local else None
        return self._why(endpoint, provider, sight)

    def look(self) -> None:
        """Have every address that can be used looked at once; waits two seconds and a half at most."""
        usable = (p for p in self._catalogue.providers.values() if p.local or self._key(p))
        self._probes.wait([self._door(provider) for provider in usable])

    def look_at(self, name: str) -> None:
        """Have the address of one endpoint looked at, with patience: a server that is busy lists its models late."""
        if (provider := self.provider(name)).local or self._key(provider):
            self._probes.wait([self._door(provider)], PATIENT_S)

    def priced_as(self, name: str) -> str:
        """The name of its price row."""
        return self.get(name).price or self.served(name)

    def model(self, name: str) -> OpenAICompatible:
        """It as a `ChatModel`, also while it is off; models of one provider share its limits."""
        endpoint, provider = self.get(name), self.provider(name)
        return OpenAICompatible(
            self.priced_as(name),
            self._door(provider).base_url,
            self.served(name),
            api_key_env=provider.key_env,
            dialect=endpoint.dialect,
            patience=provider.patience,
            gate=self._gates[provider.name],
            counter=WordPieces(),
            context=endpoint.context,
            max_input=endpoint.max_input,
        )

    def _why(self, endpoint: Endpoint, provider: Provider, sight: Sight) -> str | None:
        at = f"{provider.title} at {self.address(endpoint.name)}"
        if sight.refused:
            return f"{at} {sight.problem}; set a valid one in {provider.key_env or 'key_env of endpoints.toml'}"
        if sight.problem is not None:
            other = f", or set {provider.base_url_env}" if provider.base_url_env else ""
            return f"{at} {sight.problem}; {provider.start if provider.local else 'check the network'}{other}"
        if not provider.local or sight.models is None:
            return None
        if not sight.models:
            return f"{at} serves no model; {provider.start}"
        if endpoint.model in (SERVED, *sight.models):
            return None
        more = ", …" if len(sight.models) > _SHOWN else ""
        served = ", ".join(model[:60] for model in sight.models[:_SHOWN]) + more
        return f"{at} does not serve {endpoint.model}, but {served}; {provider.start}"

    def served(self, name: str) -> str:
        """What the server calls the model."""
        endpoint = self.get(name)
        if endpoint.model != SERVED:
            return endpoint.model
        sight = self._probes.sight(self._door(self.provider(name)))
        return sight.models[0] if sight and sight.models else SERVED

    def _door(self, provider: Provider) -> Door:
        address = self._environ.get(provider.base_url_env) if provider.base_url_env else None
        return Door(base_url=address or provider.base_url, key=self._key(provider))

    def _key(self, provider: Provider) -> str | None:
        return self._environ.get(provider.key_env) or None if provider.key_env else None
