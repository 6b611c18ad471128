"""MCP servers as a person named them, in `mcp.toml`, and what each offered then, in `mcp/NAME.json`.

What an orchestrator reads of a server's tools is what stood there when the server was added: a server that describes
its tools otherwise later is told apart, and not believed until a person has it looked at again.
"""

import json
import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import tomlkit

from orchestra_lib.codec import dumps, from_data, to_data
from orchestra_lib.errors import BadInput, StoreFault
from orchestra_lib.hosts import LOOPBACK
from orchestra_lib.record import record

FILE = "mcp.toml"
MAX_TOOLS = 128
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,30}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,100}")
_MAX_TIMEOUT_S = 3600.0


@record
class ServerEntry:
    """One server: a `command` that is started, or a `url`; exactly one of them.

    `env` names the variables that a command gets besides the plain ones, `key_env` the one whose value is sent to a
    URL as a bearer token. `call_usd` is what a call costs, None when that is unknown. Raises `BadInput`.
    """

    command: tuple[str, ...] = ()
    url: str | None = None
    env: tuple[str, ...] = ()
    key_env: str | None = None
    timeout_s: float = 60.0
    call_usd: float | None = None

    def __post_init__(self) -> None:
        if bool(self.command) == (self.url is not None):
            raise BadInput("give a command or a url, one of the two")
        if any("\0" in part for part in self.command) or (self.command and not self.command[0].strip()):
            raise BadInput("the command is empty or holds a null byte")
        if not 0 < self.timeout_s <= _MAX_TIMEOUT_S:
            raise BadInput(f"timeout_s = {self.timeout_s:g}; it is above 0 and at most {_MAX_TIMEOUT_S:g}")
        if self.call_usd is not None and not 0 <= self.call_usd < 1e6:
            raise BadInput(f"call_usd = {self.call_usd:g}; it is 0 or more")
        for variable in (*self.env, *([self.key_env] if self.key_env else ())):
            if not _VARIABLE.fullmatch(variable):
                raise BadInput(f"{variable[:40]!r} is no name of an environment variable; give the name, not the value")
        if self.url is not None:
            self._check_url(self.url)

    def _check_url(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.username or parts.password:
            raise BadInput(
                f"url = {url[:100]!r}; write http://HOST/PATH or https://HOST/PATH, without a password in it"
            )
        if parts.scheme == "http" and parts.hostname not in LOOPBACK and self.key_env:
            raise BadInput(f"url = {url[:100]!r} would send the key unencrypted; use https://")

    @property
    def place(self) -> str:
        """Where it is, as people read it."""
        return self.url or " ".join(self.command)


@record
class Offered:
    """One tool as its server described it, its name the server's own, its schema checked and written out."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    title: str | None = None


@record
class Listing:
    """What a server offered when it was looked at; `refused` says of the other tools why they are left out."""

    tools: tuple[Offered, ...] = ()
    refused: Mapping[str, str] = field(default_factory=dict)


def load_entries(home: Path) -> dict[str, ServerEntry]:
    """The servers by name. Raises `BadInput` for a file that cannot be read."""
    file = home / FILE
    try:
        data = tomllib.loads(file.read_text("utf-8")) if file.is_file() else {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise BadInput(f"{file} is no TOML that can be read: {error}") from None
    servers = data.get("servers", {})
    if not isinstance(servers, dict) or set(data) - {"servers"}:
        raise BadInput(f"{file}: it holds tables [servers.NAME] and nothing else")
    return {check_name(name): from_data(entry, ServerEntry, where=f"{file}: {name}") for name, entry in servers.items()}


def check_name(name: str) -> str:
    """A server's name, which begins the names of its tools. Raises `BadInput`."""
    if not _NAME.fullmatch(name):
        raise BadInput(f"{name[:40]!r} is no name for a server; use up to 31 letters, digits, _ and -, a letter first")
    return name


def write_entry(home: Path, name: str, entry: ServerEntry | None) -> None:
    """Put a server into the file, or take it out with None; comments stay. Raises `StoreFault`."""
    file, draft = home / FILE, home / f".{FILE}.new"
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        document = tomlkit.parse(file.read_text("utf-8")) if file.is_file() else tomlkit.document()
        servers: Any = document.setdefault("servers", tomlkit.table(is_super_table=True))
        if entry is None:
            servers.pop(name, None)
        else:
            plain = ServerEntry(command=("x",))
            data = {key: value for key, value in to_data(entry).items() if value != getattr(plain, key)}
            servers[name] = {key: list(value) if isinstance(value, tuple) else value for key, value in data.items()}
        draft.write_text(tomlkit.dumps(document), "utf-8")
        os.replace(draft, file)
    except OSError as error:
        raise StoreFault(f"{file} could not be written: {error.strerror}") from None
    finally:
        draft.unlink(missing_ok=True)


def load_listing(home: Path, name: str) -> Listing | None:
    """What a server offered when it was looked at last; None where nobody has looked. Raises `BadInput`."""
    file = _listing_file(home, name)
    if not file.is_file():
        return None
    try:
        return from_data(json.loads(file.read_text("utf-8")), Listing, where=str(file))
    except (OSError, ValueError, RecursionError) as error:
        raise BadInput(f"{file} cannot be read ({error}); `orchestra tools check {name}` makes it anew") from None


def write_listing(home: Path, name: str, listing: Listing | None) -> None:
    """Keep what a server offers, or forget it with None. Raises `StoreFault`."""
    file = _listing_file(home, name)
    try:
        if listing is None:
            file.unlink(missing_ok=True)
            return
        file.parent.mkdir(parents=True, exist_ok=True)
        part = file.with_suffix(".part")
        part.write_text(dumps(to_data(listing)), "utf-8")
        os.replace(part, file)
    except OSError as error:
        raise StoreFault(f"{file} could not be written: {error.strerror}") from None


def _listing_file(home: Path, name: str) -> Path:
    return home / "mcp" / f"{check_name(name)}.json"
