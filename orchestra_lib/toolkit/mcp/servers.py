"""The MCP servers of one home: their tools in the catalogue, their health, and how one is added or removed."""

import asyncio
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

from orchestra_lib.errors import BadInput, ServerFault
from orchestra_lib.pricing import Price, PriceTable
from orchestra_lib.protocols import Tool
from orchestra_lib.record import record
from orchestra_lib.tool import ToolSpec
from orchestra_lib.toolkit.mcp.entry import (
    FILE,
    Listing,
    ServerEntry,
    check_name,
    load_entries,
    load_listing,
    write_entry,
    write_listing,
)
from orchestra_lib.toolkit.mcp.session import Session
from orchestra_lib.toolkit.mcp.tool import McpTool, listing_of


@record
class Health:
    """One server as a page shows it. `problem` is what was wrong when it was asked last, None while all is well.

    `checked` says whether anybody has asked it since this program started. `refused` tools are not offered.
    """

    name: str
    place: str
    tools: tuple[str, ...]
    refused: Mapping[str, str]
    problem: str | None
    checked: bool
    call_usd: float | None
    timeout_s: float


class McpServers:
    """Reads `mcp.toml` of a home once; `reload` reads it anew. A broken file offers nothing; `broken` says why."""

    def __init__(self, home: Path, environ: Mapping[str, str]) -> None:
        self._home, self._environ = home, environ
        self._sessions: dict[str, Session] = {}
        self._problems: dict[str, str | None] = {}
        self.broken: str | None = None
        self.reload()

    def reload(self) -> None:
        """Read the file and what was listed anew. What cannot be read is said in `broken`, and offers nothing."""
        self.broken, self._entries, self._listings = None, {}, {}
        try:
            self._entries = load_entries(self._home)
            self._listings = {name: load_listing(self._home, name) or Listing() for name in self._entries}
        except BadInput as error:
            self.broken, self._entries = str(error), {}
        self._sessions = {name: Session(name, entry, self._environ) for name, entry in self._entries.items()}
        self._tools: dict[str, tuple[Tool, Callable[[], str | None]]] = {}
        for name, entry in self._entries.items():
            for offered in self._listings[name].tools:
                tool = McpTool(offered, entry, self._sessions[name])
                self._tools[tool.spec.name] = (tool, partial(self._off, name))

    def tools(self) -> Mapping[str, tuple[Tool, Callable[[], str | None]]]:
        """Every tool by name, and for each what says why it is off."""
        return self._tools

    def _off(self, name: str) -> str | None:
        """Why the tools of a server are off: it was asked, and something was wrong. Nobody is asked for this."""
        if name not in self._entries:
            return "its server was removed"
        entry = self._entries[name]
        missing = [variable for variable in (*entry.env, entry.key_env) if variable and not self._environ.get(variable)]
        if missing:
            return f"set {missing[0]} and start again"
        return self._problems.get(name)

    def priced(self, table: PriceTable, specs: Collection[ToolSpec]) -> PriceTable:
        """A table that also prices these tools, where their entries say what a call costs; its own rows win."""
        rows = {
            spec.name: Price(call_usd=usd, source=FILE)
            for spec in specs
            if spec.third_party in self._entries and (usd := self._entries[spec.third_party].call_usd) is not None
        }
        return replace(table, prices={**rows, **table.prices})

    def health(self) -> tuple[Health, ...]:
        """Every server, by name."""
        return tuple(
            Health(
                name=name,
                place=entry.place,
                tools=tuple(offered.name for offered in self._listings[name].tools),
                refused=self._listings[name].refused,
                problem=self._off(name),
                checked=name in self._problems,
                call_usd=entry.call_usd,
                timeout_s=entry.timeout_s,
            )
            for name, entry in sorted(self._entries.items())
        )

    async def add(self, name: str, entry: ServerEntry) -> Listing:
        """Look at a server, keep it and what it offers. Raises `BadInput` and `ServerFault`; nothing is kept then."""
        if self.broken:
            raise BadInput(self.broken)
        if check_name(name) in self._entries:
            raise BadInput(f"there is an MCP server {name!r} already; remove it first, or choose another name")
        missing = [variable for variable in (*entry.env, entry.key_env) if variable and not self._environ.get(variable)]
        if missing:
            raise BadInput(f"the environment variable {missing[0]} is not set")
        listing = await _look(Session(name, entry, self._environ))
        if not listing.tools:
            why = "; ".join(f"{tool}: {reason}" for tool, reason in list(listing.refused.items())[:3])
            raise BadInput(f"the MCP server {name} offers no tool that can be used{f' ({why})' if why else ''}")
        write_listing(self._home, name, listing)
        write_entry(self._home, name, entry)
        self.reload()
        self._problems[name] = None
        return listing

    def remove(self, name: str) -> None:
        """Forget a server. Raises `BadInput` for one that is not there."""
        if name not in self._entries:
            raise BadInput(f"there is no MCP server {name[:60]!r}; there are {', '.join(self._entries) or 'none'}")
        write_entry(self._home, name, None)
        write_listing(self._home, name, None)
        self._problems.pop(name, None)
        self.reload()

    async def check(self, name: str, *, accept: bool = False) -> Health:
        """Ask a server what it offers now, and compare; with `accept` what it offers now is what counts from now on."""
        if name not in self._entries:
            raise BadInput(f"there is no MCP server {name[:60]!r}; there are {', '.join(self._entries) or 'none'}")
        try:
            found = await _look(Session(name, self._entries[name], self._environ))
            changed = [] if found == self._listings[name] else _changes(self._listings[name], found)
            if changed and accept:
                write_listing(self._home, name, found)
                self.reload()
            self._problems[name] = None if accept or not changed else _changed_words(name, changed)
        except ServerFault as fault:
            self._problems[name] = str(fault)
        return next(one for one in self.health() if one.name == name)

    async def close(self) -> None:
        """End the connections of this event loop."""
        await asyncio.gather(*(session.close() for session in self._sessions.values()))


async def _look(session: Session) -> Listing:
    try:
        return listing_of(await session.tools())
    finally:
        await session.close()


def _changes(before: Listing, now: Listing) -> list[str]:
    old, new = ({tool.name: tool for tool in listing.tools} for listing in (before, now))
    return sorted(name for name in old.keys() | new.keys() if old.get(name) != new.get(name))


def _changed_words(name: str, changed: list[str]) -> str:
    shown = ", ".join(tool[:60] for tool in changed[:5])
    return f"it describes {shown} otherwise than when it was added; `orchestra tools check {name} --accept` takes that"
