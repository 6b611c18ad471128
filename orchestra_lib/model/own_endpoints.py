"""Endpoints of the user's own: entries in `endpoints.toml`, checked before the file changes.

Whoever adds one through a page can say which variable holds the key, and nobody may use that to have a key sent
to an address that it was not made for: see `_check_door`. In the file itself a person may write what they like.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import tomlkit
from tomlkit import TOMLDocument
from tomlkit.exceptions import ParseError

from orchestra_lib.errors import BadInput, StoreFault
from orchestra_lib.model.endpoint import SHIPPED, Catalogue, EndpointKind, keys_in
from orchestra_lib.model.wire import is_local
from orchestra_lib.record import record

FILE = "endpoints.toml"
_ADDED = "added in Tools & prices"
"""The source of a provider that came through the page, and may be changed through it."""
_KEY_ENDING = "_API_KEY"
_OTHERS = {"TAVILY_API_KEY": "web_search", "BRAVE_API_KEY": "web_search", "WANDB_API_KEY": "Weights & Biases"}
"""Keys of what is no provider of models, and whose they are."""


@record
class NewEndpoint:
    """What a person says of an endpoint: `name` is PROVIDER/NAME; a known provider needs no `base_url`.

    `key_env` is the name of the variable with its key, None where none is needed; `context` is in tokens.
    """

    name: str
    model: str
    base_url: str | None = None
    key_env: str | None = None
    title: str | None = None
    kind: EndpointKind = EndpointKind.GENERALIST
    context: int = 32_768
    max_output: int = 4096
    orchestrator: bool = True
    tool: bool = True


@record
class Own:
    """An endpoint of the user's file. `door` says whether its address and key are the page's to change."""

    endpoint: NewEndpoint
    door: bool


def own_endpoints(home: Path) -> Mapping[str, Own]:
    """The endpoints that only the user's file has, by name; one that ships and is overridden there is none of them.

    Raises `BadInput` for a file that cannot be read.
    """
    catalogue, shipped = Catalogue.load(home), Catalogue.read(sorted(SHIPPED.glob("*.toml")))
    found = {}
    for name, endpoint in catalogue.endpoints.items():
        if name in shipped.endpoints:
            continue
        provider = catalogue.providers[endpoint.provider]
        found[name] = Own(
            endpoint=NewEndpoint(
                name=name,
                model=endpoint.model,
                base_url=provider.base_url,
                key_env=provider.key_env,
                title=endpoint.title,
                kind=endpoint.kind,
                context=endpoint.context,
                max_output=endpoint.max_output,
                orchestrator=endpoint.orchestrator,
                tool=endpoint.tool,
            ),
            door=provider.source == _ADDED,
        )
    return found


def edit_endpoint(home: Path, new: NewEndpoint) -> None:
    """Change what the form shows of an endpoint of one's own; what else stands in the file stays, comments too.

    An address that was added through the page changes for all endpoints of its provider. Runs that go on keep what
    they began with. Raises `BadInput` naming the field and the remedy, and changes nothing then.
    """
    own = _own(home, new.name)
    _refuse_keys(new)
    provider, _, rest = new.name.partition("/")
    catalogue = Catalogue.load(home)
    others = {name: one for name, one in catalogue.providers.items() if name != provider}
    known = catalogue.providers[provider]
    if own.door:
        door = _door(new, provider, Catalogue(providers=others, endpoints={}))
    elif (new.base_url and new.base_url.rstrip("/") != known.base_url.rstrip("/")) or new.key_env != known.key_env:
        raise BadInput(f"{provider} was not added on this page: change its address and its key in {FILE}")
    else:
        door = {}

    def change(document: TOMLDocument) -> None:
        shown = ("model", "title", "kind", "context")
        document["endpoints"][new.name].update({key: _endpoint(new, rest)[key] for key in shown})  # type: ignore[index,union-attr]
        if door:
            entry: Any = document["providers"][provider]  # type: ignore[index]
            entry.update(door)
            for gone in {"key_env", "local"} - set(door):
                entry.pop(gone, None)

    _write(home, change)


def remove_endpoint(home: Path, name: str) -> None:
    """Take an endpoint of one's own out of the file, and its provider with the last one if the page had added it.

    Raises `BadInput` for one that is not there or ships with the workbench.
    """
    own = _own(home, name)
    provider = name.partition("/")[0]
    siblings = [other for other in Catalogue.load(home).endpoints if other.startswith(f"{provider}/") and other != name]

    def change(document: TOMLDocument) -> None:
        del document["endpoints"][name]  # type: ignore[union-attr]
        if own.door and not siblings:
            del document["providers"][provider]  # type: ignore[union-attr]

    _write(home, change)


def _own(home: Path, name: str) -> Own:
    own = own_endpoints(home)
    if name in own:
        return own[name]
    if name in Catalogue.load(home).endpoints:
        raise BadInput(f"{name} ships with the workbench; only endpoints of your own can be changed here")
    raise BadInput(f"there is no endpoint {name[:80]!r} any more; it may have been removed meanwhile")


def add_endpoint(home: Path, new: NewEndpoint) -> None:
    """Write it into the user's file, whole or not at all. Raises `BadInput` naming the field and the remedy."""
    catalogue = Catalogue.load(home)
    if new.name in catalogue.endpoints:
        raise BadInput(f"there is an endpoint {new.name!r} already; choose another name, or change it in {FILE}")
    provider, _, rest = new.name.partition("/")
    if not provider or not rest:
        raise BadInput(f"name = {new.name[:80]!r}; write PROVIDER/NAME, for example lab/qwen3-8b")
    _refuse_keys(new)
    endpoint = _endpoint(new, rest)
    if provider in catalogue.providers:
        known = catalogue.providers[provider]
        if new.base_url and new.base_url.rstrip("/") != known.base_url.rstrip("/"):
            raise BadInput(
                f"{provider} is at {known.base_url}; leave the address empty, or name a provider of your own"
            )
        _write(home, _added({"endpoints": {new.name: endpoint}}))
        return
    door = _door(new, provider, catalogue)
    _write(home, _added({"providers": {provider: door}, "endpoints": {new.name: endpoint}}))


