"""`orchestra serve`: orchestrators behind an OpenAI-compatible address."""

import asyncio
import os
import secrets
import sys
from collections.abc import Callable, Mapping
from typing import Annotated, Any

import typer

from orchestra_lib import chat
from orchestra_lib.cli.options import (
    CostLimit,
    MaxTurns,
    Prices,
    Seed,
    TimeLimit,
    TokenLimit,
    given_flags,
    preference_flags,
    tool_names,
)
from orchestra_lib.cli.progress import WeightsProgress
from orchestra_lib.configuration import resolve
from orchestra_lib.errors import BadInput
from orchestra_lib.paths import home
from orchestra_lib.serving.waiting import WAIT_S
from orchestra_lib.training import conducting
from orchestra_lib.workbench import Order, Workbench


def serve(
    host: Annotated[
        str, typer.Option(help="Address to listen on; the default is for this machine only.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on.")] = 7870,
    orchestrator: Annotated[
        list[str] | None,
        typer.Option(help="A name from `orchestra models`, served as a model; conductor if left out. Repeat it."),
    ] = None,
    api_key: Annotated[
        str | None,
        typer.Option(
            help="The key that callers send. Others on this machine can read it here; --api-key-env hides it."
        ),
    ] = None,
    api_key_env: Annotated[
        str | None,
        typer.Option(help="The key is in this environment variable. Without either one is made and printed."),
    ] = None,
    protocol: Annotated[
        str, typer.Option(help="chat, or toolorchestra as the released 8B was trained.")
    ] = chat.PROTOCOL,
    prefer: Annotated[list[str] | None, typer.Option(help="NAME=WEIGHT, as `orchestra run` takes it.")] = None,
    tools: Annotated[str | None, typer.Option(help="Only these of ours, as `orchestra run` takes them.")] = None,
    prices: Prices = None,
    max_turns: MaxTurns = None,
    cost_limit: CostLimit = None,
    time_limit: TimeLimit = None,
    token_limit: TokenLimit = None,
    seed: Annotated[int | None, typer.Option(help="Seed for models that sample, where a request brings none.")] = None,
    parallel: Annotated[int, typer.Option(help="So many requests are answered at once; more are told to wait.")] = 16,
    wait: Annotated[
        float, typer.Option(help="Seconds that a run waits for the results of its caller's tools.")
    ] = WAIT_S,
    mcp: Annotated[bool, typer.Option("--mcp", help="Serve the workbench as an MCP server at /mcp, too.")] = False,
) -> None:
    """Serve orchestrators as models of an OpenAI-compatible API, each request a run that is kept."""
    key, made = _key(api_key, api_key_env)
    order = _order(
        protocol=protocol, prefer=prefer, tools=tools, prices=prices, max_turns=max_turns, cost_limit=cost_limit,
        time_limit=time_limit, token_limit=token_limit, seed=seed,
    )  # fmt: skip
    if parallel < 1 or wait <= 0:
        raise BadInput(f"--parallel {parallel} and --wait {wait:g} are above 0")
    from orchestra_lib.server.application import Terms, create_server, orders_of
    from orchestra_lib.server.application import serve as serve_until_stopped

    workbench = _workbench()
    terms = Terms(key=key, host=host, at_once=parallel, wait_s=wait)
    orders = orders_of(workbench, orchestrator or ["conductor"], order)
    server = create_server(workbench, orders, terms, mcp=mcp, on_progress=WeightsProgress())
    if made:
        print(f"key: {key}   (made for this time; --api-key-env NAME brings one of your own)", file=sys.stderr)
    serve_until_stopped(server, terms, port, list(orders))


def mcp(
    orchestrator: Annotated[
        list[str] | None,
        typer.Option(help="A name from `orchestra models` that tasks may ask for; conductor if left out. Repeat it."),
    ] = None,
    protocol: Annotated[str, typer.Option(help="chat, or toolorchestra.")] = chat.PROTOCOL,
    prefer: Annotated[list[str] | None, typer.Option(help="NAME=WEIGHT, as `orchestra run` takes it.")] = None,
    tools: Annotated[str | None, typer.Option(help="Only these, as `orchestra run` takes them.")] = None,
    prices: Prices = None,
    max_turns: MaxTurns = None,
    cost_limit: CostLimit = None,
    time_limit: TimeLimit = None,
    token_limit: TokenLimit = None,
    seed: Seed = None,
) -> None:
    """Be an MCP server over stdin and stdout: run tasks, list, read and query trajectories."""
    order = _order(
        protocol=protocol, prefer=prefer, tools=tools, prices=prices, max_turns=max_turns, cost_limit=cost_limit,
        time_limit=time_limit, token_limit=token_limit, seed=seed,
    )  # fmt: skip
    from orchestra_lib.server.application import orders_of, speak_mcp

    workbench = _workbench()
    asyncio.run(speak_mcp(workbench, orders_of(workbench, orchestrator or ["conductor"], order)))


def _order(
    *,
    prefer: list[str] | None,
    tools: str | None,
    max_turns: int | None,
    cost_limit: float | None,
    time_limit: float | None,
    token_limit: int | None,
    **plain: Any,
) -> Order:
    limits = {"max_turns": max_turns, "cost_usd": cost_limit, "time_s": time_limit, "tokens": token_limit}
    flags = {**plain, "tools": tool_names(tools), **{f"limits.{name}": value for name, value in limits.items()}}
    return resolve(None, [], given_flags(flags | preference_flags(prefer)))


def _workbench() -> Workbench:
    workbench = Workbench(home())
    conducting.join(workbench.roster, workbench.home)
    return workbench


def _key(given: str | None, variable: str | None, environ: Mapping[str, str] = os.environ) -> tuple[str, bool]:
    """The key, and whether it was made here."""
    if given is not None and variable is not None:
        raise BadInput("give --api-key or --api-key-env, not both")
    if variable is not None:
        if not environ.get(variable):
            raise BadInput(f"the environment variable {variable} is empty or not set; put the key into it")
        return environ[variable], False
    if given is not None:
        return given, False
    return secrets.token_urlsafe(24), True


COMMANDS: dict[str, Callable[..., None]] = {"serve": serve, "mcp": mcp}
