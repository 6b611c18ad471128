"""The servers of models: whether they answer, how much they hold, and whether they read the calls of their model."""

import asyncio
import re
from collections.abc import AsyncIterator, Sequence

from orchestra_lib.chat import CallStyle
from orchestra_lib.checkup.finding import Finding, fail, ok, warn
from orchestra_lib.errors import BadInput
from orchestra_lib.model.endpoints import Endpoints
from orchestra_lib.model.served import Served, ask
from orchestra_lib.model.trial import Trial, try_out

SLOW_S = 20.0
"""A first word that takes longer makes runs of many turns a matter of patience."""
_WRITTEN_OUT = re.compile(r"<tool_call>|<function|\[TOOL_CALLS\]|<\|python_tag\|>")
"""How models that were trained to call begin one."""
_NO_PARSER = re.compile(r"tool choice requires|tool-call-parser|enable-auto-tool-choice", re.I)
_PARSER = "serve it with --enable-auto-tool-choice --tool-call-parser NAME: hermes for Qwen models and the orchestrator"


async def servers(endpoints: Endpoints, named: Sequence[str] = (), *, calls: bool = True) -> AsyncIterator[Finding]:
    """A line for each endpoint that a server of the user's own answers for, and for those that are `named`.

    With `calls` each is asked for a tiny tool call: what is named may bill it. Raises `BadInput` for an unknown name.
    """
    await asyncio.to_thread(endpoints.look)
    silent: set[str] = set()
    for name in named:
        endpoints.get(name)
    for one in endpoints:
        local = endpoints.provider(one.name).local
        if not (local or one.name in named):
            continue
        what = f"server {one.name}"
        if (off := endpoints.off(one.name)) is not None:
            if one.name in named:
                yield fail(what, off)
            elif off not in silent:  # the models of one server are off for one reason
                silent.add(off)
                yield warn(what, off)
            continue
        told = await asyncio.to_thread(ask, endpoints.door(one.name), endpoints.served(one.name))
        yield ok(what, _words(endpoints, one.name, told))
        if told.context is not None:
            yield _context(one.name, one.context, told.context)
        if calls:
            async for found in _calls(endpoints, one.name):
                yield found


def _words(endpoints: Endpoints, name: str, told: Served) -> str:
    version = f"vLLM {told.version}" if told.version else "answers"
    took = "" if told.answer_s is None else f" in {told.answer_s:.3f} s"
    return f"{version} at {endpoints.address(name)}{took}, serves {endpoints.served(name)[:80]}"


def _context(name: str, counted: int, served: int) -> Finding:
    what = f"context {name}"
    if counted > served:
        return fail(
            what, f"the server holds {served:,} tokens, the catalogue counts on {counted:,}",
            f"serve it with --max-model-len {counted}, or write `context = {served}` for it into endpoints.toml",
        )  # fmt: skip
    more = "" if counted == served else f", of which {counted:,} are used (context in endpoints.toml)"
    return ok(what, f"{served:,} tokens{more}")


async def _calls(endpoints: Endpoints, name: str) -> AsyncIterator[Finding]:
    style, model = endpoints.get(name).style, endpoints.model(name)
    native = style is CallStyle.NATIVE
    try:
        free = await try_out(name, model, style, must_call=False)
    except BadInput as error:
        yield fail(f"reply {name}", str(error))
        return
    if native and free.error is not None and _NO_PARSER.search(free.error):
        yield fail(f"tool calls {name}", "the server takes no tools: its parser of calls is off", _PARSER)
        return
    if free.error is not None:
        yield fail(f"reply {name}", free.error)
        return
    yield _latency(name, free)
    if native:
        yield await _native(endpoints, name, free)


async def _native(endpoints: Endpoints, name: str, free: Trial) -> Finding:
    what = f"tool calls {name}"
    if free.native_call:
        return ok(what, f"the model calls and the server reads it: {free.text}")
    if _WRITTEN_OUT.search(free.text):
        return warn(what, f"a call was written out as text and not read: {free.text[:80]!r}", _PARSER)
    if endpoints.provider(name).dialect.takes_required:
        made = await try_out(name, endpoints.model(name), CallStyle.NATIVE)
        if made.native_call:
            words = f"the model calls when it has to; left free it said {free.text[:80]!r}"
            remedy = (
                "write `must_begin_with_call = true` for it into endpoints.toml, serve it with its family's parser "
                "(--tool-call-parser), or take a larger model"
            )
            return warn(what, words, remedy)
    return warn(what, f"the model called no tool, but said {free.text[:80]!r}", "take a model that was trained to call")


def _latency(name: str, one: Trial) -> Finding:
    first_s, total_s = one.first_s or 0.0, one.total_s or 0.0
    usage = "usage reported" if one.usage else "no usage reported: its tokens are estimated"
    words = f"first word after {first_s:.2f} s, whole after {total_s:.2f} s, {usage}"
    if first_s > SLOW_S:
        return warn(f"reply {name}", words, "see whether the server is busy, or has the GPU that it should have")
    return ok(f"reply {name}", words)