def _door(new: NewEndpoint, provider: str, catalogue: Catalogue) -> dict[str, Any]:
    """The provider's entry for an address that the page brings; `catalogue` has the others."""
    if not new.base_url:
        raise BadInput(
            f"base_url is missing: {provider!r} is no known provider; write for example http://127.0.0.1:8000/v1"
        )
    _check_door(new, catalogue)
    if not new.key_env and not is_local(new.base_url):
        raise BadInput(f"key_env is missing: name the variable with the key of {new.base_url}, such as LAB_API_KEY")
    return {
        "title": provider,
        "base_url": new.base_url,
        "source": _ADDED,
        **({"key_env": new.key_env} if new.key_env else {}),
        **({"local": True} if is_local(new.base_url) else {}),
    }


def _endpoint(new: NewEndpoint, rest: str) -> dict[str, Any]:
    return {
        "model": new.model.strip() or rest,
        "title": new.title or new.model.strip() or rest,
        "family": "unknown",
        "kind": str(new.kind),
        "context": new.context,
        "max_output": new.max_output,
        "orchestrator": new.orchestrator,
        "tool": new.tool,
    }


def _refuse_keys(new: NewEndpoint) -> None:
    fields = {
        "name": new.name,
        "base_url": new.base_url,
        "model": new.model,
        "key_env": new.key_env,
        "title": new.title,
    }
    for field in keys_in(fields, ()):
        raise BadInput(
            f"{field} looks like a key, and keys do not belong into files. Give the key to an environment variable, "
            "such as LAB_API_KEY, write that name into key_env, and start the workbench again"
        )


def _check_door(new: NewEndpoint, catalogue: Catalogue) -> None:
    """That a key goes only where its owner meant it to go."""
    if new.key_env is None or new.base_url is None:
        return
    if not new.key_env.isupper() or not new.key_env.isidentifier():
        raise BadInput(
            "key_env names an environment variable, in capitals, and holds no value: for example LAB_API_KEY"
        )
    if not new.key_env.endswith(_KEY_ENDING):
        raise BadInput(f"key_env = {new.key_env!r}; a variable that is sent to an address ends with {_KEY_ENDING}")
    owners = [one.name for one in catalogue.providers.values() if one.key_env == new.key_env]
    owners += [owner for variable, owner in _OTHERS.items() if variable == new.key_env]
    if owners:
        raise BadInput(f"{new.key_env} is the key of {owners[0]} and is sent there only; give this address its own")
    if urlsplit(new.base_url).scheme == "http" and not is_local(new.base_url):
        raise BadInput(f"base_url = {new.base_url!r} would send the key unencrypted; use https://")


def _added(more: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> Callable[[TOMLDocument], None]:
    def change(document: TOMLDocument) -> None:
        for table, entries in more.items():
            # Tables of tables without a head of their own: [providers.lab], as one writes it by hand.
            place = document.setdefault(table, tomlkit.table(is_super_table=True))
            for name, fields in entries.items():
                place[name] = dict(fields)

    return change


def _write(home: Path, change: Callable[[TOMLDocument], None]) -> None:
    """Change the file, keeping what a person wrote there, comments too; checked as it will be read."""
    file, draft = home / FILE, home / f".{FILE}.new"
    try:
        document = tomlkit.parse(file.read_text("utf-8")) if file.is_file() else tomlkit.document()
        change(document)
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        draft.write_text(tomlkit.dumps(document), "utf-8")
        Catalogue.read([*sorted(SHIPPED.glob("*.toml")), draft])
        draft.replace(file)
    except ParseError as error:
        raise BadInput(f"{file} is no TOML: {error}") from None
    except BadInput as error:
        raise BadInput(str(error).replace(str(draft), FILE)) from None
    except OSError as error:
        raise StoreFault(f"{file} could not be written: {error.strerror}") from None
    finally:
        draft.unlink(missing_ok=True)
