"""`orchestra serve`: orchestrators behind an OpenAI-compatible address."""

import os
import secrets
import sys
from collections.abc import Callable, Mapping
from typing import Annotated

import typer

from orchestra_lib import chat
from orchestra_lib.cli.progress import WeightsProgress
from orchestra_lib.cli.running import given_flags, preference_flags, tool_names
from orchestra_lib.configuration import resolve
from orchestra_lib.errors import BadInput
from orchestra_lib.paths import home
from orchestra_lib.serving.waiting import WAIT_S
from orchestra_lib.training import conducting
from orchestra_lib.workbench import Workbench


def serve(
    host: Annotated[
        str, typer.Option(help="Address to listen on; the default is for this machine only.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on.")] = 7870,
    orchestrator: Annotated[
        list[str] | None, typer.Option(help="A name from `orchestra models`, served as a model. Repeat it.")
    ] = None,
    api_key: Annotated[
        str | None, typer.Option(help="The key that callers send. Others on this machine can read it: see below.")
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
    prices: Annotated[str | None, typer.Option(help="Price table.")] = None,
    max_turns: Annotated[int | None, typer.Option(help="Turns at most in one run.")] = None,
    cost_limit: Annotated[float | None, typer.Option(help="USD at most for one run.")] = None,
    time_limit: Annotated[float | None, typer.Option(help="Seconds at most for one run.")] = None,
    token_limit: Annotated[int | None, typer.Option(help="Tokens at most for one run.")] = None,
    seed: Annotated[int | None, typer.Option(help="Seed for models that sample, where a request brings none.")] = None,
    parallel: Annotated[int, typer.Option(help="So many requests are answered at once; more are told to wait.")] = 16,
    wait: Annotated[
        float, typer.Option(help="Seconds that a run waits for the results of its caller's tools.")
    ] = WAIT_S,
) -> None:
    """Serve orchestrators as models of an OpenAI-compatible API, each request a run that is kept."""
    key, made = _key(api_key, api_key_env)
    flags = {
        "protocol": protocol, "tools": tool_names(tools), "prices": prices, "seed": seed,
        "limits.max_turns": max_turns, "limits.cost_usd": cost_limit, "limits.time_s": time_limit,
        "limits.tokens": token_limit,
    }  # fmt: skip
    order = resolve(None, [], given_flags(flags | preference_flags(prefer)))
    if parallel < 1 or wait <= 0:
        raise BadInput(f"--parallel {parallel} and --wait {wait:g} are above 0")
    from orchestra_lib.server.application import Terms, create_server, orders_of
    from orchestra_lib.server.application import serve as serve_until_stopped

    workbench = Workbench(home())
    conducting.join(workbench.roster, workbench.home)
    terms = Terms(key=key, host=host, at_once=parallel, wait_s=wait)
    orders = orders_of(workbench, orchestrator or ["conductor"], order)
    server = create_server(workbench, orders, terms, on_progress=WeightsProgress())
    if made:
        print(f"key: {key}   (made for this time; --api-key-env NAME brings one of your own)", file=sys.stderr)
    serve_until_stopped(server, terms, port, list(orders))


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


COMMANDS: dict[str, Callable[..., None]] = {"serve": serve}
