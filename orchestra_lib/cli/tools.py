"""The noun `tools`: the catalogue, and the MCP servers whose tools join it. Only here is a command named that runs."""

import asyncio
import os
from collections.abc import Mapping
from typing import Annotated

import typer

from orchestra_lib.cli.options import Json
from orchestra_lib.cli.terminal import dollars, note, one_line, print_json, print_table
from orchestra_lib.codec import to_data
from orchestra_lib.errors import BadInput
from orchestra_lib.paths import home
from orchestra_lib.roster import Roster
from orchestra_lib.toolkit.mcp.entry import ServerEntry
from orchestra_lib.toolkit.mcp.servers import Health, McpServers

tools = typer.Typer(help="The tools at hand, and MCP servers that bring more.", no_args_is_help=True)


@tools.command("list")
def list_tools(json: Json = False) -> None:
    """Every tool, whose it is, and why it is off."""
    found = Roster(home()).tools()
    if json:
        print_json([to_data(spec) | {"off": off} for spec, off in found])
        return
    rows = [
        (spec.name, "off" if off else "on", spec.third_party or "ours", one_line(off or spec.description, 100))
        for spec, off in found
    ]
    print_table(("tool", "state", "whose", "what"), rows)


@tools.command("add-mcp")
def add_mcp(
    name: Annotated[str, typer.Argument(help="What to call the server; its tools are NAME-TOOL.")],
    command: Annotated[
        list[str] | None, typer.Argument(help="After --: the command that starts it. It runs with your rights.")
    ] = None,
    url: Annotated[str | None, typer.Option(help="Its address, for one that is reached by streamable HTTP.")] = None,
    env: Annotated[
        list[str] | None, typer.Option(help="A variable that the command may see besides the plain ones. Repeat it.")
    ] = None,
    key_env: Annotated[
        str | None, typer.Option(help="The variable whose value is sent to the URL as a bearer token.")
    ] = None,
    timeout: Annotated[float, typer.Option(help="Seconds for one call.")] = 60.0,
    price: Annotated[float | None, typer.Option(help="USD for one call; unknown when left out.")] = None,
) -> None:
    """Add an MCP server: its tools join the catalogue as it describes them now."""
    entry = ServerEntry(
        command=tuple(command or ()), url=url, env=tuple(env or ()), key_env=key_env, timeout_s=timeout, call_usd=price
    )
    servers = McpServers(home(), os.environ)
    listing = asyncio.run(servers.add(name, entry))
    print_table(
        ("tool", "what it says of itself"), [(one.name, one_line(one.description, 100)) for one in listing.tools]
    )
    for tool, why in listing.refused.items():
        note(f"left out {tool}: {why}")


@tools.command("mcp")
def mcp_servers(json: Json = False) -> None:
    """The MCP servers; `check` asks them."""
    servers = McpServers(home(), os.environ)
    if servers.broken:
        raise BadInput(servers.broken)
    _show(servers.health(), json=json)


@tools.command("check")
def check(
    name: Annotated[str | None, typer.Argument(help="Only this server.")] = None,
    accept: Annotated[
        bool, typer.Option("--accept", help="From now on its tools are as it describes them now.")
    ] = False,
    json: Json = False,
) -> None:
    """Ask MCP servers what they offer, and whether it is what it was; exit code 1 when something is wrong."""
    servers = McpServers(home(), os.environ)
    if servers.broken:
        raise BadInput(servers.broken)
    names = [name] if name else [one.name for one in servers.health()]
    found = asyncio.run(_checked(servers, names, accept=accept))
    _show(found, json=json)
    if any(one.problem for one in found):
        raise typer.Exit(1)


async def _checked(servers: McpServers, names: list[str], *, accept: bool) -> tuple[Health, ...]:
    return tuple([await servers.check(name, accept=accept) for name in names])


@tools.command("remove-mcp")
def remove_mcp(name: Annotated[str, typer.Argument(help="The server.")]) -> None:
    """Forget an MCP server and its tools; runs keep what they have."""
    McpServers(home(), os.environ).remove(name)


def _show(found: tuple[Health, ...], *, json: bool) -> None:
    if json:
        print_json([to_data(one) for one in found])
        return
    rows = [
        (
            one.name,
            one.problem or ("ok" if one.checked else "not asked"),
            str(len(one.tools)),
            dollars(one.call_usd),
            one.place,
        )
        for one in found
    ]
    print_table(("server", "health", "tools", "a call", "where"), rows)


COMMANDS: Mapping[str, typer.Typer] = {"tools": tools}
