"""The catalogue of endpoints: providers, the models behind them, and what is known of both.

What ships is data/endpoints/*.toml; `endpoints.toml` in the user's home overrides single fields of it
and adds providers and models of the user's own. A key never stands in a file: the file names the variable that
holds it, and one with something like a key in it is refused.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import SplitResult, urlsplit

from orchestra_lib.chat import CallStyle
from orchestra_lib.codec import from_data
from orchestra_lib.errors import BadInput
from orchestra_lib.model.dialect import Dialect, Patience
from orchestra_lib.paths import DATA
from orchestra_lib.record import record

T = TypeVar("T")
SHIPPED = DATA / "endpoints"
SERVED = "*"
"""The model name that means: whatever the server serves."""

_VARIABLE = re.compile(r"[A-Z][A-Z0-9_]*")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_KEY_FIELD = re.compile(
    r"^(api_?)?(key|token|secret|password|authorization|bearer)$|^(api|access|auth)_?(key|token)$", re.I
)
_KEY_VALUE = re.compile(
    r"\b(sk|pk|nvapi|gsk|hf|tvly|ghp|xai|tgp|AIza)[-_]?[A-Za-z0-9_-]{16,}|\bBearer\s+\S+|\b(?=\S*\d)(?=\S*[A-Za-z])[A-Za-z0-9]{32,}\b"
)


class EndpointKind(StrEnum):
    """What a model is good for."""

    ORCHESTRATOR = "orchestrator"
    GENERALIST = "generalist"
    MATHS = "maths"
    CODE = "code"


@record
class Provider:
    """A door: an address, the variable with its key, its limits and its dialect.

    `base_url_env` names a variable that replaces `base_url`. `local` servers need no key and say what they serve;
    `start` is how one starts such a server. `at_once` and `per_minute` limit the requests, None is no limit.
    `patience` is how long is waited and how often tried again. `source` is where the facts were read.
    """

    name: str
    title: str
    base_url: str
    source: str
    key_env: str | None = None
    base_url_env: str | None = None
    local: bool = False
    start: str = "start it"
    at_once: int | None = None
    per_minute: float | None = None
    dialect: Dialect = Dialect()
    patience: Patience = Patience()

    def __post_init__(self) -> None:
        parts = _parts(self.base_url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.username or parts.query:
            raise BadInput(
                f"base_url = {_without_secrets(self.base_url)!r} is no plain URL; write for example http://127.0.0.1:8000/v1"
            )
        for field, value in (("key_env", self.key_env), ("base_url_env", self.base_url_env)):
            if value is not None and not _VARIABLE.fullmatch(value):
                raise BadInput(f"{field} names an environment variable, in capitals, and holds no value")


@record
class Endpoint:
    """A model behind a provider. `model` is what the server calls it, `SERVED` for whatever a local server serves.

    `context` is how many tokens fit, `max_output` how many of them one reply may have, `max_input` how many are
    sent at most, which bounds what a call can cost. `price` names the price row, None when it is the model's name.
    `typical_latency_s` is a measured median. `dialect` overrides the provider's. `orchestrator` and `tool` say as
    what it is offered. `must_begin_with_call` is for models that call no tool of their own accord,
    `opens_thinking` for templates that open `<think>` in the prompt.
    """

    name: str
    provider: str
    model: str
    title: str
    family: str
    kind: EndpointKind
    context: int
    max_output: int = 8192
    max_input: int = 100_000
    price: str | None = None
    typical_latency_s: float | None = None
    style: CallStyle = CallStyle.NATIVE
    orchestrator: bool = True
    tool: bool = False
    must_begin_with_call: bool = False
    opens_thinking: bool = False
    dialect: Dialect = Dialect()

    def __post_init__(self) -> None:
        if not 0 < self.max_output < self.context:
            raise BadInput(
                f"max_output = {self.max_output} and context = {self.context}; a reply is part of the context"
            )
        if self.tool and self.model == SERVED:
            raise BadInput("a tool needs a model of its own; name it instead of '*'")

    @property
    def priced_as(self) -> str:
        return self.price or self.model

    @property
    def input_limit(self) -> int:
        """How many tokens one request may hold."""
        return min(self.max_input, self.context - self.max_output)


@record
class Catalogue:
    """Providers and endpoints by name."""

    providers: Mapping[str, Provider]
    endpoints: Mapping[str, Endpoint]

    @classmethod
    def load(cls, home: Path) -> "Catalogue":
        """What ships and what the user added. Raises `BadInput` that names the file, the entry and the remedy."""
        own = home / "endpoints.toml"
        files = [*sorted(SHIPPED.glob("*.toml")), *([own] if own.is_file() else [])]
        return cls.read(files)

    @classmethod
    def read(cls, files: list[Path]) -> "Catalogue":
        """Files in order, later ones winning field by field."""
        raw: dict[str, Any] = {}
        where: dict[str, Path] = {}
        for file in files:
            data = _read(file)
            where |= {name: file for table in data.values() for name in table}
            raw = _merged(raw, data)
        providers = {
            name: _value({"name": name, **fields}, Provider, f"{where[name]}: provider {name}")
            for name, fields in raw.get("providers", {}).items()
        }
        endpoints = {
            name: _endpoint(name, fields, raw.get("providers", {}), where[name])
            for name, fields in raw.get("endpoints", {}).items()
        }
        return cls(providers=providers, endpoints=endpoints)


def _endpoint(name: str, fields: dict[str, Any], providers: Mapping[str, Any], file: Path) -> Endpoint:
    provider, _, rest = name.partition("/")
    if provider not in providers or not _NAME.fullmatch(rest):
        known = ", ".join(sorted(providers))
        raise BadInput(f"{file}: endpoint {name!r} is named PROVIDER/NAME; the providers are {known}")
    dialect = {**providers[provider].get("dialect", {}), **fields.get("dialect", {})}
    data = {"name": name, "provider": provider, **fields, "dialect": dialect}
    return _value(data, Endpoint, f"{file}: endpoint {name}")


def _value(data: dict[str, Any], kind: type[T], where: str) -> T:
    try:
        return from_data(data, kind, where=where)
    except BadInput as error:  # what a record itself objects to does not say where it stands
        raise BadInput(str(error) if str(error).startswith(where) else f"{where}: {error}") from None


def _read(file: Path) -> dict[str, dict[str, Any]]:
    try:
        data = tomllib.loads(file.read_text("utf-8"))
    except OSError as error:
        raise BadInput(f"{file} cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadInput(f"{file} is no TOML: {error}") from None
    for path in keys_in(data, ()):
        raise BadInput(
            f"{file}: {path} looks like a key, and keys do not belong into files. Remove it, give the key to an "
            "environment variable and name that in key_env"
        )
    for table, entries in data.items():
        if table not in ("providers", "endpoints") or not isinstance(entries, dict):
            raise BadInput(
                f'{file}: unknown table {table!r}; there are [providers.NAME] and [endpoints."PROVIDER/NAME"]'
            )
        for name, fields in entries.items():
            if not isinstance(fields, dict):
                raise BadInput(f"{file}: {table}.{name} is no table; write [{table}.{name}]")
    return data


def keys_in(value: object, path: tuple[str, ...]) -> Iterator[str]:
    """The places that hold something like a key; never the value."""
    if isinstance(value, dict):
        for name, inner in value.items():
            if _KEY_FIELD.search(str(name)) and isinstance(inner, str):
                yield ".".join((*path, str(name)))
            yield from keys_in(inner, (*path, str(name)))
    elif isinstance(value, list):
        for inner in value:
            yield from keys_in(inner, path)
    elif isinstance(value, str) and (_KEY_VALUE.search(value) or _parts(value).password):
        yield ".".join(path)


def _parts(url: str) -> SplitResult:
    try:
        return urlsplit(url)
    except ValueError:
        return urlsplit("")


def _without_secrets(url: str) -> str:
    parts = _parts(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl()


def _merged(under: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    both = {
        name: _merged(under[name], value) if isinstance(value, dict) and isinstance(under.get(name), dict) else value
        for name, value in over.items()
    }
    return {**under, **both}
